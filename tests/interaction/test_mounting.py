"""Servers that are made of other servers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.interaction.connecting import TIMEOUTS, serving_http
from wigwag import Client, Context, RequestFailed, Server
from wigwag.schema import LATEST_LEGACY, LATEST_MODERN, PromptReference

pytestmark = pytest.mark.anyio


def weather(log: list[str] | None = None) -> Server:
    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[str]:
        if log is not None:
            log.append("begin")
        yield "the sky"
        if log is not None:
            log.append("end")

    server = Server("weather", lifespan=lifespan)

    @server.tool
    def forecast(city: str, ctx: Context) -> str:
        return f"Sun in {city}, says {ctx.lifespan}"

    @server.tool
    async def look(ctx: Context) -> str:
        (contents,) = (await ctx.read_resource("weather://now")).contents
        return getattr(contents, "text", "")

    @server.resource("weather://now")
    def now() -> str:
        return "calm"

    @server.resource("weather://cities/{city}")
    def of_city(city: str) -> str:
        return f"calm in {city}"

    @server.prompt
    def pack(city: str) -> str:
        return f"Pack for {city}."

    @server.completion("pack", "city")
    def cities(typed: str) -> list[str]:
        return [city for city in ("Oslo", "Rome") if city.startswith(typed)]

    return server


def travel(log: list[str] | None = None) -> tuple[Server, Server]:
    inner, outer = weather(log), Server("travel")

    @outer.tool
    def book() -> str:
        return "booked"

    outer.mount(inner, prefix="weather")
    return outer, inner


async def test_features_of_a_mounted_server_are_found_by_their_prefix(revision: str) -> None:
    server, _ = travel()
    async with Client(server, mode=revision, timeouts=TIMEOUTS) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        assert tools == ["book", "weather_forecast", "weather_look"]
        text = (await client.call_tool("weather_forecast", {"city": "Oslo"})).text
        assert text == "Sun in Oslo, says the sky"
        assert (await client.call_tool("weather_look")).text == "calm"
        with pytest.raises(RequestFailed, match="did you mean 'weather_forecast'"):
            await client.call_tool("forecast", {"city": "Oslo"})
        (prompt,) = (await client.list_prompts()).prompts
        assert prompt.name == "weather_pack"
        (message,) = (await client.get_prompt("weather_pack", {"city": "Rome"})).messages
        assert getattr(message.content, "text", None) == "Pack for Rome."
        (resource,) = (await client.list_resources()).resources
        assert resource.uri == "weather://now"
        for uri, text in (("weather://now", "calm"), ("weather://cities/Rome", "calm in Rome")):
            (contents,) = (await client.read_resource(uri)).contents
            assert getattr(contents, "text", None) == text
        found = await client.complete(PromptReference(name="weather_pack"), "city", "O")
        assert found.completion.values == ["Oslo"]


async def test_what_is_wrong_with_arguments_is_said_of_the_name_that_was_called() -> None:
    server, _ = travel()
    async with Client(server, mode=LATEST_MODERN, timeouts=TIMEOUTS) as client:
        result = await client.call_tool("weather_forecast", {"town": "Oslo"})
    assert result.is_error
    assert result.text.startswith("Invalid arguments for weather_forecast: ")


async def test_the_lifespan_of_a_mounted_server_is_open_while_the_outer_one_serves() -> None:
    log: list[str] = []
    server, inner = travel(log)
    async with Client(server, mode=LATEST_MODERN, timeouts=TIMEOUTS) as client:
        await client.list_tools()
        assert log == ["begin"]
        async with Client(inner, mode=LATEST_LEGACY, timeouts=TIMEOUTS) as direct:
            assert (await direct.call_tool("look")).text == "calm"
        assert log == ["begin"]
    assert log == ["begin", "end"]


@pytest.mark.parametrize("revision", [LATEST_LEGACY, LATEST_MODERN])
async def test_clients_are_told_what_changes_in_a_mounted_server(revision: str) -> None:
    server, inner = travel()
    async with (
        Client(server, mode=revision, timeouts=TIMEOUTS) as client,
        client.listen(tools=True, uris=["weather://now"]) as changes,
    ):
        heard = aiter(changes)

        @inner.tool
        def warn() -> str:
            return "Storm!"

        async with asyncio.timeout(30):
            assert (await anext(heard)).method == "notifications/tools/list_changed"
        assert (await client.call_tool("weather_warn")).text == "Storm!"
        inner.resource_updated("weather://now")
        async with asyncio.timeout(30):
            change = await anext(heard)
        assert (change.method, change.uri) == ("notifications/resources/updated", "weather://now")
        inner.disable("warn")
        async with asyncio.timeout(30):
            assert (await anext(heard)).method == "notifications/tools/list_changed"
        with pytest.raises(RequestFailed, match="Unknown tool"):
            await client.call_tool("weather_warn")


async def test_both_middlewares_are_around_a_mounted_tool(revision: str) -> None:
    server, inner = travel()
    seen: list[str] = []

    def noting(name: str) -> Any:
        async def note(context: Context, call_next: Any) -> Any:
            if context.method in ("tools/call", "resources/read", "prompts/get"):
                seen.append(f"{name} {context.method}")
            return await call_next(context)

        return note

    server.middleware.append(noting("outer"))
    inner.middleware.append(noting("inner"))
    async with Client(server, mode=revision, timeouts=TIMEOUTS) as client:
        await client.call_tool("book")
        await client.call_tool("weather_forecast", {"city": "Oslo"})
        await client.read_resource("weather://now")
        await client.get_prompt("weather_pack", {"city": "Oslo"})
        server.middleware.remove(next(iter(server.middleware)))
        await client.call_tool("weather_look")
    assert seen == [
        "outer tools/call",
        "outer tools/call",
        "inner tools/call",
        "outer resources/read",
        "inner resources/read",
        "outer prompts/get",
        "inner prompts/get",
        "inner tools/call",
    ]


async def test_servers_can_be_mounted_in_mounted_ones() -> None:
    middle = Server("middle")
    outer = Server("outer")
    outer.mount(middle, prefix="a")
    middle.mount(weather(), prefix="b")
    async with Client(outer, mode=LATEST_MODERN, timeouts=TIMEOUTS) as client:
        assert (await client.call_tool("a_b_forecast", {"city": "X"})).text == (
            "Sun in X, says the sky"
        )
        found = await client.complete(PromptReference(name="a_b_pack"), "city", "R")
        assert found.completion.values == ["Rome"]


async def test_a_mounted_tool_is_called_over_http_as_well() -> None:
    server, _ = travel()
    async with serving_http(server) as origin:
        for revision in (LATEST_LEGACY, LATEST_MODERN):
            async with Client(f"{origin}/mcp", mode=revision, timeouts=TIMEOUTS) as client:
                assert (await client.call_tool("weather_look")).text == "calm"


def test_a_server_cannot_contain_itself() -> None:
    outer, inner = Server("outer"), Server("inner")
    outer.mount(inner, prefix="a")
    for one, other in ((outer, outer), (inner, outer)):
        with pytest.raises(ValueError, match="it would contain itself"):
            one.mount(other, prefix="b")


def test_a_name_that_is_taken_is_refused_and_nothing_is_mounted() -> None:
    outer, inner = Server("outer"), Server("inner")
    for server in (outer, inner):
        server.add_tool(lambda: "x", "same")
    with pytest.raises(ValueError, match="a tool 'same' already; mount it with a prefix"):
        outer.mount(inner)
    assert list(outer._tools.active) == ["same"]
    outer.mount(inner, prefix="in")
    assert list(outer._tools.active) == ["same", "in_same"]
    with pytest.raises(ValueError, match=r"'in_same' already$"):
        outer.mount(inner, prefix="in")


def test_a_prefix_that_no_name_can_have_is_refused() -> None:
    outer, inner = Server("outer"), Server("inner")
    inner.add_tool(lambda: "x", "tool")
    with pytest.raises(ValueError, match=r"the tool name 'a b_tool' is not allowed"):
        outer.mount(inner, prefix="a b")
