"""What the dependencies of a request have opened, and how it is closed when the handler ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from wigwag.runtime.threads import WorkerThreads

T = TypeVar("T")

_logger = logging.getLogger("wigwag.server")

_closing: Final[set[asyncio.Task[None]]] = set()  # nobody waits for them, but they are to end


class _Opened(NamedTuple):
    """Something that was opened."""

    leave: Callable[[BaseException | None], Awaitable[object]]
    after: asyncio.Future[Any] | None = None
    """What runs in a thread, and has to end before."""


class Scope:
    """Holds what was made for a request and opened, and closes it, the last first.

    Attributes:
        made: What dependencies have made, by their functions.
    """

    def __init__(self) -> None:
        self.made: dict[Callable[..., Any], Any] = {}
        self._open: list[_Opened] = []

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
            self._open.append(_Opened(_nothing, running))
            raise

    async def enter(self, manager: AbstractContextManager[T], threads: WorkerThreads | None) -> T:
        """Enter a context manager, and leave it at the end; in threads, if there are any."""
        if threads is None:
            value = manager.__enter__()
            self._open.append(_Opened(partial(_leave_here, manager)))
            return value
        entering = threads.run(manager.__enter__)
        # Even if nobody waits for it any more, it is entered some time, and then has to be left.
        self._open.append(_Opened(partial(_leave_in_thread, threads, manager, entering), entering))
        return await _outcome(entering)

    async def enter_async(self, manager: AbstractAsyncContextManager[T]) -> T:
        """Enter an asynchronous context manager, and leave it at the end."""
        value = await manager.__aenter__()
        self._open.append(_Opened(partial(_leave_async, manager)))
        return value

    async def close(self, error: BaseException | None) -> None:
        """Leave all that was entered, whatever happens on the way.

        What a thread still uses, although nobody waits for it any more, is left when that has
        ended: such threads may take for ever.

        Args:
            error: What the handler has raised; it is raised in what is left. That it is caught
                there changes nothing: what failed has failed.

        Raises:
            BaseException: What was raised in place of that.
        """
        first = error
        self.made.clear()
        while self._open:
            after = self._open[-1].after
            if after is not None and not after.done():
                after.add_done_callback(partial(self._close_later, error))
                break
            try:
                await self._open.pop().leave(error)
            except BaseException as another:  # noqa: BLE001 - the others are closed all the same
                error = another
        if error is not None and error is not first:
            raise error

    def _close_later(self, error: BaseException | None, _: asyncio.Future[Any]) -> None:
        task = asyncio.get_running_loop().create_task(self._close_unheard(error))
        _closing.add(task)
        task.add_done_callback(_closing.discard)

    async def _close_unheard(self, error: BaseException | None) -> None:
        try:
            await self.close(error)
        except Exception:
            _logger.exception("a dependency of a call that was stopped failed to close")


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


async def _nothing(error: BaseException | None) -> None:
    """Leave what needs no leaving."""


async def _leave_here(manager: AbstractContextManager[Any], error: BaseException | None) -> None:
    manager.__exit__(*_parts(error))


async def _leave_in_thread(
    threads: WorkerThreads,
    manager: AbstractContextManager[Any],
    entering: asyncio.Future[Any],
    error: BaseException | None,
) -> None:
    if entering.cancelled() or entering.exception() is not None:
        return
    await _outcome(threads.run(manager.__exit__, *_parts(error)))


async def _leave_async(
    manager: AbstractAsyncContextManager[Any], error: BaseException | None
) -> None:
    await manager.__aexit__(*_parts(error))


def _parts(error: BaseException | None) -> tuple[Any, Any, Any]:
    return (None, None, None) if error is None else (type(error), error, error.__traceback__)
