"""What a handler can know of its request, and tell about it."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from tests.interaction.answering import ABLE
from tests.interaction.connecting import PATIENCE, serving_http, text_of
from tests.interaction.peers import PeerClient, cancelled
from tests.watch import WireWatch
from wigwag import Client, Context, Server
from wigwag.errors import LocalProtocolError
from wigwag.schema import (
    LATEST_LEGACY,
    LATEST_MODERN,
    V2025_11_25,
    ClientCapabilities,
    RootsCapability,
)

pytestmark = pytest.mark.anyio

TRACE = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01", "baggage": "a=b"}


@dataclass
class Shop:
    stock: int


@asynccontextmanager
async def opened(server: Server) -> AsyncIterator[Shop]:
    yield Shop(3)


@pytest.fixture
def server() -> Server:
    return Server("shop", lifespan=opened)


async def test_what_the_lifespan_yields_has_its_type_and_several_names(
    server: Server, revision: str
) -> None:
    @server.tool
    def count(ctx: Context[Shop]) -> int:
        assert ctx.lifespan is ctx.lifespan_context is ctx.request_context.lifespan_context
        return ctx.lifespan.stock

    async with Client(server, mode=revision) as client:
        assert await text_of(client, "count") == "3"


async def test_a_handler_sees_the_method_the_server_and_the_trace(
    server: Server, revision: str
) -> None:
    @server.tool
    def tell(ctx: Context) -> str:
        assert ctx.server is server
        assert ctx.params.name == "tell"
        return f"{ctx.method} {ctx.trace.traceparent} {ctx.trace.tracestate} {ctx.trace.baggage}"

    @server.resource("shop://trace")
    def trace(ctx: Context) -> str:
        return f"{ctx.method} {bool(ctx.trace)}"

    async with Client(server, mode=revision) as client:
        result = await client.call_tool("tell", meta=TRACE)
        assert result.text == f"tools/call {TRACE['traceparent']} None a=b"
        [contents] = (await client.read_resource("shop://trace")).contents
        assert contents.text == "resources/read False"


@pytest.mark.parametrize("revision", [LATEST_LEGACY, LATEST_MODERN])
async def test_headers_are_found_in_any_case_and_only_where_there_are_some(
    server: Server, revision: str
) -> None:
    @server.tool
    def tenant(ctx: Context) -> str:
        return f"{ctx.headers.get('x-TENANT')} {'nothing' in ctx.headers}"

    async with (
        serving_http(server) as origin,
        Client(f"{origin}/mcp", mode=revision, headers={"X-Tenant": "kite"}) as client,
    ):
        assert await text_of(client, "tenant") == "kite False"
    async with Client(server, mode=revision) as client:
        assert await text_of(client, "tenant") == "None False"


async def test_whoever_serves_a_request_shares_its_state(server: Server, revision: str) -> None:
    @server.middleware
    async def measure(context: Context, call_next: Any) -> Any:
        context.state["seen"] = context.method
        return await call_next(context)

    @server.tool
    def seen(ctx: Context) -> str:
        return f"{ctx.state.pop('seen')} {ctx.state} {ctx.principal}"

    async with Client(server, mode=revision) as client:
        assert await text_of(client, "seen") == "tools/call {} None"
        assert await text_of(client, "seen") == "tools/call {} None"


async def test_a_handler_reads_resources_of_its_server(server: Server, revision: str) -> None:
    @server.resource("shop://sign")
    def sign() -> str:
        return "open"

    @server.tool
    async def look(ctx: Context) -> str:
        [contents] = await ctx.read_resource("shop://sign")
        return f"{contents.content!r}"

    async with Client(server, mode=revision) as client:
        assert await text_of(client, "look") == "'open'"


# --- stopping


@pytest.mark.parametrize("how", ["cancelled", "disconnected"])
async def test_a_plain_function_can_see_that_nobody_waits_for_it(
    server: Server, revision: str, how: str
) -> None:
    loop = asyncio.get_running_loop()
    began, ended = asyncio.Event(), asyncio.Event()
    going = threading.Event()

    @server.tool
    def work(ctx: Context) -> None:
        assert not ctx.is_cancelled
        ctx.check_cancelled()
        loop.call_soon_threadsafe(began.set)
        assert going.wait(PATIENCE)
        try:
            while True:
                ctx.check_cancelled()
        except asyncio.CancelledError:
            assert ctx.is_cancelled
            loop.call_soon_threadsafe(ended.set)
            raise

    async with PeerClient(server, revision) as peer:
        call = peer.call("work")
        peer.send(call)
        async with asyncio.timeout(PATIENCE):
            await began.wait()
        if how == "cancelled":
            peer.send(cancelled(call["id"]))
            going.set()
            async with asyncio.timeout(PATIENCE):
                await ended.wait()
    going.set()
    async with asyncio.timeout(PATIENCE):
        await ended.wait()


# --- telling


async def test_a_server_may_have_notifications_of_its_own(
    server: Server, revision: str, wire: WireWatch
) -> None:
    wire.allow_extensions("com.example/moved", "com.example/done")

    @server.tool
    async def move(ctx: Context) -> str:
        await ctx.notify("com.example/moved", {"to": [1, 2]})
        await ctx.notify("com.example/done")
        return "moved"

    @server.tool
    def move_in_thread(ctx: Context) -> str:
        ctx.notify("com.example/moved", {"to": "here"})
        return "moved"

    async with PeerClient(server, revision) as peer:
        peer.send(peer.call("move"))
        moved = await peer.next("com.example/moved")
        assert moved["params"] == {"to": [1, 2]}
        assert "params" not in await peer.next("com.example/done")
        await peer.next()
        peer.send(peer.call("move_in_thread"))
        assert (await peer.next("com.example/moved"))["params"] == {"to": "here"}
        await peer.next()


@pytest.mark.parametrize("revision", [LATEST_LEGACY, LATEST_MODERN])
async def test_over_http_such_notifications_come_before_the_result(
    server: Server, revision: str, wire: WireWatch
) -> None:
    wire.allow_extensions("com.example/moved")

    @server.tool
    async def move(ctx: Context) -> str:
        ctx.notify("com.example/moved", {"to": 3})
        return "moved"

    heard: list[Any] = []
    async with (
        serving_http(server) as origin,
        Client(
            f"{origin}/mcp",
            mode=revision,
            on_notification=lambda method, params: heard.append(method),
        ) as client,
    ):
        assert await text_of(client, "move") == "moved"
    assert heard == ["com.example/moved"]


async def test_what_mcp_or_json_has_other_ideas_of_cannot_be_told(server: Server) -> None:
    @server.tool
    async def tell(ctx: Context, method: str) -> str:
        with pytest.raises(LocalProtocolError) as caught:
            ctx.notify(method, {"x": object()})
        return str(caught.value)

    async with Client(server) as client:
        text = await text_of(client, "tell", method="notifications/progress")
        assert "is a method of MCP" in text
        assert "object" in await text_of(client, "tell", method="com.example/x")


async def test_nothing_is_told_of_what_has_been_answered(server: Server, revision: str) -> None:
    kept: list[Context] = []

    @server.tool
    async def keep(ctx: Context) -> str:
        kept.append(ctx)
        return "kept"

    async with PeerClient(server, revision) as peer:
        await peer.ask(peer.call("keep"))
        kept[0].notify("com.example/late")
        assert kept[0].is_cancelled
        await peer.settle()
        assert peer.unread == []


@pytest.mark.parametrize("tool", ["change", "change_by_session"])
async def test_changes_are_told_by_whichever_name(server: Server, tool: str) -> None:
    @server.resource("shop://stock")
    def stock() -> str:
        return "3"

    @server.prompt
    def hello() -> str:
        return "hello"

    @server.tool
    async def change(ctx: Context) -> str:
        await ctx.notify_tools_changed()
        await ctx.notify_prompts_changed()
        await ctx.notify_resources_changed()
        await ctx.notify_resource_updated("shop://stock")
        return "changed"

    @server.tool
    async def change_by_session(ctx: Context) -> str:
        await ctx.session.send_tool_list_changed()
        await ctx.session.send_prompt_list_changed()
        await ctx.session.send_resource_list_changed()
        await ctx.session.send_resource_updated("shop://stock")
        return "changed"

    heard: set[str] = set()
    all_heard = asyncio.Event()
    expected = {
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/tools/list_changed",
    }

    def note(method: str, params: Any) -> None:
        heard.add(method)
        if heard >= expected:
            all_heard.set()

    async with Client(server, mode=LATEST_LEGACY, on_notification=note) as client:
        await client.subscribe_resource("shop://stock")
        await text_of(client, tool)
        async with asyncio.timeout(PATIENCE):
            await all_heard.wait()
    assert heard == expected


async def test_the_session_has_more_by_the_names_of_the_official_sdk(revision: str) -> None:
    server = Server("shop")

    @server.tool
    async def ask(ctx: Context) -> str:
        roots = (await ctx.session.list_roots()).roots
        said: Any = await ctx.session.create_message("hello", max_tokens=3)
        await ctx.session.send_log_message("error", "asked", logger="till")
        able = ctx.session.check_client_capability(ClientCapabilities(roots=RootsCapability()))
        return f"{roots[0].uri} {said.text} {able}"

    heard: list[Any] = []
    async with Client(server, mode=revision, on_log=heard.append, **ABLE) as client:
        await client.set_logging_level("error")
        assert await text_of(client, "ask") == "file:///srv HELLO True"
    assert [(each.data, each.logger) for each in heard] == [("asked", "till")]


@pytest.mark.broken_messages("client", sometimes=True)
async def test_that_a_page_is_done_with_is_told_where_there_is_a_word_for_it(
    server: Server, revision: str
) -> None:
    @server.tool
    async def done(ctx: Context) -> str:
        await ctx.session.send_elicit_complete("deposit-7")
        return "done"

    async with PeerClient(server, revision, capabilities={"elicitation": {"url": {}}}) as peer:
        peer.send(peer.call("done"))
        if revision == V2025_11_25:
            told = await peer.next("notifications/elicitation/complete")
            assert told["params"] == {"elicitationId": "deposit-7"}
        assert "result" in await peer.next()
