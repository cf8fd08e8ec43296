"""Connections over HTTP by themselves, with nobody behind them who speaks MCP."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.interaction.http_server import Handle, HttpRequest, HttpServer
from wigwag.bindings.lines import LineTooLong
from wigwag.errors import ConnectionClosed, HttpStatusError, NotMcp, SessionLost
from wigwag.jsonrpc.messages import RequestId
from wigwag.transports import http_client_sse
from wigwag.transports.contract import Connection, Received
from wigwag.transports.http_client import StreamableHttpConnection
from wigwag.transports.http_client_engine import HttpOptions
from wigwag.transports.http_client_peer import HttpPeer, open_peer
from wigwag.transports.http_client_sse import open_http_sse

pytestmark = pytest.mark.anyio

PATIENCE = 60.0


class Side:
    """Takes what a connection delivers."""

    def __init__(self) -> None:
        self.received: list[Any] = []
        self.failed: dict[RequestId, Exception] = {}
        self.lost: list[Exception | None] = []
        self.resumed: list[tuple[str | None, bool]] = []
        self.waiting: set[RequestId] = set()
        self._news = asyncio.Event()

    def messages_received(self, messages: Sequence[Received]) -> None:
        for message in messages:
            self.received.append(
                message if isinstance(message, LineTooLong) else json.loads(message)
            )
            if not isinstance(message, LineTooLong):
                self.waiting.discard(json.loads(message).get("id"))
        self._news.set()

    def end_of_input(self) -> None: ...

    def connection_lost(self, reason: Exception | None) -> None:
        self.lost.append(reason)
        self._news.set()

    def is_waiting(self, request_id: RequestId) -> bool:
        return request_id in self.waiting

    def request_failed(self, request_id: RequestId, error: Exception) -> None:
        self.waiting.discard(request_id)
        self.failed[request_id] = error
        self._news.set()

    def session_lost(self, reason: SessionLost) -> None:
        self.lost.append(reason)
        self._news.set()

    def may_resume(self) -> bool:
        return True

    def request_held(self, request_id: RequestId) -> None: ...

    def request_released(self, request_id: RequestId) -> None: ...

    def stream_resumed(self, method: str | None, reason: str, *, is_whole: bool) -> None:
        self.resumed.append((method, is_whole))

    async def wait(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not is_so():
                self._news.clear()
                await self._news.wait()


class Deaf:
    """Takes what any connection delivers, and no more."""

    def messages_received(self, messages: Sequence[Received]) -> None: ...

    def end_of_input(self) -> None: ...

    def connection_lost(self, reason: Exception | None) -> None: ...


def peer_of(server: HttpServer) -> HttpPeer:
    return open_peer(server.url, HttpOptions(max_message_bytes=10_000))


def ask(side: Side, connection: Connection, id_: int, method: str = "x/y") -> None:
    side.waiting.add(id_)
    connection.send([json.dumps({"jsonrpc": "2.0", "id": id_, "method": method}).encode()])


INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'


@asynccontextmanager
async def streamable(handle: Handle) -> AsyncIterator[tuple[Side, StreamableHttpConnection]]:
    side = Side()
    async with HttpServer(handle) as server:
        connection = StreamableHttpConnection(peer_of(server))
        connection.start(side)
        try:
            yield side, connection
        finally:
            await connection.aclose()


@asynccontextmanager
async def http_sse(handle: Handle) -> AsyncIterator[tuple[Side, Connection]]:
    side = Side()
    async with HttpServer(handle) as server:
        connection = await open_http_sse(peer_of(server))
        connection.start(side)
        try:
            yield side, connection
        finally:
            await connection.aclose()


async def test_an_answer_on_the_stream_of_the_server_counts_too() -> None:
    async def handle(message: HttpRequest) -> None:
        if message.method == "GET":
            await message.stream(b": hi\n\n")
            await asked.wait()
            await message.event({"jsonrpc": "2.0", "id": 1, "result": {}})
            await message.wait_gone()
        else:
            await message.answer(202)
            if message.asks == "x/y":
                asked.set()

    asked = asyncio.Event()
    async with streamable(handle) as (side, connection):
        connection.send([INITIALIZED])
        await connection.drain()
        # Not before the client has seen that there is such a stream.
        stream = connection._own_stream
        async with asyncio.timeout(PATIENCE):
            while stream is None or not stream.is_open:
                await asyncio.sleep(0)
                stream = connection._own_stream
        ask(side, connection, 1)
        await side.wait(lambda: bool(side.received))
        assert side.failed == {}


async def test_an_answer_that_is_accepted_and_never_given_is_told_at_once() -> None:
    async def handle(message: HttpRequest) -> None:
        await message.answer(202)

    async with streamable(handle) as (side, connection):
        ask(side, connection, 1)
        await side.wait(lambda: 1 in side.failed)
        assert isinstance(side.failed[1], NotMcp)
        assert "answered x/y with something that is empty (status 202)" in str(side.failed[1])


async def test_an_answer_to_something_else_is_none() -> None:
    async def handle(message: HttpRequest) -> None:
        await message.json({"jsonrpc": "2.0", "id": 7, "result": {}})

    async with streamable(handle) as (side, connection):
        ask(side, connection, 1)
        await side.wait(lambda: 1 in side.failed)
        assert "with something that is no answer to it" in str(side.failed[1])
        assert side.received == [{"jsonrpc": "2.0", "id": 7, "result": {}}]


async def test_after_an_abort_nothing_is_sent_and_the_session_left_as_it_is() -> None:
    async def handle(message: HttpRequest) -> None:
        headers = [("Mcp-Session-Id", "s")]
        answer = {"jsonrpc": "2.0", "id": 1, "result": {}}
        await message.json(answer, headers=headers)

    side = Side()
    async with HttpServer(handle) as server:
        connection = StreamableHttpConnection(peer_of(server))
        connection.start(side)
        ask(side, connection, 1, "initialize")
        await side.wait(lambda: bool(side.received))
        connection.abort()
        connection.abort()
        ask(side, connection, 2)
        await connection.aclose()
        assert side.lost == [None]
        assert [message.method for message in server.requests] == ["POST"]


async def test_whoever_cannot_hear_of_single_failures_is_told_so() -> None:
    async def handle(message: HttpRequest) -> None:
        await message.stream(b"event: endpoint\ndata: /post\n\n")
        await message.wait_gone()

    async with HttpServer(handle) as server:
        streamable = StreamableHttpConnection(peer_of(server))
        with pytest.raises(TypeError, match="use an ExchangeReceiver"):
            streamable.start(Deaf())
        older = await open_http_sse(peer_of(server))
        with pytest.raises(TypeError, match="use an ExchangeReceiver"):
            older.start(Deaf())
        for connection in (streamable, older):
            connection.start(Side())
            await connection.aclose()


async def test_a_notification_that_is_never_accepted_is_given_up(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.WARNING, "wigwag.client")
    monkeypatch.setattr("wigwag.transports.http_client._ACCEPT_TIMEOUT", 0.05)
    async with streamable(HttpRequest.wait_gone) as (_, connection):
        connection.send([INITIALIZED])
        await connection.drain()
    assert "did not accept notifications/initialized in time" in caplog.text


# --- HTTP+SSE


async def test_messages_right_behind_the_endpoint_are_delivered() -> None:
    async def handle(message: HttpRequest) -> None:
        hello = b'data: {"jsonrpc":"2.0","method":"hello"}\n\n'
        await message.stream(b"event: endpoint\ndata: /post\n\n" + hello)
        await message.wait_gone()

    async with http_sse(handle) as (side, _):
        await side.wait(lambda: bool(side.received))
        assert side.received == [{"jsonrpc": "2.0", "method": "hello"}]


async def test_a_stream_that_is_cut_ends_the_connection() -> None:
    async def handle(message: HttpRequest) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
        event = b"event: endpoint\ndata: /post\n\n"
        chunk = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n5\r\nda" % (len(event), event)
        await message.raw(head + chunk)
        await asyncio.sleep(0.01)
        message.cut()

    async with http_sse(handle) as (side, connection):
        await side.wait(lambda: bool(side.lost))
        (reason,) = side.lost
        assert isinstance(reason, ConnectionClosed)
        assert "cut its stream" in str(reason)
        ask(side, connection, 1)
        connection.abort()


async def test_an_aborted_connection_says_nothing_more() -> None:
    async def handle(message: HttpRequest) -> None:
        await message.stream(b"event: endpoint\ndata: /post\n\n")
        await message.wait_gone()

    async with http_sse(handle) as (side, connection):
        await connection.drain()
        connection.abort()
        connection.abort()
        assert side.lost == [None]


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (lambda m: m.answer(200, b"{}"), "has no stream of events"),
        (lambda m: m.stream(b"data: /post\n\n"), "does not begin with an endpoint"),
        (lambda m: m.stream(b": hi\n\nevent: end"), "ended before it named an endpoint"),
        (lambda m: m.stream(b"event: endpoint\ndata: http://x/\n\n"), "at another origin: http://x"),
    ],
)  # fmt: skip
async def test_what_is_no_such_server_is_told(reply: Handle, why: str) -> None:
    async with HttpServer(reply) as server:
        with pytest.raises(NotMcp, match=why):
            await open_http_sse(peer_of(server))


async def test_a_refusal_is_told() -> None:
    async with HttpServer(lambda message: message.answer(403, b"no")) as server:
        with pytest.raises(HttpStatusError, match="answered 403"):
            await open_http_sse(peer_of(server))


async def test_a_stream_that_never_names_an_endpoint_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def handle(message: HttpRequest) -> None:
        await message.stream(b": hi\n\n")
        await message.wait_gone()

    monkeypatch.setattr(http_client_sse, "_ENDPOINT_TIMEOUT", 0.05)
    async with HttpServer(handle) as server:
        with pytest.raises(NotMcp, match="has a stream, but names no endpoint on it"):
            await open_http_sse(peer_of(server))
