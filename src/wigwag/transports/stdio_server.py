"""The server's end of stdio: this process's own standard streams as the wire.

The wire is moved to private descriptors and the standard ones are pointed elsewhere, so that
neither `print`, nor C code, nor a child process can write into the protocol or read from it.
Spec: basic/transports/stdio
"""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import sys
import threading
from collections.abc import Callable
from typing import Final, NamedTuple, TextIO

from wigwag.bindings.lines import DEFAULT_MAX_LINE_BYTES
from wigwag.errors import TransportError
from wigwag.transports.pipes import keep_large_buffers, widen
from wigwag.transports.stream import HIGH_WATER_BYTES, ByteWriter, ReadHalf, StreamConnection

__all__ = ["Wire", "is_interactive", "open_stdio", "take_standard_streams"]

_taken = False
_CLOSED: Final = "standard input or output is closed: start this program from an MCP host"


def is_interactive() -> bool:
    """Tell whether a person at a terminal, not a host, has started this process."""
    try:
        return os.isatty(0)
    except OSError:
        return False


class Wire(NamedTuple):
    """The descriptors that the protocol has for itself."""

    input: int
    output: int


def take_standard_streams() -> Wire:
    """Move the wire to private descriptors, which nothing inherits.

    From here on file descriptor 1 is the standard error and 0 the null device, for good. Call it
    before anything else opens a descriptor, the event loop included: where a standard stream is
    closed, that would get its number.

    Raises:
        TransportError: The streams are closed, or were taken over before.
    """
    global _taken
    if _taken:
        raise TransportError("this process already serves its standard streams")
    if sys.__stdin__ is None or sys.__stdout__ is None:  # closed when the program began
        raise TransportError(_CLOSED)
    _open_standard_error()
    try:
        wire = Wire(os.dup(0), os.dup(1))
    except OSError as error:
        raise TransportError(_CLOSED) from error
    _taken = True
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null if sys.stderr is None else 2, 1)
    os.close(null)
    for text in (sys.stdout, sys.stderr):
        _make_harmless(text)
    return wire


def _open_standard_error() -> None:
    """Give a process that has no standard error the null device for one."""
    try:
        os.fstat(2)
    except OSError:
        os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # noqa: FBT003 - has no name
        if sys.stderr is None:
            sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115 - for good


async def open_stdio(
    wire: Wire,
    *,
    max_line_bytes: int = DEFAULT_MAX_LINE_BYTES,
    on_hang_up: Callable[[], None] | None = None,
) -> StreamConnection:
    """Return the connection on the standard streams.

    Args:
        wire: What `take_standard_streams` has returned.
        max_line_bytes: Longest message accepted, in bytes.
        on_hang_up: Called in a thread of its own when the host has gone, also while a handler has
            the event loop in its grip; only where the system tells.
    """
    keep_large_buffers()
    connection = StreamConnection(max_line_bytes=max_line_bytes, pause_with_writes=True)
    if _is_one_socket(wire):
        os.close(wire.output)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_connection(
            lambda: connection, sock=socket.socket(fileno=wire.input)
        )
        transport.set_write_buffer_limits(HIGH_WATER_BYTES)
        connection.attach(transport, transport)
    else:
        await _attach_pipes(connection, wire)
    if on_hang_up is not None:
        _watch_for_hang_up(wire.input, on_hang_up)
    return connection


def _make_harmless(text: TextIO | None) -> None:
    """Let printing work whatever the locale: no character may raise in a tool."""
    reconfigure = getattr(text, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)


def _is_one_socket(wire: Wire) -> bool:
    """Tell whether input and output are the same socket, as under inetd or a socketpair."""
    one, other = os.fstat(wire.input), os.fstat(wire.output)
    return stat.S_ISSOCK(one.st_mode) and os.path.samestat(one, other)


