"""Worker threads for handlers that block.

The standard pool is not used because it waits for its threads when the interpreter ends: a server
whose host is gone must end although a tool is still blocked.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from queue import SimpleQueue

T = TypeVar("T")

DEFAULT_WORKER_THREADS: Final = 64

_Job = tuple[Callable[[], Any], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


class WorkerThreads:
    """Runs functions in threads, a bounded number at a time; the rest wait their turn.

    Args:
        limit: How many run at the same time.
    """

    def __init__(self, limit: int = DEFAULT_WORKER_THREADS) -> None:
        if limit < 1:
            raise ValueError("at least one worker thread is needed")
        self._limit = limit
        self._jobs: SimpleQueue[_Job] | None = None
        self._beginning = threading.Lock()
        self._threads = 0
        self._idle = threading.Semaphore(0)

    def run(self, function: Callable[..., T], /, *args: Any) -> asyncio.Future[T]:
        """Run a function in a thread, in a copy of the current context.

        Returns:
            A future of the running loop. Cancelling it does not stop the function; its outcome is
            then thrown away, and a function that has not begun never does.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        context = contextvars.copy_context()
        jobs = self._jobs or self._begin()
        jobs.put((lambda: context.run(function, *args), loop, future))
        if not self._idle.acquire(blocking=False) and self._threads < self._limit:
            self._threads += 1
            name = f"wigwag-worker-{self._threads}"
            threading.Thread(target=self._work, args=(jobs,), name=name, daemon=True).start()
        return future

    def _begin(self) -> SimpleQueue[_Job]:
        from queue import SimpleQueue  # noqa: PLC0415 - not every server has plain functions

        with self._beginning:  # event loops in several threads may share a server
            if self._jobs is None:
                self._jobs = SimpleQueue()
            return self._jobs

    def _work(self, jobs: SimpleQueue[_Job]) -> None:
        while True:
            job, loop, future = jobs.get()
            if not future.cancelled():
                self._run_one(job, loop, future)
            del job, loop, future  # nothing is kept alive while waiting for work
            self._idle.release()

    def _run_one(
        self,
        job: Callable[[], Any],
        loop: asyncio.AbstractEventLoop,
        future: asyncio.Future[Any],
    ) -> None:
        try:
            settle = partial(_succeed, future, job())
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            settle = partial(_fail, future, error)
        with contextlib.suppress(RuntimeError):  # the loop has closed; nobody waits any more
            loop.call_soon_threadsafe(settle)


def _succeed(future: asyncio.Future[Any], result: Any) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[Any], error: BaseException) -> None:
    if future.done():
        return
    if isinstance(error, StopIteration | GeneratorExit):  # to a coroutine they mean something else
        raised = error
        error = RuntimeError(f"the function raised {type(raised).__name__}")
        error.__cause__ = raised
    future.set_exception(error)
