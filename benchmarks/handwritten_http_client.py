"""The least a client over HTTP can do with aiohttp: the measure of clients that use it.

handwritten_http_client.py [--secs S] [--width N] --http URL; prints what `client.py` prints.
"""

import time

STARTED = time.perf_counter()

import argparse  # noqa: E402 - the clock runs from the very start
import asyncio  # noqa: E402
import itertools  # noqa: E402
import json  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402

import aiohttp  # noqa: E402

# A program finds modules beside itself, and these are named from the checkout on.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.handwritten_client import META, TEXT, decode, encode  # noqa: E402

HEADERS = {
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
    "Mcp-Name": "echo",
}


async def measure(options: argparse.Namespace) -> dict[str, float]:
    """Call and count."""
    ids = itertools.count(1)
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0), cookie_jar=aiohttp.DummyCookieJar()
    ) as session:

        async def call() -> None:
            params = {"name": "echo", "arguments": {"text": TEXT}, "_meta": META}
            message = {
                "jsonrpc": "2.0",
                "id": next(ids),
                "method": "tools/call",
                "params": params,
            }
            body = encode(message)
            async with session.post(options.http, data=body, headers=HEADERS) as response:
                result = decode(await response.read()).result
            if response.status != 200 or result.content[0].text != TEXT:
                raise SystemExit(f"wrong reply: {response.status} {result!r}")

        async def call_until(stop: float) -> int:
            calls = 0
            while time.perf_counter() < stop:
                await call()
                calls += 1
            return calls

        await call()
        figures = {"connect_ms": (time.perf_counter() - STARTED) * 1e3}
        await call_until(time.perf_counter() + 0.1)
        for name, width in (("seq", 1), ("conc", options.width)):
            cpu, start = time.process_time(), time.perf_counter()
            stop = start + options.secs
            calls = sum(await asyncio.gather(*(call_until(stop) for _ in range(width))))
            figures[name] = calls / (time.perf_counter() - start)
            figures[f"cpu_us_{name}"] = (time.process_time() - cpu) / max(calls, 1) * 1e6
    return figures


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--http", required=True, metavar="URL")
    parser.add_argument("--secs", type=float, default=1.0)
    parser.add_argument("--width", type=int, default=64)
    print(json.dumps(asyncio.run(measure(parser.parse_args()))), flush=True)


if __name__ == "__main__":
    main()
