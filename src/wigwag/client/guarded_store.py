"""A store of answers that costs no request more than a moment, whatever happens to it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic
from typing import Final, TypeVar

from wigwag.stores.contract import CacheStore, Kept

__all__ = ["GuardedStore"]

T = TypeVar("T")

# So long is waited for a store, in seconds, and so long it is left alone after it has failed.
PATIENCE: Final = 2.0
REST: Final = 30.0

_logger = logging.getLogger("wigwag.client")


class GuardedStore:
    """A store that may fail: then there is nothing in it for a while, and the log says so once.

    Args:
        store: The store.
        patience: Seconds to wait for it; `None` for one of our own, which always answers at once.
        clock: Tells the time in seconds.
    """

    def __init__(
        self,
        store: CacheStore,
        *,
        patience: float | None = PATIENCE,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._store = store
        self._patience = patience
        self._clock = clock
        self._rests_until = 0.0
        self._is_failing = False

    async def load(self, group: str, keys: Sequence[str]) -> Kept | None:
        """Return what is kept; `None` also when the store fails."""
        found = await self._call(lambda: self._store.load(group, keys))
        return found[0] if found else None

    async def save(self, group: str, key: str, value: bytes, lifetime: float) -> None:
        """Keep something, if the store can."""
        await self._call(lambda: self._store.save(group, key, value, lifetime))

    async def delete(self, groups: Sequence[str], keys: Sequence[str] | None = None) -> bool:
        """Forget something; returns whether that was possible."""
        return bool(await self._call(lambda: self._store.delete(groups, keys)))

    async def _call(self, operation: Callable[[], Awaitable[T]]) -> tuple[T] | None:
        if self._patience is None:
            return (await operation(),)
        if self._is_failing and self._clock() < self._rests_until:
            return None
        try:
            async with asyncio.timeout(self._patience):
                result = await operation()
        except Exception as error:  # noqa: BLE001 - it is somebody else's code
            self._rests_until = self._clock() + REST
            if not self._is_failing:
                self._is_failing = True
                reason = f"it did not answer within {self._patience:g} s"
                if not isinstance(error, TimeoutError):
                    reason = f"{type(error).__name__}: {error}"
                _logger.warning(
                    "the store of the client's cache fails, and is not used: %s", reason
                )
            return None
        self._is_failing = False
        return (result,)
