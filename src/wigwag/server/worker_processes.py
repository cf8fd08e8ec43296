"""Processes that serve the same sockets: how each is started, says that it serves, and is stopped.

A worker is told what to serve by a line on its standard input, and leaves when that ends: also
when whoever has started it is gone. On its standard output it says what has become of it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, NoReturn

import msgspec

from wigwag.errors import ServerNotLoaded, TransportError
from wigwag.server.authors_code import blaming_the_author
from wigwag.server.http_app import DEFAULT_PATH
from wigwag.server.http_process import make_http_server, serve_sockets
from wigwag.server.loading import Code
from wigwag.transports.stdio_server import Wire, take_standard_streams

__all__ = ["Failed", "Orders", "Serving", "Worker", "work"]

# What a worker has besides the grace of its requests.
_LEAVE_TIMEOUT: Final = 5.0
_PROGRAM: Final = "from wigwag.server.worker_processes import work; work()"
_KINDS: Final[dict[str, type[Exception]]] = {
    "ValueError": ValueError,
    "ServerNotLoaded": ServerNotLoaded,
    "TransportError": TransportError,
}


class Orders(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker is to serve.

    Attributes:
        code: The code with the server in it.
        listeners: The descriptors of the sockets.
        state_key: What all of them seal with.
        path: The path of the endpoint.
        certfile: The certificate.
        keyfile: Its key.
        http: What else `Server.http_app` takes.
    """

    code: Code
    listeners: Sequence[int] = ()
    state_key: bytes = b""
    path: str = DEFAULT_PATH
    certfile: str | None = None
    keyfile: str | None = None
    http: dict[str, Any] = {}


class Serving(msgspec.Struct, frozen=True, tag="serving"):
    """A worker serves.

    Attributes:
        name: The name of its server.
        path: The path of the endpoint, as it is.
    """

    name: str
    path: str


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """A worker cannot serve.

    Attributes:
        kind: The kind of error.
        text: What is wrong.
    """

    kind: str
    text: str

    def to_error(self) -> Exception:
        """Return what would have been raised without workers."""
        return _KINDS.get(self.kind, ServerNotLoaded)(self.text)


_reports: Final = msgspec.json.Decoder(Serving | Failed)


class Worker:
    """A process that serves, seen from the one that has started it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._end = asyncio.ensure_future(process.wait())

    @classmethod
    async def start(cls, orders: Orders) -> Worker:
        """Start a process and tell it what to serve."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # the working folder may have files that are named like modules
            "-c",
            _PROGRAM,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            pass_fds=tuple(orders.listeners),
            process_group=0,  # Ctrl+C is for us, who tell it
        )
        assert process.stdin is not None
        process.stdin.write(msgspec.json.encode(orders) + b"\n")
        return cls(process)

    async def wait_report(self) -> Serving | Failed:
        """Wait until it serves or has failed."""
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        try:
            return _reports.decode(line)
        except msgspec.DecodeError:
            code = await self.wait_end()
            return Failed("ServerNotLoaded", f"it has ended with code {code} before it served")

    async def wait_end(self) -> int:
        """Wait until it is gone, and return its exit code."""
        return await asyncio.shield(self._end)

    async def stop(self, grace: float) -> None:
        """Let it end what it does, and see to it that it is gone.

        Args:
            grace: Seconds that its requests have to finish.
        """
        assert self._process.stdin is not None
        self._process.stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(self.wait_end(), grace + _LEAVE_TIMEOUT)
        self.kill()
        await self.wait_end()

    def kill(self) -> None:
        """End it at once."""
        with suppress(ProcessLookupError):
            self._process.kill()


def work() -> NoReturn:
    """Be a worker, which is all that this process is for.

    Raises:
        SystemExit: It has served, or could not.
    """
    wire = take_standard_streams()
    orders = msgspec.json.decode(_read_line(wire.input), type=Orders)
    threading.Thread(target=_leave_with_it, args=(wire.input,), daemon=True).start()
    try:
        _serve(orders, wire)
    except (ServerNotLoaded, TransportError, ValueError, TypeError) as error:
        kind = next((name for name in _KINDS if isinstance(error, _KINDS[name])), "ValueError")
        _report(wire, Failed(kind, str(error)))
        sys.exit(1)
    sys.exit(0)


def _serve(orders: Orders, wire: Wire) -> None:
    server = orders.code.load()
    server.share_state_key(orders.state_key)
    app = server.http_app(orders.path, **orders.http)
    serving = make_http_server(app, certfile=orders.certfile, keyfile=orders.keyfile)
    sockets = [socket.socket(fileno=number) for number in orders.listeners]
    for each in sockets:
        each.set_inheritable(False)
    report = Serving(server.info.name, app.path)
    with blaming_the_author(orders.code.target):
        serve_sockets(app, serving, sockets, lambda: _report(wire, report))


def _read_line(descriptor: int) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        data = os.read(descriptor, 65536)
        if not data:
            sys.exit(0)  # whoever has started it is gone
        line += data
    return line


def _leave_with_it(descriptor: int) -> None:
    """Leave when whoever has started this process is gone, or wants it to."""
    while os.read(descriptor, 4096):
        pass
    main = threading.main_thread().ident
    assert main is not None
    signal.pthread_kill(main, signal.SIGTERM)


def _report(wire: Wire, report: Serving | Failed) -> None:
    with suppress(OSError):  # nobody is there to read it
        os.write(wire.output, msgspec.json.encode(report) + b"\n")
