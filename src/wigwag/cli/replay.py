"""`wigwag replay`, which plays either part of a recorded conversation."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.failures import code_of, fail, run
from wigwag.cli.output import json_option, print_json, styled
from wigwag.cli.serving_options import allowed_hosts_option, allowed_origins_option
from wigwag.cli.show import read_given
from wigwag.cli.targets import (
    TargetCommand,
    named_target,
    pairs,
    server_options,
    split_words,
)
from wigwag.errors import McpError

if TYPE_CHECKING:
    from wigwag.tracing.comparing import Comparison, Outcome
    from wigwag.tracing.records import Recording

__all__ = ["replay_command"]

_MAX_SHOWN: Final = 8
_MAX_CHARACTERS: Final = 100
# Of which part an option is.
_OF_SERVERS: Final = (
    "http",
    "host",
    "port",
    "path",
    "allowed_hosts",
    "allowed_origins",
    "pace",
    "faults",
)
_OF_CLIENTS: Final = (
    *("ignore", "out", "as_json", "timeout", "server", "headers", "auth", "env", "cwd"),
)
# What --against is without a target: that is a command after `--`.
_COMMAND_FOLLOWS: Final = "--"


@click.command("replay", cls=TargetCommand)
@click.argument("recording", metavar="RECORDING")
@click.option("--http", is_flag=True, help="Serve over HTTP instead of stdio.")
@click.option("--host", default="127.0.0.1", help="Where to listen. [default: 127.0.0.1]")
@click.option(
    "--port", default=8765, type=click.IntRange(0, 65535), help="0: a free one. [default: 8765]"
)
@click.option("--path", default="/mcp", help="The path of the endpoint. [default: /mcp]")
@allowed_hosts_option
@allowed_origins_option
@click.option(
    "--pace",
    type=click.FloatRange(0),
    default=0.0,
    metavar="FACTOR",
    help="1: take the time that the server took; 0.5: half of it. [default: 0]",
)
@click.option(
    "--faults", is_flag=True, help="Do wrong again what it did: silence, junk on stdout, a crash."
)
@click.option(
    "--against",
    is_flag=False,
    flag_value=_COMMAND_FOLLOWS,
    metavar="[TARGET]",
    help="Be the client instead, and compare the answers of a server with the recorded ones.",
)
@click.option(
    "--ignore",
    multiple=True,
    metavar="PATH",
    help="What may differ, such as serverInfo.version or tools/call:content[*].text.",
)
@click.option("--out", "-o", metavar="FILE", help="Keep what was said this time, as a recording.")
@server_options("server", "headers", "auth", "env", "cwd")
@click.option(
    "--timeout", type=click.FloatRange(0, min_open=True), default=60.0, help="Seconds, for each."
)
@json_option
def replay_command(recording: str, against: str | None, **options: Any) -> None:
    r"""Play the server of a RECORDING, or its client.

    As a server, it answers as the recorded one did: give it to a host in place of the real one.

    \b
        wigwag replay trace.jsonl                  a server on stdin and stdout
        wigwag replay trace.jsonl --http --port 0  a server on the web
        wigwag replay trace.jsonl --pace 1         as slow as it was
        wigwag replay trace.jsonl --faults         and as broken

    As a client, it says again what was said to the recorded server, and tells what is answered
    otherwise now; the exit code is 1 then. Another recording may stand for a server.

    \b
        wigwag replay trace.jsonl --against server.py
        wigwag replay trace.jsonl --against -- npx -y some-server
        wigwag replay trace.jsonl --against https://example.com/mcp --ignore serverInfo
    """
    context = click.get_current_context()
    if against is None:
        _check_options(context, _OF_CLIENTS, "for --against")
        _check_no_command(context)
        if recording == "-" and not options["http"]:
            raise click.UsageError("the standard input is for messages here: name a file", context)
        serve = {name: options[name] for name in _OF_SERVERS}
        _serve(read_given(recording), **serve)
    else:
        _check_options(context, _OF_SERVERS, "for serving, not for --against")
        given = {name: options[name] for name in _OF_CLIENTS}
        _compare(context, recording, against, **given)


def _check_options(context: click.Context, names: Sequence[str], why: str) -> None:
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name in names and source is not click.core.ParameterSource.DEFAULT:
            raise click.UsageError(f"{parameter.opts[0]} is {why}", context)


def _check_no_command(context: click.Context) -> None:
    try:
        split_words(context, ())
    except click.UsageError:  # there is none
        return
    raise click.UsageError("a command is for --against, as in `--against -- python server.py`")


def _serve(
    recording: Recording, *, http: bool, pace: float, faults: bool, path: str, **options: Any
) -> None:
    from wigwag.tracing.replaying import ReplayServer  # noqa: PLC0415 - not for --against

    server = ReplayServer(recording, pace=pace, faults=faults)
    try:
        if http:
            # No list is another thing than an empty one.
            lists = {name: options[name] or None for name in ("allowed_hosts", "allowed_origins")}
            server.run("http", path=path, host=options["host"], port=options["port"], **lists)
        else:
            server.run()
    except (McpError, ValueError) as error:
        fail(str(error), code_of(error))


def _compare(  # noqa: PLR0913 - the options, as they are
    context: click.Context,
    recording: str,
    against: str,
    *,
    ignore: tuple[str, ...],
    out: str | None,
    as_json: bool,
    timeout: float,
    server: str | None,
    headers: tuple[str, ...],
    auth: str | None,
    env: tuple[str, ...],
    cwd: str | None,
) -> None:
    from wigwag.tracing.comparing import Comparison, compare_recordings  # noqa: PLC0415

    read = read_given(recording, as_json=as_json)
    if against.endswith(".jsonl"):
        now = read_given(against, as_json=as_json)
        try:
            outcomes = compare_recordings(read, now, ignore=ignore)
        except ValueError as error:
            raise click.UsageError(str(error), context) from None
        comparison = Comparison(outcomes=outcomes, redacted=[], recording=now)
    else:
        options = {
            "headers": pairs(context, headers, ":", "--header", "NAME: VALUE") or None,
            "env": pairs(context, env, "=", "--env", "NAME=VALUE") or None,
            "cwd": cwd,
            "auth": auth,
        }
        target = named_target(context, _target(context, against), server)
        comparison = run(_perform(read, target, ignore, timeout, options), as_json=as_json)
    if out is not None:
        _keep(comparison.recording, out, pairs(context, env, "=", "--env", "NAME=VALUE"))
    if as_json:
        _print_json(comparison)
    else:
        _print(comparison)
    if not comparison.is_alike:
        sys.exit(ExitCode.FAILED)


def _target(context: click.Context, against: str) -> str | list[str]:
    if against != _COMMAND_FOLLOWS:
        return against
    try:
        return split_words(context, ())[0]
    except click.UsageError:
        raise click.UsageError(
            "--against wants a server: a URL, a Python file, a recording, or a command after `--`",
            context,
        ) from None


async def _perform(
    recording: Recording,
    target: Any,
    ignore: Sequence[str],
    limit: float,
    options: dict[str, Any],
) -> Comparison:
    from wigwag.tracing.comparing import replay_against  # noqa: PLC0415 - as above

    try:
        return await replay_against(recording, target, ignore=ignore, timeout=limit, **options)
    except TimeoutError:
        raise TimeoutError(f"the server could not be reached within {limit:g} s") from None


def _keep(recording: Recording, out: str, env: dict[str, str]) -> None:
    from wigwag.tracing.recording_file import keep_recording  # noqa: PLC0415 - few want this
    from wigwag.tracing.redaction import Redaction  # noqa: PLC0415 - as above

    try:
        keep_recording(out, recording, Redaction(environment={**os.environ, **env}))
    except OSError as error:
        fail(f"cannot write {out}: {error.strerror}", ExitCode.USAGE)
    click.echo(f"wrote {out}", err=True)


def _print_json(comparison: Comparison) -> None:
    import msgspec  # noqa: PLC0415 - few want this

    outcomes = msgspec.to_builtins(comparison.outcomes)
    print_json(
        {
            "alike": comparison.is_alike,
            "redacted": comparison.redacted,
            "outcomes": [
                {"alike": outcome.is_alike, **each}
                for outcome, each in zip(comparison.outcomes, outcomes, strict=True)
            ],
        }
    )


def _print(comparison: Comparison) -> None:
    from wigwag.client.terminal_lines import visible  # noqa: PLC0415 - as above

    for what in map(visible, comparison.redacted):
        click.echo(f"wigwag: {what} was sent without what the recording leaves out", err=True)
    requests = [outcome for outcome in comparison.outcomes if outcome.id is not None]
    otherwise = [outcome for outcome in comparison.outcomes if not outcome.is_alike]
    failure = ""
    for outcome in otherwise:
        _print_outcome(outcome, failure)
        failure = outcome.failure or failure
    differ = sum(not outcome.is_alike for outcome in requests)
    said = f"{len(requests)} request{'' if len(requests) == 1 else 's'}"
    if not otherwise:
        click.echo(styled(f"{said}: all answered as recorded", sys.stdout, fg="green"))
    else:
        told = len(otherwise) - differ
        more = f", {told} kind{'' if told == 1 else 's'} of other messages" if told else ""
        text = f"{said}: {differ} answered otherwise{more}"
        click.echo(styled(text, sys.stdout, fg="red"))


def _print_outcome(outcome: Outcome, failure: str) -> None:
    """Print what came of one request; a reason is told once.

    Args:
        outcome: What came of it.
        failure: Why the one before was not answered.
    """
    import msgspec  # noqa: PLC0415 - as above

    from wigwag.client.terminal_lines import visible, visible_lines  # noqa: PLC0415
    from wigwag.tracing.json_text import encode_json  # noqa: PLC0415

    head = f"{outcome.method} {outcome.subject}".strip()
    if outcome.id is not None:
        head += f" (request {outcome.id} at {outcome.at:.3f} s)"
    click.echo(styled(visible(head), sys.stdout, bold=True))
    if outcome.failure:
        why = "the same" if outcome.failure == failure else visible_lines(outcome.failure)
        click.echo("    " + why.replace("\n", "\n    "))
    for each in outcome.differences[:_MAX_SHOWN]:
        click.echo(f"    {visible(each.path)}")
        for name, value in (("recorded", each.recorded), ("now", each.now)):
            text = "nothing" if value is msgspec.UNSET else encode_json(value).decode()
            text = text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}…"
            click.echo(f"        {name + ':':9} {visible(text)}")
    more = len(outcome.differences) - _MAX_SHOWN
    if more > 0:
        click.echo(f"    and {more} more differences")
