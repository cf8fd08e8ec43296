"""The least a stdio client can do, by hand: the others' measure.

handwritten_client.py [--secs S] [--width N] --stdio -- COMMAND…; prints what `client.py` prints.
"""

import time

STARTED = time.perf_counter()

import argparse  # noqa: E402 - the clock runs from the very start
import asyncio  # noqa: E402
import json  # noqa: E402
import sys  # noqa: E402
from typing import Any  # noqa: E402

import msgspec  # noqa: E402

TEXT = "bench-echo-payload " + "x" * 44
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "hand-written", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Text(msgspec.Struct):
    """A block of text."""

    text: str = ""


class Result(msgspec.Struct):
    """What a tool returned."""

    content: list[Text] = []


class Reply(msgspec.Struct):
    """A response."""

    id: int
    result: Result


decode = msgspec.json.Decoder(Reply).decode
encode = msgspec.json.Encoder().encode


class Pipe(asyncio.SubprocessProtocol):
    """Matches replies to calls by their ids."""

    def __init__(self) -> None:
        self.waiting: dict[int, asyncio.Future[Result]] = {}
        self.tail = b""
        self.last_id = 0

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Take what the server wrote."""
        *lines, self.tail = (self.tail + data).split(b"\n")
        for line in lines:
            reply = decode(line)
            self.waiting.pop(reply.id).set_result(reply.result)

    def call(self, stdin: Any, text: str) -> asyncio.Future[Result]:
        """Call echo."""
        self.last_id += 1
        future = self.waiting[self.last_id] = asyncio.get_running_loop().create_future()
        params = {"name": "echo", "arguments": {"text": text}, "_meta": META}
        message = {"jsonrpc": "2.0", "id": self.last_id, "method": "tools/call", "params": params}
        stdin.write(encode(message) + b"\n")
        return future


async def measure(options: argparse.Namespace, command: list[str]) -> dict[str, float]:
    """Start the server, call and count."""
    loop = asyncio.get_running_loop()
    transport, pipe = await loop.subprocess_exec(Pipe, *command, stderr=None)
    stdin = transport.get_pipe_transport(0)
    connected = time.perf_counter()

    async def call_until(stop: float) -> int:
        calls = 0
        while time.perf_counter() < stop:
            result = await pipe.call(stdin, TEXT)
            if result.content[0].text != TEXT:
                raise SystemExit(f"wrong reply: {result!r}")
            calls += 1
        return calls

    figures = {"connect_ms": (connected - STARTED) * 1e3}
    await call_until(time.perf_counter() + 0.1)
    for name, width in (("seq", 1), ("conc", options.width)):
        cpu, start = time.process_time(), time.perf_counter()
        stop = start + options.secs
        calls = sum(await asyncio.gather(*(call_until(stop) for _ in range(width))))
        figures[name] = calls / (time.perf_counter() - start)
        figures[f"cpu_us_{name}"] = (time.process_time() - cpu) / max(calls, 1) * 1e6
    transport.close()
    return figures


def main() -> None:
    """Measure."""
    arguments = sys.argv[1:]
    split = arguments.index("--")
    parser = argparse.ArgumentParser()
    parser.add_argument("--stdio", action="store_true")
    parser.add_argument("--secs", type=float, default=1.0)
    parser.add_argument("--width", type=int, default=64)
    options = parser.parse_args(arguments[:split])
    print(json.dumps(asyncio.run(measure(options, arguments[split + 1 :]))), flush=True)


if __name__ == "__main__":
    main()
