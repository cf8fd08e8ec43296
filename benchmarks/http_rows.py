"""Calls per second over HTTP, and what of the processor each of them takes."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.http_load import Expected, WrongAnswer, run_load
from benchmarks.http_server import (
    LEGACY,
    MODERN,
    HttpServer,
    http_request,
    message,
)
from benchmarks.programs import WIGWAG, BenchmarkFailed, Program
from benchmarks.table import Goal, Row, shortened

MARK: Final = "bench-echo-payload"
TEXT: Final = MARK + " " + "x" * 44
MEBIBYTE: Final = 1024 * 1024
JSON_TYPE: Final = b"application/json"
EVENTS_TYPE: Final = b"text/event-stream"


@dataclass(frozen=True)
class Mode:
    """A way of calling.

    Attributes:
        name: The head of its rows.
        version: The revision.
        tool: What is called; `echo_progress` tells of its progress, so its answer is a stream.
        events: Whether the answer is a stream.
        always: Whether the server is told to answer by streams always.
    """

    name: str
    version: str
    tool: str = "echo"
    events: bool = False
    always: bool = False

    def options(self, program: Program) -> list[str]:
        """Return what the server is started with."""
        if not self.events:
            return program.json
        return program.events if self.always else []

    def call(self, number: int, text: str = TEXT) -> dict[str, Any]:
        """Return a call under this id."""
        token = f"t{number}" if self.tool == "echo_progress" else ""
        params = {"name": self.tool, "arguments": {"text": text}}
        return message(self.version, "tools/call", params, number, token)

    def requests(self, server: HttpServer, count: int, text: str = TEXT) -> list[bytes]:
        """Return so many calls, in the legacy revisions each in a session of its own."""
        numbers = range(1000, 1000 + count)
        return [
            http_request(
                server.port,
                self.version,
                self.call(number, text),
                server.open_session() if self.version == LEGACY else "",
            )
            for number in numbers
        ]

    def expected(self) -> Expected:
        """Return what every answer is like."""
        marks = [MARK.encode()]
        if self.tool == "echo_progress":
            marks.append(b"notifications/progress")
        return Expected(EVENTS_TYPE if self.events else JSON_TYPE, tuple(marks))

    def verify(self, server: HttpServer) -> None:
        """Look at one answer closely.

        Raises:
            BenchmarkFailed: It is wrong.
        """
        session = server.open_session() if self.version == LEGACY else ""
        text = 'a"b\\cé世\U0001f600\n\t'
        _, found = server.post(self.version, self.call(1, text), session)
        *before, last = found
        content = last.get("result", {}).get("content")
        if last.get("id") != 1 or [block.get("text") for block in content or ()] != [text]:
            raise server.failed(f"{self.name}: wrong answer: {found}")
        told = [each["method"] for each in before]
        if told != (["notifications/progress"] if self.tool == "echo_progress" else []):
            raise server.failed(f"{self.name}: other messages than expected: {found}")


MODES: Final = (
    Mode("modern, JSON", MODERN),
    Mode("modern, events, with progress", MODERN, "echo_progress", events=True),
    Mode("legacy, JSON", LEGACY),
    Mode("legacy, events", LEGACY, events=True, always=True),
)
CONNECTIONS: Final = (1, 32, 256)
GOAL: Final = Goal(at_least=True, limit=0.75)
# A call takes a server no more than this many times as long: the same goal, less disturbed by what
# else the machine does.
CPU_GOAL: Final = Goal(at_least=False, limit=1.33)


@contextlib.contextmanager
def running(mode: Mode, programs: Sequence[Program]) -> Iterator[list[HttpServer]]:
    """Start a server of each program, see that it does what it should, and warm it up."""
    with contextlib.ExitStack() as stack:
        servers: list[HttpServer] = []
        for program in programs:
            server = stack.enter_context(HttpServer(program, mode.options(program)))
            try:
                mode.verify(server)
                sample(server, mode, mode.requests(server, 8), program.warm_up)
            except BenchmarkFailed as error:
                if program is WIGWAG or not servers:
                    raise
                print(f"    left out: {shortened(str(error))}")
            else:
                servers.append(server)
        yield servers


def sample(
    server: HttpServer, mode: Mode, requests: Sequence[bytes], seconds: float
) -> tuple[float, float]:
    """Return calls per second, and microseconds of processor time per call.

    Raises:
        BenchmarkFailed: An answer was wrong.
    """
    try:
        counted = run_load(
            server.port,
            requests,
            mode.expected(),
            seconds=seconds,
            warm_up=seconds / 4,
            probe=server.cpu_seconds,
        )
    except WrongAnswer as error:
        raise server.failed(f"{mode.name}: {error}") from None
    begun, ended = counted.probed
    if not counted.calls:
        raise server.failed(f"{mode.name}: not one answer in {seconds} s")
    return counted.calls / counted.seconds, (ended - begun) / counted.calls * 1e6


def http_rows(programs: Sequence[Program], rounds: int, seconds: float) -> Iterator[Row]:
    """Measure, and yield one row after the other."""
    for mode in MODES:
        with running(mode, programs) as servers:
            for connections in CONNECTIONS:
                noun = "connection" if connections == 1 else "connections"
                name = f"{mode.name}, {connections} {noun}"
                requests = [mode.requests(server, connections) for server in servers]
                yield from _rows(name, mode, servers, requests, rounds, seconds)
            if mode is MODES[0]:
                text = MARK + "x" * MEBIBYTE
                requests = [mode.requests(server, 1, text) for server in servers]
                yield from _rows(
                    "modern, JSON, echo of 1 MiB", mode, servers, requests, rounds, seconds
                )


def _rows(
    name: str,
    mode: Mode,
    servers: Sequence[HttpServer],
    requests: Sequence[Sequence[bytes]],
    rounds: int,
    seconds: float,
) -> Iterator[Row]:
    rate = Row(name, "calls/s", GOAL)
    cpu = Row(name, "CPU µs", CPU_GOAL)
    for _ in range(rounds):
        for server, prepared in zip(servers, requests, strict=True):
            if server.program.name in rate.left_out:
                continue
            try:
                calls, microseconds = sample(server, mode, prepared, seconds)
            except BenchmarkFailed as error:
                rate.leave_out(server.program, error)
                cpu.samples.pop(server.program.name, None)
                continue
            rate.add(server.program, calls)
            cpu.add(server.program, microseconds)
    yield rate
    if not any(math.isnan(value) for values in cpu.samples.values() for value in values):
        yield cpu
