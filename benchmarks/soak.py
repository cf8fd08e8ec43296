"""A long stay: calls of servers that are killed all the time, none of which may be lost or wrong.

    soak.py [--secs S] [--seed N] [--in-flight N] [WAY…]

Each way (`stdio`, `http` and `http-legacy`; by default all of them, one after the other) is a
server in a process of its own, and one client, which has many calls under way at any time. Each
call can be made twice and has a text of its own, which must come back to it, and once. The server
process is killed at random. Printed are the calls and what became of them, and the memory of the
client after the first kills and in the end. The exit code is 1 if a call failed or got another's
text, if something is left behind, or if the memory has grown.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import os
import random
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from wigwag import Client, ClientEvent, McpError  # noqa: E402 - of this checkout

SERVER: Final = Path(__file__).with_name("soak_server.py")
WAYS: Final = ("stdio", "http", "http-legacy")
IN_FLIGHT: Final = 64
# So long a call takes, in seconds, at most; so that some are under way whenever a server dies.
MAX_PAUSE: Final = 0.02
# So many calls are answered between two kills, at least and at most.
BETWEEN: Final = (100, 1000)
# With each of the first servers that die the allocator takes a little more, and keeps it: what
# counts is what comes after them, and there is a verdict only if there are as many again.
FIRST_KILLS: Final = 10
# What a process may hold more in the end, even so.
MAX_GROWTH: Final = 1.1
SETTLE_TRIES: Final = 300


@dataclass
class Figures:
    """What became of the calls of one way."""

    way: str
    calls: int = 0
    """So many were answered."""
    kills: int = 0
    resent: int = 0
    failed: list[str] = field(default_factory=list)
    """What was raised, for each call that was not answered."""
    wrong: list[str] = field(default_factory=list)
    """The texts that came back to a call that had sent another."""
    events: Counter[str] = field(default_factory=Counter)
    memory: tuple[float, float] = (0.0, 0.0)
    """Megabytes after the first kills, and in the end; 0 before that, and where nobody tells."""
    left: list[str] = field(default_factory=list)
    """Tasks, descriptors and processes that were not there before."""

    @property
    def problems(self) -> list[str]:
        """What is not as it should be."""
        problems = [f"failed: {error}" for error in self.failed]
        problems += [f"wrong answer: {text}" for text in self.wrong]
        problems += [f"left behind: {what}" for what in self.left]
        before, after = self.memory
        if before and self.kills >= 2 * FIRST_KILLS and after > before * MAX_GROWTH:
            problems.append(f"memory has grown from {before:.1f} to {after:.1f} MB")
        return problems

    def __str__(self) -> str:
        """All of it in a line."""
        before, after = self.memory
        memory = f"{before:.1f} -> {after:.1f} MB" if before else f"{after:.1f} MB"
        return (
            f"{self.way}: {self.calls} calls, {self.kills} kills, "
            f"{self.events['request_resent']} sent again, {len(self.failed)} failed, "
            f"{len(self.wrong)} wrong, {len(self.left)} left behind; "
            f"memory {memory}"
        )


class HttpSupervisor:
    """Runs a server over HTTP, and another one at the same port whenever it has died.

    Args:
        keeps_socket: Whether the socket listens all the time, so that who connects meanwhile waits
            for the next server; otherwise connections are refused until it is there.
    """

    def __init__(self, *, keeps_socket: bool) -> None:
        self._socket = socket.socket()
        # The port stays reserved; a socket that only holds it refuses all connections.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        if keeps_socket:
            self._socket.listen(1024)
        self._keeps_socket = keeps_socket
        self._process: asyncio.subprocess.Process | None = None
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> HttpSupervisor:
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.wait([self._task])
        self._socket.close()

    async def _run(self) -> None:
        descriptor = self._socket.fileno()
        where = ("--descriptor", descriptor) if self._keeps_socket else ("--port", self.port)
        inherited = (descriptor,) if self._keeps_socket else ()
        try:
            while True:
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable, str(SERVER), *map(str, where), pass_fds=inherited
                )
                await self._process.wait()
        finally:
            if self._process is not None and self._process.returncode is None:
                self._process.kill()
                await self._process.wait()


class Soak:
    """One client and its calls.

    Args:
        client: The client, connected.
        figures: Where it is noted what becomes of the calls.
        chance: Where all that is random comes from.
        between: So many calls are answered between two kills, at least and at most.
    """

    def __init__(
        self, client: Client, figures: Figures, chance: random.Random, between: tuple[int, int]
    ) -> None:
        self._client = client
        self._figures = figures
        self._chance = chance
        self._between = between
        self._number = 0
        self._under_way: set[int] = set()
        self._news = asyncio.Event()

    async def run(self, is_enough: Callable[[Figures], bool], in_flight: int) -> None:
        """Call and kill until it is enough."""
        await self._client.list_tools()  # what may be called twice
        killing = asyncio.create_task(self._kill_again_and_again())
        try:
            await asyncio.gather(*(self._call_until(is_enough) for _ in range(in_flight)))
        finally:
            killing.cancel()
            await asyncio.wait([killing])
        if not killing.cancelled():
            killing.result()

    async def _call_until(self, is_enough: Callable[[Figures], bool]) -> None:
        while not is_enough(self._figures):
            await self._call()
            self._news.set()

    async def _call(self) -> None:
        self._number += 1
        number, text = self._number, f"{self._number}:{self._chance.getrandbits(64):x}"
        self._under_way.add(number)
        arguments = {"text": text, "seconds": self._chance.uniform(0.0, MAX_PAUSE)}
        try:
            result = await self._client.call_tool("echo", arguments)
        except McpError as error:
            self._figures.failed.append(f"{type(error).__name__}: {error}")
        else:
            self._figures.calls += 1
            if result.text != text:
                self._figures.wrong.append(f"{result.text!r} for {text!r}")
        finally:
            self._under_way.discard(number)

    async def _kill_again_and_again(self) -> None:
        while True:
            pid = int((await self._client.call_tool("process_id")).text)
            until = self._figures.calls + self._chance.randint(*self._between)
            while self._figures.calls < until:
                await self._next_answer()
            concerned = set(self._under_way)
            os.kill(pid, signal.SIGKILL)
            self._figures.kills += 1
            # A call that is killed time and again is given up, and rightly so.
            while concerned & self._under_way:
                await self._next_answer()
            if self._figures.kills == FIRST_KILLS:
                self._figures.memory = (memory(), 0.0)

    async def _next_answer(self) -> None:
        self._news.clear()
        await self._news.wait()


async def soak(
    way: str,
    is_enough: Callable[[Figures], bool],
    *,
    seed: int,
    in_flight: int = IN_FLIGHT,
    between: tuple[int, int] = BETWEEN,
    keeps_socket: bool = False,
) -> Figures:
    """Call a server that is killed all the time, and return what became of the calls.

    Args:
        way: One of `WAYS`.
        is_enough: Tells when to end.
        seed: Where chance begins.
        in_flight: So many calls are under way at any time.
        between: So many calls are answered between two kills, at least and at most.
        keeps_socket: Whether connections wait while a server over HTTP is started anew, instead of
            being refused.
    """
    figures = Figures(way)

    def note(event: ClientEvent) -> None:
        figures.events[event.kind] += 1

    tasks, descriptors, processes = asyncio.all_tasks(), open_descriptors(), set(children())
    async with _target(way, keeps_socket=keeps_socket) as target:
        mode = "legacy" if way == "http-legacy" else "modern"
        client = Client(target, mode=mode, on_event=note, era_cache={}, cache=False)
        await _connect(client)
        async with client:
            await Soak(client, figures, random.Random(seed), between).run(is_enough, in_flight)
        figures.memory = (figures.memory[0], memory())
    for _ in range(SETTLE_TRIES):  # what is on its way out may go
        figures.left = [repr(task) for task in asyncio.all_tasks() - tasks]
        figures.left += sorted(open_descriptors() - descriptors)
        figures.left += [f"process {pid}" for pid in children() if pid not in processes]
        if not figures.left:
            break
        await asyncio.sleep(0.01)
        gc.collect()
    return figures


@asynccontextmanager
async def _target(way: str, *, keeps_socket: bool) -> AsyncIterator[str | list[str]]:
    if way == "stdio":
        yield [sys.executable, str(SERVER)]
        return
    async with HttpSupervisor(keeps_socket=keeps_socket) as supervisor:
        yield f"http://127.0.0.1:{supervisor.port}/mcp"


async def _connect(client: Client) -> None:
    """Connect as soon as the first server is there; whoever connects first is not helped."""
    for _ in range(600):
        with contextlib.suppress(McpError):
            await client.connect()
            return
        await asyncio.sleep(0.1)
    raise SystemExit("the server does not come up")


def memory() -> float:
    """Return the megabytes that this process holds; 0 where the system does not tell."""
    gc.collect()
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def open_descriptors() -> set[str]:
    """Return the open descriptors and what they lead to; nothing where the system does not tell."""
    found = set()
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):  # the one that lists the folder
                found.add(f"descriptor {name} -> {os.readlink(f'/proc/self/fd/{name}')}")
    return found


def children() -> list[str]:
    """Return the processes that this one has started; none where the system does not tell."""
    found: list[str] = []
    for listed in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += listed.read_text().split()
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Stay for long in each way, and print what became of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--secs", type=float, default=120.0, help="for all ways together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--in-flight", type=int, default=IN_FLIGHT)
    parser.add_argument("ways", nargs="*", metavar="WAY", help=", ".join(WAYS))
    options = parser.parse_args(arguments)
    for way in options.ways:
        if way not in WAYS:
            parser.error(f"there is no way {way!r}: {', '.join(WAYS)}")
    ways = options.ways or WAYS
    is_well = True
    for way in ways:
        end = time.monotonic() + options.secs / len(ways)

        def is_over(_: Figures, end: float = end) -> bool:
            return time.monotonic() >= end

        figures = asyncio.run(soak(way, is_over, seed=options.seed, in_flight=options.in_flight))
        print(figures, flush=True)
        for problem in figures.problems[:10]:
            print(f"    {problem}", flush=True)
            is_well = False
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
