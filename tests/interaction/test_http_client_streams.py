"""Streams of events as answers: how they are read, cut, resumed and given up."""

import asyncio
import itertools
import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from tests.interaction.connecting import PATIENCE, TIMEOUTS
from tests.interaction.http_server import HttpRequest, HttpServer, McpUrl
from tests.pair import notification, request, result
from wigwag import Client, RequestTimedOut, Timeouts
from wigwag.errors import ConnectionClosed, RemoteProtocolError
from wigwag.schema import LATEST_LEGACY, LATEST_MODERN, LEGACY_REVISIONS

pytestmark = pytest.mark.anyio

LEGACY, MODERN = LATEST_LEGACY, LATEST_MODERN
ERAS = (LEGACY, MODERN)
URL = r"http://127\.0\.0\.1:\d+/mcp"


def client_of(server: HttpServer, **options: Any) -> Client:
    options = {"timeouts": TIMEOUTS, "era_cache": {}, **options}
    return Client(server.url, **options)


def answer(server: McpUrl, message: HttpRequest, text: str = "done") -> Any:
    members = server.complete(message, {"content": [{"type": "text", "text": text}]})
    return result(message.message["id"], members)


# --- reading


@pytest.mark.parametrize("revision", ERAS)
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"], ids=repr)
@pytest.mark.parametrize("size", [1, 7, 100_000])
async def test_events_are_read_however_they_are_written_and_cut(
    revision: str, end: str, size: int
) -> None:
    text = "Zürich 😀 \u2028\u2029\x85 " + "x" * 100
    async with McpUrl(revision) as server:

        async def call(message: HttpRequest) -> None:
            await message.stream()
            found = json.dumps(answer(server, message, text), ensure_ascii=False)
            head, tail = found[:-1], found[-1:]
            lines = [
                *("\ufeff: hi", "event: ping", "data: nothing", "", "id: 7", "data", ""),
                *(
                    "zzz: 1",
                    "retry: 250",
                    "event: message",
                    f"data: {head}",
                    f"data:{tail}",
                    "",
                    "",
                ),
            ]
            stream = end.join(lines).encode()
            for start in range(0, len(stream), size):
                await message.raw(stream[start : start + size])

        server.replies["tools/call"] = call
        async with client_of(server) as client:
            assert (await client.call_tool("tool")).text == text


@pytest.mark.parametrize("revision", ERAS)
async def test_progress_comes_before_the_answer(revision: str) -> None:
    async with McpUrl(revision) as server:
        seen: list[float] = []

        async def call(message: HttpRequest) -> None:
            await message.stream()
            token = message.message["params"]["_meta"]["progressToken"]
            for progress in (1, 2):
                params = {"progressToken": token, "progress": progress}
                await message.event(notification("notifications/progress", params))
            await message.event(answer(server, message))

        server.replies["tools/call"] = call
        async with client_of(server) as client:
            await client.call_tool("tool", on_progress=lambda p: seen.append(p.progress))
        assert seen == [1, 2]


async def test_a_stream_that_goes_on_behind_the_answer_holds_nobody_up() -> None:
    async with McpUrl(MODERN) as server:
        left = asyncio.Event()

        async def call(message: HttpRequest) -> None:
            await message.stream()
            await message.event(answer(server, message))
            await message.wait_gone()
            left.set()

        server.replies["tools/call"] = call
        async with client_of(server) as client:
            assert (await client.call_tool("tool")).text == "done"
            await asyncio.wait_for(left.wait(), PATIENCE)


async def test_a_content_type_may_have_parameters() -> None:
    async with McpUrl(MODERN) as server:

        async def call(message: HttpRequest) -> None:
            body = json.dumps(answer(server, message)).encode()
            await message.answer(200, body, kind="Application/JSON; charset=utf-8")

        async def read(message: HttpRequest) -> None:
            body = f"data: {json.dumps(answer(server, message))}\n\n".encode()
            await message.answer(200, body, kind="Text/Event-Stream; charset=utf-8")

        server.replies["tools/call"] = call
        async with client_of(server) as client:
            assert (await client.call_tool("tool")).text == "done"
            server.replies["tools/call"] = read
            assert (await client.call_tool("tool")).text == "done"


@pytest.mark.broken_messages("server")
async def test_a_modern_server_that_asks_on_a_stream_is_not_answered() -> None:
    async with McpUrl(MODERN) as server:

        async def call(message: HttpRequest) -> None:
            await message.stream()
            await message.event(request("q", "roots/list"))
            await message.event(answer(server, message))

        server.replies["tools/call"] = call
        async with client_of(server, roots=[]) as client:
            assert (await client.call_tool("tool")).text == "done"
        assert [message.asks for message in server.requests] == ["server/discover", "tools/call"]


