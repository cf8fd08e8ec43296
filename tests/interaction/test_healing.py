"""Requests that are lost over HTTP: which are sent again, when, and what becomes of the answers."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Self

import pytest

from tests.interaction.connecting import PATIENCE, TIMEOUTS
from tests.interaction.http_server import Handle, HttpRequest, HttpServer, McpUrl
from tests.pair import notification, result
from wigwag import Client, ClientEvent, Healing
from wigwag.client.resending import DELAYS, MAX_SENDINGS
from wigwag.errors import (
    ConnectionClosed,
    ConnectionRefused,
    HttpStatusError,
    SessionLost,
)
from wigwag.schema import LATEST_LEGACY, LATEST_MODERN, ElicitResult

pytestmark = pytest.mark.anyio

LEGACY, MODERN = LATEST_LEGACY, LATEST_MODERN
ERAS = (LEGACY, MODERN)

TOOLS = [
    {"name": "read", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    {"name": "put", "inputSchema": {"type": "object"}, "annotations": {"idempotentHint": True}},
    {"name": "add", "inputSchema": {"type": "object"}},
    {
        "name": "drop",
        "inputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": False, "idempotentHint": False, "destructiveHint": True},
    },
]
REPEATABLE, OTHER = ("read", "put"), ("add", "drop")


class Told:
    """What a client tells of what it has put right."""

    def __init__(self) -> None:
        self.events: list[ClientEvent] = []
        self._news = asyncio.Event()

    def __call__(self, event: ClientEvent) -> None:
        self.events.append(event)
        self._news.set()

    async def wait(self, kind: str, count: int = 1) -> ClientEvent:
        """Wait for the so manieth event of a kind."""
        async with asyncio.timeout(PATIENCE):
            while len(found := [event for event in self.events if event.kind == kind]) < count:
                self._news.clear()
                await self._news.wait()
        return found[count - 1]

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]


class Shop(McpUrl):
    """A server with tools, whose port stays its own while it is down."""

    def __init__(self, revision: str, **options: Any) -> None:
        super().__init__(revision, **options)
        self.replies["tools/list"] = self.list_tools

    async def list_tools(self, message: HttpRequest) -> None:
        await self.give(message, tools=TOOLS)

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        # Nobody else gets the port meanwhile; it does not listen, so that who connects is refused.
        self._holder = socket.socket()
        self._holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        await self.stop()
        self._holder.bind(("127.0.0.1", self.port))
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await super().__aexit__()
        self._holder.close()

    async def stop(self) -> None:
        """Cut all connections, and listen no more."""
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def start(self) -> None:
        """Listen again."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)


@asynccontextmanager
async def shopping(server: HttpServer, **options: Any) -> AsyncIterator[tuple[Client, Told]]:
    """Connect a client that knows what tools there are."""
    told = Told()
    options = {"timeouts": TIMEOUTS, "era_cache": {}, "on_event": told, **options}
    async with Client(server.url, **options) as client:
        await client.list_tools()
        yield client, told


def first_ones(server: McpUrl, count: int, fail: Handle, answer: Handle | None = None) -> Handle:
    """Return what lets the first requests fail, and answers the others."""
    left = count

    async def reply(message: HttpRequest) -> None:
        nonlocal left
        left -= 1
        if left >= 0:
            await fail(message)
        else:
            await (answer or server._reply)(message)

    return reply


async def cut(message: HttpRequest) -> None:
    message.cut()


async def cut_stream(message: HttpRequest) -> None:
    await message.stream(b": begun\n\n")
    message.cut()


# --- what may be sent again


@pytest.mark.parametrize("revision", ERAS)
@pytest.mark.parametrize("fail", [cut, cut_stream])
@pytest.mark.parametrize("tool", REPEATABLE)
async def test_a_lost_call_that_may_be_made_twice_is_made_again(
    revision: str, fail: Handle, tool: str
) -> None:
    async with Shop(revision) as server:
        server.replies["tools/call"] = first_ones(server, 1, fail)
        async with shopping(server) as (client, told):
            assert (await client.call_tool(tool, {"n": 1})).text == "done"
        first, second = (message.message for message in server.asked("tools/call"))
        assert first["id"] != second["id"]
        assert first["params"]["arguments"] == second["params"]["arguments"] == {"n": 1}
        (event,) = told.events
        assert (event.kind, event.method, event.attempt) == ("request_resent", "tools/call", 2)
        assert isinstance(event.reason, ConnectionClosed)
        assert event.server == f"the server at {server.url}"


