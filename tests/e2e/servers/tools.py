"""A server whose tools do what tools should not, so that the tests can see it come to no harm."""

import argparse
import asyncio
import ctypes
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from wigwag import Limits, Server
from wigwag.schema import ToolAnnotations

parser = argparse.ArgumentParser()
parser.add_argument("--max-message-bytes", type=int, default=64 * 1024 * 1024)
parser.add_argument("--slow-to-start", type=float, default=0.0)
parser.add_argument("--slow-to-stop", type=float, default=0.0)
parser.add_argument("--starts", type=Path, metavar="FILE", help="fail at any start but the first")
parser.add_argument("--hang", action="store_true", help="hang instead")
parser.add_argument("--unix", metavar="PATH")
parser.add_argument("--tcp", type=int, metavar="PORT")
options = parser.parse_args()

if options.starts:
    with options.starts.open("ab") as file:
        file.write(b"x")
    if options.starts.stat().st_size > 1:
        print("this is the end", file=sys.stderr, flush=True)
        if options.hang:
            time.sleep(600)
        sys.exit(3)


@asynccontextmanager
async def lifespan(server: Server) -> AsyncIterator[None]:
    """Take some time to start and to stop, if that is wanted."""
    if options.slow_to_start:
        print("starting", flush=True)  # as one does
        await asyncio.sleep(options.slow_to_start)
    yield
    if options.slow_to_stop:
        say("stopping")
        await asyncio.sleep(options.slow_to_stop)


server = Server(
    "tools",
    version="1.0.0",
    lifespan=lifespan,
    limits=Limits(max_message_bytes=options.max_message_bytes),
)


def say(text: str) -> None:
    """Let the test know how far things have come."""
    print(text, file=sys.stderr, flush=True)


@server.tool
def echo(text: str) -> str:
    """Return the text."""
    return text


@server.tool
def measure(text: str) -> str:
    """Return how long the text is."""
    return str(len(text))


# --- output that is not the protocol's


@server.tool
def print_text(text: str) -> None:
    """Print, as anybody would."""
    print(text)


@server.tool
def write_to_descriptor_1(text: str) -> None:
    """Write past Python's streams."""
    os.write(1, f"{text}\n".encode())


@server.tool
def print_in_c(text: str) -> None:
    """Print as a C library does, whose buffer is its own."""
    libc = ctypes.CDLL(None)
    libc.printf(b"%s\n", text.encode())
    libc.fflush(None)


@server.tool
def print_in_child(text: str) -> None:
    """Let a child process print; it inherits what this process has."""
    subprocess.run(["/bin/cat"], input=f"{text}\n".encode(), check=True)


@server.tool
def complain(text: str) -> None:
    """Write to the standard error, in Python and past it."""
    sys.stderr.write(f"{text}\n")
    os.write(2, f"{text}\n".encode())
    subprocess.run(["/bin/sh", "-c", f"echo {text} >&2"], check=True)


@server.tool
def log_text(text: str) -> None:
    """Write to the log."""
    logging.getLogger("tools").error(text)


# --- input that is not the protocol's


@server.tool
def read_in_child() -> str:
    """Let a child process read its input to the end."""
    return subprocess.run(["/bin/cat"], check=True, capture_output=True, text=True).stdout


@server.tool
def read_input() -> str:
    """Read the standard input to its end."""
    return sys.stdin.read()


# --- tools that take their time


@server.tool
def block(seconds: float) -> None:
    """Block a worker thread."""
    say("block begins")
    time.sleep(seconds)


@server.tool
async def wait(seconds: float) -> str:
    """Wait as one should."""
    say("wait begins")
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        say("wait was cancelled")
        raise
    return "waited"


@server.tool
async def wait_for_thread(seconds: float) -> None:
    """Block a thread of asyncio's own pool."""
    say("wait_for_thread begins")
    await asyncio.to_thread(time.sleep, seconds)


@server.tool
async def block_event_loop(seconds: float, after: float = 0.0) -> None:
    """Block the event loop, at once or a little later."""
    await asyncio.sleep(after)
    say("block_event_loop begins")
    time.sleep(seconds)  # noqa: ASYNC251 - that is the fault


@server.tool
async def refuse_to_stop(seconds: float) -> None:
    """Go on although cancelled."""
    say("refuse_to_stop begins")
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            say("cancelled, goes on")


# --- tools that fail, and tools that kill


@server.tool
def fail(text: str) -> None:
    """Fail unexpectedly."""
    raise ValueError(text)


@server.tool
def leave(code: int) -> None:
    """Leave the program, as far as a tool can."""
    sys.exit(code)


@server.tool
async def leave_event_loop(code: int) -> None:
    """Do the same where it would end the event loop."""
    sys.exit(code)


@server.tool
def die(code: int, words: str) -> None:
    """End the process there and then."""
    say(words)
    os._exit(code)


@server.tool
def die_of_first_call(file: str) -> str:
    """Die of the first call only; the file keeps count."""
    return _die_of_first(Path(file))


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def read_and_die_of_first_call(file: str) -> str:
    """Do the same, and say that it can be called twice."""
    return _die_of_first(Path(file))


@server.tool(annotations=ToolAnnotations(idempotent_hint=True))
def read_and_die(file: str) -> str:
    """Die of each call, and say that it can be called twice."""
    with Path(file).open("ab") as calls:
        calls.write(b"x")
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


def _die_of_first(file: Path) -> str:
    calls = len(file.read_bytes()) + 1 if file.exists() else 1
    file.write_bytes(b"x" * calls)
    if calls == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"call {calls}"


# --- what the tests want to know


@server.tool
def process_id() -> str:
    """Return the id of this process."""
    return str(os.getpid())


@server.tool
def modules() -> str:
    """Return the names of all modules that are loaded, as JSON."""
    return json.dumps(sorted(sys.modules))


@server.tool
def environment() -> str:
    """Return the variables of this process, as JSON."""
    return json.dumps(dict(os.environ))


@server.tool
def folder() -> str:
    """Return the folder this process runs in."""
    return os.getcwd()


@server.tool
def start_child(*, deaf: bool = False) -> str:
    """Start a process that would stay for long, and return its id."""
    trap = "trap '' TERM HUP INT; " if deaf else ""
    child = subprocess.Popen(["/bin/sh", "-c", f"{trap}sleep 600 & wait; sleep 600"])
    _children.append(child)
    return str(child.pid)


_children: list[Any] = []

if __name__ == "__main__":
    if options.unix:
        server.run("unix", path=options.unix)
    elif options.tcp:
        server.run("tcp", port=options.tcp)
    else:
        server.run()
    if options.unix or options.tcp:
        say("run has returned")
