"""Loads an HTTP server with prepared requests over kept connections, and checks every answer.

Each connection sends its request again as soon as the answer to the last is complete. For that it
takes a fifth of the processor time that a bare ASGI application on uvicorn takes for the answer: on
the same crowded machine, over 32 connections, that one answered 2,700 to 8,900 calls a second, and
`handwritten_http_server.py`, which is no ASGI server, 12,700 to 15,000.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

END_OF_HEAD = b"\r\n\r\n"
LAST_CHUNK = b"\r\n0\r\n\r\n"
_LENGTH = b"\r\ncontent-length:"
_CHUNKED = b"\r\ntransfer-encoding: chunked"
_DRAIN_SECONDS = 30.0
_PATIENCE = 20


class WrongAnswer(Exception):
    """The server answered something else than it should, or not at all."""


@dataclass(frozen=True)
class Expected:
    """What an answer must be like: 200, of this media type, with each of these in its body."""

    media_type: bytes
    marks: tuple[bytes, ...]
    never: tuple[bytes, ...] = (b'"isError":true', b'"error":')

    def check(self, head: bytes, body: bytes) -> None:
        """Check an answer.

        Raises:
            WrongAnswer: It is not like that.
        """
        if (
            not head.startswith(b"http/1.1 200 ")
            or self.media_type not in head
            or any(mark not in body for mark in self.marks)
            or any(mark in body for mark in self.never)
        ):
            raise WrongAnswer(f"wrong answer: {(head + END_OF_HEAD + body)[:800]!r}")


class Sample(NamedTuple):
    """What was counted, and what `probe` returned when it began and when it ended."""

    calls: int
    seconds: float
    probed: tuple[float, float]


class Answer:
    """Collects what arrives until one response is complete.

    A response in chunks is complete when it ends like the last chunk: a carriage return is in none
    of the payloads, as JSON escapes it and our servers end lines of events without.
    """

    __slots__ = ("_missing", "_pieces", "head")

    def __init__(self) -> None:
        self.head = b""
        self._missing = -1
        self._pieces: list[bytes] = []

    def feed(self, data: bytes) -> bytes | None:
        """Take more; return the body once it is complete, chunk by chunk as it came.

        Raises:
            WrongAnswer: It does not tell its length, or is longer than it tells.
        """
        if not self.head:
            head, end, rest = b"".join([*self._pieces, data]).partition(END_OF_HEAD)
            if not end:
                self._pieces.append(data)
                return None
            self.head = head.lower()
            self._missing = self._length()
            self._pieces = []
            data = rest
        self._pieces.append(data)
        if self._missing >= 0:
            self._missing -= len(data)
            if self._missing < 0:
                raise WrongAnswer(f"more than was announced: {data[-200:]!r}")
            return b"".join(self._pieces) if self._missing == 0 else None
        return self._chunked(data)

    def _length(self) -> int:
        _, found, rest = self.head.partition(_LENGTH)
        if found:
            return int(rest.partition(b"\r\n")[0])
        if _CHUNKED in self.head:
            return -1
        raise WrongAnswer(f"neither a length nor chunks: {self.head!r}")

    def _chunked(self, data: bytes) -> bytes | None:
        end = data[-len(LAST_CHUNK) :]
        if len(end) < len(LAST_CHUNK):
            end = (b"\r\n" + b"".join(self._pieces))[-len(LAST_CHUNK) :]
        return b"".join(self._pieces) if end == LAST_CHUNK else None


class _Connection(asyncio.Protocol):
    """Asks over and over."""

    __slots__ = ("_answer", "_known", "_load", "_request", "transport")

    def __init__(self, load: _Load, request: bytes) -> None:
        self._load = load
        self._request = request
        self._answer: Answer | None = None
        self._known = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's do not inherit from it.
        self.transport = cast(asyncio.Transport, transport)

    def send(self) -> None:
        self.transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        # Most answers are the same as the last to the byte, and that one was looked at.
        if self._answer is not None or data != self._known:
            try:
                if not self._is_complete(data):
                    return
            except WrongAnswer as error:
                self._load.fail(error)
                return
        if self._load.answered():
            self.transport.write(self._request)

    def _is_complete(self, data: bytes) -> bool:
        whole = self._answer is None
        answer = self._answer = self._answer or Answer()
        body = answer.feed(data)
        if body is None:
            return False
        self._load.expected.check(answer.head, body)
        self._answer = None
        if whole:
            self._known = data
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._load.fail(WrongAnswer(f"the server closed the connection: {exc}"))


class _Load:
    """The connections together."""

    def __init__(self, expected: Expected, connections: int) -> None:
        self.expected = expected
        self.calls = 0
        self._busy = connections
        self._stopping = False
        self._over = asyncio.get_running_loop().create_future()

    def answered(self) -> bool:
        """Count an answer; return whether to go on."""
        self.calls += 1
        if self._stopping:
            self._busy -= 1
            if not self._busy and not self._over.done():
                self._over.set_result(None)
        return not self._stopping

    def fail(self, error: WrongAnswer) -> None:
        if not self._over.done():
            self._over.set_exception(error)

    async def go_on(self, seconds: float) -> None:
        done, _ = await asyncio.wait([self._over], timeout=seconds)
        if done:
            self._over.result()

    def close(self) -> None:
        """Take no notice any more of what becomes of the connections."""
        self._over.cancel()

    async def stop(self) -> None:
        self._stopping = True
        await self.go_on(_DRAIN_SECONDS)
        if not self._over.done():
            raise WrongAnswer(f"{self._busy} answers are missing after {_DRAIN_SECONDS:g} s")


async def load(
    port: int,
    requests: Sequence[bytes],
    expected: Expected,
    *,
    seconds: float,
    warm_up: float,
    probe: Callable[[], float],
) -> Sample:
    """Load a server of this machine, with a connection for each of the requests.

    Args:
        port: Where it listens.
        requests: Each is sent over and over, over a connection of its own.
        expected: What every answer is like.
        seconds: How long answers are counted; as often again, while there are fewer of them than
            connections.
        warm_up: How many seconds pass before.
        probe: Called at the beginning and at the end of the counting.

    Raises:
        WrongAnswer: An answer is wrong or missing.
        OSError: The server cannot be reached.
    """
    loop = asyncio.get_running_loop()
    together = _Load(expected, len(requests))
    connections: list[_Connection] = []
    try:
        for request in requests:
            connection = _Connection(together, request)
            await loop.create_connection(lambda made=connection: made, "127.0.0.1", port)  # type: ignore[misc]
            connections.append(connection)
        for connection in connections:
            connection.send()
        await together.go_on(warm_up)
        first, begun, probed = together.calls, loop.time(), probe()
        for _ in range(_PATIENCE):
            await together.go_on(seconds)
            # Many answers may come all at once, and none before.
            if together.calls - first >= len(connections):
                break
        last, ended, probed_again = together.calls, loop.time(), probe()
        await together.stop()
    finally:
        together.close()
        for connection in connections:
            connection.transport.abort()
    return Sample(last - first, ended - begun, (probed, probed_again))


def run_load(
    port: int,
    requests: Sequence[bytes],
    expected: Expected,
    *,
    seconds: float,
    warm_up: float,
    probe: Callable[[], float],
) -> Sample:
    """Do what `load` does in an event loop of its own, on uvloop where there is one."""
    factory = None
    try:
        import uvloop  # noqa: PLC0415

        factory = uvloop.new_event_loop
    except ImportError:
        pass
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(
            load(port, requests, expected, seconds=seconds, warm_up=warm_up, probe=probe)
        )
