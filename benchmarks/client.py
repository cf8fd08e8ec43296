"""A Wigwag client for measuring: calls `echo` of a server, one at a time and many at once.

    client.py [--era modern|legacy] [--secs S] [--width N] [--profile FILE] --stdio -- COMMAND…
    client.py … --http URL

Prints one JSON object: `connect_ms`; `seq` and `conc`, calls per second one at a time and `width`
at a time; `cpu_us_seq` and `cpu_us_conc`, CPU microseconds per call.
"""

import time

STARTED = time.perf_counter()

import argparse  # noqa: E402 - the clock runs from the very start
import asyncio  # noqa: E402
import json  # noqa: E402
import sys  # noqa: E402

from wigwag import Client  # noqa: E402

TEXT = "bench-echo-payload " + "x" * 44
WARM_UP_CALLS = 50


async def measure(options: argparse.Namespace, target: str | list[str]) -> dict[str, float]:
    """Connect, call and count."""
    async with Client(target, mode=options.era) as client:
        connected = time.perf_counter()

        async def call() -> None:
            result = await client.call_tool("echo", {"text": TEXT})
            if getattr(result.content[0], "text", None) != TEXT:
                raise SystemExit(f"wrong reply: {result!r}")

        async def call_until(stop: float) -> int:
            calls = 0
            while time.perf_counter() < stop:
                await call()
                calls += 1
            return calls

        for _ in range(WARM_UP_CALLS):
            await call()
        figures = {"connect_ms": (connected - STARTED) * 1e3}
        for name, width in (("seq", 1), ("conc", options.width)):
            cpu, start = time.process_time(), time.perf_counter()
            stop = start + options.secs
            calls = sum(await asyncio.gather(*(call_until(stop) for _ in range(width))))
            figures[name] = calls / (time.perf_counter() - start)
            figures[f"cpu_us_{name}"] = (time.process_time() - cpu) / max(calls, 1) * 1e6
        return figures


def main() -> None:
    """Measure, under a profiler when asked to."""
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    arguments, command = arguments[:split], arguments[split + 1 :]
    parser = argparse.ArgumentParser()
    parser.add_argument("--stdio", action="store_true")
    parser.add_argument("--http", default="", metavar="URL")
    parser.add_argument("--era", choices=("modern", "legacy"), default="modern")
    parser.add_argument("--secs", type=float, default=1.0)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--profile", default="")
    options = parser.parse_args(arguments)
    target = options.http or command
    if not target:
        raise SystemExit("what to connect to? client.py --stdio -- COMMAND… | --http URL")
    if options.profile:
        import cProfile  # noqa: PLC0415 - must not weigh on what is measured

        profile = cProfile.Profile()
        figures = profile.runcall(asyncio.run, measure(options, target))
        profile.dump_stats(options.profile)
    else:
        figures = asyncio.run(measure(options, target))
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
