"""`wigwag trace`, which stands between a host and a server and shows what they say."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal, TextIO

import click
from msgspec import Struct

from wigwag.cli.failures import code_of, fail
from wigwag.cli.output import json_option
from wigwag.cli.targets import TargetCommand, named_target, pairs, split_words
from wigwag.errors import McpError

if TYPE_CHECKING:
    from wigwag.client.configuration import UrlServer
    from wigwag.tracing.observer import Outlet
    from wigwag.tracing.records import Record, TraceHeader
    from wigwag.tracing.text import TextStyle

__all__ = ["trace_command"]

_STDOUT: Final = 1
_STDERR: Final = 2


class _Wanted(Struct, frozen=True, kw_only=True):
    """What is to be shown, and recorded.

    Attributes:
        out: Where to record; `None` for nowhere.
        quiet: Whether nothing is shown.
        as_json: Whether it is shown as lines of JSON.
        pretty: Whether messages are shown whole.
        methods: Which messages are shown.
        ids: Which requests are shown, with their answers.
        redact: More names of what is secret.
    """

    out: str | None
    quiet: bool
    as_json: bool
    pretty: bool
    methods: tuple[str, ...]
    ids: tuple[str, ...]
    redact: tuple[str, ...]


@click.command("trace", cls=TargetCommand)
@click.argument("words", nargs=-1, metavar="TARGET")
@click.option("--out", "-o", metavar="FILE", help="Record all of it, one JSON object a line.")
@click.option("--quiet", "-q", is_flag=True, help="Show nothing; the server's own errors pass.")
@json_option
@click.option("--pretty", is_flag=True, help="Show messages whole, indented, on many lines.")
@click.option(
    "--method",
    "-m",
    "methods",
    multiple=True,
    metavar="PATTERN",
    help="Show only messages of this method, such as tools/call or 'tools/*', and the answers.",
)
@click.option(
    "--id", "ids", multiple=True, metavar="ID", help="Show only this request and its answer."
)
@click.option(
    "--redact",
    multiple=True,
    metavar="NAME",
    help="Hide what has this name, besides tokens, passwords and the like.",
)
@click.option("--env", "-e", multiple=True, metavar="NAME=VALUE", help="For a command.")
@click.option("--cwd", metavar="FOLDER", help="Where a command starts.")
@click.option("--server", metavar="NAME", help="Which server of a configuration of several.")
@click.option(
    "--header",
    "-H",
    "headers",
    multiple=True,
    metavar="NAME: VALUE",
    help="What requests to a URL carry besides.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen, for a URL.")
@click.option(
    "--port",
    default=8764,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Where to listen, for a URL; 0 for any free port.",
)
@click.pass_context
def trace_command(
    context: click.Context,
    /,
    *,
    words: tuple[str, ...],
    env: tuple[str, ...],
    cwd: str | None,
    server: str | None,
    headers: tuple[str, ...],
    host: str,
    port: int,
    **wanted: Any,
) -> None:
    r"""Stand between a host and a server, and show every message.

    In front of a command, put it into the host's configuration before the words that are there:

    \b
        "command": "wigwag",
        "args": ["trace", "--out", "/tmp/trace.jsonl", "--", "npx", "-y", "some-server"]

    The messages appear on standard error, which hosts write to a log. In front of a URL it listens
    itself; give the host the URL that it prints, and the messages appear on standard output:

    \b
        wigwag trace https://example.com/mcp

    No byte is changed. The exit code is that of the server. `wigwag show` and `wigwag replay` read
    what --out has recorded; secrets are not in it.
    """
    target, more = split_words(context, words)
    if more:
        raise click.UsageError(f"unexpected: {' '.join(more)}; a command follows `--`", context)
    given = _Given(
        env=pairs(context, env, "=", "--env", "NAME=VALUE"),
        cwd=cwd,
        headers=pairs(context, headers, ":", "--header", "NAME: VALUE"),
    )
    try:
        found = _resolved(named_target(context, target, server), given)
        if isinstance(found, _Process):
            code = _trace_process(found, _Wanted(**wanted))
        else:
            raise click.UsageError("URLs cannot be traced yet", context)
    except (McpError, OSError, ValueError) as error:
        fail(str(error), code_of(error))
    sys.exit(code)


class _Given(Struct, frozen=True):
    """What the options say of the server."""

    env: dict[str, str]
    cwd: str | None
    headers: dict[str, str]


class _Process(Struct, frozen=True):
    """A server that is started."""

    command: list[str]
    env: dict[str, str]
    cwd: str | None


def _resolved(target: Any, given: _Given) -> _Process | UrlServer:
    """Return what a target stands for.

    Raises:
        ValueError: It is none that can be traced.
        OSError: The file of a configuration cannot be read.
    """
    if isinstance(target, list):  # the host has started this as it would have started the server
        return _Process(target, {**os.environ, **given.env}, given.cwd)
    from wigwag.client.configuration import UrlServer  # noqa: PLC0415 - hosts give commands
    from wigwag.client.targets import resolve_target  # noqa: PLC0415 - as above
    from wigwag.transports.stdio_client import safe_environment  # noqa: PLC0415 - as above

    found = resolve_target(target)
    if found is None:
        raise ValueError(
            f"{target} cannot be traced: a URL, a Python file and the entry of a configuration"
            " can, and a command after `--`"
        )
    if isinstance(found, UrlServer):
        return found
    cwd = given.cwd or (None if found.cwd is None else os.fspath(found.cwd))
    env = {**safe_environment(), **(found.env or {}), **given.env}
    return _Process([found.command, *found.args], env, cwd)


def _trace_process(server: _Process, wanted: _Wanted) -> int:
    """Stand in front of a process; returns the exit code.

    Raises:
        ServerStartFailed: It does not start.
        OSError: The file to record to cannot be created.
    """
    from wigwag.tracing.redaction import Redaction  # noqa: PLC0415 - for this command alone
    from wigwag.tracing.stdio_relay import StandardStreams, relay_stdio  # noqa: PLC0415

    # Whoever passes something on gets the interpreter at once, though others are busy.
    sys.setswitchinterval(0.0005)
    redaction = Redaction(wanted.redact, server.env)
    started = datetime.now().astimezone()
    target = redaction.words(server.command)
    with _outlets(wanted, "stdio", target, started, _STDERR) as outlets:
        code = relay_stdio(
            server.command,
            outlets,
            env=server.env,
            cwd=server.cwd,
            redaction=redaction,
            streams=StandardStreams(error=_STDERR if wanted.quiet else None),
        )
    return code if code >= 0 else 128 - code


@contextmanager
def _outlets(
    wanted: _Wanted,
    transport: Literal["stdio", "http"],
    target: list[str] | str,
    started: datetime,
    descriptor: int,
) -> Iterator[list[Outlet]]:
    """Open what takes the records: the file, and whoever looks at it.

    Raises:
        OSError: The file cannot be created.
    """
    from wigwag.tracing.recording_file import (  # noqa: PLC0415 - for this command alone
        open_recording,
        trace_header,
    )
    from wigwag.tracing.records import RecordWriter  # noqa: PLC0415 - as above

    header = trace_header(transport, target, started)
    with ExitStack() as stack:
        outlets: list[Outlet] = []
        if wanted.out is not None:
            file = stack.enter_context(open_recording(wanted.out))
            outlets.append(RecordWriter(file, header).write)
        if not wanted.quiet:
            outlets.append(stack.enter_context(_shown(wanted, header, started, descriptor)))
        yield outlets


@contextmanager
def _shown(
    wanted: _Wanted, header: TraceHeader, started: datetime, descriptor: int
) -> Iterator[Outlet]:
    """Open what shows the records."""
    from wigwag.tracing.printing import LinePrinter  # noqa: PLC0415 - for this command alone

    stream = sys.stderr if descriptor == _STDERR else sys.stdout
    printer = LinePrinter(descriptor, stream.encoding if not wanted.as_json else "utf-8")
    if wanted.as_json:
        import msgspec  # noqa: PLC0415 - as above

        def lines(record: TraceHeader | Record) -> list[str]:
            return [msgspec.json.encode(record).decode()]

        printer.print(lines(header))
    else:
        from wigwag.tracing.text import TextRenderer  # noqa: PLC0415 - as above

        lines = TextRenderer(_style(wanted, started, stream)).lines  # type: ignore[assignment]
    try:
        yield lambda record: printer.print(lines(record))
    finally:
        printer.close()


def _style(wanted: _Wanted, started: datetime, stream: TextIO) -> TextStyle:
    from wigwag.tracing.text import TextStyle  # noqa: PLC0415 - for this command alone

    is_terminal = stream.isatty()
    return TextStyle(
        pretty=wanted.pretty,
        width=shutil.get_terminal_size().columns if is_terminal else 1000,
        colours=is_terminal and not os.environ.get("NO_COLOR"),
        ascii_only=not _can_show_arrows(stream),
        methods=wanted.methods,
        ids=wanted.ids,
        started=started,
    )


def _can_show_arrows(stream: TextIO) -> bool:
    try:
        "→←│…".encode(stream.encoding)
    except UnicodeEncodeError:
        return False
    return True
