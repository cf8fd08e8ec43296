"""What is measured over stdio: start, memory, calls per second of servers."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.http_server import META
from benchmarks.programs import HAS_PROC, SERVER_CPU, BenchmarkFailed, Program, pin
from benchmarks.table import Goal, Row

TEXT: Final = "bench-echo-payload " + "x" * 44
MEBIBYTE: Final = 1024 * 1024


@dataclass(frozen=True)
class Metric:
    """Something that is measured of every program."""

    name: str
    unit: str
    goal: Goal
    sample: Callable[[Program, float], float]
    needs_proc: bool = False


class Running:
    """A stdio server that is running, driven through its raw pipes."""

    def __init__(self, program: Program, *, pinned: bool = True) -> None:
        self.process = subprocess.Popen(
            program.stdio,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            preexec_fn=pin(SERVER_CPU) if pinned else None,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._in, self._out = self.process.stdin.fileno(), self.process.stdout.fileno()
        self._widen()
        self._tail = b""
        self._last_id = 0

    def _widen(self) -> None:
        try:
            import fcntl  # noqa: PLC0415 - exists on Unix only

            for fd in (self._in, self._out):
                fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, MEBIBYTE)
        except (ImportError, AttributeError, OSError):
            pass

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *exc: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def request(self, method: str, **params: Any) -> bytes:
        """Encode a request under the next id."""
        self._last_id += 1
        params["_meta"] = META
        message = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}
        return json.dumps(message, separators=(",", ":")).encode() + b"\n"

    def write(self, data: bytes) -> None:
        """Write all of it."""
        view = memoryview(data)
        while view:
            view = view[os.write(self._in, view) :]

    def read_lines(self) -> list[bytes]:
        """Wait for at least one line, and return all that have arrived."""
        pieces = [self._tail]
        while b"\n" not in pieces[-1]:
            chunk = os.read(self._out, MEBIBYTE)
            if not chunk:
                raise BenchmarkFailed(f"{self.process.args!r} ended")
            pieces.append(chunk)
        *lines, self._tail = b"".join(pieces).split(b"\n")
        return lines

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send one request and return its result."""
        self.write(self.request(method, **params))
        reply: dict[str, Any] = json.loads(self.read_lines()[0])
        if "result" not in reply:
            raise BenchmarkFailed(f"{method} was refused: {reply}")
        result: dict[str, Any] = reply["result"]
        return result

    def calls_per_second(self, seconds: float, text: str, in_flight: int) -> float:
        """Call echo over and over, with so many calls under way, and count the answers."""
        template = self.request("tools/call", name="echo", arguments={"text": text})
        before, _, after = template.partition(b'"id":%d' % self._last_id)
        mark = text[:18].encode()

        def requests(count: int) -> bytes:
            first, self._last_id = self._last_id + 1, self._last_id + count
            ids = range(first, first + count)
            return b"".join(b'%b"id":%d%b' % (before, number, after) for number in ids)

        self.write(requests(in_flight))
        answered, start = 0, time.perf_counter()
        stop = start + seconds
        waiting = in_flight
        while waiting:
            lines = self.read_lines()
            if any(mark not in line or b'"isError":true' in line for line in lines):
                raise BenchmarkFailed(f"{self.process.args!r} answered wrongly")
            answered += len(lines)
            waiting -= len(lines)
            if time.perf_counter() < stop:
                self.write(requests(len(lines)))
                waiting += len(lines)
        return answered / (time.perf_counter() - start)

    def resident_megabytes(self) -> float:
        """Return how much memory the server holds."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024


def import_ms(program: Program, seconds: float) -> float:
    """Time the import in a fresh process, less the start of the interpreter."""
    return _run_ms(program.python, program.imports) - _run_ms(program.python, "pass")


def _run_ms(python: str, code: str) -> float:
    start = time.perf_counter()
    subprocess.run([python, "-c", code], check=True)
    return (time.perf_counter() - start) * 1e3


def cold_start_ms(program: Program, seconds: float) -> float:
    """Time from spawning the server to its first `tools/list` reply."""
    start = time.perf_counter()
    with Running(program, pinned=False) as server:
        server.ask("server/discover")
        server.ask("tools/list")
        return (time.perf_counter() - start) * 1e3


def resident_mb(program: Program, seconds: float) -> float:
    """Measure the memory of a server that has answered and waits."""
    with Running(program) as server:
        server.ask("server/discover")
        server.ask("tools/list")
        return server.resident_megabytes()


def calls(in_flight: int, text: str = TEXT) -> Callable[[Program, float], float]:
    """Return what measures calls per second with so many under way."""

    def sample(program: Program, seconds: float) -> float:
        with Running(program) as server:
            server.ask("server/discover")
            server.calls_per_second(seconds / 4, text, in_flight)
            return server.calls_per_second(seconds, text, in_flight)

    return sample


METRICS: Final = (
    Metric("import of the server class", "ms", Goal(at_least=False, limit=1.3), import_ms),
    Metric("cold start to the first list", "ms", Goal(at_least=False, limit=1.5), cold_start_ms),
    Metric(
        "resident memory, idle",
        "MB",
        Goal(at_least=False, limit=1.3),
        resident_mb,
        needs_proc=True,
    ),
    Metric("server, one call at a time", "calls/s", Goal(at_least=True, limit=0.85), calls(1)),
    Metric("server, 64 calls in flight", "calls/s", Goal(at_least=True, limit=0.6), calls(64)),
    Metric(
        "server, echo of 1 MiB",
        "calls/s",
        Goal(at_least=True, limit=0.8),
        calls(1, "bench-echo-payload " + "x" * MEBIBYTE),
    ),
)


def stdio_rows(programs: Sequence[Program], rounds: int, seconds: float) -> Iterator[Row]:
    """Measure, and yield one row after the other."""
    for metric in METRICS:
        if metric.needs_proc and not HAS_PROC:
            continue
        row = Row(metric.name, metric.unit, metric.goal)
        for _ in range(rounds):
            for program in programs:
                row.add(program, metric.sample(program, seconds))
        yield row