@pytest.mark.parametrize("revision", ERAS)
@pytest.mark.parametrize("fail", [cut, cut_stream])
@pytest.mark.parametrize("tool", OTHER)
async def test_any_other_lost_call_is_made_once(revision: str, fail: Handle, tool: str) -> None:
    async with Shop(revision) as server:
        server.replies["tools/call"] = first_ones(server, 1, fail)
        async with shopping(server) as (client, told):
            with pytest.raises(ConnectionClosed, match=r"127\.0\.0\.1.*(cut|closed)"):
                await client.call_tool(tool)
            assert len(server.asked("tools/call")) == 1
            assert told.events == []
            assert (await client.call_tool(tool)).text == "done"


async def test_a_tool_that_was_never_listed_is_called_once() -> None:
    async with Shop(MODERN) as server:
        server.replies["tools/call"] = first_ones(server, 1, cut)
        async with Client(server.url, timeouts=TIMEOUTS, era_cache={}) as client:
            with pytest.raises(ConnectionClosed):
                await client.call_tool("read")
        assert len(server.asked("tools/call")) == 1


@pytest.mark.broken_messages("client")  # no method of the protocol
async def test_a_list_is_asked_for_again_and_what_only_an_extension_knows_is_not() -> None:
    async with Shop(MODERN) as server:
        async with shopping(server, cache=False) as (client, _):
            server.replies["tools/list"] = first_ones(server, 1, cut, server.list_tools)
            server.replies["acme/ask"] = cut
            assert len((await client.list_tools()).tools) == len(TOOLS)
            with pytest.raises(ConnectionClosed):
                await client.request("acme/ask")
        assert len(server.asked("tools/list")) == 3
        assert len(server.asked("acme/ask")) == 1


@pytest.mark.parametrize(
    "options", [{"heal": False}, {"heal": Healing(resend=False)}], ids=["nothing", "no-resend"]
)
async def test_it_can_be_turned_off(options: Any) -> None:
    async with Shop(MODERN) as server:
        server.replies["tools/call"] = cut
        async with shopping(server, **options) as (client, told):
            with pytest.raises(ConnectionClosed):
                await client.call_tool("read")
            await server.stop()
            with pytest.raises(ConnectionRefused):
                await client.call_tool("read")
        assert len(server.asked("tools/call")) == 1
        assert told.events == []


async def test_a_call_that_ends_its_connection_each_time_is_made_three_times() -> None:
    async with Shop(MODERN) as server:
        server.replies["tools/call"] = cut
        async with shopping(server) as (client, told):
            with pytest.raises(ConnectionClosed):
                await client.call_tool("read")
            assert len(server.asked("tools/call")) == MAX_SENDINGS == 3
            assert [event.attempt for event in told.events] == [2, 3]
            server.replies["tools/call"] = first_ones(server, 2, cut)
            assert (await client.call_tool("read")).text == "done"


# --- what goes along, and what comes back


@pytest.mark.broken_messages("server")  # it answers what was never asked
async def test_all_that_belongs_to_a_call_goes_along() -> None:
    async with Shop(MODERN, capabilities={"tools": {}, "logging": {}}) as server:
        seen: list[float] = []
        number = 0

        async def call(message: HttpRequest) -> None:
            nonlocal number
            number += 1
            await message.stream()
            token = message.message["params"]["_meta"]["progressToken"]
            params = {"progressToken": token, "progress": number}
            await message.event(notification("notifications/progress", params))
            if number == 1:
                message.cut()
                return
            # A late answer to what was lost, and one that nobody asked for.
            for id_, text in ((first_id(), "late"), (999, "stray"), (message.message["id"], "ok")):
                content = {"content": [{"type": "text", "text": text}]}
                await message.event(result(id_, server.complete(message, content)))

        def first_id() -> Any:
            return server.asked("tools/call")[0].message["id"]

        server.replies["tools/call"] = call
        async with shopping(server) as (client, _):
            await client.set_logging_level("info")
            found = await client.call_tool(
                "put", on_progress=lambda p: seen.append(p.progress), meta={"acme/trace": "t"}
            )
            assert found.text == "ok"
        assert seen == [1, 2]
        metas = [message.message["params"]["_meta"] for message in server.asked("tools/call")]
        ids = [message.message["id"] for message in server.asked("tools/call")]
        assert [meta.pop("progressToken") for meta in metas] == ids
        assert metas[0] == metas[1]
        assert metas[0]["acme/trace"] == "t"
        assert metas[0]["io.modelcontextprotocol/logLevel"] == "info"


