"""What is written with the names of the official SDK runs here, with other imports alone."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any
from typing import Any as ClientRequestContext

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount

from tests.asgi import Site, modern_call
from wigwag import (
    AcceptedElicitation,
    Client,
    Context,
    Elicit,
    ElicitationResult,
    Image,
    Resolve,
    ResourceUpdated,
    Sample,
    ToolsListChanged,
    UserMessage,
)
from wigwag import RequestFailed as MCPError
from wigwag import ResourceNotFound as ResourceNotFoundError
from wigwag import Server as MCPServer
from wigwag.errors import LocalProtocolError
from wigwag.schema import (
    INVALID_PARAMS,
    Completion,
    CompletionArgument,
    CompletionContext,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestParams,
    ElicitResult,
    LoggingMessageNotificationParams,
    PromptReference,
    ResourceTemplateReference,
    SamplingMessage,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)

pytestmark = pytest.mark.anyio


@dataclass
class Beds:
    free: int


@dataclass
class Greenhouse:
    beds: Beds


@dataclass
class Amount:
    seedlings: int


async def ask_amount() -> Elicit[Amount]:
    return Elicit("How many seedlings?", Amount)


def ask_name(plant: str) -> Sample:
    text = f"Invent a variety of {plant}."
    content = TextContent(type="text", text=text)
    return Sample([SamplingMessage(role="user", content=content)], max_tokens=20)


@asynccontextmanager
async def greenhouse(server: MCPServer) -> AsyncIterator[Greenhouse]:
    yield Greenhouse(Beds(free=4))


def nursery() -> MCPServer:  # noqa: C901 - one of each
    mcp = MCPServer("Nursery", instructions="Water first.", lifespan=greenhouse)
    plants = {"basil": "sunny", "fern": "shady"}

    @mcp.tool(title="Find a place", annotations=ToolAnnotations(read_only_hint=True))
    def place(plant: str) -> str:
        if plant not in plants:
            raise MCPError(code=INVALID_PARAMS, message=f"There is no {plant}.")
        return plants[plant]

    @mcp.tool()
    def beds(ctx: Context[Greenhouse]) -> int:
        return ctx.request_context.lifespan_context.beds.free

    @mcp.tool()
    async def sow(
        plant: str, amount: Annotated[ElicitationResult[Amount], Resolve(ask_amount)]
    ) -> str:
        if isinstance(amount, AcceptedElicitation):
            return f"{amount.data.seedlings} {plant}"
        return f"no {plant}"

    @mcp.tool()
    async def name(plant: str, draft: Annotated[CreateMessageResult, Resolve(ask_name)]) -> str:
        return draft.content.text if isinstance(draft.content, TextContent) else "?"

    @mcp.tool()
    async def move(plant: str, light: str, ctx: Context) -> str:
        plants[plant] = light
        await ctx.notify_resource_updated(f"plants://{plant}")
        await ctx.session.send_resource_updated(f"plants://{plant}")
        return light

    @mcp.tool()
    async def open_shop(ctx: Context) -> str:
        def sell(plant: str) -> str:
            return f"sold {plant}"

        mcp.add_tool(sell)
        await ctx.notify_tools_changed()
        await ctx.session.send_tool_list_changed()
        await ctx.session.send_log_message("info", "open", "shop")
        return "open"

    @mcp.resource("plants://{plant}", mime_type="text/markdown")
    def about(plant: str) -> str:
        if plant not in plants:
            raise ResourceNotFoundError(f"There is no {plant}.")
        return f"# {plant}: {plants[plant]}"

    @mcp.prompt(title="Draw")
    def draw(plant: str) -> list[UserMessage]:
        return [UserMessage(Image(data=b"\x89PNG\r\n\x1a\n", format="png")), UserMessage(plant)]

    @mcp.completion()
    async def complete(
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion | None:
        if isinstance(ref, PromptReference) and argument.name == "plant":
            return Completion(values=[each for each in plants if each.startswith(argument.value)])
        return None

    @mcp.custom_route("/hours", methods=["GET"])
    async def hours(request: Request) -> Response:
        return PlainTextResponse("nine to five")

    return mcp


async def handle_elicitation(
    context: ClientRequestContext, params: ElicitRequestParams
) -> ElicitResult:
    assert isinstance(context, Client)
    assert params.message == "How many seedlings?"
    return ElicitResult(action="accept", content={"seedlings": 6})


async def handle_sampling(
    context: ClientRequestContext, params: CreateMessageRequestParams
) -> CreateMessageResult:
    content = TextContent(type="text", text="Moss Queen")
    return CreateMessageResult(role="assistant", content=content, model="m")


async def said(client: Client, tool: str, **arguments: str) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error is False
    [block] = result.content
    assert block.type == "text"
    assert isinstance(block, TextContent)
    return block.text


async def test_tools_say_the_same(revision: str) -> None:
    async with Client(
        nursery(),
        mode=revision,
        elicitation_callback=handle_elicitation,
        sampling_callback=handle_sampling,
    ) as client:
        assert client.instructions == "Water first."
        assert await said(client, "place", plant="fern") == "shady"
        assert await said(client, "beds") == "4"
        if revision >= "2025-06-18":  # before, nobody can be asked
            assert await said(client, "sow", plant="fern") == "6 fern"
        assert await said(client, "name", plant="fern") == "Moss Queen"
        with pytest.raises(MCPError, match=r"There is no rose\.") as refused:
            await client.call_tool("place", {"plant": "rose"})
        assert refused.value.code == INVALID_PARAMS


async def test_resources_prompts_and_completions_are_read_the_same(revision: str) -> None:
    async with Client(nursery(), mode=revision) as client:
        [contents] = (await client.read_resource("plants://fern")).contents
        assert isinstance(contents, TextResourceContents)
        assert (contents.text, contents.mime_type) == ("# fern: shady", "text/markdown")
        result = await client.get_prompt("draw", {"plant": "fern"})
        assert [message.content.type for message in result.messages] == ["image", "text"]
        ref = PromptReference(type="ref/prompt", name="draw")
        completed = await client.complete(ref=ref, argument={"name": "plant", "value": "f"})
        assert completed.completion.values == ["fern"]


async def test_changes_are_heard_by_type(revision: str) -> None:
    mcp = nursery()
    async with Client(mcp, mode=revision) as client:
        heard: list[str] = []
        uri = "plants://fern"
        async with client.listen(tools_list_changed=True, resource_subscriptions=[uri]) as sub:
            await client.call_tool("move", {"plant": "fern", "light": "sunny"})
            async for event in sub:
                match event:
                    case ResourceUpdated(uri=updated):
                        heard.append(str(updated))
                        await client.call_tool("open_shop")
                    case ToolsListChanged():
                        heard.append("tools")
                        break
        assert heard == [uri, "tools"]
        assert "sell" in [tool.name for tool in (await client.list_tools()).tools]


async def test_log_messages_reach_the_callback(revision: str) -> None:
    arrived: asyncio.Queue[LoggingMessageNotificationParams] = asyncio.Queue()

    async def log(params: LoggingMessageNotificationParams) -> None:
        arrived.put_nowait(params)

    async with Client(nursery(), mode=revision, logging_callback=log) as client:
        await client.set_logging_level("info")
        await client.call_tool("open_shop")
        assert (await arrived.get()).data == "open"


async def test_the_application_is_mounted_the_same() -> None:
    mcp = nursery()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with mcp.session_manager.run():
            yield

    inner = mcp.streamable_http_app(streamable_http_path="/", stateless_http=True)
    app = Starlette(routes=[Mount("/plants", app=inner)], lifespan=lifespan)
    try:
        async with lifespan(app):
            site = Site(inner, target=app)
            assert await asked(site, "/plants/", "localhost") == "shady"
            assert await asked(site, "/plants/", "nursery.example") == 403
            hours = await site.open("GET", "/plants/hours").whole()
            assert (hours.status, hours.body) == (200, b"nine to five")
    finally:
        await inner.aclose()


async def asked(site: Site, path: str, host: str) -> Any:
    message, headers = modern_call(1, "place", {"plant": "fern"})
    body = json.dumps(message).encode()
    call = await site.open("POST", path, headers={**headers, "host": host}, body=body).whole()
    return call.json["result"]["content"][0]["text"] if call.status == 200 else call.status


async def test_a_loop_over_pages_that_waits_for_none_is_told_what_to_wait_for() -> None:
    async with Client(nursery()) as client:
        page = await client.list_tools()
        with pytest.raises(LocalProtocolError, match="there is no next page"):
            await client.list_tools(cursor=page.next_cursor)  # type: ignore[arg-type]
