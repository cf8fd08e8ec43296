"""Stands between hosts and a server on HTTP/1.1, as a server that hosts are given the URL of.

Each connection of a host gets one to the server. Bodies and streams pass as they come, byte for
byte; of a head only what names the server changes: `Host` on the way there, `Location` on the way
back.
"""

from __future__ import annotations

import asyncio
import ssl as tls
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Final

from wigwag.bindings.http_hosts import HostRules
from wigwag.tracing.http_observation import HttpObservation, HttpPiece
from wigwag.tracing.http_relay_connection import RelayedConnection
from wigwag.tracing.http_target import HttpTarget
from wigwag.tracing.observer import Observer, Outlet
from wigwag.tracing.redaction import Redaction
from wigwag.transports.sockets import bind_tcp

__all__ = ["HttpRelay"]

_CLOSE_SECONDS: Final = 2.0
_BACKLOG: Final = 512
_ANYWHERE: Final = ("", "0.0.0.0", "::")


class HttpRelay:
    """A relay in front of a URL: `async with HttpRelay(url, outlets) as relay: relay.url`.

    Args:
        url: The server's.
        outlets: What is told of all that passes, in a thread of its own.
        host: The address to listen on.
        port: The port to listen on; 0 for any that is free.
        headers: What requests to the server carry besides, or instead of their own.
        allowed_hosts: Names that it is reached by, besides those of this machine.
        allowed_origins: Web pages that may use the relay, besides those of this machine.
        redaction: Takes out what is secret before the outlets get it.
        ssl: What servers are trusted; what the system trusts if `None`.

    Raises:
        ValueError: The URL is none.
    """

    def __init__(  # noqa: PLR0913 - most have what is usual
        self,
        url: str,
        outlets: Sequence[Outlet],
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        headers: Mapping[str, str] | None = None,
        allowed_hosts: Sequence[str] | None = None,
        allowed_origins: Sequence[str] = (),
        redaction: Redaction | None = None,
        ssl: tls.SSLContext | None = None,
    ) -> None:
        self._target = HttpTarget(url, headers, ssl)
        self._rules = HostRules(
            host=host, allowed_hosts=allowed_hosts, allowed_origins=allowed_origins
        )
        redaction = redaction or Redaction()
        for name, value in self._target.headers.items():
            redaction.header(name, value)  # from here on it is known
        self._outlets = outlets
        self._observation = HttpObservation(redaction)
        self._host, self._port = host, port
        self._count = 0
        self._connections: set[asyncio.Task[None]] = set()
        self._servers: list[asyncio.Server] = []
        self._observer: Observer

    @property
    def port(self) -> int:
        """The port it listens on, once it does."""
        return self._port

    @property
    def origin(self) -> str:
        """Scheme, address and port of the relay."""
        address = "127.0.0.1" if self._host in _ANYWHERE else self._host
        return f"http://{f'[{address}]' if ':' in address else address}:{self._port}"

    @property
    def url(self) -> str:
        """The URL to give to hosts; what is secret in the server's is added behind it."""
        return self.origin + self._target.path

    async def start(self) -> None:
        """Listen.

        Raises:
            TransportError: The port cannot be had.
        """
        sockets = bind_tcp(self._host, self._port, backlog=_BACKLOG)
        self._port = sockets[0].getsockname()[1]
        self._observer = Observer(self._observation.read, self._outlets)
        self._servers = [await asyncio.start_server(self._meet, sock=each) for each in sockets]

    async def aclose(self) -> None:
        """Close all connections, and look at what is left."""
        for server in self._servers:
            server.close()
        for task in self._connections:
            task.cancel()
        if self._connections:
            await asyncio.wait(self._connections, timeout=_CLOSE_SECONDS)
        end = HttpPiece(0, self._observer.now(), "client", "over", data=b"the relay was closed")
        self._observer.passed(end)
        await asyncio.get_running_loop().run_in_executor(None, self._observer.close)

    async def __aenter__(self) -> HttpRelay:
        """Start."""
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close."""
        await self.aclose()

    def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = RelayedConnection(
            self._target, self._rules, self._observer, self._next_number, (reader, writer)
        )
        task = asyncio.get_running_loop().create_task(connection.run())
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    def _next_number(self) -> int:
        self._count += 1
        return self._count
