"""Remembers in the memory of the process what has been used once."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from time import monotonic
from typing import Final

__all__ = ["DEFAULT_MAX_REPLAYS", "MemoryReplays"]

DEFAULT_MAX_REPLAYS: Final = 200_000

# How far apart two readings of clocks may put the end of the same thing.
_UNCERTAINTY: Final = 2.0


class MemoryReplays:
    """What has been used, until it cannot be used anyway.

    When there is no more room, what ends first is forgotten, and whatever would have ended before
    it counts as used: who sends something fresh does not notice.

    Args:
        max_entries: How many are remembered.
        clock: Tells the time in seconds.
    """

    def __init__(
        self,
        max_entries: int = DEFAULT_MAX_REPLAYS,
        *,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._max_entries = max_entries
        self._clock = clock
        self._keys: set[str] = set()
        self._ends: list[tuple[float, str]] = []
        self._forgotten_until = float("-inf")

    def __len__(self) -> int:
        """How many are remembered."""
        return len(self._keys)

    async def remember(self, key: str, lifetime: float) -> bool:
        """Remember something; returns whether it is new."""
        now = self._clock()
        end = now + lifetime
        while self._ends and self._ends[0][0] + _UNCERTAINTY <= now:
            self._keys.discard(heappop(self._ends)[1])
        if key in self._keys or end <= self._forgotten_until:
            return False
        self._keys.add(key)
        heappush(self._ends, (end, key))
        if len(self._ends) > self._max_entries:
            first, forgotten = heappop(self._ends)
            self._keys.discard(forgotten)
            self._forgotten_until = max(self._forgotten_until, first + _UNCERTAINTY)
        return True
