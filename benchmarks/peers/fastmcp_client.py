"""FastMCP's client, for comparison; prints what `client.py` prints."""

# ruff: noqa: E402 - the clock runs from the very start

import time

STARTED = time.perf_counter()

import argparse
import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

TEXT = "bench-echo-payload " + "x" * 44


async def measure(options, command):
    server = options.http or StdioTransport(command=command[0], args=command[1:])
    async with Client(server, mode="2026-07-28") as client:

        async def call_until(stop):
            calls = 0
            while time.perf_counter() < stop:
                result = await client.call_tool("echo", {"text": TEXT})
                if result.content[0].text != TEXT:
                    raise SystemExit(f"wrong reply: {result!r}")
                calls += 1
            return calls

        figures = {"connect_ms": (time.perf_counter() - STARTED) * 1e3}
        await call_until(time.perf_counter() + 0.1)
        for name, width in (("seq", 1), ("conc", options.width)):
            cpu, start = time.process_time(), time.perf_counter()
            stop = start + options.secs
            calls = sum(await asyncio.gather(*(call_until(stop) for _ in range(width))))
            figures[name] = calls / (time.perf_counter() - start)
            figures[f"cpu_us_{name}"] = (time.process_time() - cpu) / max(calls, 1) * 1e6
        return figures


if __name__ == "__main__":
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser()
    parser.add_argument("--stdio", action="store_true")
    parser.add_argument("--http", default="", metavar="URL")
    parser.add_argument("--secs", type=float, default=1.0)
    parser.add_argument("--width", type=int, default=64)
    options = parser.parse_args(arguments[:split])
    print(json.dumps(asyncio.run(measure(options, arguments[split + 1 :]))), flush=True)
