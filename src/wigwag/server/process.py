"""A process that is a server: its event loop, its signals and its end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Protocol

from wigwag.runtime.failures import log_failure, must_pass
from wigwag.schema import Implementation
from wigwag.server.departure import Departure
from wigwag.transports.contract import Connection

if TYPE_CHECKING:
    from wigwag.transports.stdio_server import Wire

is_being_loaded: Final = ContextVar("is_being_loaded", default=False)
"""Whether a program is only loaded, for its server to be run afterwards."""

_logger = logging.getLogger("wigwag.server")


class Served(Protocol):
    """A connection that is being served."""

    async def wait_closed(self) -> None:
        """Wait until it has ended."""
        ...

    async def aclose(self) -> None:
        """End it."""
        ...


class Runnable(Protocol):
    """What a process needs of its server."""

    info: Implementation

    @property
    def max_message_bytes(self) -> int:
        """Longest message accepted."""
        ...

    def running(self) -> AbstractAsyncContextManager[None]:
        """Keep the server's lifespan open."""
        ...

    def start(self, connection: Connection, /) -> Served:
        """Begin to serve a connection."""
        ...


_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_INTERRUPTED: Final = 130  # what a shell reports for a program ended by Ctrl+C


def run_stdio(server: Runnable, wire: Wire | None = None) -> None:
    """Serve the host that started this process, over its standard streams.

    Args:
        server: What serves.
        wire: The standard streams, if they were taken already.
    """
    from wigwag.transports.stdio_server import (  # noqa: PLC0415
        is_interactive,
        open_stdio,
        take_standard_streams,
    )

    if wire is None:
        if is_interactive():
            program = os.path.abspath(sys.argv[0])  # a host has another working folder
            introduce(server, [sys.executable, program, *sys.argv[1:]])
        wire = take_standard_streams()
    departure = Departure()

    async def serve(started: asyncio.Event, stop: asyncio.Event) -> None:
        async with server.running():
            started.set()
            connection = await open_stdio(
                wire, max_line_bytes=server.max_message_bytes, on_hang_up=departure.begin
            )
            served = server.start(connection)
            await first(served.wait_closed(), stop.wait())
            await served.aclose()

    run_until_told(serve, departure)
    # Whatever still runs in other threads, the process must go; so the departure is not called off.


def run_tcp(server: Runnable, host: str, port: int) -> None:
    """Serve whoever connects to a TCP port."""
    from wigwag.transports.sockets import listen_tcp  # noqa: PLC0415

    limit = server.max_message_bytes
    _run_listener(server, lambda accept: listen_tcp(accept, host, port, max_line_bytes=limit))


def run_unix(server: Runnable, path: str) -> None:
    """Serve whoever connects to a unix socket."""
    from wigwag.transports.sockets import listen_unix  # noqa: PLC0415

    limit = server.max_message_bytes
    _run_listener(server, lambda accept: listen_unix(accept, path, max_line_bytes=limit))


def run_sockets(server: Runnable, transport: str, host: str, port: int, path: str | None) -> None:
    """Serve whoever connects to a socket.

    Args:
        server: What serves.
        transport: `tcp` or `unix`.
        host: Where to listen, for `tcp`.
        port: Where to listen, for `tcp`.
        path: The socket, for `unix`.

    Raises:
        ValueError: There is no such transport, or its `path` is missing.
    """
    if transport == "tcp":
        run_tcp(server, host, port)
    elif transport == "unix":
        if path is None:
            raise ValueError('run("unix") needs the path of the socket')
        run_unix(server, path)
    else:
        raise ValueError(f"there is no transport {transport!r}: use stdio, http, tcp or unix")


_Listen = Callable[[Callable[[Connection], None]], Awaitable[asyncio.Server]]


