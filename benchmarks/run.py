"""Compares Wigwag with a hand-written program that does nothing else, and with the official SDK.

    run.py [--rounds N] [--secs S] [--json FILE]

Every round takes one sample of each program, in turn, and the medians over the rounds are shown, so
that a machine whose speed drifts treats all alike. Absolute figures are worth little; the ratios
hold. The server has one processor to itself and the load another, where there are two.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PYTHON = sys.executable
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
TEXT = "bench-echo-payload " + "x" * 44
MEBIBYTE = 1024 * 1024


@dataclass(frozen=True)
class Program:
    """One of the programs that are compared."""

    name: str
    server: list[str]
    client: list[str]
    imports: str


PROGRAMS = [
    Program(
        "hand-written",
        [str(HERE / "handwritten_server.py")],
        [str(HERE / "handwritten_client.py")],
        "import asyncio, msgspec",
    ),
    Program(
        "wigwag",
        [str(HERE / "server.py"), "--stdio"],
        [str(HERE / "client.py")],
        "from wigwag import Server",
    ),
    Program(
        "mcp 2.3.0",
        [str(HERE / "peers" / "mcp_server.py")],
        [str(HERE / "peers" / "mcp_client.py")],
        "from mcp.server import MCPServer",
    ),
]


@dataclass(frozen=True)
class Metric:
    """Something that is measured of every program."""

    name: str
    unit: str
    goal: str
    sample: Callable[[Program, float], float]


def pin(cpu: int) -> Callable[[], None] | None:
    """Return what puts a child process on a processor, where that can be done."""
    if not hasattr(os, "sched_setaffinity") or (os.cpu_count() or 1) < 2:
        return None
    return lambda: os.sched_setaffinity(0, {cpu})


class Running:
    """A stdio server that is running, driven through its raw pipes."""

    def __init__(self, program: Program, *, pinned: bool = True) -> None:
        self.process = subprocess.Popen(
            [PYTHON, *program.server],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            preexec_fn=pin(0) if pinned else None,
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
                raise SystemExit(f"{self.process.args!r} ended")
            pieces.append(chunk)
        *lines, self._tail = b"".join(pieces).split(b"\n")
        return lines

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send one request and return its result."""
        self.write(self.request(method, **params))
        reply: dict[str, Any] = json.loads(self.read_lines()[0])
        if "result" not in reply:
            raise SystemExit(f"{method} was refused: {reply}")
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
                raise SystemExit(f"{self.process.args!r} answered wrongly")
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
    return _run_ms(program.imports) - _run_ms("pass")


def _run_ms(code: str) -> float:
    start = time.perf_counter()
    subprocess.run([PYTHON, "-c", code], check=True)
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


def client_calls(figure: str) -> Callable[[Program, float], float]:
    """Return what measures a client against the hand-written server."""

    def sample(program: Program, seconds: float) -> float:
        server = [PYTHON, *PROGRAMS[0].server]
        command = [PYTHON, *program.client, "--secs", str(seconds), "--stdio", "--", *server]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{program.name} client failed:\n{done.stderr}")
        return float(json.loads(done.stdout)[figure])

    return sample


METRICS = [
    Metric("import of the server class", "ms", "<= 1.3", import_ms),
    Metric("cold start to the first list", "ms", "<= 1.5", cold_start_ms),
    Metric("resident memory, idle", "MB", "<= 1.3", resident_mb),
    Metric("server, one call at a time", "calls/s", ">= 0.85", calls(1)),
    Metric("server, 64 calls in flight", "calls/s", ">= 0.60", calls(64)),
    Metric(
        "server, echo of 1 MiB",
        "calls/s",
        ">= 0.80",
        calls(1, "bench-echo-payload " + "x" * MEBIBYTE),
    ),
    Metric("client, one call at a time", "calls/s", ">= 0.60", client_calls("seq")),
    Metric("client, 64 calls in flight", "calls/s", ">= 0.60", client_calls("conc")),
]


def measure(rounds: int, seconds: float) -> dict[str, dict[str, float]]:
    """Take the samples and return their medians, by metric and program."""
    medians: dict[str, dict[str, float]] = {}
    for metric in METRICS:
        samples: dict[str, list[float]] = {program.name: [] for program in PROGRAMS}
        for _ in range(rounds):
            for program in PROGRAMS:
                samples[program.name].append(metric.sample(program, seconds))
        medians[metric.name] = {name: statistics.median(values) for name, values in samples.items()}
        show(metric, medians[metric.name])
    return medians


def show(metric: Metric, medians: dict[str, float]) -> None:
    """Print one row: the figures, and their ratio to the hand-written program."""
    base = medians[PROGRAMS[0].name]
    cells = [f"{medians[p.name]:10,.1f} {medians[p.name] / base:6.2f}x" for p in PROGRAMS]
    print(f"{metric.name:30} {metric.unit:8} {'  '.join(cells)}   goal {metric.goal}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--secs", type=float, default=0.5)
    parser.add_argument("--json", default="", help="write the medians here")
    options = parser.parse_args()
    version = ".".join(map(str, sys.version_info[:3]))
    print(f"Python {version}; medians of {options.rounds}, with the ratio to hand-written\n")
    print(f"{'':30} {'':8} " + "  ".join(f"{program.name:>18}" for program in PROGRAMS))
    pinner = pin(1)
    if pinner is not None:
        pinner()
    medians = measure(options.rounds, options.secs)
    if options.json:
        Path(options.json).write_text(json.dumps(medians, indent=2) + "\n")


if __name__ == "__main__":
    main()
