"""Serves a server at one address from several processes, or from one that begins anew on changes.

Whoever listens is this process, so that the address is never free and no connection is refused
while a worker is replaced.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Callable, Coroutine
from typing import Any, Final, NoReturn

from msgspec.structs import replace

from wigwag.server.code_changes import CodeChanges
from wigwag.server.departure import Departure
from wigwag.server.http_process import BACKLOG, address_of, announce
from wigwag.server.process import first, run_until_told
from wigwag.server.worker_processes import Failed, Orders, Serving, Worker
from wigwag.transports.sockets import bind_tcp

__all__ = ["run_reloading", "run_workers"]

# Seconds before another worker is tried, where one after the other fails; doubled each time.
_FIRST_DELAY: Final = 1.0
_LAST_DELAY: Final = 30.0


def run_workers(orders: Orders, host: str, port: int, count: int) -> None:
    """Serve from several processes until told to stop; one that dies is replaced.

    Args:
        orders: What is to be served.
        host: Where to listen.
        port: Where to listen.
        count: How many processes.

    Raises:
        ServerNotLoaded: The code fails, or there is no server in it.
        ValueError: The target or an option makes no sense.
        TransportError: The address cannot be had, or the certificate cannot be used.
    """
    _run(orders, host, port, lambda crew: crew.serve(count))


def run_reloading(orders: Orders, host: str, port: int, changes: CodeChanges) -> None:
    """Serve from a process that is started anew whenever the code has changed.

    What is wrong with the code is told; then the next change is waited for.

    Args:
        orders: What is to be served.
        host: Where to listen.
        port: Where to listen.
        changes: Tells of changes.

    Raises:
        TransportError: The address cannot be had.
    """
    _run(orders, host, port, lambda crew: crew.serve_anew(changes))


_Serve = Callable[["_Crew"], Coroutine[Any, Any, NoReturn]]


def _run(orders: Orders, host: str, port: int, serve: _Serve) -> None:
    sockets = bind_tcp(host, port, backlog=BACKLOG)
    crew = _Crew(replace(orders, listeners=[each.fileno() for each in sockets]), sockets[0])

    async def main(started: asyncio.Event, stop: asyncio.Event) -> None:
        started.set()
        serving = asyncio.ensure_future(serve(crew))
        try:
            await first(serving, stop.wait())
            if not stop.is_set():
                serving.result()
        finally:
            await crew.stop()

    departure = Departure()
    try:
        run_until_told(main, departure)
    finally:
        departure.call_off()
        for each in sockets:
            each.close()


class _Crew:
    """The workers there are."""

    def __init__(self, orders: Orders, listener: socket.socket) -> None:
        self._orders = orders
        self._listener = listener
        self._workers: set[Worker] = set()
        self._is_announced = False

    async def serve(self, count: int) -> NoReturn:
        """Keep so many workers."""
        # One shows whether the others have a chance.
        worker = await self._start()
        report = await worker.wait_report()
        if isinstance(report, Failed):
            raise report.to_error()
        self._announce(report)
        await asyncio.gather(self._keep(worker), *(self._keep(None) for _ in range(count - 1)))
        raise AssertionError("workers are kept until they are told to stop")

    async def serve_anew(self, changes: CodeChanges) -> NoReturn:
        """Keep one worker, and begin anew when the code changes."""
        while True:
            worker = await self._start()
            telling = asyncio.ensure_future(self._tell_of(worker))
            try:
                paths = await changes.wait()  # also while it is loaded, which may never end
            finally:
                telling.cancel()
            _say(f"{', '.join(map(os.path.relpath, paths))} changed: loading again")
            await self._stop(worker)

    async def _tell_of(self, worker: Worker) -> None:
        """Tell what becomes of a worker."""
        report = await worker.wait_report()
        if isinstance(report, Failed):
            _say(f"{report.text}\nwaiting for a change of the code")
            return
        self._announce(report)
        code = await worker.wait_end()
        _say(f"the server has ended with code {code}; waiting for a change")

    async def stop(self) -> None:
        """Let all of them end what they do, and wait until they are gone."""
        await asyncio.gather(*(self._stop(worker) for worker in list(self._workers)))

    async def _keep(self, worker: Worker | None) -> NoReturn:
        """Have one worker, whatever becomes of it."""
        clock = asyncio.get_running_loop().time
        delay, begun = 0.0, clock()
        while True:
            if worker is None:
                begun = clock()
                worker = await self._start()
                report = await worker.wait_report()
                if isinstance(report, Failed):
                    _say(f"a worker cannot serve: {report.text}")
            code = await worker.wait_end()
            self._workers.discard(worker)
            worker = None
            delay = 0.0 if clock() - begun > _LAST_DELAY else delay
            _say(f"a worker has ended with code {code}; another one takes its place")
            await asyncio.sleep(delay)
            delay = min(max(2 * delay, _FIRST_DELAY), _LAST_DELAY)

    async def _start(self) -> Worker:
        worker = await Worker.start(self._orders)
        self._workers.add(worker)
        return worker

    async def _stop(self, worker: Worker) -> None:
        await worker.stop(self._orders.http.get("grace", 5.0))
        self._workers.discard(worker)

    def _announce(self, report: Serving) -> None:
        if not self._is_announced:
            self._is_announced = True
            scheme = "https" if self._orders.certfile else "http"
            announce(report.name, address_of(self._listener, report.path, scheme))


def _say(text: str) -> None:
    print(f"wigwag: {text}", file=sys.stderr, flush=True)  # noqa: T201 - to whoever started it
