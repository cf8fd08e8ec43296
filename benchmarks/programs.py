"""The programs that are compared, and the environments they run in."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent
PYTHON: Final = sys.executable
MCP_PYTHON: Final = str(ROOT / ".venv-bench-mcp" / "bin" / "python")
FASTMCP_PYTHON: Final = str(ROOT / ".venv-bench-fastmcp" / "bin" / "python")
NODE_PACKAGES: Final = ROOT / ".venv-bench-node"


class BenchmarkFailed(Exception):
    """A program did not start, or does not do what is to be measured."""


@dataclass(frozen=True)
class Program:
    """One of the programs that are compared: commands, of which some may be missing.

    Attributes:
        name: The head of its column.
        stdio: A server over stdio.
        http: A server over HTTP; the port is put at the end.
        json: What tells it to answer by JSON whenever it can.
        events: What tells it to answer by events always, in the legacy revisions.
        stdio_client: A client; options, and what it is to start, are put at the end.
        http_client: A client; the URL is put at the end.
        command: A program of the command line, which tells what it can do and ends.
        imports: What importing it means.
        warm_up: Seconds of load before it is as fast as it gets.
        environment: Added to the environment of its processes.
        needs: What must be there for it to run.
    """

    name: str
    stdio: list[str] = field(default_factory=list)
    http: list[str] = field(default_factory=list)
    json: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    stdio_client: list[str] = field(default_factory=list)
    http_client: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    imports: str = ""
    python: str = PYTHON
    warm_up: float = 0.5
    environment: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()

    def missing(self) -> str:
        """Return what is not there and must be, `""` when nothing is."""
        return next(
            (each for each in self.needs if shutil.which(each) is None and not Path(each).exists()),
            "",
        )


# The first of each is the measure of the others.
HANDWRITTEN: Final = Program(
    "hand-written",
    stdio=[PYTHON, str(HERE / "handwritten_server.py")],
    stdio_client=[PYTHON, str(HERE / "handwritten_client.py")],
    imports="import asyncio, msgspec",
)
BARE_ASGI: Final = Program(
    "bare ASGI",
    http=[PYTHON, str(HERE / "handwritten_asgi.py"), "--http"],
    events=["--events"],
)
BARE_AIOHTTP: Final = Program(
    "bare aiohttp",
    http_client=[PYTHON, str(HERE / "handwritten_http_client.py"), "--http"],
)
EMPTY_CLICK: Final = Program(
    "empty click",
    command=[PYTHON, str(HERE / "empty_click.py"), "--help"],
)
WIGWAG: Final = Program(
    "wigwag",
    command=[PYTHON, "-m", "wigwag", "--help"],
    stdio=[PYTHON, str(HERE / "server.py"), "--stdio"],
    http=[PYTHON, str(HERE / "server.py"), "--http"],
    events=["--streams"],
    stdio_client=[PYTHON, str(HERE / "client.py")],
    http_client=[PYTHON, str(HERE / "client.py"), "--http"],
    imports="from wigwag import Server",
)
MCP: Final = Program(
    "mcp 2.3.0",
    stdio=[MCP_PYTHON, str(HERE / "peers" / "mcp_server.py"), "--stdio"],
    http=[MCP_PYTHON, str(HERE / "peers" / "mcp_server.py"), "--http"],
    json=["--json"],
    stdio_client=[MCP_PYTHON, str(HERE / "peers" / "mcp_client.py")],
    http_client=[MCP_PYTHON, str(HERE / "peers" / "mcp_client.py"), "--http"],
    imports="from mcp.server import MCPServer",
    python=MCP_PYTHON,
    needs=(MCP_PYTHON,),
)
FASTMCP: Final = Program(
    "FastMCP 4.2.3",
    stdio_client=[FASTMCP_PYTHON, str(HERE / "peers" / "fastmcp_client.py")],
    http_client=[FASTMCP_PYTHON, str(HERE / "peers" / "fastmcp_client.py"), "--http"],
    http=[FASTMCP_PYTHON, str(HERE / "peers" / "fastmcp_server.py"), "--http"],
    json=["--json"],
    needs=(FASTMCP_PYTHON,),
)
TYPESCRIPT: Final = Program(
    "TypeScript 2.4.0",
    stdio_client=["node", str(HERE / "peers" / "typescript_client.mjs")],
    http_client=["node", str(HERE / "peers" / "typescript_client.mjs"), "--http"],
    http=["node", str(HERE / "peers" / "typescript_server.mjs"), "--http"],
    json=["--json"],
    warm_up=2.0,
    environment={"BENCH_NODE": str(NODE_PACKAGES)},
    needs=("node", str(NODE_PACKAGES / "node_modules")),
)

STDIO: Final = (HANDWRITTEN, WIGWAG, MCP)
HTTP: Final = (BARE_ASGI, WIGWAG, MCP, FASTMCP, TYPESCRIPT)
STDIO_CLIENTS: Final = (HANDWRITTEN, WIGWAG, MCP, FASTMCP, TYPESCRIPT)
HTTP_CLIENTS: Final = (BARE_AIOHTTP, WIGWAG, MCP, FASTMCP, TYPESCRIPT)
COMMANDS: Final = (EMPTY_CLICK, WIGWAG)


def present(programs: Sequence[Program]) -> list[Program]:
    """Return those that can run; say of the others why they are left out."""
    there = []
    for program in programs:
        missing = program.missing()
        if missing:
            print(f"{program.name} is left out: there is no {missing} (`make bench` installs it)")
        else:
            there.append(program)
    return there


def pin(cpu: int) -> Callable[[], None] | None:
    """Return what puts a child process on a processor, where that can be done."""
    if not hasattr(os, "sched_setaffinity") or (os.cpu_count() or 1) < 2:
        return None
    return lambda: os.sched_setaffinity(0, {cpu})


SERVER_CPU: Final = 0
LOAD_CPU: Final = 1

# Whether the system tells what memory a process holds.
HAS_PROC: Final = Path("/proc/self/smaps_rollup").exists()
