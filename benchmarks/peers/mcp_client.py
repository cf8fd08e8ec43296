"""The official SDK's client, for comparison; prints what `client.py` prints."""

# ruff: noqa: E402 - the clock runs from the very start

import time

STARTED = time.perf_counter()

from calling import run
from mcp import Client, StdioServerParameters


def connect(url, command):
    return Client(
        url or StdioServerParameters(command=command[0], args=command[1:]), mode="2026-07-28"
    )


if __name__ == "__main__":
    run(connect, STARTED)
