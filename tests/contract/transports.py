"""Every way to carry messages, as the contract kit opens it."""

import asyncio
import os
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cache, partial
from pathlib import Path
from types import ModuleType

from tests.contract.connection_contract import Ends, Raw, Transport
from tests.docs.pages import ROOT, blocks_of, files_of
from wigwag.bindings.lines import DEFAULT_MAX_LINE_BYTES
from wigwag.transports.contract import Connection
from wigwag.transports.memory import memory_pair
from wigwag.transports.sockets import connect_tcp, connect_unix, listen_tcp, listen_unix
from wigwag.transports.stdio_client import StdioServerParameters, spawn_server
from wigwag.transports.stdio_server import Wire, open_stdio
from wigwag.transports.stream import ReadHalf, StreamConnection

HOST = "127.0.0.1"
RELAY = Path(__file__).with_name("relay.py")
# A peer that does not read is to be given up sooner than in earnest.
CLOSE_TIMEOUT = 0.3
# So little that a peer that does not read is noticed.
RAW_BUFFER_BYTES = 64 * 1024


@asynccontextmanager
async def socket_path() -> AsyncIterator[str]:
    """Make a place for a unix socket; its path has to be short."""
    with tempfile.TemporaryDirectory(prefix="wigwag-") as folder:
        yield os.path.join(folder, "socket")


# --- in memory


@asynccontextmanager
async def open_memory(_: int | None) -> AsyncIterator[Ends]:
    yield Ends(*memory_pair())


# --- sockets

Accept = Callable[[Connection], None]
Listen = Callable[[Accept], Awaitable[asyncio.Server]]
Connect = Callable[[asyncio.Server], Awaitable[Connection]]


@asynccontextmanager
async def open_sockets(listen: Listen, connect: Connect) -> AsyncIterator[Ends]:
    accepted: asyncio.Future[Connection] = asyncio.get_running_loop().create_future()
    listener = await listen(accepted.set_result)
    try:
        yield Ends(await connect(listener), await accepted)
    finally:
        listener.close()


@asynccontextmanager
async def open_raw_socket(
    connect: Callable[[str], Awaitable[Connection]],
) -> AsyncIterator[Raw]:
    """Open a connection to a unix socket whose other end is bytes."""
    accepted: asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]]
    accepted = asyncio.get_running_loop().create_future()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.set_result((reader, writer))

    async with socket_path() as path:
        listener = await asyncio.start_unix_server(accept, path, limit=RAW_BUFFER_BYTES)
        connection = await connect(path)
        reader, writer = await accepted
        listener.close()
        try:
            yield Raw(connection, reader, writer.write_eof, writer.transport.abort)
        finally:
            writer.transport.abort()


def port_of(listener: asyncio.Server) -> int:
    port: int = listener.sockets[0].getsockname()[1]
    return port


@asynccontextmanager
async def open_unix(limit: int | None) -> AsyncIterator[Ends]:
    bytes_ = limit or DEFAULT_MAX_LINE_BYTES
    async with (
        socket_path() as path,
        open_sockets(
            lambda accept: listen_unix(accept, path, max_line_bytes=bytes_),
            lambda _: connect_unix(path, max_line_bytes=bytes_),
        ) as ends,
    ):
        yield ends


@asynccontextmanager
async def open_tcp(limit: int | None) -> AsyncIterator[Ends]:
    bytes_ = limit or DEFAULT_MAX_LINE_BYTES
    async with open_sockets(
        lambda accept: listen_tcp(accept, HOST, 0, max_line_bytes=bytes_),
        lambda listener: connect_tcp(HOST, port_of(listener), max_line_bytes=bytes_),
    ) as ends:
        yield ends


@asynccontextmanager
async def open_raw_accepted() -> AsyncIterator[Raw]:
    """Open the listening end of a unix socket, against bytes."""
    accepted: asyncio.Future[Connection] = asyncio.get_running_loop().create_future()
    async with socket_path() as path:
        listener = await listen_unix(accepted.set_result, path)
        reader, writer = await asyncio.open_unix_connection(path, limit=RAW_BUFFER_BYTES)
        connection = await accepted
        listener.close()
        try:
            yield Raw(connection, reader, writer.write_eof, writer.transport.abort)
        finally:
            writer.transport.abort()


# --- the client's end of stdio: a process, which hands everything on to a socket of ours


async def spawn_relay(path: str, limit: int | None = None) -> Connection:
    command = StdioServerParameters(
        command=sys.executable, args=["-ISE", str(RELAY), path], exit_timeout=0.5
    )
    return await spawn_server(command, max_line_bytes=limit or DEFAULT_MAX_LINE_BYTES)