async def test_an_array_of_messages_is_read_where_the_revision_has_them() -> None:
    async with McpUrl("2025-03-26") as server:

        async def call(message: HttpRequest) -> None:
            log = notification("notifications/message", {"level": "info", "data": "hi"})
            await message.json([log, answer(server, message)])

        logs: list[Any] = []
        server.replies["tools/call"] = call
        async with client_of(server, on_log=lambda log: logs.append(log.data)) as client:
            assert (await client.call_tool("tool")).text == "done"
        assert logs == ["hi"]


# --- limits


@pytest.mark.parametrize("revision", ERAS)
@pytest.mark.parametrize("is_stream", [True, False])
async def test_an_answer_over_the_limit_fails_its_request_alone(
    revision: str,
    is_stream: bool,  # noqa: FBT001
) -> None:
    async with McpUrl(revision) as server:

        async def call(message: HttpRequest) -> None:
            long = answer(server, message, "x" * 200_000)
            if is_stream:
                await message.stream()
                await message.event(long)
            else:
                await message.json(long)

        server.replies["tools/call"] = call
        async with client_of(server, max_message_bytes=100_000) as client:
            why = rf"of {URL} is longer than 100000 bytes, which `max_message_bytes` allows"
            with pytest.raises(RemoteProtocolError, match=why):
                await client.call_tool("tool")
            del server.replies["tools/call"]
            assert (await client.call_tool("tool")).text == "done"


