"""How the tests reach a fault server: each transport, and each era over it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.faults.answers import MODERN
from tests.faults.orders import Fault, Orders
from wigwag import Client, StdioServerParameters, Timeouts

ROOT = Path(__file__).parent.parent.parent
LEGACY, HTTP_SSE = "2025-11-25", "2024-11-05"
PATIENCE = 60.0
"""Seconds for what happens at once on a machine that has nothing else to do."""
TIMEOUTS = Timeouts(request=PATIENCE, connect=PATIENCE, probe=PATIENCE)
SILENCE = 0.3
"""Seconds that are waited for what never comes."""


class Way(NamedTuple):
    """A transport, the revision that is spoken, and how answers come over HTTP."""

    transport: str
    revision: str
    answers: str = "json"

    def __str__(self) -> str:
        era = "modern" if self.is_modern else "legacy"
        return f"{self.transport}-{era}" + (f"-{self.answers}" if self.transport == "http" else "")

    @property
    def is_modern(self) -> bool:
        return self.revision == MODERN

    @property
    def is_stdio(self) -> bool:
        return self.transport == "stdio"


STDIO = [Way("stdio", LEGACY), Way("stdio", MODERN)]
LEGACY_JSON, MODERN_JSON = Way("http", LEGACY, "json"), Way("http", MODERN, "json")
LEGACY_SSE, MODERN_SSE = Way("http", LEGACY, "sse"), Way("http", MODERN, "sse")
JSON = [LEGACY_JSON, MODERN_JSON]
EVENTS = [LEGACY_SSE, MODERN_SSE]
OLD = [Way("sse", HTTP_SSE)]
"""The two transports whose answers all come over one channel are `STDIO` and this."""
HTTP = [*JSON, *EVENTS]
WAYS = [*STDIO, *HTTP, *OLD]


def command(*arguments: str | Path) -> list[str]:
    """Return the command line of a fault server; it takes no time over what it does not need."""
    program = [sys.executable, "-S", "-E", "-m", "tests.faults.fault_server"]
    return [*program, *map(str, arguments)]


@contextmanager
def serving_http(folder: Path, port: int = 0) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Run a fault server for HTTP, on a free port or this one; yields the port and the process."""
    with subprocess.Popen(
        command("http", folder, str(port)),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline()), process
        finally:
            process.kill()


class Bench:
    """Sets up servers that misbehave, and clients of them.

    Args:
        folder: Where the orders of servers are.
        port: Where the fault server of all tests listens.
    """

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port
        self._count = 0

    def orders(self, way: Way, faults: dict[str, Fault] | None = None, **more: Any) -> Orders:
        """Give orders to one more server."""
        self._count += 1
        orders = Orders(str(self.folder / f"{self.folder.stat().st_nlink}-{self._count}"))
        orders.give(revision=way.revision, answers=way.answers, faults=faults, **more)
        return orders

    def client(
        self,
        way: Way,
        orders: Orders,
        *,
        port: int | None = None,
        exit_timeout: float = PATIENCE,
        **options: Any,
    ) -> Client:
        """Return a client of that server."""
        options = {"timeouts": TIMEOUTS, "on_stderr": lambda _: None, **options}
        if way.is_stdio:
            program, *arguments = command("stdio", orders.folder)
            target: Any = StdioServerParameters(
                program, arguments, cwd=ROOT, exit_timeout=exit_timeout
            )
            return Client(target, **options)
        url = f"http://127.0.0.1:{port or self.port}/{orders.name}"
        return Client({"url": url, "type": "sse"} if way in OLD else url, era_cache={}, **options)

    @asynccontextmanager
    async def connected(
        self,
        way: Way,
        faults: dict[str, Fault] | None = None,
        *,
        ids: bool = False,
        **options: Any,
    ) -> AsyncIterator[tuple[Client, Orders]]:
        """Connect a client to one more server."""
        orders = self.orders(way, faults, ids=ids)
        async with self.client(way, orders, **options) as client:
            yield client, orders


async def wait_for(look: Callable[[], Any], what: str) -> Any:
    """Wait for something that happens in another process, and return it."""
    async with asyncio.timeout(PATIENCE):
        while not (found := look()):  # noqa: ASYNC110 - nobody here is told of it
            await asyncio.sleep(0.01)
    assert found, what
    return found


def cancelled(orders: Orders) -> list[Any]:
    """Return the ids of the requests whose cancellation was told by a message."""
    return [note["params"]["requestId"] for note in orders.received("notifications/cancelled")]


def ids_of(orders: Orders, step: str) -> list[Any]:
    """Return the ids of the requests that were received at a step."""
    return [message["id"] for message in orders.received(step)]
