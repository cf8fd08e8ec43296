"""A server that is not protected pays nothing for those that are."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

PROGRAM = """
import asyncio, json, sys

from tests.asgi import modern_call, serving
from wigwag import Server

server = Server("s")


@server.tool
async def add(a: int, b: int) -> int:
    return a + b


async def main():
    async with serving(server, host="127.0.0.1") as site:
        answer = await site.ask(*modern_call(1, "add", {"a": 1, "b": 2}), host="localhost")
        assert answer.status == 200, answer.body


asyncio.run(main())
unwanted = ("wigwag.oauth", "wigwag.server.guard", "wigwag.server.protection", "joserfc",
            "cryptography", "wigwag.server.authorization")
print(*[name for name in sys.modules if name.startswith(unwanted)])
"""


def test_over_http_it_loads_nothing_of_authorization() -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == ""
