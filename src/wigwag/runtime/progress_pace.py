"""How often a request may report its progress: what comes too fast is held back, but for the last.

A handler may report after each item of thousands. A client wants to know how far it is, and each
report costs both sides a message.
"""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

from msgspec import UnsetType

BURST: Final = 20
"""How many reports of a request go at once."""
RATE: Final = 20.0
"""How many of those that follow go in a second."""


class Report(NamedTuple):
    """How far a request has come."""

    progress: float
    total: float | UnsetType
    message: str | UnsetType


class ProgressPace:
    """Decides which reports of one request go at once.

    Args:
        now: The time, in seconds.
        spent: How many have gone already.

    Attributes:
        held: The newest report that has not gone, if there is one.
        timer: What lets it go, if it waits.
    """

    __slots__ = ("_left", "_since", "held", "timer")

    def __init__(self, now: float, *, spent: int = 0) -> None:
        self._left: float = BURST - spent
        self._since = now
        self.held: Report | None = None
        self.timer: asyncio.TimerHandle | None = None

    def may_go(self, now: float) -> bool:
        """Tell whether a report may go now; if so, it counts."""
        self._left = min(BURST, self._left + (now - self._since) * RATE)
        self._since = now
        if self._left < 1:
            return False
        self._left -= 1
        return True

    def wait(self) -> float:
        """Return the seconds until the next one may go, if none may now."""
        return (1 - self._left) / RATE

    def hold(self, report: Report) -> None:
        """Keep a report until it may go, instead of an older one."""
        if self.held is None or report.progress > self.held.progress:
            self.held = report
