"""What open sessions, streams and connections cost a server: memory, and whether it gets slower."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from benchmarks.http_rows import MODES, sample
from benchmarks.http_server import MODERN, HttpServer, http_request, message
from benchmarks.programs import WIGWAG, Program
from benchmarks.table import Goal, Row

OPEN: Final = 1000
# What the first ones of a kind load and allocate for all of them is not counted.
FIRST: Final = 20
BATCH: Final = 100
CONNECTIONS: Final = 32
SESSION_GOAL: Final = Goal(at_least=False, limit=2.0, is_ratio=False)
STREAM_GOAL: Final = Goal(at_least=False, limit=1.3)
FLAT_GOAL: Final = Goal(at_least=True, limit=0.9)
# The same server, with nothing open.
EMPTY: Final = replace(WIGWAG, name="wigwag, idle")
_ACKNOWLEDGED: Final = b"notifications/subscriptions/acknowledged"
_SECONDS: Final = 20.0


class Crowd:
    """Sockets that are open to a server."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server
        self.sockets: list[socket.socket] = []

    def __enter__(self) -> Crowd:
        return self

    def __exit__(self, *exc: object) -> None:
        for each in self.sockets:
            each.close()

    def connect(self, count: int) -> None:
        """Open connections on which nothing is asked."""
        for _ in range(count):
            self._connect()

    def listen(self, count: int) -> None:
        """Open subscriptions, and wait until they are acknowledged.

        Raises:
            BenchmarkFailed: One is not.
        """
        for first in range(0, count, BATCH):
            new = []
            for _ in range(min(BATCH, count - first)):
                made = self._connect()
                number = len(self.sockets)
                wanted = {"notifications": {"toolsListChanged": True}}
                body = message(MODERN, "subscriptions/listen", wanted, number)
                made.sendall(http_request(self._server.port, MODERN, body))
                new.append(made)
            for made in new:
                self._wait(made)

    def _connect(self) -> socket.socket:
        made = socket.create_connection(("127.0.0.1", self._server.port), _SECONDS)
        self.sockets.append(made)
        return made

    def _wait(self, made: socket.socket) -> None:
        received = b""
        while _ACKNOWLEDGED not in received:
            more = made.recv(65536)
            received += more
            if not more or not received.startswith(b"HTTP/1.1 200"):
                raise self._server.failed(f"it opened no stream: {received[:500]!r}")


def open_sessions(server: HttpServer, count: int) -> None:
    """Open legacy sessions."""
    for _ in range(count):
        server.open_session()


def memory_rows(programs: Sequence[Program], rounds: int) -> Iterator[Row]:
    """Measure, and yield one row after the other; only Linux tells what a process holds."""
    session = Row(f"idle session, of {OPEN:,}", "KB", SESSION_GOAL)
    stream = Row(f"open listen stream, of {OPEN:,}", "KB", STREAM_GOAL)
    connection = Row(f"idle connection, of {OPEN:,}", "KB")
    mode = MODES[0]
    for _ in range(rounds):
        for program in programs:
            with HttpServer(program, program.json) as server, Crowd(server) as crowd:
                sample(server, mode, mode.requests(server, 8), program.warm_up)
                session.take(program, partial(_each, server, partial(open_sessions, server)))
                connection.take(program, partial(_each, server, crowd.connect))
                stream.take(program, partial(_each, server, crowd.listen))
    yield from (session, stream, connection)


def _each(server: HttpServer, open_some: Callable[[int], None]) -> float:
    """Return the kilobytes that each takes."""
    open_some(FIRST)
    before = server.resident_kilobytes()
    open_some(OPEN)
    return (server.resident_kilobytes() - before) / OPEN


def crowded_row(rounds: int, seconds: float) -> Row:
    """Compare a server that has sessions and streams open with one that has none."""
    row = Row(f"{OPEN:,} sessions and {OPEN:,} streams open", "calls/s", FLAT_GOAL)
    mode = MODES[0]
    with HttpServer(EMPTY) as empty, HttpServer(WIGWAG) as full, Crowd(full) as crowd:
        open_sessions(full, OPEN)
        crowd.listen(OPEN)
        requests = [(each, mode.requests(each, CONNECTIONS)) for each in (empty, full)]
        for server, prepared in requests:
            sample(server, mode, prepared, server.program.warm_up)
        for _ in range(rounds):
            for server, prepared in requests:
                row.add(server.program, sample(server, mode, prepared, seconds)[0])
    return row
