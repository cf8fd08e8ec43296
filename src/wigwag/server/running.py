"""Loads a server and serves it, until the host is gone or the process is told to stop."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, Unpack

from msgspec.structs import replace

from wigwag.server.authors_code import blaming_the_author
from wigwag.server.loading import Code, code_folder
from wigwag.server.process import introduce, run_sockets, run_stdio

if TYPE_CHECKING:
    from wigwag.server.http_app import HttpKeywords
    from wigwag.server.worker_processes import Orders

__all__ = ["run_server"]

Transport: TypeAlias = Literal["stdio", "http", "tcp", "unix"]


def run_server(  # noqa: PLR0913 - options, each of its own and given by name
    target: str,
    transport: Transport = "stdio",
    *,
    arguments: Sequence[str] = (),
    log_level: str | None = None,
    host: str = "127.0.0.1",
    port: int = 8765,
    path: str | None = None,
    certfile: str | None = None,
    keyfile: str | None = None,
    workers: int = 1,
    reload: bool = False,
    watch: Sequence[str] = (),
    **http: Unpack[HttpKeywords],
) -> None:
    """Load the server that a target names and serve it; does not return before the end.

    Over stdio the protocol has the standard output for itself before the code is loaded, so that
    nothing that is printed at any time gets into it.

    Several workers are processes that answer at the same address, and seal with the same key. What
    one of them keeps in memory the others do not know, so that they give no sessions to legacy
    clients, and a change is heard by those who listen at the process where it happened.

    Args:
        target: What `load_server` takes.
        transport: How to serve, as in `Server.run`.
        arguments: What the code sees as its own arguments, in `sys.argv`, while it is loaded.
        log_level: Show what is logged from this level on, whatever the code has settled: `debug`,
            `info`, `warning` or `error`.
        host: Where to listen, for `http` and `tcp`.
        port: Where to listen, for `http` and `tcp`; 0 for a free one, which is then told.
        path: The path of the endpoint, for `http`, by default `/mcp`; or the socket, for `unix`.
        certfile: The certificate, for `http` with TLS.
        keyfile: Its key, if that is not in the same file.
        workers: How many processes serve, for `http`.
        reload: Load the code again whenever it changes, for `stdio` and `http`. The host stays
            connected, and is told that lists may have changed.
        watch: Files and folders whose changes count besides, with `reload`.
        **http: What else `Server.http_app` takes, for `http`.

    Raises:
        ValueError: There is no such file, module or name, or an option makes no sense.
        ServerNotLoaded: The code fails, or there is no server in it.
        TransportError: It cannot serve, as the streams are closed or the address is taken.
        SystemExit: It was told to stop by Ctrl+C.
    """
    if transport != "http" and (workers != 1 or (reload and transport != "stdio")):
        raise ValueError(f"`workers` and `reload` are not for {transport}")
    if watch and not reload:
        raise ValueError("`watch` is for `reload`, which is not asked for")
    if keyfile is not None and certfile is None:
        raise ValueError("`keyfile` is the key of a certificate: `certfile` is missing")
    code = Code(target, list(arguments), log_level, may_change=reload)
    if transport == "stdio":
        if reload:
            _run_stdio_reloading(code, watch)
        else:
            _run_stdio(code)
    elif transport == "http":
        from wigwag.server.worker_processes import Orders  # noqa: PLC0415 - for this alone

        orders = Orders(
            code=code,
            path=path or "/mcp",
            certfile=certfile,
            keyfile=keyfile,
            http={"host": host, **http},
        )
        if workers == 1 and not reload:
            _run_http(orders, host, port)
        else:
            _run_processes(orders, host, port, workers=workers, reload=reload, watch=watch)
    else:
        _run_sockets(code, transport, (host, port), path)


def _run_stdio(code: Code) -> None:
    from wigwag.transports.stdio_server import (  # noqa: PLC0415 - for this alone
        is_interactive,
        take_standard_streams,
    )

    has_person = is_interactive()
    wire = take_standard_streams()
    server = code.load()
    if has_person:
        introduce(server, _command_of(code.target, code.arguments))
    with blaming_the_author(code.target):
        run_stdio(server, wire)


def _run_stdio_reloading(code: Code, watch: Sequence[str]) -> None:
    # A server that a host starts needs none of it as a rule.
    from wigwag.server.code_changes import CodeChanges  # noqa: PLC0415
    from wigwag.server.stdio_reloading import run_stdio_reloading  # noqa: PLC0415
    from wigwag.transports.stdio_server import (  # noqa: PLC0415
        is_interactive,
        take_standard_streams,
    )

    if is_interactive():
        print(  # noqa: T201 - to a person, who would see nothing
            "wigwag: this speaks JSON-RPC on its standard input and output, for a host that "
            "starts it; --http serves over HTTP. Ctrl+D ends it.",
            file=sys.stderr,
        )
    changes = CodeChanges([code_folder(code.target)], watch)
    run_stdio_reloading(code, take_standard_streams(), changes)


def _run_http(orders: Orders, host: str, port: int) -> None:
    from wigwag.server.http_process import run_http  # noqa: PLC0415 - for this alone

    server = orders.code.load()
    app = server.http_app(orders.path, **orders.http)
    with blaming_the_author(orders.code.target):
        run_http(
            app, server.info.name, host, port, certfile=orders.certfile, keyfile=orders.keyfile
        )


def _run_processes(
    orders: Orders, host: str, port: int, *, workers: int, reload: bool, watch: Sequence[str]
) -> None:
    if sys.platform == "win32":
        raise ValueError("several workers, and loading again, need another system than Windows")
    if workers < 1 or (workers > 1 and reload):
        raise ValueError("`workers` is a number above 0, and 1 together with `reload`")
    if orders.http.get("stores") is not None:
        raise ValueError("`stores` cannot be handed to other processes")
    # Not before here: a server that serves by itself needs none of it.
    from wigwag.server.code_changes import CodeChanges  # noqa: PLC0415
    from wigwag.server.workers import run_reloading, run_workers  # noqa: PLC0415

    http = dict(orders.http)
    if workers > 1 and http.setdefault("sessions", False):
        raise ValueError("`sessions` would be known to one of the workers only: use one worker")
    if reload:
        http.setdefault("grace", 1.0)  # whoever writes the code waits for it
    orders = replace(orders, http=http, state_key=os.urandom(32))
    if reload:
        run_reloading(orders, host, port, CodeChanges([code_folder(orders.code.target)], watch))
    else:
        run_workers(orders, host, port, workers)


def _run_sockets(code: Code, transport: str, address: tuple[str, int], path: str | None) -> None:
    if transport not in ("tcp", "unix"):
        raise ValueError(f"there is no transport {transport!r}: use stdio, http, tcp or unix")
    if transport == "unix" and path is None:
        raise ValueError("a unix socket needs a path")
    server = code.load()
    with blaming_the_author(code.target):
        run_sockets(server, transport, *address, path)


def _command_of(target: str, arguments: Sequence[str]) -> list[str]:
    """Return what starts the server, for a host that has another working folder."""
    place, colon, name = target.rpartition(":")
    if os.path.exists(target):
        target = os.path.abspath(target)
    elif os.path.exists(place):
        target = f"{os.path.abspath(place)}{colon}{name}"
    rest = ["--", *arguments] if arguments else []
    return [sys.executable, "-m", "wigwag", "run", target, *rest]
