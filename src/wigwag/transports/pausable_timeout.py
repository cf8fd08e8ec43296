"""A limit of time that stands still while somebody has to be waited for who has all the time."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

__all__ = ["PausableTimeout"]


class PausableTimeout:
    """Does what `asyncio.timeout` does; what passes while it is held does not count.

    Args:
        seconds: The time there is.
    """

    def __init__(self, seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._timeout = asyncio.timeout(None)
        self._left = seconds
        self._holds = 0
        self._is_running = False
        self._held_since = 0.0
        self.held_for = 0.0
        """Seconds in which it was held, up to the last `release`."""

    async def __aenter__(self) -> Self:
        """Begin to count."""
        await self._timeout.__aenter__()
        self._is_running = True
        self._go()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Raise `TimeoutError` if the time was over before the end."""
        self._is_running = False
        await self._timeout.__aexit__(kind, error, traceback)

    def hold(self) -> None:
        """Stop counting; as often as it is called, `release` must be."""
        if not self._holds:
            self._held_since = self._loop.time()
        self._holds += 1
        when = self._timeout.when() if self._is_running else None
        if when is not None and not self._timeout.expired():
            self._left = max(when - self._loop.time(), 0.0)
            self._timeout.reschedule(None)

    def release(self) -> None:
        """Go on counting."""
        if self._holds == 1:
            self.held_for += self._loop.time() - self._held_since
        self._holds = max(self._holds - 1, 0)
        if self._is_running and not self._timeout.expired():
            self._go()

    def _go(self) -> None:
        if not self._holds and self._timeout.when() is None:
            self._timeout.reschedule(self._loop.time() + self._left)
