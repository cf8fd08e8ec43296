"""The official Python SDK, first line (its FastMCP): a server. Legacy era only."""

import asyncio
import json
from typing import Any

import contract
from mcp import types
from mcp.server.fastmcp import Context, FastMCP
from mcp.server.lowlevel import NotificationOptions
from pydantic import BaseModel

app = FastMCP("demo", instructions=contract.INSTRUCTIONS, log_level="CRITICAL")
lowlevel = app._mcp_server
lowlevel.version = "1.0.0"
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
    await ctx.session.send_resource_updated("demo://greeting")
    return "touched"


@app.tool()
async def grow(ctx: Context) -> str:
    app.add_tool(lambda: "grown", name="grown")
    await ctx.session.send_tool_list_changed()
    return "grew"


@app.tool()
async def ask_name(ctx: Context) -> str:
    answer = await ctx.elicit("Who are you?", Name)
    return f"Hello, {answer.data.name}" if answer.action == "accept" else answer.action


@app.tool()
async def ask_model(prompt: str, ctx: Context) -> str:
    content = types.TextContent(type="text", text=prompt)
    messages = [types.SamplingMessage(role="user", content=content)]
    answer = await ctx.session.create_message(
        messages, max_tokens=100, related_request_id=ctx.request_id
    )
    return f"The model said: {answer.content.text}"


@app.tool()
async def ask_roots(ctx: Context) -> str:
    return json.dumps([str(root.uri) for root in (await ctx.session.list_roots()).roots])


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
    return types.Completion(values=values, total=len(values), hasMore=False)


# What FastMCP leaves out and its low-level server has.
@lowlevel.set_logging_level()
async def set_level(level: types.LoggingLevel) -> None:
    pass


@lowlevel.subscribe_resource()
async def subscribe(uri: Any) -> None:
    pass


@lowlevel.unsubscribe_resource()
async def unsubscribe(uri: Any) -> None:
    pass


options = lowlevel.create_initialization_options
lowlevel.create_initialization_options = lambda: options(NotificationOptions(tools_changed=True))

match contract.http_kind():
    case None:
        app.run("stdio")
    case "sse":
        contract.serve_http(app.sse_app(), "/sse")
    case kind:
        app.settings.json_response = kind == "json"
        app.settings.stateless_http = kind == "stateless"
        contract.serve_http(app.streamable_http_app(), "/mcp")
