"""A server that asks the person in front of the client; over stdio, or with `http` over HTTP."""

import asyncio
import sys
from typing import Any

from wigwag import Context, Server

FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "minLength": 2},
        "mail": {"type": "string", "format": "email"},
        "scoops": {"type": "integer", "minimum": 1, "maximum": 3, "default": 2},
        "cone": {"type": "boolean", "default": True},
        "flavour": {
            "type": "string",
            "oneOf": [{"const": "v", "title": "Vanilla"}, {"const": "l", "title": "Lemon"}],
        },
        "toppings": {
            "type": "array",
            "maxItems": 2,
            "items": {"type": "string", "enum": ["nuts", "cream", "sauce"]},
        },
    },
    "required": ["name", "scoops", "flavour"],
}

server = Server("parlour", version="1.0.0")


@server.tool
async def order(ctx: Context) -> dict[str, Any]:
    """Take an order."""
    outcome = await ctx.elicit("What would you like?\n\x1b[2JSend? ", FORM)
    return {"action": outcome.action, "data": getattr(outcome, "data", None)}


@server.tool
async def sign_in(url: str, ctx: Context) -> str:
    """Send somebody to a page."""
    outcome = await ctx.elicit_url("Sign in first.", url)
    return outcome.action


@server.tool
async def wait(ctx: Context) -> str:
    """Wait until it is cancelled."""
    await ctx.info("waiting")
    try:
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        print("wait was cancelled", file=sys.stderr, flush=True)
        raise
    return "waited"


@server.tool
async def count(ctx: Context) -> str:
    """Count to three, and tell of each step."""
    for step in range(1, 4):
        await ctx.report_progress(step, total=3)
        await ctx.info(step)
    return "three"


if __name__ == "__main__":
    if "http" in sys.argv:
        server.run("http", port=0)
    else:
        server.run()
