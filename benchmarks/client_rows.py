"""Calls per second of clients, against bare servers that cost them little."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from benchmarks.http_server import free_port
from benchmarks.programs import (
    HANDWRITTEN,
    HERE,
    LOAD_CPU,
    PYTHON,
    SERVER_CPU,
    BenchmarkFailed,
    Program,
    pin,
)
from benchmarks.table import Goal, Row

WIDTH: Final = 64
GOAL: Final = Goal(at_least=True, limit=0.6)
CPU_GOAL: Final = Goal(at_least=False, limit=1.67)
_START_SECONDS: Final = 20.0


@contextlib.contextmanager
def bare_server() -> Iterator[str]:
    """Run the server that clients are measured with, and yield its URL."""
    port = free_port()
    process = subprocess.Popen(
        [PYTHON, str(HERE / "handwritten_http_server.py"), str(port)], preexec_fn=pin(LOAD_CPU)
    )
    try:
        end = time.monotonic() + _START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if time.monotonic() > end or process.poll() is not None:
                    raise BenchmarkFailed("the bare server did not start") from None
                time.sleep(0.02)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


def stdio_client_rows(programs: Sequence[Program], rounds: int, seconds: float) -> Iterator[Row]:
    """Measure clients of a process, and yield one row after the other."""
    target = ["--stdio", "--", *HANDWRITTEN.stdio]
    yield from _rows(
        programs, rounds, lambda program: [*program.stdio_client, *_options(seconds), *target]
    )


def http_client_rows(programs: Sequence[Program], rounds: int, seconds: float) -> Iterator[Row]:
    """Measure clients over HTTP, and yield one row after the other."""
    with bare_server() as url:
        yield from _rows(
            programs, rounds, lambda program: [*program.http_client, url, *_options(seconds)]
        )


def _options(seconds: float) -> list[str]:
    return ["--secs", str(seconds), "--width", str(WIDTH)]


def _rows(
    programs: Sequence[Program], rounds: int, command: Callable[[Program], list[str]]
) -> Iterator[Row]:
    rows = {
        "connect_ms": Row("client, from its start to connected", "ms"),
        "seq": Row("client, one call at a time", "calls/s", GOAL),
        "cpu_us_seq": Row("client, one call at a time", "CPU µs", CPU_GOAL),
        "conc": Row(f"client, {WIDTH} calls in flight", "calls/s", GOAL),
        "cpu_us_conc": Row(f"client, {WIDTH} calls in flight", "CPU µs", CPU_GOAL),
    }
    for _ in range(rounds):
        for program in programs:
            figures = _run(program, command(program))
            for name, row in rows.items():
                row.add(program, figures[name])
    yield from rows.values()


def _run(program: Program, command: list[str]) -> dict[str, float]:
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **program.environment},
        preexec_fn=pin(SERVER_CPU),
    )
    if done.returncode:
        raise BenchmarkFailed(f"{program.name} client failed:\n{done.stderr}")
    figures: dict[str, float] = json.loads(done.stdout)
    return figures
