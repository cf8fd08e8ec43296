"""Wigwag: a client that logs in, as `protected.py` says. What it keeps, another run of it finds.

What it raises is in its report as `error` and `message`.
"""

import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Any

from wigwag import Client, McpError
from wigwag.schema import TextContent


async def report_of(url: str, auth: Any, words: Sequence[str]) -> dict[str, Any]:
    """Connect, make the tour, and return what came of each step."""
    try:
        async with Client(url, auth=auth) as client:
            return await tour(client, words)
    except McpError as error:
        return {"error": type(error).__name__, "message": str(error)}


async def tour(client: Client, words: Sequence[str]) -> dict[str, Any]:
    """Make the tour with a client that is connected."""

    async def call(name: str) -> str:
        result = await client.call_tool(name)
        [block] = result.content
        assert isinstance(block, TextContent)
        return block.text

    report: dict[str, Any] = {"whoami": json.loads(await call("whoami"))}
    if "write" in words:
        report["write"] = await call("write")
        report["whoami again"] = json.loads(await call("whoami"))
    return report


if __name__ == "__main__":
    print(json.dumps(asyncio.run(report_of(sys.argv[1], "oauth", sys.argv[2:]))), flush=True)