@pytest.mark.parametrize("tool", ["put", "add"])
async def test_a_round_of_input_is_sent_again_as_it_was_if_the_call_may_be_made_twice(
    tool: str,
) -> None:
    async with Shop(MODERN) as server:
        rounds: list[Any] = []

        async def call(message: HttpRequest) -> None:
            params = message.message["params"]
            if "requestState" not in params:
                question = {"mode": "form", "message": "How many?", "requestedSchema": SCHEMA}
                await message.result(
                    resultType="input_required",
                    inputRequests={"q": {"method": "elicitation/create", "params": question}},
                    requestState="state-1",
                )
                return
            rounds.append((params["requestState"], params["inputResponses"]))
            if len(rounds) == 1:
                message.cut()
            else:
                await server._reply(message)

        async def answer(_: Any) -> ElicitResult:
            asked.append("asked")
            return ElicitResult(action="accept", content={"n": 3})

        asked: list[str] = []
        server.replies["tools/call"] = call
        async with shopping(server, elicitation=answer) as (client, _):
            if tool == "add":
                with pytest.raises(ConnectionClosed):
                    await client.call_tool(tool)
            else:
                assert (await client.call_tool(tool)).text == "done"
        given = ("state-1", {"q": {"action": "accept", "content": {"n": 3}}})
        assert rounds == [given] * (1 if tool == "add" else 2)
        assert asked == ["asked"]


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}


# --- servers that are started anew


@pytest.mark.parametrize("revision", ERAS)
@pytest.mark.parametrize("tool", ["read", "add"])
async def test_while_nobody_listens_nothing_is_sent_and_so_any_call_is_tried_again(
    revision: str, tool: str
) -> None:
    async with Shop(revision, session="s") as server:
        async with shopping(server) as (client, told):
            await server.stop()
            server.sessions.clear()
            calling = asyncio.create_task(client.call_tool(tool))
            event = await told.wait("request_resent", 2)
            assert isinstance(event.reason, ConnectionRefused)
            await server.start()
            assert (await calling).text == "done"
        carried_out = [
            message
            for message in server.asked("tools/call")
            if message.headers.get("mcp-session-id") in (None, "s-2")
        ]
        assert len(carried_out) == 1
        assert ("session_reopened" in told.kinds) is (revision == LEGACY)


async def test_a_server_that_does_not_come_back_is_told_in_the_end() -> None:
    async with Shop(MODERN) as server:
        async with shopping(server) as (client, told):
            await server.stop()
            with pytest.raises(ConnectionRefused, match="nobody listens there"):
                await client.call_tool("add")
        assert [event.attempt for event in told.events] == [n + 2 for n in range(len(DELAYS))]


async def test_connecting_is_not_tried_again() -> None:
    async with HttpServer(lambda message: message.answer(503)) as server:
        client = Client(server.url, mode="modern", timeouts=TIMEOUTS, era_cache={})
        with pytest.raises(HttpStatusError, match="503"):
            await client.connect()
        assert len(server.requests) == 1
        lazy = Client(server.url, mode="modern", timeouts=TIMEOUTS, era_cache={}, lazy=True)
        with pytest.raises(HttpStatusError, match="503"):
            await lazy.call_tool("read")
        await lazy.close()
        assert len(server.requests) == 2


@pytest.mark.parametrize("status", [502, 503, 504])
async def test_a_burst_of_refusals_is_waited_for_by_what_may_be_asked_twice(status: int) -> None:
    async def refuse(message: HttpRequest) -> None:
        await message.answer(status, b"starting")

    async with Shop(MODERN) as server, shopping(server) as (client, told):
        server.replies["tools/call"] = first_ones(server, 3, refuse)
        assert (await client.call_tool("read")).text == "done"
        assert [event.attempt for event in told.events] == [2, 3, 4]
        server.replies["tools/call"] = first_ones(server, 1, refuse)
        with pytest.raises(HttpStatusError, match=f"{status} Whatever: starting"):
            await client.call_tool("add")


@pytest.mark.parametrize("status", [400, 401, 429, 500])
async def test_any_other_refusal_is_an_answer(status: int) -> None:
    async def refuse(message: HttpRequest) -> None:
        await message.answer(status, b"no")

    async with Shop(MODERN) as server:
        async with shopping(server) as (client, told):
            server.replies["tools/call"] = refuse
            with pytest.raises(HttpStatusError, match=f"{status} Whatever: no"):
                await client.call_tool("read")
            assert told.events == []
        assert len(server.asked("tools/call")) == 1


