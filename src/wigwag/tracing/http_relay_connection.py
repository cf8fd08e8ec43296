"""One connection of a host to an HTTP relay, with the one to the server behind it."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from typing import Final, Literal

from wigwag.bindings.http_hosts import HostRules
from wigwag.errors import TransportError
from wigwag.tracing.http_framing import Head, HttpFraming, HttpFramingError, Part
from wigwag.tracing.http_observation import HttpPiece
from wigwag.tracing.http_target import HttpTarget
from wigwag.tracing.observer import Observer
from wigwag.tracing.records import Sender

__all__ = ["RelayedConnection"]

_CHUNK_BYTES: Final = 64 * 1024


class _Refused(Exception):
    """The relay answers a request itself."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class RelayedConnection:
    """Passes on what comes on a connection.

    Args:
        target: The server.
        rules: Which requests are passed on.
        observer: What is told of all that passes.
        next_number: Returns the number of a new request.
        streams: The connection of the host.
    """

    def __init__(
        self,
        target: HttpTarget,
        rules: HostRules,
        observer: Observer,
        next_number: Callable[[], int],
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        self._target = target
        self._rules = rules
        self._observer = observer
        self._next_number = next_number
        self._reader, self._writer = streams
        self._to_server: asyncio.StreamWriter | None = None
        self._answering: asyncio.Task[None] | None = None
        self._number = 0  # that of the request that is coming
        self._asked: deque[tuple[int, str]] = deque()  # requests without an answer, their methods
        self._is_final = False  # whether the answer that comes is more than a 1xx
        self._origin = ""  # what the relay is to the host

    async def run(self) -> None:
        """Pass on until either side has ended."""
        try:
            await self._pass_requests()
        except _Refused as refusal:
            await self._refuse(refusal)
        except OSError:  # the host was cut off
            self._abort_server()
        except asyncio.CancelledError:  # the relay is closed
            self._abort()
            raise
        finally:
            self._finish()

    # --- to the server

    async def _pass_requests(self) -> None:
        framing = HttpFraming()
        while data := await self._reader.read(_CHUNK_BYTES):
            try:
                ready = [self._request_part(part) for part in framing.feed(data)]
            except HttpFramingError as error:
                raise _Refused("400 Bad Request", f"{error}") from None
            if self._to_server is None:
                await self._connect()
                assert self._to_server is not None
            try:
                self._to_server.write(b"".join(ready))
                await self._to_server.drain()
            except OSError:  # why, its answer may say
                return
        await self._end_of_requests()

    def _request_part(self, part: Part) -> bytes:
        if part.head is None:
            self._note(self._number, "client", part)
            return part.raw
        host, origin = part.head.header("host"), part.head.header("origin")
        refusal = self._rules.refusal(
            host.encode("latin-1") or None, origin.encode("latin-1") or None
        )
        if refusal is not None:
            raise _Refused("403 Forbidden", refusal.reason)
        self._origin = f"http://{host}"
        self._number = self._next_number()
        self._asked.append((self._number, part.head.method))
        self._note(self._number, "client", part)
        return bytes(self._target.request_head(part.head))

    async def _connect(self) -> None:
        try:
            reader, self._to_server = await self._target.connect()
        except TransportError as error:
            raise _Refused("502 Bad Gateway", str(error)) from None
        loop = asyncio.get_running_loop()
        self._answering = loop.create_task(self._pass_responses(reader))

    async def _end_of_requests(self) -> None:
        """The host will say nothing more: let the server know, as it would without a relay."""
        if self._to_server is None or self._answering is None:
            return
        for number, _ in self._asked:
            self._tell(number, "client", "cut")
        self._asked.clear()
        try:
            if not self._to_server.can_write_eof():
                self._to_server.close()
                return
            self._to_server.write_eof()
            await asyncio.wait([self._answering])
        except OSError:
            self._abort_server()

    # --- to the host

    async def _pass_responses(self, reader: asyncio.StreamReader) -> None:
        framing = HttpFraming(self._method_asked)
        try:
            while data := await reader.read(_CHUNK_BYTES):
                self._writer.write(self._response_bytes(framing, data))
                await self._writer.drain()
            for part in framing.end():
                self._response_part(part)
            self._cut_off()
            await self._close_host()
        except OSError:
            self._cut_off()
            self._writer.transport.abort()

    def _response_bytes(self, framing: HttpFraming, data: bytes) -> bytes:
        ready: list[bytes] = []
        try:
            # One by one: what came before something broken is passed on as what it is.
            ready += (self._response_part(part) for part in framing.feed(data))
        except HttpFramingError as error:
            self._tell(self._asked_number(), "server", "note", f"no HTTP/1.1: {error}")
            framing.pass_raw()
            ready += (part.raw for part in framing.feed(b""))
        return b"".join(ready)

    def _response_part(self, part: Part) -> bytes:
        self._note(self._asked_number(), "server", part)
        if part.kind == "end":
            if self._asked and self._is_final:
                self._asked.popleft()
            return b""
        if part.head is None:
            return part.raw
        self._is_final = part.head.status >= 200
        changed = self._target.response_head(part.head, self._origin)
        return part.raw if changed is part.head else bytes(changed)

    def _method_asked(self) -> str:
        return self._asked[0][1] if self._asked else ""

    def _asked_number(self) -> int:
        return self._asked[0][0] if self._asked else self._number

    # --- what is told

    def _note(self, number: int, sender: Sender, part: Part) -> None:
        if part.kind != "body" or part.payload:
            now = self._observer.now()
            self._observer.passed(
                HttpPiece(number, now, sender, part.kind, part.head, part.payload)
            )

    def _tell(
        self, number: int, sender: Sender, kind: Literal["cut", "note"], words: str = ""
    ) -> None:
        now = self._observer.now()
        self._observer.passed(HttpPiece(number, now, sender, kind, data=words.encode()))

    def _cut_off(self) -> None:
        """Tell which requests will have no answer, or not all of it."""
        for number, _ in self._asked:
            self._tell(number, "server", "cut")
        self._asked.clear()

    # --- the end

    async def _refuse(self, refusal: _Refused) -> None:
        """Answer in place of the server."""
        self._asked.clear()
        body = f"wigwag trace: {refusal}\n".encode()
        head = Head(
            f"HTTP/1.1 {refusal.status}".encode(),
            [
                b"Content-Type: text/plain; charset=utf-8",
                b"Content-Length: %d" % len(body),
                b"Connection: close",
            ],
        )
        now, words = self._observer.now(), f"of the relay: {refusal}".encode()
        self._observer.passed(HttpPiece(self._number, now, "server", "note", head, words))
        with contextlib.suppress(OSError):
            self._writer.write(bytes(head) + body)
            await self._close_host()

    async def _close_host(self) -> None:
        """End the connection of the host, once all is written."""
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    def _abort_server(self) -> None:
        for number, _ in self._asked:
            self._tell(number, "client", "cut")
        self._asked.clear()
        if self._to_server is not None:
            self._to_server.transport.abort()

    def _finish(self) -> None:
        if self._answering is not None:
            self._answering.cancel()
        for writer in (self._to_server, self._writer):
            if writer is not None:
                writer.close()

    def _abort(self) -> None:
        """Drop both connections, with what is not written yet."""
        for writer in (self._to_server, self._writer):
            if writer is not None:
                writer.transport.abort()
