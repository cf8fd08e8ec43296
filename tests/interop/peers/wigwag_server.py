"""Wigwag: the server of the contract in `contract.py`, for the clients of others."""

import asyncio
import json

import contract
import msgspec

from wigwag import Context, Server, ToolError

app = Server("demo", version="1.0.0", instructions=contract.INSTRUCTIONS)
cancelled = asyncio.Event()


class Weather(msgspec.Struct):
    city: str
    temperature: float
    conditions: str


@app.tool
async def echo(text: str) -> str:
    return text


@app.tool
def add(a: int, b: int) -> int:
    return a + b


@app.tool
def fail() -> str:
    raise ToolError("broken on purpose")


@app.tool
def weather(city: str) -> Weather:
    return Weather(**contract.weather_of(city))


@app.tool
async def slow(seconds: float, ctx: Context, steps: int = 2) -> str:
    try:
        for step in range(1, steps + 1):
            await ctx.report_progress(step, total=steps, message=f"step {step} of {steps}")
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
async def touch(ctx: Context) -> str:
    ctx.resource_updated("demo://greeting")
    return "touched"


@app.tool
async def grow() -> str:
    @app.tool
    def grown() -> str:
        return "I am new"

    return "grown"


@app.tool
async def ask_name(ctx: Context) -> str:
    answer = await ctx.elicit("Who are you?", {"name": str})
    return f"Hello, {answer.data['name']}" if answer.action == "accept" else answer.action


@app.tool
async def ask_model(prompt: str, ctx: Context) -> str:
    return f"The model said: {(await ctx.sample(prompt, max_tokens=100)).text}"


@app.tool
async def ask_roots(ctx: Context) -> str:
    return json.dumps([root.uri for root in await ctx.list_roots()])


@app.resource("demo://greeting", mime_type="text/plain")
def greeting() -> str:
    return contract.GREETING


@app.resource("demo://users/{id}", mime_type="application/json")
def user(id: str) -> str:
    return contract.user_of(id)


@app.prompt
def greet(name: str) -> str:
    return f"Please greet {name}."


@app.completion("greet", "name")
def names(value: str) -> list[str]:
    return [name for name in contract.NAMES if name.startswith(value)]


if __name__ == "__main__":
    match contract.http_kind():
        case None:
            app.run()
        case kind:
            app.run(
                "http", port=0, sse=True, sessions=kind != "stateless", streams=kind == "streams"
            )
