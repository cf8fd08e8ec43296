"""HTTP+SSE of revision 2024-11-05: found where nothing newer is, and spoken from then on."""

import asyncio
import json
import logging
from typing import Any

import pytest

from tests.interaction.connecting import PATIENCE, TIMEOUTS
from tests.interaction.http_server import Handle, HttpRequest, HttpServer
from tests.pair import initialized, request, result
from wigwag import Client, RequestFailed
from wigwag.errors import ConnectionClosed, HttpStatusError
from wigwag.schema import ElicitResult

pytestmark = pytest.mark.anyio


def client_of(server: HttpServer, **options: Any) -> Client:
    return Client(server.url, **{"timeouts": TIMEOUTS, "era_cache": {}, **options})


class OldServer(HttpServer):
    """A server of revision 2024-11-05.

    Args:
        endpoint: Where it wants messages; `{origin}` is its own.
        revision: The revision that it speaks.
        status: What it says to a POST elsewhere.
    """

    def __init__(
        self, endpoint: str = "/post?sid=1", *, revision: str = "2024-11-05", status: int = 405
    ) -> None:
        super().__init__()
        self.endpoint = endpoint
        self.revision = revision
        self.status = status
        self.stream: HttpRequest
        self.replies: dict[str, Handle] = {}
        self.ended = asyncio.Event()

    async def handle(self, request: HttpRequest) -> None:
        if request.method == "GET":
            self.stream = request
            await request.stream(b": welcome\n\n")
            where = self.endpoint.format(origin=self.origin)
            await request.raw(f"event: endpoint\ndata: {where}\n\n".encode())
            self.ended.clear()
            gone = asyncio.create_task(request.wait_gone())
            ended = asyncio.create_task(self.ended.wait())
            try:
                await asyncio.wait({gone, ended}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (gone, ended):
                    task.cancel()
        elif not request.path.startswith("/post"):
            await request.answer(self.status, b"no")
        elif request.asks in self.replies:
            await self.replies[request.asks](request)
        else:
            await request.answer(202, b"Accepted", kind="text/plain")
            await self._reply(request)

    async def _reply(self, request: HttpRequest) -> None:
        match request.asks:
            case "initialize":
                await self.say(request, initialized(self.revision, {"tools": {}}))
            case "tools/call":
                await self.say(request, {"content": [{"type": "text", "text": "done"}]})
            case "ping":
                await self.say(request, {})

    async def say(self, request: HttpRequest, members: Any) -> None:
        message = json.dumps(result(request.message["id"], members))
        await self.stream.raw(f"event: message\ndata: {message}\n\n".encode())


@pytest.mark.parametrize("status", [400, 404, 405, 406, 415])
@pytest.mark.parametrize("endpoint", ["/post?sid=1", "post", "{origin}/post/1"])
@pytest.mark.parametrize("revision", ["2024-11-05", "2025-06-18"])
async def test_it_is_found_where_nothing_newer_is(
    status: int, endpoint: str, revision: str
) -> None:
    async with OldServer(endpoint, revision=revision, status=status) as server:
        async with client_of(server) as client:
            assert client.protocol_version == revision
            assert (await client.call_tool("tool")).text == "done"
        asked = [message.asks for message in server.requests]
        assert asked[:4] == ["server/discover", "initialize", "GET", "initialize"]
        assert server.asked("DELETE") == []


async def test_a_client_that_knows_of_it_asks_for_nothing_newer() -> None:
    cache: dict[str, str] = {}
    async with OldServer() as server:
        async with client_of(server, era_cache=cache):
            pass
        assert cache == {server.url: "http+sse"}
        server.requests.clear()
        async with client_of(server, era_cache=cache) as client:
            await client.call_tool("tool")
        assert [message.asks for message in server.requests][:2] == ["GET", "initialize"]


async def test_messages_to_another_origin_are_not_sent() -> None:
    async with HttpServer() as other, OldServer(f"{other.origin}/post") as server:
        with pytest.raises(HttpStatusError, match="answered 405"):
            await client_of(server).connect()
        assert other.requests == []


@pytest.mark.parametrize("first", [b"data: /post\n\n", b"event: message\ndata: {}\n\n", b""])
async def test_a_stream_that_names_no_endpoint_is_another_thing(first: bytes) -> None:
    async def handle(message: HttpRequest) -> None:
        if message.method == "GET":
            await message.stream(first)
        else:
            await message.answer(404, b"nothing here")

    async with HttpServer(handle) as server:
        with pytest.raises(HttpStatusError, match="answered 404 Whatever: nothing here"):
            await client_of(server).connect()
        assert [m.asks for m in server.requests] == ["server/discover", "initialize", "GET"]


async def test_a_refusal_in_json_is_what_is_told_when_there_is_no_stream_either() -> None:
    async def handle(message: HttpRequest) -> None:
        if message.method == "GET":
            await message.answer(405)
        else:
            await message.refuse(400, -32000, "Unsupported protocol version", {"a": 1})

    async with HttpServer(handle) as server:
        with pytest.raises(RequestFailed, match="Unsupported protocol version") as caught:
            await client_of(server).connect()
        assert caught.value.data == {"a": 1}
        assert isinstance(caught.value.__cause__, HttpStatusError)
        assert caught.value.__cause__.status == 400


@pytest.mark.parametrize("status", [401, 403, 500])
async def test_a_refused_handshake_of_another_kind_is_no_reason_to_look_for_it(
    status: int,
) -> None:
    async def handle(message: HttpRequest) -> None:
        await message.answer(400 if message.asks == "server/discover" else status, b"no")

    async with HttpServer(handle) as server:
        with pytest.raises(HttpStatusError, match=f"answered {status}"):
            await client_of(server).connect()
        assert server.asked("GET") == []


async def test_the_end_of_the_stream_ends_everything_and_a_new_one_is_opened_for_the_next() -> None:
    async with OldServer() as server, client_of(server) as client:

        async def hold(message: HttpRequest) -> None:
            await message.answer(202)

        server.replies["tools/call"] = hold
        call = asyncio.create_task(client.call_tool("tool"))
        await server.wait_asked("tools/call")
        server.ended.set()
        with pytest.raises(ConnectionClosed, match=r"http://127\.0\.0\.1:\d+/mcp ended its stream"):
            await call
        del server.replies["tools/call"]
        assert (await client.call_tool("tool")).text == "done"
        assert len(server.asked("GET")) == 2


async def test_a_message_that_is_refused_fails_its_request_alone() -> None:
    async with OldServer() as server, client_of(server) as client:

        async def refuse(message: HttpRequest) -> None:
            await message.answer(500, b"oops")

        server.replies["tools/call"] = refuse
        with pytest.raises(HttpStatusError, match="answered 500 Whatever: oops"):
            await client.call_tool("tool")
        await client.ping()


async def test_a_message_that_is_never_accepted_holds_up_no_other() -> None:
    async with OldServer() as server, client_of(server) as client:
        server.replies["tools/call"] = HttpRequest.wait_gone
        call = asyncio.create_task(client.call_tool("tool"))
        await server.wait_asked("tools/call")
        await client.ping()
        call.cancel()
        await asyncio.wait([call])
        await server.wait_asked("notifications/cancelled")


async def test_no_request_overtakes_the_end_of_the_handshake_which_need_not_be_accepted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "wigwag.client")
    monkeypatch.setattr("wigwag.transports.http_client_sse._ACCEPT_TIMEOUT", 0.05)
    async with OldServer() as server:
        server.replies["notifications/initialized"] = HttpRequest.wait_gone
        async with client_of(server) as client:
            await client.ping()
    assert "did not accept notifications/initialized in time" in caplog.text


async def test_questions_are_answered_and_calls_cancelled_by_posts() -> None:
    async with OldServer(revision="2025-06-18") as server:
        form = {"message": "Name?", "requestedSchema": {"type": "object", "properties": {}}}

        async def ask(message: HttpRequest) -> None:
            await message.answer(202)
            question = json.dumps(request("q", "elicitation/create", form))
            await server.stream.raw(f"data: {question}\n\n".encode())

        async def answer_form(_: Any) -> ElicitResult:
            return ElicitResult(action="decline")

        server.replies["tools/call"] = ask
        async with client_of(server, elicitation=answer_form) as client:
            call = asyncio.create_task(client.call_tool("tool"))
            answer = await server.wait_asked_response()
            assert answer.message == result("q", {"action": "decline"})
            call.cancel()
            await asyncio.wait([call])
            await server.wait_asked("notifications/cancelled")


async def test_closing_leaves_the_stream() -> None:
    async with OldServer() as server:
        async with client_of(server):
            pass
        await asyncio.wait_for(server.stream.wait_gone(), PATIENCE)
