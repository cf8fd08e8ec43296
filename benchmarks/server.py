"""A Wigwag server for measuring: four tools, a resource and a prompt.

    server.py --stdio [--tools N] [--structured] [--profile FILE]
    server.py --http PORT [--stateless] [--streams] and the same

Tools: `echo(text)`, declared async; `echo_progress(text)`, which tells of its progress first;
`add(a, b)`, declared sync; `sleep_ms(ms)`, async, which does not block. `--tools N` adds N tools
with a realistic signature. `--structured` declares what echo and add return, so that structured
content travels too. Over HTTP, `--stateless` gives legacy clients no sessions and `--streams`
answers by events always. `--profile` writes a profile.
"""

import argparse
import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from wigwag import Context, Server


def make_server(*, extra_tools: int = 0, structured: bool = False) -> Server:
    """Make the server that every benchmark measures."""
    server = Server("bench", version="1.0.0")

    async def echo(text: str) -> str:
        """Return the text unchanged."""
        return text

    async def echo_progress(text: str, context: Context) -> str:
        """Return the text unchanged, and tell of progress first."""
        await context.report_progress(1, 2)
        return text

    def add(a: int, b: int) -> int:
        """Add two integers."""
        return a + b

    async def sleep_ms(ms: int) -> str:
        """Sleep without blocking the server."""
        await asyncio.sleep(ms / 1000)
        return "slept"

    if structured:
        server.tool(echo)
        server.tool(add)
    else:
        # Without a declared type there is no structured content, as the peers are told too.
        add.__annotations__["return"] = Any
        server.tool(echo)
        server.tool(add)
    server.tool(echo_progress)
    server.tool(sleep_ms)
    for number in range(extra_tools):
        server.tool(f"extra_{number}")(_extra_tool(number))

    @server.resource("bench://static")
    def static() -> str:
        return "static resource"

    @server.prompt
    def greet(name: str) -> str:
        return f"Hello, {name}!"

    return server


def _extra_tool(number: int) -> Callable[..., Coroutine[Any, Any, str]]:
    async def tool(
        query: str, limit: int = 10, tags: list[str] | None = None, *, exact: bool = False
    ) -> str:
        return query

    tool.__doc__ = (
        f"Search collection number {number} and return the matching records, newest first. "
        "Use exact to turn off stemming."
    )
    return tool


def main() -> None:
    """Serve, under a profiler when asked to."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--stdio", action="store_true")
    parser.add_argument("--http", type=int, default=0)
    parser.add_argument("--json", action="store_true")  # it does by itself
    parser.add_argument("--stateless", action="store_true")
    parser.add_argument("--streams", action="store_true")
    parser.add_argument("--tools", type=int, default=0)
    parser.add_argument("--structured", action="store_true")
    parser.add_argument("--profile", default="")
    options = parser.parse_args()
    server = make_server(extra_tools=options.tools, structured=options.structured)
    run: Callable[[], None] = server.run
    if options.http:
        run = partial(
            server.run,
            "http",
            port=options.http,
            sessions=not options.stateless,
            streams=options.streams,
        )
    if not options.profile:
        run()
        return
    import cProfile  # noqa: PLC0415 - must not weigh on what is measured

    profile = cProfile.Profile()
    profile.runcall(run)
    profile.dump_stats(options.profile)


if __name__ == "__main__":
    main()
