"""Unix and TCP sockets with the framing of stdio.

Spec: basic/transports#custom-transports
"""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from collections.abc import Callable

from wigwag.bindings.lines import DEFAULT_MAX_LINE_BYTES
from wigwag.errors import ConnectionRefused, HostNotFound, ServerUnreachable, TransportError
from wigwag.transports.contract import Connection, Received
from wigwag.transports.stream import HIGH_WATER_BYTES, StreamConnection, is_torn_answer

__all__ = ["bind_tcp", "connect_tcp", "connect_unix", "listen_tcp", "listen_unix"]


class _SocketConnection(StreamConnection):
    """A connection whose two halves are one socket."""

    def __init__(
        self, *, max_line_bytes: int, on_open: Callable[[Connection], None] | None = None
    ) -> None:
        super().__init__(max_line_bytes=max_line_bytes, pause_with_writes=on_open is not None)
        self._on_open = on_open

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the socket."""
        assert isinstance(transport, asyncio.Transport)
        transport.set_write_buffer_limits(HIGH_WATER_BYTES)
        self.attach(transport, transport)
        if self._on_open is not None:
            self._on_open(self)

    def eof_received(self) -> bool:
        """Pass the end of the input on; a server may still answer, a client is done."""
        super().eof_received()
        return self._on_open is not None

    def takes_last(self, line: Received) -> bool:
        """Leave out what a server had not written to its end."""
        return self._on_open is not None or not is_torn_answer(line)


async def connect_tcp(
    host: str, port: int, *, max_line_bytes: int = DEFAULT_MAX_LINE_BYTES
) -> StreamConnection:
    """Connect to a server that listens on a TCP port.

    Raises:
        ServerUnreachable: Nobody listens there, or the host cannot be found.
    """
    loop = asyncio.get_running_loop()
    try:
        _, connection = await loop.create_connection(
            lambda: _SocketConnection(max_line_bytes=max_line_bytes), host, port
        )
    except OSError as error:
        raise _unreachable(f"cannot connect to {host} port {port}", error) from error
    return connection


async def connect_unix(
    path: str | os.PathLike[str], *, max_line_bytes: int = DEFAULT_MAX_LINE_BYTES
) -> StreamConnection:
    """Connect to a server that listens on a unix socket.

    Raises:
        ServerUnreachable: There is no such socket, or nobody listens on it.
        TransportError: It is somebody else's.
    """
    loop = asyncio.get_running_loop()
    try:
        _, connection = await loop.create_unix_connection(
            lambda: _SocketConnection(max_line_bytes=max_line_bytes), os.fspath(path)
        )
    except OSError as error:
        raise _unreachable(f"cannot connect to the socket {path}", error) from error
    return connection


def _unreachable(what: str, error: OSError) -> TransportError:
    kind: type[TransportError] = ServerUnreachable
    if isinstance(error, ConnectionRefusedError | FileNotFoundError):
        kind = ConnectionRefused
    elif isinstance(error, socket.gaierror):
        kind = HostNotFound
    elif isinstance(error, PermissionError):
        kind = TransportError
    return kind(f"{what}: {error}")


async def listen_tcp(
    on_connection: Callable[[Connection], None],
    host: str,
    port: int,
    *,
    max_line_bytes: int = DEFAULT_MAX_LINE_BYTES,
) -> asyncio.Server:
    """Listen on a TCP port and call `on_connection` with each connection.

    Raises:
        TransportError: The port cannot be had.
    """
    loop = asyncio.get_running_loop()
    try:
        return await loop.create_server(
            lambda: _SocketConnection(max_line_bytes=max_line_bytes, on_open=on_connection),
            host,
            port,
        )
    except OSError as error:
        raise TransportError(f"cannot listen on {host} port {port}: {error}") from error


def bind_tcp(host: str, port: int, *, backlog: int) -> list[socket.socket]:
    """Return sockets that listen on a TCP port, one for each address of the host.

    Raises:
        TransportError: The port cannot be had, or the host cannot be found.
    """
    sockets: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        for family, _, _, _, address in dict.fromkeys(found):
            listener = socket.socket(family, socket.SOCK_STREAM)
            sockets.append(listener)
            if os.name == "posix":
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            # All addresses get the same port, also when the system chooses it.
            port = port or sockets[0].getsockname()[1]
            listener.bind((address[0], port, *address[2:]))
            listener.listen(backlog)
            listener.setblocking(False)  # noqa: FBT003
    except (OSError, OverflowError) as error:
        for listener in sockets:
            listener.close()
        raise TransportError(f"cannot listen on {host} port {port}: {error}") from error
    return sockets


async def listen_unix(
    on_connection: Callable[[Connection], None],
    path: str | os.PathLike[str],
    *,
    max_line_bytes: int = DEFAULT_MAX_LINE_BYTES,
) -> asyncio.Server:
    """Listen on a unix socket, for this user only, and call `on_connection` with each connection.

    A socket that a dead server left behind is replaced; one that is in use is not.

    Raises:
        TransportError: The path is in use, or cannot be had.
    """
    await _remove_abandoned(os.fspath(path))
    listener = socket.socket(socket.AF_UNIX)
    # Between the two lines no other task runs: the mask is the whole process's.
    mask = os.umask(0o177)
    try:
        listener.bind(os.fspath(path))
        listener.listen()  # at once: whoever sees the socket may connect to it
    except OSError as error:
        listener.close()
        raise TransportError(f"cannot listen on {path}: {error}") from error
    finally:
        os.umask(mask)
    return await asyncio.get_running_loop().create_unix_server(
        lambda: _SocketConnection(max_line_bytes=max_line_bytes, on_open=on_connection),
        sock=listener,
    )


async def _remove_abandoned(path: str) -> None:
    try:
        is_socket = stat.S_ISSOCK(os.stat(path).st_mode)
    except FileNotFoundError:
        return
    if not is_socket:
        raise TransportError(f"cannot listen on {path}: a file is in the way")
    try:
        _, writer = await asyncio.open_unix_connection(path)
    except ConnectionRefusedError:
        os.unlink(path)
    else:
        writer.close()
        raise TransportError(f"cannot listen on {path}: another server listens there")
