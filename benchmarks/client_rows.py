"""Calls per second of clients over HTTP, against a bare server that costs them little."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from typing import Final

from benchmarks.http_server import free_port
from benchmarks.programs import HERE, LOAD_CPU, PYTHON, SERVER_CPU, BenchmarkFailed, Program, pin
from benchmarks.table import Goal, Row

WIDTH: Final = 50
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


def client_rows(programs: Sequence[Program], rounds: int, seconds: float) -> Iterator[Row]:
    """Measure, and yield one row after the other."""
    rows = {
        "seq": Row("client, one call at a time", "calls/s", GOAL),
        "cpu_us_seq": Row("client, one call at a time", "CPU µs", CPU_GOAL),
        "conc": Row(f"client, {WIDTH} calls in flight", "calls/s", GOAL),
        "cpu_us_conc": Row(f"client, {WIDTH} calls in flight", "CPU µs", CPU_GOAL),
    }
    with bare_server() as url:
        for _ in range(rounds):
            for program in programs:
                figures = _run(program, url, seconds)
                for name, row in rows.items():
                    row.add(program, figures[name])
    yield from rows.values()


def _run(program: Program, url: str, seconds: float) -> dict[str, float]:
    options = ["--secs", str(seconds), "--width", str(WIDTH)]
    done = subprocess.run(
        [*program.http_client, url, *options],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=pin(SERVER_CPU),
    )
    if done.returncode:
        raise BenchmarkFailed(f"{program.name} client failed:\n{done.stderr}")
    figures: dict[str, float] = json.loads(done.stdout)
    return figures
