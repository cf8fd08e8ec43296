"""`wigwag run`, which serves the server in a file or a module."""

from __future__ import annotations

import os
from typing import Any

import click

from wigwag.cli.failures import code_of, fail
from wigwag.cli.serving_options import allowed_hosts_option, allowed_origins_option
from wigwag.cli.targets import complete_files
from wigwag.errors import McpError
from wigwag.server.running import Transport, run_server

__all__ = ["run_command"]


@click.command("run")
@click.argument("target", shell_complete=complete_files)
@click.argument("arguments", nargs=-1, metavar="[-- ARGUMENTS]")
@click.option("--http", is_flag=True, help="Serve over HTTP instead of stdio.")
@click.option("--tcp", metavar="HOST:PORT", help="Serve over TCP, with the framing of stdio.")
@click.option("--socket", type=click.Path(), help="The same over a unix socket.")
@click.option("--host", help="Where to listen. [default: 127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65535), help="0: a free one. [default: 8765]")
@click.option("--path", help="The path of the endpoint. [default: /mcp]")
@allowed_hosts_option
@allowed_origins_option
@click.option("--cors", is_flag=True, help="Let those pages read the answers.")
@click.option("--certfile", type=click.Path(), metavar="FILE", help="The certificate, for https.")
@click.option(
    "--keyfile", type=click.Path(), metavar="FILE", help="Its key, if that is in another file."
)
@click.option("--workers", type=click.IntRange(1), help="How many processes serve.")
@click.option("--reload", is_flag=True, help="Load the code again whenever it changes.")
@click.option("--watch", type=click.Path(), multiple=True, help="With --reload: what else counts.")
@click.option(
    "--no-sessions",
    "sessions",
    is_flag=True,
    flag_value=False,
    default=True,
    help="Keep nothing of legacy clients.",
)
@click.option("--sse", is_flag=True, help="Serve HTTP+SSE of 2024-11-05 as well, at /sse.")
@click.option("--health", is_flag=True, help="Answer GET /health, whoever asks.")
@click.option("--grace", type=float, metavar="SECONDS", help="For requests under way at the end.")
@click.option(
    "--log",
    type=click.Choice(["debug", "info", "warning", "error"]),
    help="Show what is logged from this level on.",
)
@click.option("--wire", is_flag=True, help="Show every message, on standard error.")
def run_command(
    *,
    target: str,
    arguments: tuple[str, ...],
    http: bool,
    tcp: str | None,
    socket: str | None,
    log: str | None,
    wire: bool,
    **options: Any,
) -> None:
    r"""Serve the server in a file or a module.

    TARGET is server.py; server.py:name, for one of several, or for a function that returns it; or
    package.module:name. Arguments of the server itself follow `--`.

    \b
        wigwag run server.py
        wigwag run server.py --http --port 8000 --reload
        wigwag run mypackage.main:create_server --http --workers 4
        wigwag run server.py -- --database test.db

    Without --http it speaks over its standard input and output, as a host that starts it wants.
    What is below `if __name__ == "__main__":` is not run.
    """
    given = {name: value for name, value in options.items() if _was_given(name)}
    transport = _transport(http=http, tcp=tcp, socket=socket)
    allowed = {"http": set(given), "stdio": {"reload", "watch"}}.get(transport, set())
    unfit = [name for name in given if name not in allowed]
    if unfit:
        raise click.UsageError(f"{_option(unfit[0])} is for --http")
    if tcp is not None:
        given["host"], given["port"] = _host_and_port(tcp)
    if socket is not None:
        given["path"] = socket
    if wire:
        os.environ["WIGWAG_WIRE"] = "1"
    try:
        run_server(target, transport, arguments=arguments, log_level=log, **given)
    except (McpError, ValueError, TypeError, OSError) as error:
        fail(str(error), code_of(error))


def _transport(*, http: bool, tcp: str | None, socket: str | None) -> Transport:
    asked: dict[Transport, bool] = {
        "http": http,
        "tcp": tcp is not None,
        "unix": socket is not None,
    }
    found: list[Transport] = [name for name, is_asked in asked.items() if is_asked]
    if len(found) > 1:
        raise click.UsageError("--http, --tcp and --socket exclude each other")
    return found[0] if found else "stdio"


def _was_given(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source is not click.core.ParameterSource.DEFAULT


def _option(name: str) -> str:
    """Return how an option is written that a function knows by a name."""
    parameters = click.get_current_context().command.params
    return next(each.opts[0] for each in parameters if each.name == name)


def _host_and_port(text: str) -> tuple[str, int]:
    host, _, port = text.removeprefix("tcp://").rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise click.UsageError(f"--tcp takes HOST:PORT, as in localhost:9000, not {text!r}")
    return host.strip("[]") or "127.0.0.1", int(port)
