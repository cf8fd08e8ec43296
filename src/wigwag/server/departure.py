"""The end of a process that is to leave, whatever its handlers do."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from typing import Final

# How long the event loop may be stuck once the process is to leave.
STUCK_TIMEOUT: Final = 0.8
# A process that is to leave is gone within this, unless its lifespan takes longer to end.
LEAVE_TIMEOUT: Final = 1.0
# What it has in any case, once it has served.
MIN_LEAVE_TIMEOUT: Final = 0.25


class Departure:
    """Sees to it that a process that is to leave does leave, whatever its handlers do.

    A handler may block the event loop, refuse to be cancelled, or sit in a thread for which the
    event loop or the interpreter would wait.
    """

    def __init__(self) -> None:
        self.exit_code = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._has_begun = False
        self._has_served = threading.Event()
        self._is_called_off = threading.Event()

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give the event loop that is to be watched."""
        self._loop = loop

    def begin(self) -> None:
        """From now on do not let the event loop be stuck; called in any thread."""
        if not self._has_begun:
            self._has_begun = True
            threading.Thread(target=self._watch, name="wigwag-departure", daemon=True).start()

    def has_served(self) -> None:
        """From now on allow the process a moment to leave by itself."""
        self._has_served.set()
        self.begin()

    def call_off(self) -> None:
        """Let the process live on."""
        self._is_called_off.set()
        self._has_served.set()

    def _watch(self) -> None:
        leave_at = time.monotonic() + LEAVE_TIMEOUT
        while not self._has_served.is_set():
            if self._is_stuck():
                self._leave("a handler blocks the event loop")
            self._has_served.wait(STUCK_TIMEOUT / 4)
        rest = max(leave_at - time.monotonic(), MIN_LEAVE_TIMEOUT)
        if not self._is_called_off.wait(rest):
            self._leave("a handler or a thread goes on")

    def _is_stuck(self) -> bool:
        alive = threading.Event()
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(alive.set)
        except RuntimeError:  # it has closed
            return False
        return not alive.wait(STUCK_TIMEOUT)

    def _leave(self, why: str) -> None:
        import select  # noqa: PLC0415 - asyncio has loaded it

        try:
            if select.select((), (2,), (), 0)[1]:  # whoever reads it may have stopped reading
                os.write(2, f"wigwag: told to leave, but {why}: leaving anyway\n".encode())
        finally:
            os._exit(self.exit_code)
