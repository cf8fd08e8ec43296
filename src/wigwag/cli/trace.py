"""`wigwag trace`, which stands between a host and a server and shows what they say."""

from __future__ import annotations

import os
import signal
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.failures import code_of, fail
from wigwag.cli.message_options import ids_option, methods_option, pretty_option
from wigwag.cli.output import json_option
from wigwag.cli.targets import TargetCommand, named_target, pairs, split_words
from wigwag.cli.trace_output import STDERR, STDOUT, Shown, outlets_of
from wigwag.errors import McpError

if TYPE_CHECKING:
    from wigwag.client.configuration import UrlServer

__all__ = ["trace_command"]


@click.command("trace", cls=TargetCommand)
@click.argument("words", nargs=-1, metavar="TARGET")
@click.option("--out", "-o", metavar="FILE", help="Record all of it, one JSON object a line.")
@click.option("--quiet", "-q", is_flag=True, help="Show nothing; the server's own errors pass.")
@json_option
@pretty_option
@methods_option
@ids_option
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
@click.option(
    "--allowed-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="A name it is reached by, in front of a URL, such as that of a tunnel.",
)
@click.option(
    "--allowed-origin",
    "allowed_origins",
    multiple=True,
    metavar="ORIGIN",
    help="A web page that may use it, in front of a URL, such as https://app.example.com.",
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
    **options: Any,
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
    listening = _Listening(**{name: options.pop(name) for name in _Listening.__struct_fields__})
    given = _Given(
        env=pairs(context, env, "=", "--env", "NAME=VALUE"),
        cwd=cwd,
        headers=pairs(context, headers, ":", "--header", "NAME: VALUE"),
    )
    # Whoever passes something on gets the interpreter soon, though others are busy.
    sys.setswitchinterval(0.0005)
    try:
        found = _resolved(named_target(context, target, server), given)
        if isinstance(found, _Process):
            code = _trace_process(found, Shown(**options))
        else:
            both = {**found.headers, **given.headers}
            code = _trace_url(found.url, both, listening, Shown(**options))
    except (McpError, OSError, ValueError) as error:
        fail(str(error), code_of(error))
    sys.exit(code)


class _Given(Struct, frozen=True):
    """What the options say of the server."""

    env: dict[str, str]
    cwd: str | None
    headers: dict[str, str]


class _Listening(Struct, frozen=True):
    """Where hosts are listened to, and which pages."""

    host: str
    port: int
    allowed_hosts: tuple[str, ...]
    allowed_origins: tuple[str, ...]


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


def _trace_process(server: _Process, shown: Shown) -> int:
    """Stand in front of a process; returns the exit code.

    Raises:
        ServerStartFailed: It does not start.
        OSError: The file to record to cannot be created.
    """
    from wigwag.tracing.redaction import Redaction  # noqa: PLC0415 - for this command alone
    from wigwag.tracing.stdio_relay import StandardStreams, relay_stdio  # noqa: PLC0415

    redaction = Redaction(shown.redact, server.env)
    started = datetime.now().astimezone()
    target = redaction.words(server.command)
    if sys.stdin is not None and sys.stdin.isatty():
        click.echo(
            "wigwag trace: there is no host; type messages, one a line, and Ctrl+D at the end",
            err=True,
        )
    with outlets_of(shown, "stdio", target, started, STDERR) as outlets:
        code = relay_stdio(
            server.command,
            outlets,
            env=server.env,
            cwd=server.cwd,
            redaction=redaction,
            streams=StandardStreams(error=STDERR if shown.quiet else None),
        )
    return code if code >= 0 else 128 - code


def _trace_url(url: str, headers: dict[str, str], listening: _Listening, shown: Shown) -> ExitCode:
    """Stand in front of a URL until told to stop; returns the exit code.

    Raises:
        TransportError: The port cannot be had.
        ValueError: It is no URL.
        OSError: The file to record to cannot be created.
    """
    import asyncio  # noqa: PLC0415 - processes do without

    from wigwag.tracing.http_relay import HttpRelay  # noqa: PLC0415 - for this command alone
    from wigwag.tracing.redaction import Redaction  # noqa: PLC0415 - as above

    async def relay() -> ExitCode:
        loop = asyncio.get_running_loop()
        stop: asyncio.Future[ExitCode] = loop.create_future()

        def leave(code: ExitCode) -> None:
            if not stop.done():
                stop.set_result(code)

        def reader_gone() -> None:
            loop.call_soon_threadsafe(leave, ExitCode.READER_GONE)

        redaction = Redaction(shown.redact, os.environ)
        started = datetime.now().astimezone()
        target = redaction.url(url)
        with outlets_of(shown, "http", target, started, STDOUT, reader_gone) as outlets:
            async with HttpRelay(
                url,
                outlets,
                host=listening.host,
                port=listening.port,
                headers=headers,
                allowed_hosts=listening.allowed_hosts or None,
                allowed_origins=listening.allowed_origins,
                redaction=redaction,
            ) as relay:
                if sys.platform != "win32":
                    loop.add_signal_handler(signal.SIGTERM, leave, ExitCode.DONE)
                click.echo(f"wigwag trace: give hosts {relay.url} instead of the URL", err=True)
                return await stop

    return asyncio.run(relay())
