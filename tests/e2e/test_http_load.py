"""Many clients, and clients that go away in every state: nothing of them may be left."""

import asyncio
import json
import resource
import socket
import struct
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.asgi import (
    JSON,
    Message,
    hello,
    legacy,
    legacy_call,
    modern,
    modern_call,
    notification,
)
from tests.e2e.conftest import launching
from tests.e2e.host import PATIENCE, SERVERS, Host, text_of
from tests.e2e.http_wire import address_of, request_bytes

pytestmark = pytest.mark.anyio

Address = tuple[str, int]
TOKEN = {"progressToken": "p"}
LONG_ENOUGH = 6.0


@pytest.fixture(scope="module", autouse=True)
def many_descriptors() -> Iterator[None]:
    """Allow as many open connections as the tests need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 8192 if hard == resource.RLIM_INFINITY else min(hard, 8192)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with launching(tmp_path_factory.mktemp("load")) as launch:
        host = launch(SERVERS / "web.py")
        address_of(host)
        yield host
        assert "Traceback" not in host.stderr


@pytest.fixture
def address(host: Host) -> Address:
    return address_of(host)


class Connection:
    """A connection that one request after the other is sent on."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.session: dict[str, str] = {}

    async def post(
        self, message: Message | bytes, headers: dict[str, str] | None = None
    ) -> "tuple[int, dict[str, str]]":
        """Post a message and read the head of the answer."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return await self.ask("POST", headers={**JSON, **(headers or {})}, body=body)

    async def ask(self, method: str, path: str = "/mcp", **more: Any) -> tuple[int, dict[str, str]]:
        """Send a request and read the head of the answer."""
        self.writer.write(request_bytes(method, path, **more))
        start, *lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines if line)
        return int(start.split(" ")[1]), headers

    async def body(self, headers: dict[str, str]) -> bytes:
        """Read the body of an answer."""
        if "content-length" in headers:
            return await self.reader.readexactly(int(headers["content-length"]))
        pieces = []
        while chunk := await self.chunk():
            pieces.append(chunk)
        return b"".join(pieces)

    async def chunk(self) -> bytes:
        """Read a chunk of a stream; empty at its end."""
        size = int(await self.reader.readline(), 16)
        return (await self.reader.readexactly(size + 2))[:-2]

    async def news(self) -> bytes:
        """Read a chunk of a stream that says something: comments only keep it alive."""
        while True:
            chunk = await self.chunk()
            if not chunk.startswith(b":"):
                return chunk

    async def whole(
        self, message: Message | bytes, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """Post a message and read the answer."""
        status, head = await self.post(message, headers)
        return status, head, await self.body(head)

    async def result(self, message: Message, headers: dict[str, str] | None = None) -> Message:
        """Post a message and return the last message of the answer."""
        status, head, body = await self.whole(message, headers)
        assert status == 200, body
        if head["content-type"] == "text/event-stream":
            body = [line for line in body.split(b"\n") if line.startswith(b"data: {")][-1][6:]
        answer = json.loads(body)
        assert isinstance(answer, dict)
        return answer

    def drop(self, *, rudely: bool = False) -> None:
        """Close it; rudely, with a reset."""
        if rudely:
            sock = self.writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


@asynccontextmanager
async def connected(address: Address) -> AsyncIterator[Connection]:
    connection = await connect(address)
    try:
        yield connection
    finally:
        connection.drop()


_open: list[Connection] = []


@pytest.fixture(autouse=True)
async def every_connection_is_closed() -> AsyncIterator[None]:
    """Leave nothing open when a test fails in the middle."""
    yield
    while _open:
        _open.pop().drop()


async def connect(address: Address) -> Connection:
    connection = Connection(*await asyncio.open_connection(*address))
    _open.append(connection)
    return connection


async def stats_of(connection: Connection) -> dict[str, int]:
    answer = await connection.result(*modern_call("stats", "stats"))
    stats: dict[str, int] = answer["result"]["structuredContent"]
    return stats


async def settled(connection: Connection, before: dict[str, int], slack: int = 0) -> dict[str, int]:
    """Wait until a server holds no more than before."""
    deadline = time.monotonic() + PATIENCE
    while True:
        now = await stats_of(connection)
        counts = {name: n for name, n in now.items() if name != "bytes"}
        if all(number <= before[name] for name, number in counts.items()):
            assert now["bytes"] - before["bytes"] <= slack, (before, now)
            return now
        assert time.monotonic() < deadline, (before, now)
        await asyncio.sleep(0.02)


MIB = 1024 * 1024


# --- what is refused, and what has ended


async def refuse(connection: Connection, number: int) -> None:
    body, headers = modern_call(number, "echo", {"text": "x"})
    broken = hello()
    del broken["params"]["protocolVersion"]
    requests: list[tuple[Message | bytes, dict[str, str], int]] = [
        (b"{", {}, 400),
        (b"[]", {}, 400),
        (legacy(number, "tools/list"), {}, 400),
        (legacy(number, "tools/list"), {"mcp-session-id": f"{number}"}, 404),
        (broken, {}, 400),
        (hello(), {"accept": "text/html"}, 406),
        (hello(), {"content-type": "text/plain"}, 415),
        (hello(), {"origin": f"http://evil{number}.example"}, 403),
        (body, {**headers, "mcp-name": f"{number}"}, 400),
        (modern(number, f"no/such{number}")[0], modern(number, f"no/such{number}")[1], 404),
    ]
    message, lines, expected = requests[number % len(requests)]
    status, _, answer = await connection.whole(message, lines)
    assert (status, json.loads(answer)["error"]["code"] < 0) == (expected, True)


async def live_and_die(connection: Connection, number: int) -> None:
    """Begin a session, use it, end it."""
    status, head, _ = await connection.whole(hello())
    assert status == 200
    session = {"mcp-session-id": head["mcp-session-id"]}
    status, _, _ = await connection.whole(notification("notifications/initialized"), session)
    assert status == 202
    lines = {**session, "accept": "text/event-stream"}
    call = legacy_call(1, "echo", {"text": f"{number}"})
    assert text_of(await connection.result(call, lines)) == f"{number}"
    status, head = await connection.ask("DELETE", headers=session)
    assert (status, await connection.body(head)) == (200, b"")


async def in_turns(address: Address, work: Any, count: int, *, at_once: int = 16) -> None:
    numbers = iter(range(count))

    async def run() -> None:
        async with connected(address) as connection:
            for number in numbers:
                await work(connection, number)

    await asyncio.gather(*(run() for _ in range(at_once)))


async def test_nothing_is_left_of_what_was_refused_and_of_what_has_ended(address: Address) -> None:
    async with connected(address) as watching:
        for work in (refuse, live_and_die):
            await in_turns(address, work, 300)  # what is made once is made now
        before = await settled(watching, await stats_of(watching), slack=16 * MIB)
        await in_turns(address, refuse, 2000)
        await in_turns(address, live_and_die, 2000)
        after = await settled(watching, before, slack=6 * MIB)
        assert (after["sessions"], after["calls"], after["kept"]) == (0, 1, 0)  # this very call


# --- many at once


async def test_a_thousand_listen_and_a_thousand_sessions_have_a_stream(address: Address) -> None:
    async with connected(address) as watching:
        before = await stats_of(watching)
        listeners = await asyncio.gather(*(open_listener(address) for _ in range(1000)))
        middle = await stats_of(watching)
        assert middle["calls"] == 1001  # this one as well
        streams = await asyncio.gather(*(open_session(address) for _ in range(1000)))
        now = await stats_of(watching)
        assert (now["sessions"], now["streams"]) == (1000, 1000)
        listening = (middle["bytes"] - before["bytes"]) / 1000
        session = (now["bytes"] - middle["bytes"]) / 1000
        assert listening < 40_000
        assert session < 60_000
        assert now["tasks"] - before["tasks"] <= 2100  # the one of each connection
        answer = await watching.result(*modern_call(1, "change"))
        assert text_of(answer) == "told"
        for connection in (*listeners, *streams):
            async with asyncio.timeout(PATIENCE):
                assert b"tools/list_changed" in await connection.news()
        for connection in listeners:
            connection.drop()
        for number, connection in enumerate(streams):
            if number % 2:
                connection.drop()
            status, head = await watching.ask("DELETE", headers=connection.session)
            assert (status, await watching.body(head)) == (200, b"")
            if not number % 2:
                assert await connection.chunk() == b""
                connection.drop()
        await settled(watching, before, slack=100 * MIB)


async def open_listener(address: Address) -> Connection:
    connection = await connect(address)
    body, headers = modern(
        "l", "subscriptions/listen", {"notifications": {"toolsListChanged": True}}
    )
    status, head = await connection.post(body, headers)
    assert (status, head["content-type"]) == (200, "text/event-stream")
    assert b"acknowledged" in await connection.chunk()
    return connection


async def open_session(address: Address) -> Connection:
    connection = await connect(address)
    _, head, _ = await connection.whole(hello())
    connection.session = session = {"mcp-session-id": head["mcp-session-id"]}
    await connection.whole(notification("notifications/initialized"), session)
    lines = {**session, "accept": "text/event-stream"}
    status, head = await connection.ask("GET", headers=lines)
    assert (status, head["content-type"]) == (200, "text/event-stream")
    assert (await connection.chunk()).startswith(b"id: ")
    return connection


# --- clients that go away

WAIT = modern_call(1, "wait", {"seconds": 60})
WAIT_STREAM = modern_call(1, "wait", {"seconds": 60}, meta=TOKEN)


async def leave_in_headers(connection: Connection) -> None:
    connection.writer.write(b"POST /mcp HTTP/1.1\r\nHost: local")
    await connection.writer.drain()


async def leave_in_body(connection: Connection) -> None:
    data = request_bytes("POST", body=WAIT[0], headers=WAIT[1])
    connection.writer.write(data[:-10])
    await connection.writer.drain()


async def leave_in_call(connection: Connection) -> None:
    connection.writer.write(request_bytes("POST", body=WAIT[0], headers=WAIT[1]))
    await connection.writer.drain()


async def leave_in_stream(connection: Connection) -> None:
    await connection.post(*WAIT_STREAM)
    assert b"progress" in await connection.chunk()


async def leave_listening(connection: Connection) -> None:
    body, headers = modern("l", "subscriptions/listen", {"notifications": {}})
    await connection.post(body, headers)
    await connection.chunk()


async def leave_old_stream(connection: Connection) -> None:
    await connection.ask("GET", "/sse")
    assert b"endpoint" in await connection.chunk()


async def leave_before_the_answer(connection: Connection) -> None:
    body, headers = modern_call(1, "echo", {"text": "x" * 1000})
    connection.writer.write(request_bytes("POST", body=body, headers=headers))
    await connection.writer.drain()


LEAVING = [
    leave_in_headers,
    leave_in_body,
    leave_in_call,
    leave_in_stream,
    leave_listening,
    leave_old_stream,
    leave_before_the_answer,
]


@pytest.mark.parametrize("leave", LEAVING, ids=lambda leave: leave.__name__)
async def test_nothing_is_left_of_clients_that_go_away(address: Address, leave: Any) -> None:
    async with connected(address) as watching:
        before = await stats_of(watching)
        for rudely in (False, True):
            for _ in range(4):
                connections = await asyncio.gather(*(connect(address) for _ in range(25)))
                await asyncio.gather(*(leave(connection) for connection in connections))
                for connection in connections:
                    connection.drop(rudely=rudely)
        await settled(watching, before, slack=16 * MIB)


async def test_a_session_survives_clients_that_go_away(address: Address) -> None:
    async with connected(address) as watching:
        _, head, _ = await watching.whole(hello())
        session = {"mcp-session-id": head["mcp-session-id"]}
        await watching.whole(notification("notifications/initialized"), session)
        before = await stats_of(watching)

        async def call_and_leave(number: int) -> None:
            async with connected(address) as connection:
                call = legacy_call(number, "wait", {"seconds": 0.05}, token=number)
                await connection.post(call, session)

        async def listen_and_leave() -> None:
            async with connected(address) as connection:
                lines = {**session, "accept": "text/event-stream"}
                await connection.ask("GET", headers=lines)

        await asyncio.gather(*map(call_and_leave, range(200)))
        for _ in range(8):
            await asyncio.gather(*(listen_and_leave() for _ in range(25)))
        after = await settled(
            watching, {**before, "streams": 1, "kept": before["kept"] + 1}, slack=16 * MIB
        )
        assert after["sessions"] == before["sessions"]
        assert (await watching.result(legacy("ping", "ping"), session))["result"] == {}
        status, head = await watching.ask("DELETE", headers=session)
        assert status == 200
        await watching.body(head)
        await settled(watching, {**before, "sessions": before["sessions"] - 1}, slack=16 * MIB)


# --- everybody gets what is theirs


async def test_clients_see_only_their_own_answers_and_progress(address: Address) -> None:
    async def modern_client(name: str) -> None:
        async with connected(address) as connection:
            for number in range(5):
                text = f"{name}-{number}"
                answer = await connection.result(*modern_call(number, "echo", {"text": text}))
                assert (answer["id"], text_of(answer)) == (number, text)
                token = {"progressToken": text}
                call = modern_call(number, "wait", {"seconds": 0.01, "steps": 3}, meta=token)
                _, head, body = await connection.whole(*call)
                check_progress(body, text, number)
                assert head["content-type"] == "text/event-stream"

    async def legacy_client(name: str) -> None:
        async with connected(address) as connection:
            _, head, _ = await connection.whole(hello())
            session = {"mcp-session-id": head["mcp-session-id"]}
            await connection.whole(notification("notifications/initialized"), session)
            for number in range(5):
                text = f"{name}-{number}"
                answer = await connection.result(
                    legacy_call(f"e{number}", "echo", {"text": text}), session
                )
                assert text_of(answer) == text
                call = legacy_call(number, "wait", {"seconds": 0.01, "steps": 3}, token=text)
                _, _, body = await connection.whole(call, session)
                check_progress(body, text, number)
            status, head = await connection.ask("DELETE", headers=session)
            assert (status, await connection.body(head)) == (200, b"")

    await asyncio.gather(
        *(modern_client(f"modern {n}") for n in range(10)),
        *(legacy_client(f"legacy {n}") for n in range(10)),
    )


def check_progress(body: bytes, token: str, number: int) -> None:
    lines = [line[6:] for line in body.split(b"\n") if line.startswith(b"data: {")]
    *progress, answer = [json.loads(line) for line in lines]
    assert [each["params"]["progressToken"] for each in progress] == [token] * 3
    assert [each["params"]["progress"] for each in progress] == [0, 1, 2]
    assert answer["id"] == number


async def test_tools_that_block_threads_hold_up_nobody(address: Address) -> None:
    async def block(number: int, seconds: float) -> None:
        async with connected(address) as connection:
            call = modern_call(number, "block", {"seconds": seconds})
            assert text_of(await connection.result(*call)) == "blocked"

    async with connected(address) as connection:
        began = time.monotonic()
        blocking = [asyncio.create_task(block(n, LONG_ENOUGH)) for n in range(2)]
        blocking += [asyncio.create_task(block(n, 0.1)) for n in range(40)]
        await asyncio.sleep(0.05)
        asked = time.monotonic()
        answer = await connection.result(*modern("d", "server/discover"))
        assert answer["result"]["supportedVersions"] == ["2026-07-28"]
        assert time.monotonic() - asked < LONG_ENOUGH / 2
        await asyncio.gather(*blocking)
        assert time.monotonic() - began < PATIENCE