def _run_listener(server: Runnable, listen: _Listen) -> None:
    async def serve(started: asyncio.Event, stop: asyncio.Event) -> None:
        served: set[Served] = set()

        def accept(connection: Connection) -> None:
            one = server.start(connection)
            served.add(one)
            task = asyncio.ensure_future(one.wait_closed())
            task.add_done_callback(lambda _: served.discard(one))

        async with server.running():
            started.set()
            listener = await listen(accept)
            _announce(server, listener)
            await stop.wait()
            _remove_socket(listener)
            listener.close()
            await asyncio.gather(*(one.aclose() for one in list(served)))

    departure = Departure()
    try:
        run_until_told(serve, departure)
    finally:
        departure.call_off()


Serve = Callable[[asyncio.Event, asyncio.Event], Coroutine[Any, Any, None]]


def run_until_told(
    serve: Serve,
    departure: Departure,
    loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None,
) -> None:
    """Run until `serve` returns; SIGTERM and Ctrl+C ask it to, a second one does not ask.

    Args:
        serve: Serves; it is given an event to set once it has begun, and one that it is told to
            stop by.
        departure: Sees to it that the process ends.
        loop_factory: Makes the event loop.
    """
    received: list[int] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        departure.attach(loop)
        started, stop = asyncio.Event(), asyncio.Event()
        serving = loop.create_task(serve(started, stop))

        def leave() -> None:
            stop.set()
            if not started.is_set():
                serving.cancel()

        def on_signal(number: int, _: object) -> None:
            if received:
                os._exit(128 + number)
            received.append(number)
            departure.exit_code = _INTERRUPTED if number == signal.SIGINT else 0
            departure.begin()
            loop.call_soon_threadsafe(leave)

        _on_signals(dict.fromkeys(_SIGNALS, on_signal))
        await asyncio.wait([serving])
        if not serving.cancelled():
            serving.result()
        departure.has_served()

    replaced = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            _run(runner.get_loop(), main())
    finally:
        _on_signals(replaced)
    if signal.SIGINT in received:
        sys.exit(_INTERRUPTED)


def _run(loop: asyncio.AbstractEventLoop, main: Coroutine[Any, Any, None]) -> None:
    """Run to the end, though a task that a handler has begun calls `sys.exit`.

    asyncio lets that through to whoever runs the event loop, which can go on all the same.
    """
    task = loop.create_task(main)
    while not task.done():
        try:
            loop.run_until_complete(task)
        except (SystemExit, KeyboardInterrupt) as error:
            if task.done() or must_pass(error):
                raise
            log_failure(error, "a task of a handler")


def _on_signals(handlers: Mapping[signal.Signals, Any]) -> None:
    # Not the event loop's own way: a handler that blocks the loop would block the signals too.
    for number, handler in handlers.items():
        try:
            signal.signal(number, handler)
        except (TypeError, ValueError):  # not Python's own, or not in the main thread
            return


async def first(*waits: Awaitable[object]) -> None:
    """Wait for the first of several, and stop waiting for the others."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


def _remove_socket(listener: asyncio.Server) -> None:
    """Remove the path of a unix socket while it is still ours: before anybody can replace it."""
    for address in (each.getsockname() for each in listener.sockets):
        if isinstance(address, str):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(address)


def _announce(server: Runnable, listener: asyncio.Server) -> None:
    """Say where to connect to."""
    for listening in listener.sockets:
        address = listening.getsockname()
        where = address if isinstance(address, str) else f"{address[0]} port {address[1]}"
        print(f"{server.info.name} listens on {where}", file=sys.stderr, flush=True)  # noqa: T201


def introduce(server: Runnable, command: list[str]) -> None:
    """Tell a person at a terminal what this program is.

    Args:
        server: What serves.
        command: What a host starts it with, whatever its working folder.
    """
    import shlex  # noqa: PLC0415 - a server that a host starts never gets here

    info = server.info
    print(  # noqa: T201 - to a person, who is there
        f"{info.name} {info.version} is an MCP server. It speaks JSON-RPC on its standard input\n"
        "and output, and is meant to be started by an MCP host, with this command:\n\n"
        f"    {shlex.join(command)}\n\n"
        "To talk to it by hand, type one JSON message a line; Ctrl+D ends it.",
        file=sys.stderr,
    )
