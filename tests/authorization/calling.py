"""A program that calls a tool with the tokens kept in a folder: `calling.py URL FOLDER`."""

import asyncio
import sys

from wigwag import Client, FileTokenStore, OAuth
from wigwag.client.authorization.login import Login


def no_login() -> Login:
    sys.exit("a user would have been asked")


async def main(url: str, folder: str) -> None:
    auth = OAuth(store=FileTokenStore(folder), login=no_login)
    async with Client(url, auth=auth) as client:
        sys.stdout.write((await client.call_tool("tool")).text)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
