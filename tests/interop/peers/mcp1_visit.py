"""The official Python SDK, first line: looks at a server, and calls one tool of it.

    python mcp1_visit.py TOOL ARGUMENTS (URL | COMMAND ...)

It prints what the tool has returned, as JSON.
"""

import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


def connection(target):
    if not target[0].startswith("http"):
        return stdio_client(StdioServerParameters(command=target[0], args=target[1:]))
    return (sse_client if target[0].endswith("/sse") else streamable_http_client)(target[0])


async def main(tool, arguments, target):
    async with connection(target) as streams, ClientSession(*streams[:2]) as session:
        await session.initialize()
        await session.list_tools()
        await session.list_resources()
        await session.list_prompts()
        result = await session.call_tool(tool, json.loads(arguments))
        print(json.dumps([block.text for block in result.content]))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
