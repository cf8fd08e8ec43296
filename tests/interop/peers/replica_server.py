"""Wigwag: one of several servers that stand in for each other behind a proxy.

python replica_server.py NAME [OPTIONS in JSON]

It tells on standard error where it listens. The options are `keep_alive` in seconds, `resource`,
the URL of one that takes the token `for-ada` and no other, and whatever `Server.http_app` takes.
"""

import asyncio
import json
import logging
import sys

from wigwag import Context, Limits, Principal, Protection, Server, StaticTokens

name = sys.argv[1]
options = json.loads(sys.argv[2]) if len(sys.argv) > 2 else {}
limits = Limits(keep_alive=options.pop("keep_alive", 15.0))
logging.basicConfig(level=logging.WARNING)
auth = None
if "resource" in options:
    auth = Protection(
        StaticTokens({"for-ada": Principal("ada")}),
        authorization_servers=["https://login.example.com"],
        resource=options.pop("resource"),
    )
keys = ["the same secret in every one of the replicas"]
app = Server("replica", limits=limits, state_keys=keys, auth=auth)
go = asyncio.Event()


@app.tool
async def where(ctx: Context) -> dict[str, str | None]:
    """Who answers, and what is known there of who asks."""
    request = ctx.http_request
    assert request is not None
    return {
        "replica": name,
        "client": request.client and request.client[0],
        "scheme": request.scope["scheme"],
        "path": request.path,
    }


@app.tool
async def wait(ctx: Context) -> str:
    """Reports progress, and then waits for `release`."""
    await ctx.report_progress(1, message="waiting")
    await go.wait()
    return "released"


@app.tool
async def release() -> str:
    """Lets `wait` go on."""
    go.set()
    return "gone"


@app.tool
async def ask(ctx: Context) -> str:
    """Asks twice; each answer may come to another replica."""
    first = await ctx.elicit("Your first name?", {"name": str})
    last = await ctx.elicit("Your last name?", {"name": str})
    return f"{first.data['name']} {last.data['name']}"


@app.tool
async def size(text: str) -> int:
    """How long a text is."""
    return len(text)


@app.tool
async def grow() -> str:
    """Registers a tool."""

    @app.tool
    def grown() -> str:
        """Is new."""
        return "I am new"

    return "grew"


app.run("http", port=0, **options)
