"""A program that calls a tool, as simply as that: `calling_by_default.py URL`."""

import asyncio
import sys

from wigwag import Client


async def main(url: str) -> None:
    async with Client(url, auth="oauth") as client:
        sys.stdout.write((await client.call_tool("tool")).text)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
