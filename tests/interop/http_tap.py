"""Stands between a client and a server on HTTP/1.1, and writes down what crosses.

    python http_tap.py FOLDER URL

It prints the URL to use instead, on one line, and writes one JSON object a line into FOLDER:
`{"sender": "client" | "server", "line": ...}` for each message, in the words of `wiretap.py`, and
`{"exchange": ...}` for each answer's head. What it has seen is written down before it is passed
on. Bytes are passed on as they come. Standard library only, and nothing of Wigwag: it must not
share a mistake with what it watches.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

CHUNK_BYTES = 1 << 16
MAX_LINE_BYTES = 1 << 24

Parser = Generator[int | None, bytes, None]
"""Asks for so many bytes, or for a line."""


class Log:
    """The file of one run."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / f"{time.time_ns()}.jsonl").open("a", encoding="utf-8", newline="\n")

    def write(self, **record: Any) -> None:
        """Writes down one record, whole, at once."""
        self._file.write(json.dumps(record) + "\n")
        self._file.flush()

    def message(self, sender: str, payload: bytes) -> None:
        """Writes down the messages of one body or event; a batch is several."""
        if not payload.strip():
            return
        try:
            decoded = json.loads(payload)
        except ValueError:
            self.write(sender=sender, unreadable=payload.decode("utf-8", "backslashreplace"))
            return
        for each in decoded if isinstance(decoded, list) else [decoded]:
            self.write(sender=sender, line=json.dumps(each))


class Reader:
    """Gives a parser the bytes that it asks for, however they were cut."""

    def __init__(self, parser: Parser) -> None:
        self._parser = parser
        self._wanted = next(parser)
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        """Takes what has come."""
        self._buffer += data
        while True:
            if self._wanted is None:
                end = self._buffer.find(b"\n") + 1
                if not end:
                    return
            elif len(self._buffer) < self._wanted:
                return
            else:
                end = self._wanted
            piece = bytes(self._buffer[:end])
            del self._buffer[:end]
            self._wanted = self._parser.send(piece)


def read_head() -> Generator[int | None, bytes, tuple[str, dict[str, str]]]:
    first = (yield None).decode("latin-1").strip()
    headers: dict[str, str] = {}
    while line := (yield None).decode("latin-1").strip():
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    return first, headers


def read_body(
    headers: dict[str, str], take: Callable[[bytes], None], *, until_closed: bool
) -> Generator[int | None, bytes, None]:
    if "chunked" in headers.get("transfer-encoding", ""):
        while size := int((yield None).split(b";")[0], 16):
            take((yield size))
            yield None
        while (yield None).strip():
            pass
    elif "content-length" in headers:
        if length := int(headers["content-length"]):
            take((yield length))
    elif until_closed:
        while True:
            take((yield 1))


class Events:
    """Finds the data of the events in a stream."""

    def __init__(self, take: Callable[[bytes], None]) -> None:
        self._take = take
        self._rest = b""
        self._data: list[bytes] = []
        self._type = b""

    def feed(self, data: bytes) -> None:
        """Takes a piece of the stream."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in (each.removesuffix(b"\r") for each in lines):
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"data":
                self._data.append(value)
            elif field == b"event":
                self._type = value
            elif not line:
                if self._type in (b"", b"message"):  # and not `endpoint`
                    self._take(b"\n".join(self._data))
                self._data, self._type = [], b""


class Exchanges:
    """What crosses on one connection."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._asked: deque[dict[str, Any]] = deque()

    def requests(self) -> Parser:
        """Reads what the client sends."""
        while True:
            first, headers = yield from read_head()
            method, target, _ = first.split(" ")
            self._asked.append({"method": method, "target": target, "request": headers})
            body = bytearray()
            yield from read_body(headers, body.extend, until_closed=False)
            self._log.message("client", bytes(body))

    def responses(self) -> Parser:
        """Reads what the server sends."""
        while True:
            first, headers = yield from read_head()
            status = int(first.split(" ")[1])
            if status < 200:
                continue
            asked = self._asked.popleft()
            self._log.write(exchange={**asked, "status": status, "response": headers})
            kind = headers.get("content-type", "")
            body = bytearray()

            def note(payload: bytes) -> None:
                self._log.message("server", payload)

            take = Events(note).feed if kind.startswith("text/event-stream") else body.extend
            has_body = asked["method"] != "HEAD" and status not in (204, 304)
            yield from read_body(headers, take, until_closed=has_body)
            if kind.startswith("application/json"):
                note(bytes(body))


async def pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter, reader: Reader) -> None:
    """Copies bytes until the source ends, then tells the sink."""
    with contextlib.suppress(OSError):
        while chunk := await source.read(CHUNK_BYTES):
            reader.feed(chunk)
            sink.write(chunk)
            await sink.drain()
    with contextlib.suppress(OSError):
        sink.close()


async def main(folder: Path, url: str) -> None:
    """Serves until it is told to stop, and then ends at once."""
    log = Log(folder)
    target = urlsplit(url)

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            beyond = await asyncio.open_connection(target.hostname, target.port)
        except OSError:
            writer.close()
            return
        exchanges = Exchanges(log)
        await asyncio.gather(
            pass_on(reader, beyond[1], Reader(exchanges.requests())),
            pass_on(beyond[0], writer, Reader(exchanges.responses())),
        )

    server = await asyncio.start_server(meet, "127.0.0.1", 0, limit=MAX_LINE_BYTES)
    port = server.sockets[0].getsockname()[1]
    sys.stdout.write(f"http://127.0.0.1:{port}{target.path}\n")
    sys.stdout.flush()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, os._exit, 0)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
