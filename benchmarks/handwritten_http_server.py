"""A bare HTTP server for the clients that are measured: it must cost them as little as possible.

    handwritten_http_server.py PORT

An HTTP/1.1 protocol on uvloop that reads as much of a request as it needs and answers with JSON.
"""

import asyncio
import sys
from pathlib import Path
from typing import cast

# A program finds modules beside itself, and these are named from the checkout on.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.handwritten_server import answer, decode

END_OF_HEAD = b"\r\n\r\n"
LENGTH = b"\r\ncontent-length:"


class Connection(asyncio.Protocol):
    """Answers one request after the other."""

    def __init__(self) -> None:
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where answers go."""
        # uvloop's do not inherit from it.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Answer what is complete."""
        self._received += data
        head_end = self._received.find(END_OF_HEAD)
        if head_end < 0:
            return
        head = self._received[:head_end].lower()
        _, found, rest = head.partition(LENGTH)
        length = int(rest.partition(b"\r\n")[0]) if found else 0
        start = head_end + len(END_OF_HEAD)
        body = self._received[start : start + length]
        if len(body) < length:
            return
        self._received = self._received[start + length :]
        reply = answer(decode(body)) if body else b"{}"
        if reply is None:
            self._transport.write(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")
        else:
            kind = b"content-type: application/json\r\n"
            size = b"content-length: %d" % len(reply)
            self._transport.write(b"HTTP/1.1 200 OK\r\n" + kind + size + END_OF_HEAD + reply)


async def serve(port: int) -> None:
    """Serve until the process is ended."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, "127.0.0.1", port, backlog=2048)
    await server.serve_forever()


def main() -> None:
    """Serve on uvloop, where there is one."""
    factory = None
    try:
        import uvloop  # noqa: PLC0415

        factory = uvloop.new_event_loop
    except ImportError:
        pass
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(serve(int(sys.argv[1])))


if __name__ == "__main__":
    main()
