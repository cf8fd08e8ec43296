"""Legacy sessions over HTTP, as a client keeps them: ids, their loss, the GET stream, their end."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from tests.interaction.connecting import PATIENCE, TIMEOUTS
from tests.interaction.http_server import HttpRequest, HttpServer, McpUrl
from tests.pair import notification, request
from wigwag import Client, RequestFailed, Timeouts
from wigwag.errors import ConnectionClosed, HttpStatusError, SessionLost
from wigwag.schema import LATEST_LEGACY, ElicitResult

pytestmark = pytest.mark.anyio

LEGACY = LATEST_LEGACY


def client_of(server: HttpServer, **options: Any) -> Client:
    options = {"timeouts": TIMEOUTS, "era_cache": {}, "mode": "legacy", **options}
    return Client(server.url, **options)


async def refuse_with_400(message: HttpRequest) -> None:
    await message.refuse(400, -32000, "Bad Request: No valid session ID provided")


# --- a session that is lost


async def test_a_forgotten_session_is_opened_anew_and_the_call_made_again() -> None:
    async with McpUrl(LEGACY, session="s") as server, client_of(server) as client:
        assert (await client.call_tool("tool")).text == "done"
        server.sessions.clear()
        assert (await client.call_tool("tool")).text == "done"
        greetings = server.asked("initialize")
        assert len(greetings) == 2
        assert all("mcp-session-id" not in greeting.headers for greeting in greetings)
        sessions = [call.headers["mcp-session-id"] for call in server.asked("tools/call")]
        assert sessions == ["s-1", "s-1", "s-2"]


async def test_servers_that_say_it_with_400_are_understood() -> None:
    async with McpUrl(LEGACY, session="s") as server, client_of(server) as client:

        async def call(message: HttpRequest) -> None:
            if message.headers["mcp-session-id"] == "s-1":
                await refuse_with_400(message)
            else:
                await server._reply(message)

        server.replies["tools/call"] = call
        assert (await client.call_tool("tool")).text == "done"
        assert len(server.asked("initialize")) == 2


async def test_another_400_is_only_the_refusal_of_a_request() -> None:
    async with McpUrl(LEGACY, session="s") as server, client_of(server) as client:

        async def call(message: HttpRequest) -> None:
            await message.refuse(400, -32602, "Bad Request: no such tool", {"tool": "tool"})

        server.replies["tools/call"] = call
        with pytest.raises(RequestFailed, match="no such tool") as caught:
            await client.call_tool("tool")
        assert (caught.value.code, caught.value.data) == (-32602, {"tool": "tool"})
        assert len(server.asked("initialize")) == 1


async def test_404_with_method_not_found_is_no_lost_session() -> None:
    async with McpUrl(LEGACY, session="s") as server, client_of(server) as client:

        async def call(message: HttpRequest) -> None:
            await message.refuse(404, -32601, "Method not found")

        server.replies["tools/call"] = call
        with pytest.raises(RequestFailed, match="Method not found"):
            await client.call_tool("tool")
        assert len(server.asked("initialize")) == 1


async def test_many_calls_at_once_open_one_new_session_and_each_is_carried_out_once() -> None:
    async with McpUrl(LEGACY, session="s") as server, client_of(server) as client:
        carried_out: list[int] = []

        async def call(message: HttpRequest) -> None:
            carried_out.append(message.message["params"]["arguments"]["n"])
            await server._reply(message)

        server.replies["tools/call"] = call
        server.sessions.clear()
        results = await asyncio.gather(*(client.call_tool("tool", {"n": n}) for n in range(20)))
        assert [result.text for result in results] == ["done"] * 20
        assert sorted(carried_out) == list(range(20))
        assert len(server.asked("initialize")) == 2


async def test_a_call_that_was_under_way_still_gets_its_answer() -> None:
    async with McpUrl(LEGACY, session="s") as server, client_of(server) as client:
        goes_on = asyncio.Event()

        async def call(message: HttpRequest) -> None:
            if message.message["params"]["name"] == "slow":
                await goes_on.wait()
            await server._reply(message)

        server.replies["tools/call"] = call
        slow = asyncio.create_task(client.call_tool("slow"))
        await server.wait_asked("tools/call")
        server.sessions.clear()
        assert (await client.call_tool("quick")).text == "done"
        goes_on.set()
        assert (await slow).text == "done"
        assert len(server.asked("tools/call")) == 3


async def test_a_session_that_is_lost_again_and_again_is_an_error() -> None:
    async with McpUrl(LEGACY, session="s") as server, client_of(server) as client:

        async def call(message: HttpRequest) -> None:
            await message.refuse(404, -32001, "Session not found")

        server.replies["tools/call"] = call
        with pytest.raises(SessionLost, match=r"has forgotten the session: .*Session not found"):
            await client.call_tool("tool")
        assert len(server.asked("initialize")) == 3
        assert len(server.asked("tools/call")) == 3


async def test_a_server_that_is_gone_for_good_says_so_when_the_session_is_opened_anew() -> None:
    async with McpUrl(LEGACY, session="s") as server, client_of(server) as client:

        async def greet(message: HttpRequest) -> None:
            await message.answer(500, b"starting")

        server.sessions.clear()
        server.replies["initialize"] = greet
        with pytest.raises(Exception, match="answered 500 Whatever: starting"):
            await client.call_tool("tool")
        del server.replies["initialize"]
        assert (await client.call_tool("tool")).text == "done"


async def test_level_and_subscriptions_are_restored_in_a_new_session() -> None:
    capabilities = {"logging": {}, "tools": {}, "resources": {"subscribe": True}}
    async with (
        McpUrl(LEGACY, session="s", capabilities=capabilities) as server,
        client_of(server) as client,
    ):
        for method in ("logging/setLevel", "resources/subscribe", "resources/unsubscribe"):
            server.replies[method] = HttpRequest.result
        await client.set_logging_level("debug")
        async with client.listen(uris=["kite://a"]):
            server.sessions.clear()
            await client.call_tool("tool")
            levels = server.asked("logging/setLevel")
            assert [r.message["params"]["level"] for r in levels] == ["debug", "debug"]
            subscribed = server.asked("resources/subscribe")
            assert [r.message["params"]["uri"] for r in subscribed] == ["kite://a", "kite://a"]
            assert subscribed[1].headers["mcp-session-id"] == "s-2"


# --- the handshake, and the end


async def test_no_request_overtakes_the_end_of_the_handshake() -> None:
    async with McpUrl(LEGACY, session="s") as server:
        order: list[str] = []

        async def accept(message: HttpRequest) -> None:
            await asyncio.sleep(0.05)  # a slow server: nothing else must arrive meanwhile
            order.append("initialized")
            await message.answer(202)

        async def call(message: HttpRequest) -> None:
            order.append("call")
            await server._reply(message)

        server.replies["notifications/initialized"] = accept
        server.replies["tools/call"] = call
        async with client_of(server) as client:
            await client.call_tool("tool")
        assert order == ["initialized", "call"]


@pytest.mark.parametrize("status", [200, 204, 404, 405, 500])
async def test_a_session_is_ended_whatever_the_server_makes_of_it(status: int) -> None:
    async with McpUrl(LEGACY, session="s") as server:

        async def end(message: HttpRequest) -> None:
            await message.answer(status)

        server.replies["DELETE"] = end
        async with client_of(server):
            pass
        (ended,) = server.asked("DELETE")
        assert ended.headers["mcp-session-id"] == "s-1"
        assert ended.headers["mcp-protocol-version"] == LEGACY


async def test_a_server_that_does_not_answer_at_the_end_holds_nobody_up() -> None:
    async with McpUrl(LEGACY, session="s") as server:
        server.replies["DELETE"] = HttpRequest.wait_gone
        client = await client_of(server).connect()
        begun = asyncio.get_running_loop().time()
        await client.close()
        assert asyncio.get_running_loop().time() - begun < PATIENCE / 2


async def test_without_a_session_there_is_nothing_to_end() -> None:
    async with McpUrl(LEGACY) as server:
        async with client_of(server) as client:
            await client.call_tool("tool")
        assert server.asked("DELETE") == []
        assert all("mcp-session-id" not in message.headers for message in server.requests)


async def test_closing_fails_the_calls_under_way() -> None:
    async with McpUrl(LEGACY, session="s") as server:
        server.replies["tools/call"] = HttpRequest.wait_gone
        client = await client_of(server).connect()
        call = asyncio.create_task(client.call_tool("tool"))
        await server.wait_asked("tools/call")
        await client.close()
        with pytest.raises(ConnectionClosed, match="the client was closed"):
            await call


# --- what the server asks


async def test_a_question_on_the_stream_of_a_call_is_answered_by_a_post() -> None:
    async with McpUrl(LEGACY, session="s") as server:
        form = {"message": "Name?", "requestedSchema": {"type": "object", "properties": {}}}

        async def call(message: HttpRequest) -> None:
            await message.stream()
            await message.event(request("q", "elicitation/create", form))
            answer = await server.wait_asked_response()
            assert answer.headers["mcp-session-id"] == "s-1"
            assert answer.message["id"] == "q"
            text = answer.message["result"]["content"]["name"]
            found = {"content": [{"type": "text", "text": text}]}
            await message.event({"jsonrpc": "2.0", "id": message.message["id"], "result": found})

        async def answer_form(_: Any) -> ElicitResult:
            return ElicitResult(action="accept", content={"name": "Kim"})

        server.replies["tools/call"] = call
        async with client_of(server, elicitation=answer_form) as client:
            assert (await client.call_tool("tool")).text == "Kim"


async def test_an_answer_that_is_not_accepted_is_for_the_log(
    log_text: Callable[[], str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "wigwag.client")
    async with McpUrl(LEGACY) as server:

        async def call(message: HttpRequest) -> None:
            await message.stream()
            await message.event(request("q", "roots/list"))
            await server.wait_asked_response()
            found: Any = {"content": []}
            await message.event({"jsonrpc": "2.0", "id": message.message["id"], "result": found})

        async def refuse(message: HttpRequest) -> None:
            await message.answer(500, b"oops")

        server.replies["tools/call"] = call
        server.replies["response"] = refuse
        async with client_of(server, roots=[]) as client:
            await client.call_tool("tool")
            await client.notify("notifications/roots/list_changed")
        assert "an answer was not accepted" in log_text()
        assert "answered 500 Whatever: oops" in log_text()


async def test_a_cancelled_call_is_told_and_its_stream_left() -> None:
    async with McpUrl(LEGACY, session="s") as server, client_of(server) as client:
        is_left = asyncio.Event()

        async def call(message: HttpRequest) -> None:
            await message.stream()
            await message.wait_gone()
            is_left.set()

        server.replies["tools/call"] = call
        task = asyncio.create_task(client.call_tool("tool"))
        asked = await server.wait_asked("tools/call")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        told = await server.wait_asked("notifications/cancelled")
        assert told.message["params"]["requestId"] == asked.message["id"]
        assert told.headers["mcp-session-id"] == "s-1"
        await asyncio.wait_for(is_left.wait(), PATIENCE)


# --- what the server says of its own accord


@pytest.mark.parametrize("status", [400, 404, 405, 406, 501])
async def test_without_a_stream_of_the_server_all_else_works(status: int) -> None:
    async with McpUrl(LEGACY, session="s") as server:

        async def refuse(message: HttpRequest) -> None:
            await message.answer(status, b"no")

        server.replies["GET"] = refuse
        async with client_of(server) as client:
            await server.wait_asked("GET")
            assert (await client.call_tool("tool")).text == "done"


@pytest.mark.parametrize("begins", [True, False])
async def test_a_silent_stream_of_the_server_holds_nobody_up(begins: bool) -> None:  # noqa: FBT001
    async with McpUrl(LEGACY, session="s") as server:

        async def say_nothing(message: HttpRequest) -> None:
            if begins:
                await message.stream()
            await message.wait_gone()

        server.replies["GET"] = say_nothing
        async with client_of(server) as client:
            await server.wait_asked("GET")
            assert (await client.call_tool("tool")).text == "done"


async def test_the_stream_of_the_server_is_listened_to_and_resumed() -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    async with McpUrl(LEGACY, session="s", capabilities={"tools": {"listChanged": True}}) as server:

        async def tell(message: HttpRequest) -> None:
            await message.stream(b"retry: 10\n\n: hello\n\n")
            if len(server.asked("GET")) < 3:
                changed = notification("notifications/tools/list_changed")
                await message.event(changed, id=f"e{len(server.asked('GET'))}")
            else:
                await message.wait_gone()

        server.replies["GET"] = tell
        async with client_of(server, on_notification=lambda m, _: heard.put_nowait(m)):
            third = await server.wait_asked("GET", 3)
            for _ in range(2):
                assert await heard.get() == "notifications/tools/list_changed"
        ids = [message.headers.get("last-event-id") for message in server.asked("GET")]
        assert ids == [None, "e1", "e2"]
        assert third.headers["accept"] == "text/event-stream"
        assert third.headers["mcp-session-id"] == "s-1"
        assert third.headers["mcp-protocol-version"] == LEGACY


async def test_a_stream_that_ends_again_and_again_is_given_up() -> None:
    async with McpUrl(LEGACY, session="s") as server:

        async def end(message: HttpRequest) -> None:
            await message.stream(b"retry: 1\n\n")

        server.replies["GET"] = end
        async with client_of(server) as client:
            await server.wait_asked("GET", 9)
            (listening,) = [
                task for task in asyncio.all_tasks() if "_listen" in repr(task.get_coro())
            ]
            await asyncio.wait_for(listening, PATIENCE)
            assert len(server.asked("GET")) == 9
            assert (await client.call_tool("tool")).text == "done"


async def test_a_timeout_counts_for_the_answer_and_not_for_the_stream_of_the_server() -> None:
    timeouts = Timeouts(request=0.05, connect=PATIENCE)
    async with McpUrl(LEGACY, session="s") as server:

        async def listen(message: HttpRequest) -> None:
            await message.stream()
            await message.wait_gone()

        server.replies["GET"] = server.replies["tools/call"] = listen
        async with client_of(server, timeouts=timeouts) as client:
            await server.wait_asked("GET")
            with pytest.raises(Exception, match=r"no answer to tools/call after \d+\.\d s"):
                await client.call_tool("tool")
            told = await server.wait_asked("notifications/cancelled")
            assert told.message["params"]["reason"] == "timed out"


async def test_whoever_listens_goes_on_in_a_new_session() -> None:
    capabilities = {"tools": {"listChanged": True}}
    async with McpUrl(LEGACY, session="s", capabilities=capabilities) as server:
        restarted = asyncio.Event()

        async def tell(message: HttpRequest) -> None:
            await message.stream(b"retry: 1\n\n: hello\n\n")
            if message.headers["mcp-session-id"] == "s-1":
                await restarted.wait()
            else:
                await message.event(notification("notifications/tools/list_changed"))
                await message.wait_gone()

        server.replies["GET"] = tell
        async with client_of(server) as client, client.listen(tools=True) as changes:
            await server.wait_asked("GET")
            server.sessions.clear()
            restarted.set()
            change = await asyncio.wait_for(anext(changes), PATIENCE)
            assert change.method == "notifications/tools/list_changed"
        assert len(server.asked("initialize")) == 2


async def test_whoever_listens_learns_that_no_new_session_is_to_be_had() -> None:
    capabilities = {"tools": {"listChanged": True}}
    async with McpUrl(LEGACY, session="s", capabilities=capabilities) as server:
        restarted = asyncio.Event()

        async def tell(message: HttpRequest) -> None:
            await message.stream(b"retry: 1\n\n")
            await restarted.wait()

        async def refuse(message: HttpRequest) -> None:
            await message.answer(500, b"starting")

        server.replies["GET"] = tell
        async with client_of(server) as client, client.listen(tools=True) as changes:
            await server.wait_asked("GET")
            server.replies["initialize"] = refuse
            server.sessions.clear()
            restarted.set()
            with pytest.raises(HttpStatusError, match="answered 500 Whatever: starting"):
                await asyncio.wait_for(anext(changes), PATIENCE)
