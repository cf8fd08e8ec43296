"""A server over HTTP: `python over_http.py PORT`."""

import asyncio
import sys

from wigwag import Context, Server

server = Server("e2e", version="1.0")


@server.tool
async def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@server.tool
async def wait(context: Context) -> str:
    """Say that it has begun, and wait for very long."""
    await context.report_progress(1)
    await asyncio.sleep(600)
    return "never"


server.run("http", port=int(sys.argv[1]))
