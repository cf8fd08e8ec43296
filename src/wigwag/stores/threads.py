"""Calls what may block in daemon threads, which nobody waits for when the process ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

__all__ = ["call_in_thread", "call_to_the_end", "start_in_thread"]

T = TypeVar("T")


async def call_in_thread(function: Callable[[], T]) -> T:
    """Call a function in a thread; who is cancelled leaves it to itself."""
    return await start_in_thread(function)


async def call_to_the_end(function: Callable[[], T]) -> T:
    """Call a function in a thread; who is cancelled waits for its end all the same.

    What is half written when a lock is given up would be finished in somebody else's turn.
    """
    outcome = start_in_thread(function)
    cancelled: asyncio.CancelledError | None = None
    while not outcome.done():
        try:
            await asyncio.wait([outcome])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        outcome.exception()  # nobody is to be told
        raise cancelled
    return outcome.result()


def start_in_thread(function: Callable[[], T]) -> asyncio.Future[T]:
    """Begin to call a function in a thread, at once; cancelling the future leaves it to itself."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(outcome: T | None, error: Exception | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(outcome)  # type: ignore[arg-type]  # without an error it is a T

    def run() -> None:
        outcome, failure = None, None
        try:
            outcome = function()
        except Exception as error:  # noqa: BLE001 - raised where the outcome is waited for
            failure = error
        with suppress(RuntimeError):  # the event loop is closed: nobody waits
            loop.call_soon_threadsafe(settle, outcome, failure)

    threading.Thread(target=run, name="wigwag-store", daemon=True).start()
    return future