async def test_a_server_that_says_when_to_come_back_is_left_alone_until_then() -> None:
    async def refuse(message: HttpRequest) -> None:
        await message.answer(503, headers=[("Retry-After", wanted)])

    async with Shop(MODERN) as server:
        async with shopping(server) as (client, _):
            wanted = "1"
            server.replies["tools/call"] = first_ones(server, 1, refuse)
            assert (await client.call_tool("read")).text == "done"
            first, second = server.times[-2:]
            assert second - first >= 0.99
            wanted = "3600"
            server.replies["tools/call"] = refuse
            with pytest.raises(HttpStatusError, match="503"):
                await client.call_tool("read")
        assert len(server.asked("tools/call")) == 3


# --- limits


async def test_no_call_is_tried_for_longer_than_it_may_take() -> None:
    async def refuse(message: HttpRequest) -> None:
        await message.answer(503)

    async with Shop(MODERN) as server:
        async with shopping(server) as (client, _):
            server.replies["tools/call"] = refuse
            with pytest.raises(HttpStatusError):
                await client.call_tool("read", timeout=2.0)
        assert 1 < len(server.asked("tools/call")) <= len(DELAYS)


async def test_a_call_that_is_cancelled_between_two_tries_is_tried_no_more() -> None:
    async with Shop(MODERN) as server:
        async with shopping(server) as (client, told):
            await server.stop()
            calling = asyncio.create_task(client.call_tool("read"))
            await told.wait("request_resent", 2)
            calling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await calling
            await server.start()
            await client.list_tools()
        assert server.asked("tools/call") == []


async def test_closing_ends_the_waiting_between_two_tries() -> None:
    async with Shop(MODERN) as server, shopping(server) as (client, told):
        await server.stop()
        calling = [asyncio.create_task(client.call_tool("read")) for _ in range(3)]
        await told.wait("request_resent", 12)
        async with asyncio.timeout(PATIENCE):
            while len(client._pauses._waiting) < len(calling):  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.001)
        await client.close()
        for task in calling:
            with pytest.raises(ConnectionClosed, match="the client was closed"):
                await task


# --- sessions


async def test_without_healing_a_lost_session_stays_lost() -> None:
    async with Shop(LEGACY, session="s") as server:
        async with shopping(server, heal=Healing(session=False)) as (client, told):
            server.sessions.clear()
            for _ in range(2):
                with pytest.raises(SessionLost):
                    await client.call_tool("read")
            assert len(server.asked("initialize")) == 1
            await client.connect()
            assert (await client.call_tool("read")).text == "done"
        assert told.kinds == ["session_reopened"]


async def test_a_new_session_is_one_event_however_many_calls_wait_for_it() -> None:
    async with Shop(LEGACY, session="s") as server:
        async with shopping(server) as (client, told):
            server.sessions.clear()
            await asyncio.gather(*(client.call_tool("add") for _ in range(5)))
        assert told.kinds.count("session_reopened") == 1
        assert told.kinds.count("request_resent") == len(told.kinds) - 1
        event = told.events[told.kinds.index("session_reopened")]
        assert isinstance(event.reason, SessionLost)


async def test_without_resending_a_new_session_is_there_for_the_next_call() -> None:
    async with Shop(LEGACY, session="s") as server:
        async with shopping(server, heal=Healing(resend=False)) as (client, told):
            server.sessions.clear()
            with pytest.raises(SessionLost):
                await client.call_tool("read")
            assert (await client.call_tool("read")).text == "done"
        assert told.kinds == ["session_reopened"]


async def test_a_callback_that_fails_does_no_harm() -> None:
    def fail(event: ClientEvent) -> None:
        raise ValueError(event.kind)

    async with Shop(MODERN) as server:
        server.replies["tools/call"] = first_ones(server, 1, cut)
        async with shopping(server, on_event=fail) as (client, _):
            assert (await client.call_tool("read")).text == "done"


async def test_nothing_is_told_where_nothing_was_put_right(revision: str) -> None:
    if revision == "2024-11-05":
        pytest.skip("it has another transport")
    async with Shop(revision) as server:
        async with shopping(server) as (client, told):
            await client.call_tool("read")
        assert told.events == []
