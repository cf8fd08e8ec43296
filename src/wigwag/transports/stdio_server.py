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
from typing import TextIO

from wigwag.bindings.lines import DEFAULT_MAX_LINE_BYTES
from wigwag.errors import TransportError
from wigwag.transports.pipes import keep_large_buffers, widen
from wigwag.transports.stream import HIGH_WATER_BYTES, ByteWriter, ReadHalf, StreamConnection

__all__ = ["is_interactive", "open_stdio"]

# How long the event loop may be stuck after the host has gone before the process is ended anyway.
STUCK_TIMEOUT = 0.8

_taken = False


def is_interactive() -> bool:
    """Tell whether a person at a terminal, not a host, has started this process."""
    try:
        return os.isatty(0)
    except OSError:
        return False


async def open_stdio(*, max_line_bytes: int = DEFAULT_MAX_LINE_BYTES) -> StreamConnection:
    """Take the standard streams over and return the connection on them.

    From here on file descriptor 1 is the standard error and 0 the null device, for good.

    Raises:
        TransportError: The streams are closed, or were taken over before.
    """
    wire_in, wire_out = _take_over()
    keep_large_buffers()
    connection = StreamConnection(max_line_bytes=max_line_bytes, pause_with_writes=True)
    if _is_one_socket(wire_in, wire_out):
        os.close(wire_out)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_connection(
            lambda: connection, sock=socket.socket(fileno=wire_in)
        )
        transport.set_write_buffer_limits(HIGH_WATER_BYTES)
        connection.attach(transport, transport)
    else:
        await _attach_pipes(connection, wire_in, wire_out)
    _watch_for_abandonment(wire_in)
    return connection


def _take_over() -> tuple[int, int]:
    """Move the wire to private descriptors; nothing inherits them."""
    global _taken
    if _taken:
        raise TransportError("this process already serves its standard streams")
    try:
        wire_in, wire_out = os.dup(0), os.dup(1)
    except OSError as error:
        message = "standard input or output is closed: start this program from an MCP host"
        raise TransportError(message) from error
    _taken = True
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # the host gave us no standard error
        os.dup2(null, 1)
        os.dup2(null, 2)
    os.close(null)
    for text in (sys.stdout, sys.stderr):
        _make_harmless(text)
    return wire_in, wire_out


def _make_harmless(text: TextIO | None) -> None:
    """Let printing work whatever the locale: no character may raise in a tool."""
    reconfigure = getattr(text, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)


def _is_one_socket(wire_in: int, wire_out: int) -> bool:
    """Tell whether input and output are the same socket, as under inetd or a socketpair."""
    one, other = os.fstat(wire_in), os.fstat(wire_out)
    return stat.S_ISSOCK(one.st_mode) and os.path.samestat(one, other)


async def _attach_pipes(connection: StreamConnection, wire_in: int, wire_out: int) -> None:
    loop = asyncio.get_running_loop()
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


def _watch_for_abandonment(wire_in: int) -> None:
    """End the process when the host is gone and a handler has the event loop in its grip.

    The end of input is noticed by the event loop, which an `async def` tool that blocks keeps from
    running; without this such a server would outlive its host.
    """
    if sys.platform == "win32" or not _is_pollable(wire_in):
        return
    loop = asyncio.get_running_loop()
    fd = os.dup(wire_in)

    def watch() -> None:
        import select  # noqa: PLC0415 - asyncio has loaded it

        poll = select.poll()
        poll.register(fd, 0)  # no event of interest but the hang-up, which is always reported
        poll.poll()
        alive = threading.Event()
        try:
            loop.call_soon_threadsafe(alive.set)
        except RuntimeError:  # the loop has closed: the process is ending by itself
            return
        if not alive.wait(STUCK_TIMEOUT):
            os.write(2, b"wigwag: the host is gone and a tool blocks the event loop: leaving\n")
            os._exit(0)

    threading.Thread(target=watch, name="wigwag-hangup", daemon=True).start()
