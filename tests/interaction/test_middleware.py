"""Code around every request and notification, in every revision and over every transport."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.interaction.connecting import TIMEOUTS, serving_http
from wigwag import Client, Context, RequestFailed, Server
from wigwag.schema import (
    LATEST_LEGACY,
    LATEST_MODERN,
    REVISIONS,
    V2025_06_18,
    CallToolResult,
    ElicitResult,
    ListToolsResult,
    TextContent,
)

pytestmark = pytest.mark.anyio


def kites(seen: list[str] | None = None) -> Server:
    """A server whose middleware writes down what it sees."""
    server = Server("kites")

    @server.tool
    async def fly(height: int) -> str:
        return f"{height} m"

    @server.tool
    def count(ctx: Context) -> str:
        return str(ctx.state.get("words", "nothing"))

    @server.tool
    def fall() -> None:
        raise ValueError("a secret")

    @server.resource("kite://wind")
    def wind() -> str:
        return "calm"

    @server.prompt
    def advise(height: int) -> str:
        return f"Fly at {height} m."

    if seen is not None:

        @server.middleware
        async def look(context: Context, call_next: Any) -> Any:
            seen.append(f"> {context.method}")
            try:
                result = await call_next(context)
            except RequestFailed as error:
                seen.append(f"! {context.method} {error.code}")
                raise
            seen.append(f"< {context.method} {type(result).__name__}")
            return result

    return server


async def test_every_request_passes_through_whatever_its_method(revision: str) -> None:
    seen: list[str] = []
    async with Client(kites(seen), mode=revision, timeouts=TIMEOUTS) as client:
        await client.list_tools()
        assert (await client.call_tool("fly", {"height": 3})).text == "3 m"
        await client.call_tool("fall")
        await client.list_resources()
        await client.list_resource_templates()
        await client.read_resource("kite://wind")
        await client.list_prompts()
        await client.get_prompt("advise", {"height": "3"})
        with pytest.raises(RequestFailed):
            await client.call_tool("swim")
    opening = (
        ["> initialize", "< initialize InitializeResult", "> notifications/initialized"]
        if revision != LATEST_MODERN
        else ["> server/discover", "< server/discover DiscoverResult"]
    )
    assert seen[: len(opening)] == opening
    assert [line for line in seen if "tools" in line or "prompts" in line] == [
        "> tools/list",
        "< tools/list ListToolsResult",
        "> tools/call",
        "< tools/call CallToolResult",
        "> tools/call",
        "< tools/call CallToolResult",
        "> prompts/list",
        "< prompts/list ListPromptsResult",
        "> prompts/get",
        "< prompts/get GetPromptResult",
        "> tools/call",
        "! tools/call -32602",
    ]
    assert "< resources/read ReadResourceResult" in seen
    assert "< resources/templates/list ListResourceTemplatesResult" in seen


@pytest.mark.parametrize("revision", [r for r in REVISIONS if r != LATEST_MODERN])
async def test_what_the_protocol_answers_itself_passes_through_too(revision: str) -> None:
    seen: list[str] = []
    async with Client(kites(seen), mode=revision, timeouts=TIMEOUTS) as client:
        await client.ping()
        await client.set_logging_level("error")
        async with client.listen(uris=["kite://wind"]):
            pass
        await client.send_roots_list_changed()
        await client.ping()
    for line in (
        "< ping Result",
        "< logging/setLevel Result",
        "< resources/subscribe Result",
        "< resources/unsubscribe Result",
        "< notifications/roots/list_changed NoneType",
    ):
        assert line in seen


async def test_a_modern_subscription_passes_through_and_is_told_of_changes() -> None:
    seen: list[str] = []
    server = kites(seen)
    async with (
        Client(server, mode=LATEST_MODERN, timeouts=TIMEOUTS) as client,
        client.listen(tools=True) as changes,
    ):
        assert seen[-1] == "< subscriptions/listen NoneType"
        server.tools_changed()
        async with asyncio.timeout(30):
            assert (await anext(aiter(changes))).method == "notifications/tools/list_changed"


async def test_a_middleware_can_answer_change_and_refuse(revision: str) -> None:
    server = kites()

    @server.middleware
    async def steer(context: Context, call_next: Any) -> Any:
        if context.method == "tools/call" and context.params.name == "fall":
            return CallToolResult(content=[TextContent(text="caught")])
        if context.method == "tools/call" and context.params.name == "count":
            context.state["words"] = "left by the middleware"
        if context.method == "prompts/get":
            raise RequestFailed(-32000, "no advice today")
        if context.method == "tools/call" and context.params.name == "fly":
            higher = msgspec.Raw(b'{"height":100}')
            context.params = msgspec.structs.replace(context.params, arguments=higher)
        result = await call_next(context)
        if isinstance(result, ListToolsResult):
            return msgspec.structs.replace(result, tools=result.tools[:1])
        return result

    async with Client(server, mode=revision, timeouts=TIMEOUTS) as client:
        assert (await client.call_tool("fall")).text == "caught"
        assert (await client.call_tool("count")).text == "left by the middleware"
        assert (await client.call_tool("fly", {"height": 3})).text == "100 m"
        assert [tool.name for tool in (await client.list_tools()).tools] == ["fly"]
        with pytest.raises(RequestFailed, match="no advice today"):
            await client.get_prompt("advise", {"height": "3"})


async def test_the_first_middleware_is_the_outermost() -> None:
    order: list[str] = []

    def named(name: str) -> Any:
        async def step(context: Context, call_next: Any) -> Any:
            order.append(f"{name} before {context.method}")
            result = await call_next(context)
            order.append(f"{name} after {context.method}")
            return result

        return step

    server = Server("s", middleware=[named("outer")])
    server.middleware.append(named("inner"))

    @server.tool
    def hello() -> str:
        return "hello"

    async with Client(server, mode=LATEST_MODERN, timeouts=TIMEOUTS) as client:
        order.clear()
        await client.call_tool("hello")
    assert order == [
        "outer before tools/call",
        "inner before tools/call",
        "inner after tools/call",
        "outer after tools/call",
    ]


async def test_middleware_can_be_taken_away_while_clients_are_connected() -> None:
    seen: list[str] = []
    server = kites(seen)
    async with Client(server, mode=LATEST_LEGACY, timeouts=TIMEOUTS) as client:
        await client.list_tools()
        (step,) = server.middleware
        server.middleware.remove(step)
        seen.clear()
        await client.call_tool("fly", {"height": 1})
        await client.ping()
    assert seen == []
    assert len(server.middleware) == 0


async def test_what_goes_wrong_in_a_middleware_is_an_error_with_a_reference(revision: str) -> None:
    server = kites()

    @server.middleware
    async def stumble(context: Context, call_next: Any) -> Any:
        if context.method == "tools/call":
            if context.params.name == "count":
                return "no result"
            if context.params.name == "fly":
                raise SystemExit(3)
            raise ValueError("a secret")
        return await call_next(context)

    async with Client(server, mode=revision, timeouts=TIMEOUTS) as client:
        for tool in ("fall", "fly", "count"):
            with pytest.raises(RequestFailed, match="Internal error") as caught:
                await client.call_tool(tool, {})
            assert "secret" not in str(caught.value)
        await client.list_tools()


def test_what_is_no_middleware_is_refused() -> None:
    server = Server("s")

    def plain(context: Context, call_next: Any) -> Any:
        return call_next(context)

    with pytest.raises(TypeError, match=r"write `async def name\(context, call_next\)`"):
        server.middleware.append(plain)


async def test_a_client_whose_handshake_is_refused_gets_no_session() -> None:
    server = kites()

    @server.middleware
    async def refuse(context: Context, call_next: Any) -> Any:
        if context.method == "initialize":
            raise RequestFailed(-32000, "not you")
        return await call_next(context)

    async with serving_http(server) as origin:
        for target in (server, f"{origin}/mcp"):
            with pytest.raises(RequestFailed, match="not you"):
                await Client(target, mode=LATEST_LEGACY, timeouts=TIMEOUTS).connect()


@pytest.mark.parametrize("revision", REVISIONS[1:])
async def test_the_same_holds_over_http(revision: str) -> None:
    seen: list[str] = []
    async with (
        serving_http(kites(seen)) as origin,
        Client(f"{origin}/mcp", mode=revision, timeouts=TIMEOUTS) as client,
    ):
        assert (await client.call_tool("fly", {"height": 3})).text == "3 m"
        await client.list_tools()
        with pytest.raises(RequestFailed, match="Unknown tool"):
            await client.call_tool("swim")
    assert [line for line in seen if "tools" in line] == [
        "> tools/call",
        "< tools/call CallToolResult",
        "> tools/list",
        "< tools/list ListToolsResult",
        "> tools/call",
        "! tools/call -32602",
    ]


@pytest.mark.parametrize("revision", [V2025_06_18, LATEST_LEGACY, LATEST_MODERN])
async def test_asking_in_the_middle_works_inside_of_middleware(revision: str) -> None:
    seen: list[str] = []
    server = kites(seen)

    @server.tool
    async def greet(ctx: Context) -> str:
        answer = await ctx.elicit("Who are you?", str)
        return f"Hello, {answer.data}"

    async def answer(_: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"value": "Ann"})

    async with Client(server, mode=revision, timeouts=TIMEOUTS, elicitation=answer) as client:
        assert (await client.call_tool("greet")).text == "Hello, Ann"
    kinds = [line for line in seen if line.startswith("< tools/call")]
    if revision == LATEST_MODERN:
        assert kinds == ["< tools/call InputRequiredResult", "< tools/call CallToolResult"]
    else:
        assert kinds == ["< tools/call CallToolResult"]
