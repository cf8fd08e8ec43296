"""The official Python SDK, second line: a server."""

import asyncio
import json
from typing import Annotated, Any

import contract
import mcp_types as types
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import Elicit, ListRoots, Resolve, Sample
from pydantic import BaseModel

app = MCPServer("demo", version="1.0.0", instructions=contract.INSTRUCTIONS, log_level="ERROR")
cancelled = asyncio.Event()


class Weather(BaseModel):
    city: str
    temperature: float
    conditions: str


class Name(BaseModel):
    name: str


@app.tool()
async def echo(text: str) -> str:
    return text


@app.tool()
def add(a: int, b: int) -> int:
    return a + b


@app.tool()
def fail() -> str:
    raise ValueError("broken on purpose")


@app.tool()
def weather(city: str) -> Weather:
    return Weather(**contract.weather_of(city))


@app.tool()
async def slow(seconds: float, ctx: Context, steps: int = 2) -> str:
    try:
        for step in range(1, steps + 1):
            await ctx.report_progress(step, steps, f"step {step} of {steps}")
            await asyncio.sleep(seconds / steps)
    except asyncio.CancelledError:
        cancelled.set()
        raise
    return "done"


@app.tool()
async def wait_cancelled() -> str:
    await cancelled.wait()
    return "cancelled"


@app.tool()
async def log_something(ctx: Context) -> str:
    await ctx.info("something happened")
    await ctx.warning("something odd happened")
    return "logged"


@app.tool()
async def touch(ctx: Context) -> str:
    await ctx.notify_resource_updated("demo://greeting")
    if ctx.protocol_version != "2026-07-28":
        await ctx.session.send_resource_updated("demo://greeting")
    return "touched"


@app.tool()
async def grow(ctx: Context) -> str:
    app.add_tool(lambda: "grown", name="grown")
    await ctx.notify_tools_changed()
    if ctx.protocol_version != "2026-07-28":
        await ctx.session.send_tool_list_changed()
    return "grew"


async def question() -> Elicit[Name]:
    return Elicit("Who are you?", Name)


@app.tool()
async def ask_name(answer: Annotated[Name, Resolve(question)]) -> str:
    return f"Hello, {answer.name}"


async def to_model(prompt: str) -> Sample:
    content = types.TextContent(type="text", text=prompt)
    return Sample([types.SamplingMessage(role="user", content=content)], max_tokens=100)


@app.tool()
async def ask_model(
    prompt: str, answer: Annotated[types.CreateMessageResult, Resolve(to_model)]
) -> str:
    return f"The model said: {answer.content.text}"


async def to_roots() -> ListRoots:
    return ListRoots()


@app.tool()
async def ask_roots(answer: Annotated[types.ListRootsResult, Resolve(to_roots)]) -> str:
    return json.dumps([str(root.uri) for root in answer.roots])


@app.resource("demo://greeting", mime_type="text/plain")
def greeting() -> str:
    return contract.GREETING


@app.resource("demo://users/{id}", mime_type="application/json")
def user(id: str) -> str:
    return contract.user_of(id)


@app.prompt()
def greet(name: str) -> str:
    return f"Please greet {name}."


@app.completion()
async def complete(ref: Any, argument: Any, context: Any) -> types.Completion:
    values = [name for name in contract.NAMES if name.startswith(argument.value)]
    return types.Completion(values=values, total=len(values), has_more=False)


# What MCPServer leaves out and its low-level server has.
async def accept(_ctx: Any, _params: Any) -> types.EmptyResult:
    return types.EmptyResult()


lowlevel = app._lowlevel_server
lowlevel.add_request_handler("logging/setLevel", types.SetLevelRequestParams, accept)
lowlevel.add_request_handler("resources/subscribe", types.SubscribeRequestParams, accept)
lowlevel.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, accept)

match contract.http_kind():
    case None:
        app.run("stdio")
    case "sse":
        contract.serve_http(app.sse_app(), "/sse")
    case kind:
        served = app.streamable_http_app(
            json_response=kind == "json", stateless_http=kind == "stateless"
        )
        contract.serve_http(served, "/mcp")
