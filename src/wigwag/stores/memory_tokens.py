"""Keeps what a client needs for authorization in the memory of the process."""

from __future__ import annotations

from wigwag.stores.turns import Turn, Turns

__all__ = ["MemoryTokenStore"]


class MemoryTokenStore:
    """Forgets all when the process ends; for tests, and for machines that need no user to log in.

    Clients may share it, also those of several event loops.
    """

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}
        self._turns = Turns()

    def __repr__(self) -> str:
        return f"MemoryTokenStore({len(self._values)} kept)"

    async def load(self, key: str) -> bytes | None:
        """Return what is kept under a key."""
        return self._values.get(key)

    async def save(self, key: str, value: bytes | None) -> None:
        """Keep something, or forget it."""
        if value is None:
            self._values.pop(key, None)
        else:
            self._values[key] = value

    def lock(self, name: str) -> Turn:
        """Return what lets one task in at a time."""
        return self._turns.turn(name)

    async def keys(self) -> tuple[str, ...]:
        """Return the keys under which something is kept."""
        return tuple(self._values)