@asynccontextmanager
async def open_process(limit: int | None) -> AsyncIterator[Ends]:
    async with (
        socket_path() as path,
        open_sockets(
            lambda accept: listen_unix(accept, path, max_line_bytes=limit or 2**30),
            lambda _: spawn_relay(path, limit),
        ) as ends,
    ):
        yield ends


# --- the server's end of stdio: descriptors, whose other ends are ours


class ClientsEnd(StreamConnection):
    """A client's end of a byte stream: when the server has nothing more to say, that is the end."""

    def eof_received(self) -> bool:
        super().eof_received()
        self.connection_lost(None)
        return False


async def stream_on(reading: int, writing: int, *, limit: int | None) -> StreamConnection:
    """Return the client's end of two pipes."""
    loop = asyncio.get_running_loop()
    connection = ClientsEnd(max_line_bytes=limit or DEFAULT_MAX_LINE_BYTES)
    writer, _ = await loop.connect_write_pipe(lambda: connection, os.fdopen(writing, "wb", 0))
    reader, _ = await loop.connect_read_pipe(
        lambda: ReadHalf(connection), os.fdopen(reading, "rb", 0)
    )
    connection.attach(reader, writer)
    return connection


@asynccontextmanager
async def open_pipes(limit: int | None) -> AsyncIterator[Ends]:
    (their_input, our_output), (our_input, their_output) = os.pipe(), os.pipe()
    server = await open_stdio(
        Wire(their_input, their_output), max_line_bytes=limit or DEFAULT_MAX_LINE_BYTES
    )
    yield Ends(await stream_on(our_input, our_output, limit=limit), server)


@asynccontextmanager
async def open_raw_pipes() -> AsyncIterator[Raw]:
    loop = asyncio.get_running_loop()
    (their_input, our_output), (our_input, their_output) = os.pipe(), os.pipe()
    server = await open_stdio(Wire(their_input, their_output))
    reader = asyncio.StreamReader(limit=RAW_BUFFER_BYTES)
    reading, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(our_input, "rb", 0)
    )
    with os.fdopen(our_output, "wb", 0) as output:

        def drop() -> None:
            output.close()
            reading.close()

        yield Raw(server, reader, output.close, drop)
    reading.close()


def _of_one_socket(wire: socket.socket) -> Wire:
    """Return a socket as the standard streams of a process that inherited it twice."""
    return Wire(os.dup(wire.fileno()), wire.detach())


@asynccontextmanager
async def open_socket_pair(limit: int | None) -> AsyncIterator[Ends]:
    ours, theirs = socket.socketpair()
    bytes_ = limit or DEFAULT_MAX_LINE_BYTES
    server = await open_stdio(_of_one_socket(theirs), max_line_bytes=bytes_)
    client = ClientsEnd(max_line_bytes=bytes_)
    transport, _ = await asyncio.get_running_loop().create_connection(lambda: client, sock=ours)
    client.attach(transport, transport)
    yield Ends(client, server)


# --- one that a user made: the example of the page on it, as it stands there


@cache
def framed() -> ModuleType:
    page = ROOT / "docs" / "custom-transport.md"
    module = ModuleType("framed")
    exec(compile(files_of(blocks_of(page))["framed.py"], str(page), "exec"), module.__dict__)
    assert "CLOSE_TIMEOUT" in module.__dict__
    module.__dict__["CLOSE_TIMEOUT"] = CLOSE_TIMEOUT
    return module


@asynccontextmanager
async def open_framed(_: int | None) -> AsyncIterator[Ends]:
    made = framed()
    async with open_sockets(
        lambda accept: made.listen(accept, HOST, 0),
        lambda listener: made.connect(HOST, port_of(listener)),
    ) as ends:
        yield ends


async def connect_framed(path: str) -> Connection:
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_unix_connection(framed().FramedConnection, path)
    made: Connection = connection
    return made


_ALL = (
    Transport("memory", open_memory, has_limit=False),
    Transport("unix", open_unix, partial(open_raw_socket, connect_unix), reads_on=False),
    Transport("unix, accepted", open_unix, open_raw_accepted),
    Transport("tcp", open_tcp),
    Transport("process", open_process, partial(open_raw_socket, spawn_relay), reads_on=False),
    Transport("stdio on pipes", open_pipes, open_raw_pipes),
    Transport("stdio on one socket", open_socket_pair),
    Transport(
        "the page's own",
        open_framed,
        partial(open_raw_socket, connect_framed),
        has_limit=False,
        reads_on=False,
    ),
)

# Elsewhere there are neither unix sockets nor pipes that an event loop could wait for.
TRANSPORTS = _ALL if os.name == "posix" else tuple(t for t in _ALL if t.name in ("memory", "tcp"))
