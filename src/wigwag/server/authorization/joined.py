"""Work that several requests wait for is done once for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from contextvars import Context
from typing import Any, Generic, TypeVar

from wigwag.errors import VerifierUnavailable

__all__ = ["Joined"]

_T = TypeVar("_T")


class Joined(Generic[_T]):
    """Does each piece of work once at a time; whoever wants the same waits for it.

    It belongs to no request: one that is cancelled takes nothing from the others.
    """

    def __init__(self) -> None:
        self._running: dict[Hashable, asyncio.Task[_T]] = {}

    def is_running(self, key: Hashable) -> bool:
        """Tell whether some work is being done on this event loop."""
        task = self._running.get(key)
        return task is not None and task.get_loop() is asyncio.get_running_loop()

    def start(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, _T]]) -> asyncio.Task[_T]:
        """Begin some work, unless it is being done already."""
        if self.is_running(key):
            return self._running[key]
        # Not in the context of the request that happens to be the first.
        task = asyncio.create_task(work(), context=Context())
        self._running[key] = task
        task.add_done_callback(lambda done: self._finished(key, done))
        return task

    def _finished(self, key: Hashable, task: asyncio.Task[_T]) -> None:
        if self._running.get(key) is task:
            del self._running[key]
        if not task.cancelled():
            task.exception()  # noted: it may be that nobody waits any more

    async def run(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        """Return what some work has returned.

        Raises:
            VerifierUnavailable: It was broken off, for the server closes.
        """
        task = self.start(key, work)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if task.cancelled() and not (current is not None and current.cancelling()):
                raise VerifierUnavailable("the server is closing") from None
            raise

    async def aclose(self) -> None:
        """Break off whatever is being done."""
        running = [key for key in self._running if self.is_running(key)]
        tasks = [self._running[key] for key in running]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
