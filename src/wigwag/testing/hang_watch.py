"""Notices a handler that blocks the event loop, which no timeout of that loop can do.

A thread asks the loop for a sign of life. When none comes, a signal breaks off whatever the loop's
thread is doing, so that the test fails and the run goes on.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import traceback
from types import FrameType, TracebackType
from typing import Any, Final, Self

__all__ = ["HangWatch", "ServerHangs"]

# Ignored where nobody has asked for it, so one that comes late does no harm. Windows lacks it.
_SIGNAL: Final = getattr(signal, "SIGURG", None)
# Of whoever steps through a handler it is known why it does not go on.
_DEBUGGERS: Final = ("bdb", "pdb", "ipdb", "pudb", "pydevd", "_pydevd_bundle", "debugpy")
MAX_FRAMES: Final = 10
_OF_THE_LOOP: Final = os.path.dirname(asyncio.__file__)


class ServerHangs(AssertionError):
    """A handler blocked the event loop: it waits or computes without letting anything else run."""


class HangWatch:
    """Watches the event loop that runs in this thread; a context manager.

    Args:
        limit: Seconds that the loop may be blocked; `None` for as long as it likes.
    """

    def __init__(self, limit: float | None) -> None:
        self._limit = limit
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._over = threading.Event()
        self._alive = threading.Event()
        self._watcher: threading.Thread | None = None
        self._before: Any = None
        self.found: ServerHangs | None = None
        """What blocked the loop, if anything did."""

    def __enter__(self) -> Self:
        """Begin to watch, where blocking code can be broken off at all."""
        is_main = threading.current_thread() is threading.main_thread()
        if self._limit is not None and _SIGNAL is not None and is_main:
            self._before = signal.signal(_SIGNAL, self._break_off)
            self._watcher = threading.Thread(
                target=self._watch, args=(_SIGNAL, self._limit), name="wigwag-hang-watch"
            )
            self._watcher.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Watch no longer."""
        if self._watcher is not None and _SIGNAL is not None:
            self._over.set()
            self._alive.set()
            self._watcher.join()
            signal.signal(_SIGNAL, self._before)

    def _watch(self, number: int, limit: float) -> None:
        while not self._over.wait(limit / 4):
            self._alive.clear()
            try:
                self._loop.call_soon_threadsafe(self._alive.set)
            except RuntimeError:  # the loop was closed
                return
            self._wait_for_life(number, limit)

    def _wait_for_life(self, number: int, limit: float) -> None:
        """Wait until the loop runs what it was given; break off what it does instead."""
        missed = 0
        while not self._alive.wait(limit / 2):
            # A loop that nobody runs is at rest; one that has just been run gets its time.
            missed = missed + 1 if self._loop.is_running() else 0
            frame = sys._current_frames().get(self._thread)
            if missed < 2 or frame is None or _is_debugged(frame):
                continue
            # What swallows the exception is broken off again.
            self.found = self.found or ServerHangs(_describe(frame, limit))
            signal.pthread_kill(self._thread, number)

    def _break_off(self, number: int, frame: FrameType | None) -> None:
        # The loop may have gone on meanwhile.
        if self.found is not None and not self._alive.is_set():
            raise ServerHangs(*self.found.args)


def _is_debugged(frame: FrameType) -> bool:
    return any(
        str(each.f_globals.get("__name__", "")).partition(".")[0] in _DEBUGGERS
        for each, _ in traceback.walk_stack(frame)
    )


def _describe(frame: FrameType, limit: float) -> str:
    """Say where the loop is blocked, from the callback that it runs down to there."""
    stack = []
    for each, line in traceback.walk_stack(frame):
        if each.f_code.co_filename.startswith(_OF_THE_LOOP):
            break
        stack.append(f"  {each.f_code.co_filename}:{line} in {each.f_code.co_qualname}")
    places = "\n".join(stack[:MAX_FRAMES])
    return (
        f"the event loop was blocked for {limit:g} s, so that nothing else could happen. A handler "
        "that is not `async` may wait, since it runs in a thread of its own. The loop was here:\n"
        f"{places}"
    )
