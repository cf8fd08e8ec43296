"""FastMCP 4: a server."""

import asyncio
import json
import logging
import os

os.environ.setdefault("FASTMCP_LOG_LEVEL", "CRITICAL")
os.environ.setdefault("FASTMCP_CHECK_FOR_UPDATES", "off")

import contract
import mcp_types as types
from fastmcp import Context, FastMCP
from pydantic import BaseModel

logging.disable()
app = FastMCP("demo", version="1.0.0", instructions=contract.INSTRUCTIONS)
cancelled = asyncio.Event()


class Weather(BaseModel):
    city: str
    temperature: float
    conditions: str


class Name(BaseModel):
    name: str


@app.tool
async def echo(text: str) -> str:
    return text


@app.tool
def add(a: int, b: int) -> int:
    return a + b


@app.tool
def fail() -> str:
    raise ValueError("broken on purpose")


@app.tool
def weather(city: str) -> Weather:
    return Weather(**contract.weather_of(city))


@app.tool
async def slow(seconds: float, ctx: Context, steps: int = 2) -> str:
    try:
        for step in range(1, steps + 1):
            await ctx.report_progress(step, steps, f"step {step} of {steps}")
            await asyncio.sleep(seconds / steps)
    except asyncio.CancelledError:
        cancelled.set()
        raise
    return "done"


@app.tool
async def wait_cancelled() -> str:
    await cancelled.wait()
    return "cancelled"


@app.tool
async def log_something(ctx: Context) -> str:
    await ctx.info("something happened")
    await ctx.warning("something odd happened")
    return "logged"


@app.tool
async def grow(ctx: Context) -> str:
    def grown() -> str:
        return "grown"

    app.tool(grown)
    await ctx.send_notification(types.ToolListChangedNotification())
    return "grew"


# Questions to the client: a back channel in the legacy era, a returned question in the modern one.
MODERN = "2026-07-28"


@app.tool
async def ask_name(ctx: Context) -> str | types.InputRequiredResult:
    if ctx.request_context.protocol_version != MODERN:
        answer = await ctx.elicit("Who are you?", Name)
        return f"Hello, {answer.data.name}"
    if not ctx.input_responses:
        params = types.ElicitRequestFormParams(
            message="Who are you?", requested_schema=Name.model_json_schema()
        )
        return types.InputRequiredResult(
            input_requests={"name": types.ElicitRequest(params=params)}
        )
    return f"Hello, {ctx.input_responses['name'].content['name']}"


@app.tool
async def ask_model(prompt: str, ctx: Context) -> str | types.InputRequiredResult:
    content = types.TextContent(type="text", text=prompt)
    messages = [types.SamplingMessage(role="user", content=content)]
    if ctx.request_context.protocol_version != MODERN:
        answer = await ctx.session.create_message(
            messages, max_tokens=100, related_request_id=ctx.request_id
        )
    elif not ctx.input_responses:
        params = types.CreateMessageRequestParams(messages=messages, max_tokens=100)
        return types.InputRequiredResult(
            input_requests={"model": types.CreateMessageRequest(params=params)}
        )
    else:
        answer = ctx.input_responses["model"]
    return f"The model said: {answer.content.text}"


@app.tool
async def ask_roots(ctx: Context) -> str | types.InputRequiredResult:
    if ctx.request_context.protocol_version != MODERN:
        answer = await ctx.session.list_roots()
    elif not ctx.input_responses:
        return types.InputRequiredResult(input_requests={"roots": types.ListRootsRequest()})
    else:
        answer = ctx.input_responses["roots"]
    return json.dumps([str(root.uri) for root in answer.roots])


@app.resource("demo://greeting", mime_type="text/plain")
def greeting() -> str:
    return contract.GREETING


@app.resource("demo://users/{id}", mime_type="application/json")
def user(id: str) -> str:
    return contract.user_of(id)


@app.prompt
def greet(name: str) -> str:
    return f"Please greet {name}."


@app.completion
async def complete(ref, argument, context=None):
    return [name for name in contract.NAMES if name.startswith(argument.value)]


match contract.http_kind():
    case None:
        app.run("stdio", show_banner=False)
    case "sse":
        contract.serve_http(app.http_app(transport="sse"), "/sse")
    case kind:
        served = app.http_app(json_response=kind == "json", stateless_http=kind == "stateless")
        contract.serve_http(served, "/mcp")
