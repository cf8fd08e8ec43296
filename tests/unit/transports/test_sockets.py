"""Opening sockets: who may connect, what stands in the way, and what is said about it."""

import asyncio
import os
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.connection_contract import Recorder
from wigwag.errors import ConnectionClosed, TransportError
from wigwag.transports.contract import Connection
from wigwag.transports.sockets import connect_tcp, connect_unix, listen_tcp, listen_unix
from wigwag.transports.stream import StreamConnection

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(os.name != "posix", reason="there are no unix sockets"),
]

HOST = "127.0.0.1"
PRECIOUS = "precious"


@pytest.fixture
def path() -> Iterator[Path]:
    """Return a path that is short enough for a unix socket."""
    with tempfile.TemporaryDirectory(prefix="wigwag-") as folder:
        yield Path(folder) / "socket"


def put(path: Path, kind: str) -> None:
    """Put something in the way."""
    if kind == "folder":
        path.mkdir()
    else:
        path.write_text(PRECIOUS)


def kind_of(path: Path) -> str:
    """Tell what is there, if it is as it was put."""
    if path.is_dir():
        return "folder"
    return "file" if path.read_text() == PRECIOUS else "something else"


class Accepting(list[Connection]):
    """Keeps what connects, and closes it in the end."""

    def __call__(self, connection: Connection) -> None:
        self.append(connection)
        connection.start(self)

    def messages_received(self, messages: object) -> None: ...

    def end_of_input(self) -> None: ...

    def connection_lost(self, reason: Exception | None) -> None: ...

    async def wait(self, count: int) -> None:
        async with asyncio.timeout(10):
            while len(self) < count:
                turn = asyncio.Event()
                asyncio.get_running_loop().call_later(0.001, turn.set)
                await turn.wait()

    async def aclose(self) -> None:
        for connection in self:
            await connection.aclose()


# --- connecting


async def test_nobody_at_a_port_is_named_with_the_port() -> None:
    with socket.socket() as bound:
        bound.bind((HOST, 0))  # and does not listen
        port = bound.getsockname()[1]
        with pytest.raises(TransportError, match=f"cannot connect to {HOST} port {port}: "):
            await connect_tcp(HOST, port)


async def test_a_host_that_cannot_be_found_is_named() -> None:
    with pytest.raises(TransportError, match=r"cannot connect to nowhere\.invalid port 80: "):
        await connect_tcp("nowhere.invalid", 80)


async def test_nobody_at_a_path_is_named_with_the_path(path: Path) -> None:
    with pytest.raises(TransportError, match=f"cannot connect to the socket {path}: ") as caught:
        await connect_unix(path)
    assert not isinstance(caught.value, ConnectionClosed)
    put(path, "file")
    with pytest.raises(TransportError, match=f"cannot connect to the socket {path}: "):
        await connect_unix(path)


# --- listening on a port


async def test_a_port_that_is_taken_is_named() -> None:
    accepting = Accepting()
    listener = await listen_tcp(accepting, HOST, 0)
    port = listener.sockets[0].getsockname()[1]
    with pytest.raises(TransportError, match=f"cannot listen on {HOST} port {port}: "):
        await listen_tcp(accepting, HOST, port)
    listener.close()


async def test_several_clients_are_each_accepted() -> None:
    accepting = Accepting()
    listener = await listen_tcp(accepting, HOST, 0)
    clients = [await connect_tcp(HOST, listener.sockets[0].getsockname()[1]) for _ in range(3)]
    await accepting.wait(3)
    assert len(set(map(id, accepting))) == 3
    for client in clients:
        await client.aclose()
    await accepting.aclose()
    listener.close()


# --- listening on a path


async def test_only_this_user_may_connect(path: Path) -> None:
    before = os.umask(0)
    try:
        listener = await listen_unix(Accepting(), path)
        assert os.umask(0) == 0  # it is the whole process's, and is as it was
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    listener.close()


async def test_a_socket_that_a_dead_server_left_is_replaced(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
        dead.listen()
    accepting = Accepting()
    listener = await listen_unix(accepting, path)
    client = await connect_unix(path)
    await accepting.wait(1)
    await client.aclose()
    await accepting.aclose()
    listener.close()


async def test_a_socket_in_use_is_left_to_who_uses_it(path: Path) -> None:
    first = Accepting()
    listener = await listen_unix(first, path)
    with pytest.raises(TransportError, match=f"cannot listen on {path}: another server listens"):
        await listen_unix(Accepting(), path)
    client = await connect_unix(path)
    await first.wait(2)  # the look at it was a connection as well
    await client.aclose()
    await first.aclose()
    listener.close()


@pytest.mark.parametrize("kind", ["file", "folder"])
async def test_whatever_else_is_in_the_way_is_left_alone(path: Path, kind: str) -> None:
    put(path, kind)
    with pytest.raises(TransportError, match=f"cannot listen on {path}: a file is in the way"):
        await listen_unix(Accepting(), path)
    assert kind_of(path) == kind


async def test_a_path_that_cannot_be_had_is_named(path: Path) -> None:
    nowhere = path.parent / "nowhere" / "socket"
    with pytest.raises(TransportError, match=f"cannot listen on {nowhere}: "):
        await listen_unix(Accepting(), nowhere)
    too_long = path.parent / ("x" * 200)
    with pytest.raises(TransportError, match="cannot listen on "):
        await listen_unix(Accepting(), too_long)


# --- the end of the other side


@pytest.mark.parametrize("by", ["client", "server"])
async def test_half_an_answer_is_no_answer_and_half_a_request_is_for_the_server_to_refuse(
    by: str,
) -> None:
    accepted: asyncio.Future[tuple[Connection, Recorder]] = asyncio.Future()

    def accept(connection: Connection) -> None:
        hearer = Recorder()
        connection.start(hearer)
        accepted.set_result((connection, hearer))

    half = b'{"jsonrpc":"2.0","id":1,"result":{"cont'
    listener = await listen_tcp(accept, HOST, 0)
    client = await connect_tcp(HOST, listener.sockets[0].getsockname()[1])
    recorder = Recorder()
    client.start(recorder)
    server, hearer = await asyncio.wait_for(accepted, 10)
    speaker, hearer = (client, hearer) if by == "client" else (server, recorder)
    assert isinstance(speaker, StreamConnection)
    assert isinstance(speaker._writer, asyncio.Transport)
    speaker._writer.write(half)
    await speaker.aclose()
    await hearer.wait_ended()
    assert hearer.messages == ([half] if by == "client" else [])
    await client.aclose()
    await server.aclose()
    listener.close()
