"""Compares Wigwag with hand-written programs that do nothing else, and with other MCP toolkits.

    run.py [stdio] [http] [memory] [client] [cli] [--rounds N] [--secs S] [--json FILE]

Every round takes one sample of each program, in turn. Shown are the medians over the rounds and,
with an x, the medians of the ratios to the first program's sample of the same round, so that a
machine whose speed drifts, or that others use too, treats all alike. Absolute figures are worth
little; the ratios hold. The server has one processor to itself and the load another, where there
are two. All servers in Python are run by uvicorn with httptools and uvloop.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

# A program finds modules beside itself, and these are named from the checkout on.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.cli_rows import command_rows
from benchmarks.client_rows import http_client_rows, stdio_client_rows
from benchmarks.http_rows import http_rows
from benchmarks.memory_rows import EMPTY, crowded_row, memory_rows
from benchmarks.programs import (
    COMMANDS,
    HAS_PROC,
    HTTP,
    HTTP_CLIENTS,
    LOAD_CPU,
    STDIO,
    STDIO_CLIENTS,
    WIGWAG,
    BenchmarkFailed,
    Program,
    pin,
    present,
)
from benchmarks.stdio_rows import stdio_rows
from benchmarks.table import Row, heading

# The programs of a part, and what measures them.
Part = tuple[str, Sequence[Program], Callable[[Sequence[Program], int, float], Iterator[Row]]]


def _memory(programs: Sequence[Program], rounds: int, seconds: float) -> Iterator[Row]:
    if HAS_PROC:
        # It hardly differs from round to round, and takes long.
        yield from memory_rows(programs, min(rounds, 3))
    else:
        print("memory is left out: only Linux tells what a process holds")


def _crowded(programs: Sequence[Program], rounds: int, seconds: float) -> Iterator[Row]:
    yield crowded_row(rounds, seconds)


PARTS: Final[dict[str, list[Part]]] = {
    "stdio": [("stdio", STDIO, stdio_rows)],
    "http": [("HTTP", HTTP, http_rows)],
    "memory": [
        ("HTTP, memory for each that is open", HTTP, _memory),
        ("HTTP, modern, JSON, 32 connections", (EMPTY, WIGWAG), _crowded),
    ],
    "client": [
        ("stdio, clients", STDIO_CLIENTS, stdio_client_rows),
        ("HTTP, clients", HTTP_CLIENTS, http_client_rows),
    ],
    "cli": [("command line", COMMANDS, command_rows)],
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; or all")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--secs", type=float, default=0.3, help="length of a sample")
    parser.add_argument("--json", default="", help="write the medians, ratios and samples here")
    options = parser.parse_args()
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}: {', '.join(PARTS)}")
    version = ".".join(map(str, sys.version_info[:3]))
    print(f"Python {version}; medians of {options.rounds}, with the ratio to the first column")
    _raise_file_limit()
    pinner = pin(LOAD_CPU)
    if pinner is not None:
        pinner()
    measured: dict[str, dict[str, Mapping[str, object]]] = {}
    try:
        for part in options.parts or PARTS:
            for title, candidates, rows in PARTS[part]:
                programs = present(candidates)
                print(f"\n{heading(title, programs)}", flush=True)
                for row in rows(programs, options.rounds, options.secs):
                    print(row.text(programs), flush=True)
                    measured[f"{title}: {row.name}, {row.unit}"] = {
                        "medians": row.medians(),
                        "ratios": row.ratios(),
                        "samples": row.samples,
                    }
    except BenchmarkFailed as error:
        sys.exit(str(error))
    finally:
        if options.json:
            Path(options.json).write_text(json.dumps(measured, indent=2) + "\n")


def _raise_file_limit() -> None:
    """Let this process and the servers have a thousand connections and more."""
    try:
        import resource  # noqa: PLC0415 - exists on Unix only
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 8192
    if hard != resource.RLIM_INFINITY:
        wanted = min(hard, wanted)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


if __name__ == "__main__":
    main()