async def _attach_pipes(connection: StreamConnection, wire: Wire) -> None:
    loop = asyncio.get_running_loop()
    wire_in, wire_out = wire
    writer: ByteWriter
    if _is_pollable(wire_out):
        widen(wire_out)
        write_pipe = os.fdopen(wire_out, "wb", buffering=0)
        transport, _ = await loop.connect_write_pipe(lambda: connection, write_pipe)
        transport.set_write_buffer_limits(HIGH_WATER_BYTES)
        writer = transport
    else:
        writer = _BlockingWriter(wire_out, connection)
    if _is_pollable(wire_in):
        widen(wire_in)
        read_pipe = os.fdopen(wire_in, "rb", buffering=0)
        reader, _ = await loop.connect_read_pipe(lambda: ReadHalf(connection), read_pipe)
        connection.attach(reader, writer)
    else:
        connection.attach(_ThreadReader(wire_in, connection), writer)


def _is_pollable(fd: int) -> bool:
    """Tell whether readiness of the descriptor can be waited for.

    Files cannot be polled, a terminal must not be made non-blocking (its shell shares it), and
    the event loop of Windows cannot wait for the standard handles at all.
    """
    mode = os.fstat(fd).st_mode
    return sys.platform != "win32" and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode))


class _ThreadReader:
    """Reads a descriptor in a thread, where its readiness cannot be waited for."""

    # Chunks read ahead of the event loop; bounds the memory when the input is a huge file.
    _AHEAD = 4
    _CHUNK_BYTES = 64 * 1024

    def __init__(self, fd: int, connection: StreamConnection) -> None:
        self._fd = fd
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._room = threading.Semaphore(self._AHEAD)
        self._paused: list[bytes] | None = None  # chunks held back while paused
        self._closed = False
        threading.Thread(target=self._run, name="wigwag-stdin", daemon=True).start()

    def pause_reading(self) -> None:
        """Hold back what is read from here on; soon nothing more is read."""
        if self._paused is None:
            self._paused = []

    def resume_reading(self) -> None:
        """Deliver what was held back and go on."""
        held, self._paused = self._paused or [], None
        for data in held:
            self._deliver(data)

    def close(self) -> None:
        """Deliver nothing more. The thread may stay in its read; it holds up nobody."""
        self._closed = True

    def _run(self) -> None:
        data = b"more"
        while data:
            self._room.acquire()
            try:
                data = os.read(self._fd, self._CHUNK_BYTES)
            except OSError:
                data = b""
            try:
                self._loop.call_soon_threadsafe(self._deliver, data)
            except RuntimeError:  # the loop has closed
                return

    def _deliver(self, data: bytes) -> None:
        if self._paused is not None:
            self._paused.append(data)
            return
        self._room.release()
        if self._closed:
            return
        if data:
            self._connection.data_received(data)
        else:
            self._connection.eof_received()


class _BlockingWriter:
    """Writes to a descriptor that takes bytes without waiting: a file, or a terminal."""

    def __init__(self, fd: int, connection: StreamConnection) -> None:
        self._fd = fd
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._closed = False

    def write(self, data: bytes, /) -> None:
        """Write all of it."""
        view = memoryview(data)
        try:
            while view and not self._closed:
                view = view[os.write(self._fd, view) :]
        except OSError as error:
            self._closed = True
            self._loop.call_soon(self._connection.connection_lost, error)

    def close(self) -> None:
        """Write nothing more."""
        self._closed = True
        self._loop.call_soon(self._connection.connection_lost, None)

    abort = close


def _watch_for_hang_up(wire_in: int, on_hang_up: Callable[[], None]) -> None:
    if sys.platform == "win32" or not _is_pollable(wire_in):
        return
    fd = os.dup(wire_in)

    def watch() -> None:
        import select  # noqa: PLC0415 - asyncio has loaded it

        poll = select.poll()
        poll.register(fd, 0)  # no event of interest but the hang-up, which is always reported
        poll.poll()
        os.close(fd)
        on_hang_up()

    threading.Thread(target=watch, name="wigwag-hang-up", daemon=True).start()
