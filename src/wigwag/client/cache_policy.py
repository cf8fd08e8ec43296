"""How a client keeps what servers allow it to keep, as its user wants it."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isnan

from msgspec import Struct

from wigwag.stores.contract import CacheStore

__all__ = ["CachePolicy"]


class CachePolicy(Struct, frozen=True, kw_only=True):
    """How a client keeps answers, and shares them with others.

    Attributes:
        store: Where they are kept. By default each client keeps its own, in memory.
        principal: Who asks: clients of the same principal share answers that are private. It may
            be a function that is called for each request, where one client serves several; it
            returns `None` for somebody who is not known, for whom nothing private is kept. By
            default a client shares them with nobody.
        server: What tells the server from others in the store. By default its whole URL; clients
            of what is no URL share nothing unless this is given.
        max_stale: Seconds for which an answer that is no longer fresh may be given when the server
            cannot be reached or does not answer in time; 0 for never.
    """

    store: CacheStore | None = None
    principal: str | Callable[[], str | None] | None = None
    server: str | None = None
    max_stale: float = 300.0

    def __post_init__(self) -> None:
        """Refuse what is no duration."""
        if isnan(self.max_stale) or not 0 <= self.max_stale < inf:
            raise ValueError(f"`max_stale` is 0 or more seconds, not {self.max_stale}")
