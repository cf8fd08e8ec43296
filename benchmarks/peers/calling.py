"""What the clients of other toolkits in Python are measured by; prints what `client.py` prints."""

import argparse
import asyncio
import json
import sys
import time

TEXT = "bench-echo-payload " + "x" * 44


async def measure(options, client, started):
    """Call `echo` with a client that is connected, and count."""

    async def call_until(stop):
        calls = 0
        while time.perf_counter() < stop:
            result = await client.call_tool("echo", {"text": TEXT})
            if result.content[0].text != TEXT:
                raise SystemExit(f"wrong reply: {result!r}")
            calls += 1
        return calls

    figures = {"connect_ms": (time.perf_counter() - started) * 1e3}
    await call_until(time.perf_counter() + 0.1)
    for name, width in (("seq", 1), ("conc", options.width)):
        cpu, start = time.process_time(), time.perf_counter()
        stop = start + options.secs
        calls = sum(await asyncio.gather(*(call_until(stop) for _ in range(width))))
        figures[name] = calls / (time.perf_counter() - start)
        figures[f"cpu_us_{name}"] = (time.process_time() - cpu) / max(calls, 1) * 1e6
    return figures


def run(connect, started):
    """Read the command line, connect, and measure.

    Args:
        connect: Returns the client of a URL, or, without one, of a command.
        started: When the program began.
    """
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser()
    parser.add_argument("--stdio", action="store_true")
    parser.add_argument("--http", default="", metavar="URL")
    parser.add_argument("--secs", type=float, default=1.0)
    parser.add_argument("--width", type=int, default=64)
    options = parser.parse_args(arguments[:split])

    async def main():
        async with connect(options.http, arguments[split + 1 :]) as client:
            return await measure(options, client, started)

    print(json.dumps(asyncio.run(main())), flush=True)