async def test_a_message_over_the_limit_on_the_stream_of_the_server_is_skipped(
    log_text: Callable[[], str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "wigwag.client")
    heard: asyncio.Queue[str] = asyncio.Queue()
    async with McpUrl(LEGACY, capabilities={"logging": {}}) as server:

        async def tell(message: HttpRequest) -> None:
            await message.stream()
            for text in ("x" * 2000, "short"):
                params = {"level": "info", "data": text}
                await message.event(notification("notifications/message", params))
            await message.wait_gone()

        server.replies["GET"] = tell
        options: Any = {"max_message_bytes": 1000}
        async with client_of(server, on_log=lambda log: heard.put_nowait(log.data), **options):
            assert await asyncio.wait_for(heard.get(), PATIENCE) == "short"
        assert "skipped: a message of http://127.0.0.1" in log_text()


async def test_a_large_answer_comes_through() -> None:
    async with McpUrl(MODERN) as server:

        async def call(message: HttpRequest) -> None:
            await message.stream()
            await message.event(answer(server, message, "x" * 5_000_000))

        server.replies["tools/call"] = call
        async with client_of(server) as client:
            assert len((await client.call_tool("tool")).text) == 5_000_000


# --- cuts


@pytest.mark.parametrize("revision", ERAS)
async def test_a_stream_that_ends_without_the_answer_fails_the_request(revision: str) -> None:
    async with McpUrl(revision) as server:

        async def call(message: HttpRequest) -> None:
            await message.stream(b": nothing to resume\n\n")

        server.replies["tools/call"] = call
        async with client_of(server) as client:
            why = rf"{URL}: the stream of tools/call was cut before the answer$"
            with pytest.raises(ConnectionClosed, match=why):
                await client.call_tool("tool")
            assert len(server.asked("tools/call")) == 1
            del server.replies["tools/call"]
            assert (await client.call_tool("tool")).text == "done"


@pytest.mark.parametrize("where", ["headers", "body", "chunk"])
async def test_a_connection_that_is_cut_fails_the_request(where: str) -> None:
    heads = {
        "headers": b"HTTP/1.1 200 OK\r\nContent-",
        "body": b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        b'Content-Length: 99\r\n\r\n{"',
        "chunk": b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n10\r\ndata: ",
    }
    async with McpUrl(MODERN) as server:

        async def call(message: HttpRequest) -> None:
            await message.raw(heads[where])
            message.is_keep_alive = False

        server.replies["tools/call"] = call
        async with client_of(server) as client:
            with pytest.raises(ConnectionClosed, match=r"127\.0\.0\.1.*(cut|closed)"):
                await client.call_tool("tool")
            del server.replies["tools/call"]
            assert (await client.call_tool("tool")).text == "done"


async def test_a_modern_stream_is_never_resumed() -> None:
    async with McpUrl(MODERN) as server:

        async def call(message: HttpRequest) -> None:
            await message.stream(b"id: 7\nretry: 1\ndata: \n\n")

        server.replies["tools/call"] = call
        async with client_of(server) as client:
            with pytest.raises(ConnectionClosed, match="was cut before the answer"):
                await client.call_tool("tool")
        assert server.asked("GET") == []


# --- resuming


@pytest.mark.parametrize("revision", [r for r in LEGACY_REVISIONS if r != "2024-11-05"])
async def test_a_stream_that_was_cut_is_resumed_from_its_last_event(revision: str) -> None:
    async with McpUrl(revision, session="s") as server:
        asked: list[HttpRequest] = []
        cut_at = resumed_at = 0.0

        async def call(message: HttpRequest) -> None:
            nonlocal cut_at
            asked.append(message)
            await message.stream(b"id: 7\nretry: 1300\ndata:\n\n")
            message.cut()
            cut_at = asyncio.get_running_loop().time()

        async def resume(message: HttpRequest) -> None:
            nonlocal resumed_at
            if "last-event-id" in message.headers:
                resumed_at = asyncio.get_running_loop().time()
                await message.stream()
                await message.event(answer(server, asked[0]), id="8")
            else:
                await message.answer(405)

        server.replies["tools/call"] = call
        server.replies["GET"] = resume
        async with client_of(server) as client:
            assert (await client.call_tool("tool")).text == "done"
        (resumed,) = [
            message for message in server.asked("GET") if message.headers.get("last-event-id")
        ]
        assert resumed.headers["last-event-id"] == "7"
        assert resumed.headers["mcp-session-id"] == "s-1"
        assert resumed_at - cut_at >= 1.2  # of its own accord it waits for less
        assert len(server.asked("tools/call")) == 1
        assert "last-event-id" not in asked[0].headers


async def test_a_stream_is_resumed_over_several_cuts() -> None:
    async with McpUrl(LEGACY, session="s") as server:
        asked: list[HttpRequest] = []
        seen: list[float] = []
        numbers = itertools.count(1)

        async def tell(message: HttpRequest) -> None:
            if not asked:
                asked.append(message)
            number = next(numbers)
            await message.stream(b"retry: 1\n\n")
            if number == 8:
                await message.event(answer(server, asked[0]))
            else:
                token = asked[0].message["params"]["_meta"]["progressToken"]
                params = {"progressToken": token, "progress": number}
                await message.event(notification("notifications/progress", params), id=str(number))

        async def get(message: HttpRequest) -> None:
            if "last-event-id" in message.headers:
                await tell(message)
            else:
                await message.answer(405)

        server.replies["tools/call"] = tell
        server.replies["GET"] = get
        async with client_of(server) as client:
            found = await client.call_tool("tool", on_progress=lambda p: seen.append(p.progress))
            assert found.text == "done"
        assert seen == [1, 2, 3, 4, 5, 6, 7]
        ids = [message.headers.get("last-event-id") for message in server.asked("GET")]
        assert [id_ for id_ in ids if id_] == ["1", "2", "3", "4", "5", "6", "7"]


async def test_resuming_in_vain_ends_after_some_tries() -> None:
    async with McpUrl(LEGACY, session="s") as server:

        async def tell(message: HttpRequest) -> None:
            await message.stream(b"id: 7\nretry: 1\ndata:\n\n")

        server.replies["tools/call"] = server.replies["GET"] = tell
        async with client_of(server) as client:
            why = "was cut before the answer, and cannot be resumed: it ends again and again"
            with pytest.raises(ConnectionClosed, match=why):
                await client.call_tool("tool")


@pytest.mark.parametrize("status", [400, 404, 405])
async def test_a_server_that_cannot_resume_is_asked_once(status: int) -> None:
    async with McpUrl(LEGACY, session="s") as server:

        async def call(message: HttpRequest) -> None:
            await message.stream(b"id: 7\nretry: 1\ndata:\n\n")

        async def refuse(message: HttpRequest) -> None:
            await message.answer(status, b"what?")

        server.replies["tools/call"] = call
        server.replies["GET"] = refuse
        async with client_of(server) as client:
            why = rf"cannot be resumed: {URL} answered {status} Whatever: what\?"
            with pytest.raises(ConnectionClosed, match=why):
                await client.call_tool("tool")
        resumed = [m for m in server.asked("GET") if "last-event-id" in m.headers]
        assert len(resumed) == 1


async def test_waiting_to_resume_has_an_end() -> None:
    async with McpUrl(LEGACY, session="s") as server:

        async def call(message: HttpRequest) -> None:
            await message.stream(b"id: 7\nretry: 3600000\ndata:\n\n")

        server.replies["tools/call"] = call
        async with client_of(server, timeouts=Timeouts(request=0.1, connect=PATIENCE)) as client:
            with pytest.raises(RequestTimedOut):
                await client.call_tool("tool")


# --- giving up


@pytest.mark.parametrize("begins", [True, False])
async def test_a_modern_request_is_cancelled_by_leaving_its_stream(
    begins: bool,  # noqa: FBT001
) -> None:
    async with McpUrl(MODERN) as server:
        left = asyncio.Event()

        async def call(message: HttpRequest) -> None:
            if begins:
                await message.stream(b": begun\n\n")
            await message.wait_gone()
            left.set()

        server.replies["tools/call"] = call
        async with client_of(server) as client:
            task = asyncio.create_task(client.call_tool("tool"))
            await server.wait_asked("tools/call")
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.wait_for(left.wait(), PATIENCE)
        assert server.asked("notifications/cancelled") == []


async def test_a_modern_request_that_took_too_long_is_given_up_by_leaving_its_stream() -> None:
    async with McpUrl(MODERN) as server:
        left = asyncio.Event()

        async def call(message: HttpRequest) -> None:
            await message.wait_gone()
            left.set()

        server.replies["tools/call"] = call
        async with client_of(server) as client:
            with pytest.raises(RequestTimedOut):
                await client.call_tool("tool", timeout=0.05)
            await asyncio.wait_for(left.wait(), PATIENCE)
        assert server.asked("notifications/cancelled") == []


# --- listening


LISTENED = {"tools": {"listChanged": True}}


def acknowledge(message: HttpRequest) -> Any:
    params = {
        "notifications": {"toolsListChanged": True},
        "_meta": {"io.modelcontextprotocol/subscriptionId": message.message["id"]},
    }
    return notification("notifications/subscriptions/acknowledged", params)


def changed(message: HttpRequest) -> Any:
    meta = {"io.modelcontextprotocol/subscriptionId": message.message["id"]}
    return notification("notifications/tools/list_changed", {"_meta": meta})


async def test_a_subscription_is_heard_and_left() -> None:
    async with McpUrl(MODERN, capabilities=LISTENED) as server:
        left = asyncio.Event()

        async def listen(message: HttpRequest) -> None:
            await message.stream()
            await message.event(acknowledge(message))
            await message.event(changed(message))
            await message.wait_gone()
            left.set()

        server.replies["subscriptions/listen"] = listen
        # No limit of a request counts for it.
        timeouts = Timeouts(request=PATIENCE, connect=PATIENCE)
        async with client_of(server, timeouts=timeouts) as client:
            async with client.listen(tools=True) as changes:
                change = await anext(changes)
                assert change.method == "notifications/tools/list_changed"
            await asyncio.wait_for(left.wait(), PATIENCE)


async def test_without_healing_a_subscription_that_is_cut_is_told() -> None:
    async with McpUrl(MODERN, capabilities=LISTENED) as server:

        async def listen(message: HttpRequest) -> None:
            await message.stream()
            await message.event(acknowledge(message))

        server.replies["subscriptions/listen"] = listen
        async with client_of(server, heal=False) as client, client.listen(tools=True) as changes:
            why = "stream of subscriptions/listen was cut before the answer"
            with pytest.raises(ConnectionClosed, match=why):
                await anext(changes)
        assert len(server.asked("subscriptions/listen")) == 1


async def test_a_subscription_that_is_cut_is_asked_for_anew() -> None:
    async with McpUrl(MODERN, capabilities=LISTENED) as server:

        async def listen(message: HttpRequest) -> None:
            await message.stream()
            await message.event(acknowledge(message))
            if len(server.asked("subscriptions/listen")) == 3:
                await message.event(changed(message))
                await message.wait_gone()

        server.replies["subscriptions/listen"] = listen
        async with (
            client_of(server) as client,
            client.listen(tools=True) as changes,
        ):
            # What may have been missed meanwhile.
            assert (await anext(changes)).method == "notifications/tools/list_changed"
            await server.wait_asked("subscriptions/listen", 3)
            assert (await anext(changes)).method == "notifications/tools/list_changed"
        ids = [message.message["id"] for message in server.asked("subscriptions/listen")]
        assert len(set(ids)) == 3


async def test_many_subscriptions_leave_room_for_calls() -> None:
    async with McpUrl(MODERN, capabilities=LISTENED) as server:

        async def listen(message: HttpRequest) -> None:
            await message.stream()
            await message.event(acknowledge(message))
            await message.wait_gone()

        server.replies["subscriptions/listen"] = listen
        async with client_of(server) as client, asyncio.TaskGroup() as group:
            go_on = asyncio.Event()

            async def hear() -> None:
                async with client.listen(tools=True):
                    await go_on.wait()

            for _ in range(150):
                group.create_task(hear())
            await server.wait_asked("subscriptions/listen", 150)
            assert (await client.call_tool("tool")).text == "done"
            go_on.set()
