"""What is measured of the command line: how long it takes to say what it can do."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Sequence
from typing import Final

from benchmarks.programs import BenchmarkFailed, Program
from benchmarks.table import Goal, Row

# Of each program in each round: a start is short, and a machine never quiet.
SAMPLES: Final = 3


def command_rows(programs: Sequence[Program], rounds: int, seconds: float) -> Iterator[Row]:
    """Measure, and yield one row."""
    row = Row("wigwag --help", "ms", Goal(at_least=False, limit=1.5))
    for _ in range(rounds * SAMPLES):
        for program in programs:
            row.add(program, _milliseconds(program.command))
    yield row


def _milliseconds(command: list[str]) -> float:
    begun = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    took = time.perf_counter() - begun
    if done.returncode != 0:
        raise BenchmarkFailed(f"{command!r} does not work: {done.stderr}")
    return took * 1000
