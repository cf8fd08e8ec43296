"""A web service whose tools take as long as the tests want."""

import argparse
import asyncio
import gc
import os
import resource
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from wigwag import Context, Limits, Server
from wigwag.runtime.http_endpoint import HttpEndpoint

parser = argparse.ArgumentParser()
parser.add_argument("--host", default="127.0.0.1")
parser.add_argument("--port", type=int, default=0)
parser.add_argument("--path")
parser.add_argument("--grace", type=float, default=5.0)
parser.add_argument("--keep-alive", type=float, default=15.0)
parser.add_argument("--certfile")
parser.add_argument("--keyfile")
parser.add_argument("--fails-to-start", action="store_true")


def say(text: str) -> None:
    """Let the test know how far things have come."""
    print(text, file=sys.stderr, flush=True)


def make_server(*, keep_alive: float = 15.0, fails_to_start: bool = False) -> Server:
    """Return the server."""

    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[str]:
        if fails_to_start:
            raise ConnectionError("no database")
        say("the lifespan begins")
        yield "alive"
        say("the lifespan ends")

    server = Server("web", version="1.0.0", lifespan=lifespan, limits=Limits(keep_alive=keep_alive))

    @server.tool
    def echo(text: str) -> str:
        """Return the text."""
        return text

    @server.tool
    async def wait(context: Context, seconds: float, steps: int = 1) -> str:
        """Report progress and wait."""
        say("wait begins")
        try:
            for step in range(steps):
                context.report_progress(step)
                await asyncio.sleep(seconds / steps)
        except asyncio.CancelledError:
            say("wait was cancelled")
            raise
        return "waited"

    @server.tool
    def block(seconds: float) -> str:
        """Block a thread."""
        say("block begins")
        time.sleep(seconds)
        return "blocked"

    @server.tool
    async def flood(context: Context, messages: int, size: int) -> str:
        """Send much."""
        say("flood begins")
        for step in range(messages):
            context.notify("com.example/flood", {"step": step, "text": "x" * size})
            await asyncio.sleep(0)
        say("flood has sent everything")
        await asyncio.sleep(60)
        return "flooded"

    add_insight(server)
    return server


def add_insight(server: Server) -> None:
    """Add tools for those who watch the server."""

    @server.tool
    async def stats() -> dict[str, int]:
        """Count what the server holds, this call included."""
        await asyncio.sleep(0)  # without, it may be over before it is counted
        gc.collect()
        (endpoint,) = (each for each in gc.get_objects() if isinstance(each, HttpEndpoint))
        with open("/proc/self/statm") as numbers:  # noqa: ASYNC230 - it is no file
            pages = int(numbers.read().split()[1])
        return {
            "sessions": endpoint.sessions,
            "calls": endpoint.calls,
            "streams": len(endpoint._standalone),
            "kept": len(endpoint._stores.events._sessions),  # type: ignore[attr-defined]
            "tasks": len(asyncio.all_tasks()),
            "descriptors": len(os.listdir("/proc/self/fd")),
            "bytes": pages * resource.getpagesize(),
        }

    @server.tool
    async def came_from(context: Context) -> str:
        """Tell where the request came from, as far as the server knows."""
        request = context.http_request
        assert request is not None
        assert request.client is not None
        return f"{request.scope['scheme']} {request.client[0]}"

    @server.tool
    async def change() -> str:
        """Tell whoever listens that the tools have changed."""
        server.tools_changed()
        return "told"


if __name__ == "__main__":
    options = parser.parse_args()
    make_server(keep_alive=options.keep_alive, fails_to_start=options.fails_to_start).run(
        "http",
        host=options.host,
        port=options.port,
        path=options.path,
        certfile=options.certfile,
        keyfile=options.keyfile,
        grace=options.grace,
        sse=True,
        health=True,
    )
