"""What the dependencies of a request have opened, and how it is closed when the handler ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from functools import partial
from typing import Any, TypeVar

from wigwag.runtime.threads import WorkerThreads

T = TypeVar("T")

_Leave = Callable[[BaseException | None], Awaitable[object]]


class Scope:
    """Holds what was made for a request and opened, and closes it, the last first.

    Attributes:
        made: What dependencies have made, by their functions.
    """

    def __init__(self) -> None:
        self.made: dict[Callable[..., Any], Any] = {}
        self._open: list[_Leave] = []

    async def run(self, threads: WorkerThreads, function: Callable[..., T], /, *args: Any) -> T:
        """Run a function in a thread. What it uses is not closed before it has ended.

        When whoever waits is cancelled, a function that has not begun never does.
        """
        is_wanted = True

        def work() -> T:
            if not is_wanted:
                raise asyncio.CancelledError
            return function(*args)

        running = threads.run(work)
        try:
            return await _outcome(running)
        except asyncio.CancelledError:
            is_wanted = False
            self._open.append(partial(_wait_over, running))
            raise

    async def enter(self, manager: AbstractContextManager[T], threads: WorkerThreads | None) -> T:
        """Enter a context manager, and leave it at the end; in threads, if there are any."""
        if threads is None:
            value = manager.__enter__()
            self._open.append(partial(_leave_here, manager))
            return value
        entering = threads.run(manager.__enter__)
        # Even if nobody waits for it any more, it is entered some time, and then has to be left.
        self._open.append(partial(_leave_in_thread, threads, manager, entering))
        return await _outcome(entering)

    async def enter_async(self, manager: AbstractAsyncContextManager[T]) -> T:
        """Enter an asynchronous context manager, and leave it at the end."""
        value = await manager.__aenter__()
        self._open.append(partial(_leave_async, manager))
        return value

    async def close(self, error: BaseException | None) -> None:
        """Leave all that was entered, whatever happens on the way.

        Args:
            error: What the handler has raised; it is raised in what is left. That it is caught
                there changes nothing: what failed has failed.

        Raises:
            BaseException: What was raised in place of that.
        """
        first = error
        self.made.clear()
        while self._open:
            leave = self._open.pop()
            try:
                await leave(error)
            except BaseException as another:  # noqa: BLE001 - the others are closed all the same
                error = another
        if error is not None and error is not first:
            raise error


async def _outcome(running: asyncio.Future[T]) -> T:
    """Wait for what runs in a thread; it goes on if whoever waits is cancelled."""
    try:
        await asyncio.wait((running,))
    except asyncio.CancelledError:
        running.add_done_callback(_see)
        raise
    return running.result()


def _see(ended: asyncio.Future[Any]) -> None:
    if not ended.cancelled():
        ended.exception()


async def _wait_over(running: asyncio.Future[Any], error: BaseException | None) -> None:
    await asyncio.wait((running,))


async def _leave_here(manager: AbstractContextManager[Any], error: BaseException | None) -> None:
    manager.__exit__(*_parts(error))


async def _leave_in_thread(
    threads: WorkerThreads,
    manager: AbstractContextManager[Any],
    entering: asyncio.Future[Any],
    error: BaseException | None,
) -> None:
    await asyncio.wait((entering,))
    if entering.cancelled() or entering.exception() is not None:
        return
    await _outcome(threads.run(manager.__exit__, *_parts(error)))


async def _leave_async(
    manager: AbstractAsyncContextManager[Any], error: BaseException | None
) -> None:
    await manager.__aexit__(*_parts(error))


def _parts(error: BaseException | None) -> tuple[Any, Any, Any]:
    return (None, None, None) if error is None else (type(error), error, error.__traceback__)
