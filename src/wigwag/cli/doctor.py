"""`wigwag doctor`, which says what is wrong with a server, and what to change."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

import click

from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.failures import run
from wigwag.cli.output import has_colours, json_option, print_json
from wigwag.cli.targets import Reach, TargetCommand, read_reach, server_options
from wigwag.client.terminal_lines import visible, visible_lines
from wigwag.doctor.diagnosing import diagnose
from wigwag.doctor.findings import Diagnosis, Facts, Finding
from wigwag.doctor.patience import Patience
from wigwag.schema import REVISIONS

__all__ = ["doctor_command"]

_COLOURS: Final = {"error": "red", "warning": "yellow", "note": "blue"}
_CLEAR_LINE: Final = "\r\x1b[K"


@click.command("doctor", cls=TargetCommand)
@click.argument("words", nargs=-1, metavar="[TARGET]")
@click.option("--config", metavar="FILE", help="Examine a host's configuration, and its servers.")
@click.option(
    "--call",
    metavar="TOOL",
    help="At a URL, call a tool that reports progress: does it come in time? Arguments follow, as "
    "for `wigwag call`.",
)
@click.option(
    "--watch",
    type=click.FloatRange(min=0.1),
    metavar="SECONDS",
    help="How long to listen to streams that should stay open; 5 by default, 70 finds most proxies "
    "that cut them.",
)
@server_options("server", "headers", "auth", "env", "cwd", "timeout")
@json_option
def doctor_command(
    *,
    words: tuple[str, ...],
    config: str | None,
    call: str | None,
    watch: float | None,
    as_json: bool,
    **given: Any,
) -> None:
    r"""Find out why a server does not work, and what to change.

    The server is started, or connected to, as a host does it, several times. No tool is called but
    those that say that they only read.
    Each finding has a name, what is wrong, what shows it, and what to do about it.

    \b
        wigwag doctor -- python server.py
        wigwag doctor https://example.com/mcp
        wigwag doctor https://example.com/mcp --watch 70 --call slow steps:=3
        wigwag doctor --config ~/.cursor/mcp.json
        wigwag doctor --config claude_desktop_config.json --server github

    The exit code is 0 if nothing must be changed, else 1. Notes are no faults.
    """
    # What the client has to say of a server is among the findings.
    logging.getLogger("wigwag").addHandler(logging.NullHandler())
    progress = _Progress()
    config, words = _configuration(config, words)
    if config is not None:
        if words:
            raise click.UsageError("--config and a target exclude each other")
        _refuse_call(call, config)
        patience = _patience(given["timeout"], watch)
        work: Coroutine[Any, Any, list[Diagnosis]] = _of_configuration(
            config, given, patience, progress
        )
    else:
        reach, left = read_reach(words, **given)
        if left and call is None:
            raise click.UsageError(f"unexpected: {' '.join(left)}; a command follows `--`")
        _refuse_call(call, reach.target)
        patience = _patience(reach.timeout, watch)
        work = _of_server(reach, _call_of(call, left), patience, progress)
    try:
        diagnoses = run(work, as_json=as_json)
    finally:
        progress.clear()
    if as_json:
        print_json(_as_json(diagnoses))
    else:
        _print(diagnoses)
    sys.exit(ExitCode.DONE if all(one.is_healthy for one in diagnoses) else ExitCode.FAILED)


def _configuration(
    config: str | None, words: tuple[str, ...]
) -> tuple[str | None, tuple[str, ...]]:
    """Take a JSON file for a configuration, also without the option."""
    if config is None and len(words) == 1 and words[0].endswith(".json"):
        return words[0], ()
    return config, words


def _of_configuration(
    file: str, given: dict[str, Any], patience: Patience, progress: Callable[[str], object]
) -> Coroutine[Any, Any, list[Diagnosis]]:
    for name in ("headers", "auth", "env", "cwd"):
        if given[name]:
            option = "header" if name == "headers" else name
            raise click.UsageError(f"--{option} is for one server, and not for --config")
    from wigwag.doctor.configurations import diagnose_configuration  # noqa: PLC0415 - few ask

    return diagnose_configuration(file, server=given["server"], patience=patience, on_step=progress)


async def _of_server(
    reach: Reach,
    call: tuple[str, dict[str, Any]] | None,
    patience: Patience,
    progress: Callable[[str], object],
) -> list[Diagnosis]:
    diagnosis = await diagnose(
        reach.target,
        env=reach.env,
        cwd=reach.cwd,
        headers=reach.headers,
        auth=reach.auth,
        call=call,
        patience=patience,
        on_step=progress,
    )
    return [diagnosis]


def _refuse_call(tool: str | None, target: Any) -> None:
    if tool is not None and not str(target).startswith(("http://", "https://")):
        raise click.UsageError("--call is for a URL: nothing holds up what a process reports")


def _call_of(tool: str | None, words: Sequence[str]) -> tuple[str, dict[str, Any]] | None:
    """Return the call of a tool whose schema nobody knows yet."""
    if tool is None:
        return None
    from wigwag.client.tool_arguments import tool_arguments  # noqa: PLC0415 - few call one
    from wigwag.schema import Tool  # noqa: PLC0415 - as above

    try:
        unknown = Tool(name=tool, input_schema={"type": "object"})
        return tool, tool_arguments(words, unknown, check=False)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _patience(timeout: float | None, watch: float | None) -> Patience:
    given = {} if timeout is None else dict.fromkeys(("start", "answer", "event"), timeout)
    return Patience(**given) if watch is None else Patience(**given, idle=watch)


class _Progress:
    """Shows at a terminal what is done at the moment; the next thing takes its place."""

    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty()

    def __call__(self, step: str) -> None:
        if self._is_shown:
            click.echo(f"{_CLEAR_LINE}{visible(step)} ...", nl=False, err=True)

    def clear(self) -> None:
        """Leave an empty line."""
        if self._is_shown:
            click.echo(_CLEAR_LINE, nl=False, err=True)


# --- what is printed


def _as_json(diagnoses: Sequence[Diagnosis]) -> dict[str, Any]:
    import msgspec  # noqa: PLC0415 - people read text

    return {
        "healthy": all(one.is_healthy for one in diagnoses),
        "diagnoses": [{"healthy": one.is_healthy, **msgspec.to_builtins(one)} for one in diagnoses],
    }


def _print(diagnoses: Sequence[Diagnosis]) -> None:
    colour = has_colours(sys.stdout)
    for diagnosis in diagnoses:
        if len(diagnoses) > 1:
            click.echo(click.style(visible(diagnosis.target), bold=True), color=colour)
        for finding in diagnosis.findings:
            click.echo(_text_of(finding), color=colour)
        click.echo(_summary(diagnosis), color=colour)


def _text_of(finding: Finding) -> str:
    severity = click.style(finding.severity, fg=_COLOURS[finding.severity], bold=True)
    subject = f"{visible(finding.subject)}: " if finding.subject else ""
    lines = [f"{severity} {finding.code}: {subject}{visible(finding.what)}"]
    lines += [f"    | {line}" for line in visible_lines(finding.evidence).split("\n") if line]
    lines.append(f"    change: {visible(finding.change)}")
    return "\n".join(lines)


def _summary(diagnosis: Diagnosis) -> str:
    amounts = {
        severity: sum(finding.severity == severity for finding in diagnosis.findings)
        for severity in _COLOURS
    }
    told = [
        f"{amount} {severity}{'' if amount == 1 else 's'}"
        for severity, amount in amounts.items()
        if amount
    ]
    amount = ", ".join(told) or "no findings"
    if diagnosis.is_healthy:
        amount = f"{click.style('healthy', fg='green', bold=True)}: {amount}"
    return amount + _of_facts(diagnosis.facts)


def _of_facts(facts: Facts) -> str:
    """Say in a few words what kind of server it is."""
    told = [
        visible(str(facts["server"])) if "server" in facts else "",
        f"revision {facts['revision']}" if "revision" in facts else "",
        _spoken(facts.get("revisions", {})),
        f"first answer after {facts['seconds_to_answer']:.1f} s"
        if "seconds_to_answer" in facts
        else "",
    ]
    words = ", ".join(filter(None, told))
    return f" ({words})" if words else ""


def _spoken(revisions: dict[str, str]) -> str:
    """Say which revisions work, of those that were tried."""
    works = [revision for revision, outcome in revisions.items() if outcome == "works"]
    if not works:
        return ""
    return "speaks every revision" if len(works) == len(REVISIONS) else f"speaks {', '.join(works)}"
