"""FastMCP: a client that logs in. It opens what `BROWSER` names, and listens itself."""

import asyncio
import os
import sys
import warnings

import login
import protected
from fastmcp import Client
from fastmcp.client.auth import OAuth

os.environ["BROWSER"] = f"{sys.executable} {login.__file__} %s &"
warnings.simplefilter("ignore")


async def main(url: str) -> None:
    async with Client(url, auth=OAuth()) as client:

        async def call(name: str) -> str:
            return (await client.call_tool(name, {})).content[0].text

        await protected.tour(call)


asyncio.run(main(sys.argv[1]))
