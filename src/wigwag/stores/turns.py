"""Lets tasks in one at a time, those of several event loops as well."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from types import TracebackType

__all__ = ["Turn", "Turns"]


class _Waiter:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.future: asyncio.Future[None] = loop.create_future()
        self.has_turn = False


class Turns:
    """One turn at a time for each name, in the order of asking."""

    def __init__(self) -> None:
        # One that a thread can take twice: what collects garbage may end a task in the midst of it.
        self._guard = threading.RLock()
        # Of each name that somebody has the turn of: those who wait for it.
        self._waiting: dict[str, deque[_Waiter]] = {}

    def turn(self, name: str) -> Turn:
        """Return what takes a turn, to be entered once."""
        return Turn(self, name)

    async def take(self, name: str) -> None:
        """Wait for the turn, and take it."""
        waiter = _Waiter(asyncio.get_running_loop())
        with self._guard:
            waiting = self._waiting.get(name)
            if waiting is None:
                self._waiting[name] = deque()
                return
            waiting.append(waiter)
        is_mine = False
        try:
            await waiter.future
            is_mine = True
        finally:
            if not is_mine:
                self._withdraw(name, waiter)

    def pass_on(self, name: str) -> None:
        """Give the turn to the next one."""
        with self._guard:
            waiting = self._waiting[name]
            while waiting:
                waiter = waiting.popleft()
                try:
                    waiter.loop.call_soon_threadsafe(_wake, waiter.future)
                except RuntimeError:  # its event loop has been closed
                    continue
                waiter.has_turn = True
                return
            del self._waiting[name]

    def _withdraw(self, name: str, waiter: _Waiter) -> None:
        with self._guard:
            if waiter.has_turn:
                self.pass_on(name)
            elif waiter in self._waiting.get(name, ()):
                self._waiting[name].remove(waiter)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class Turn:
    """A turn; over at the end of its `async with`."""

    def __init__(self, turns: Turns, name: str) -> None:
        self._turns = turns
        self._name = name

    async def __aenter__(self) -> None:
        await self._turns.take(self._name)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._turns.pass_on(self._name)
