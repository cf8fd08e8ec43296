"""Just enough of HTTP/1.1 to answer wrongly: a response can end at any byte."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus

BIG_BODY_BYTES = 100_000


class Exchange:
    """One request and what is said to it.

    Attributes:
        method: Of HTTP.
        path: The first part of the path.
        query: What stands behind a question mark.
        headers: With names in lower case.
        body: All of it, unless it is big.
        is_over: Whether the connection cannot be used any more.
    """

    def __init__(
        self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        first, *rest = head.decode("latin-1").split("\r\n")
        self.method, target, _ = first.split(" ")
        path, _, self.query = target.partition("?")
        self.path = path.strip("/").partition("/")[0]
        pairs = (line.partition(":") for line in rest if line)
        self.headers = {name.lower(): value.strip() for name, _, value in pairs}
        self.body = b""
        self.is_over = False
        self._reader = reader
        self._writer = writer

    @property
    def length(self) -> int:
        """How long the body is said to be."""
        return int(self.headers.get("content-length", 0))

    async def read_body(self) -> None:
        """Read all of the body."""
        self.body = await self._reader.readexactly(self.length)

    # --- whole responses

    async def respond(
        self,
        status: int,
        body: bytes = b"",
        *,
        kind: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Write a response with a body."""
        await self._write(self._head(status, kind, len(body), headers) + body)

    async def respond_in_part(self, body: bytes, length: int) -> None:
        """Write the beginning of a response, of which nothing more will come."""
        await self._write(self._head(200, "application/json", len(body), None) + body[:length])
        self.cut()

    def _head(
        self, status: int, kind: str, length: int, headers: Mapping[str, str] | None
    ) -> bytes:
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", f"Content-Length: {length}"]
        if length:
            lines.append(f"Content-Type: {kind}")
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        return "\r\n".join([*lines, "", ""]).encode()

    # --- streams of events

    async def begin_stream(self, headers: Mapping[str, str] | None = None) -> None:
        """Begin a response of events."""
        lines = ["HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        await self._write("\r\n".join([*lines, "", ""]).encode())

    async def chunk(self, data: bytes) -> None:
        """Write a piece of the stream."""
        await self._write(b"%x\r\n%b\r\n" % (len(data), data))

    async def end_stream(self) -> None:
        """End the stream as it should be ended."""
        await self._write(b"0\r\n\r\n")

    # --- ends

    def cut(self) -> None:
        """Close the connection, whatever was to come."""
        self.is_over = True
        self._writer.close()

    async def wait_left(self) -> None:
        """Wait until the client has closed the connection."""
        with suppress(OSError):
            while await self._reader.read(1):
                pass
        self.is_over = True

    async def _write(self, data: bytes) -> None:
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError:  # the client did not wait for it
            self.is_over = True
