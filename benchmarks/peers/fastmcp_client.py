"""FastMCP's client, for comparison; prints what `client.py` prints."""

# ruff: noqa: E402 - the clock runs from the very start

import time

STARTED = time.perf_counter()

from calling import run
from fastmcp import Client
from fastmcp.client.transports import StdioTransport


def connect(url, command):
    return Client(url or StdioTransport(command=command[0], args=command[1:]), mode="2026-07-28")


if __name__ == "__main__":
    run(connect, STARTED)
