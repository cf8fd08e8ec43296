"""Remembers which tokens are good, so that each is verified once and not at every request."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from time import time
from typing import Final

from wigwag.server.authorization.contract import VerifiedToken

__all__ = ["DEFAULT_MAX_AGE", "DEFAULT_MAX_TOKENS", "VerifiedTokens"]

DEFAULT_MAX_TOKENS: Final = 10_000
# A token whose signing key has been withdrawn, or that was revoked, is good no longer than that.
DEFAULT_MAX_AGE: Final = 300.0


class VerifiedTokens:
    """Good tokens, by their digests: no token is kept, and no failure is.

    Those that were not used for the longest time go first.

    Args:
        max_tokens: How many are kept.
        max_age: Seconds that one is kept, if it does not expire before.
        clock: Tells the time in seconds since 1970.
    """

    def __init__(
        self,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        max_age: float = DEFAULT_MAX_AGE,
        *,
        clock: Callable[[], float] = time,
    ) -> None:
        self._max_tokens = max_tokens
        self._max_age = max_age
        self._clock = clock
        self._kept: OrderedDict[tuple[bytes, str], tuple[VerifiedToken, float]] = OrderedDict()

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._kept)

    def get(self, token: str, resource: str) -> VerifiedToken | None:
        """Return what is known of a token; `None` if it must be verified."""
        key = (sha256(token.encode()).digest(), resource)
        kept = self._kept.get(key)
        if kept is None:
            return None
        if kept[1] <= self._clock():
            del self._kept[key]
            return None
        self._kept.move_to_end(key)
        return kept[0]

    def add(self, token: str, resource: str, verified: VerifiedToken) -> None:
        """Remember that a token is good, as long as it and whoever has verified it allow."""
        now = self._clock()
        age = self._max_age if verified.max_age is None else min(verified.max_age, self._max_age)
        end = now + age
        if verified.expires_at is not None:
            end = min(end, verified.expires_at)
        if end <= now or self._max_tokens < 1:
            return
        self._kept[sha256(token.encode()).digest(), resource] = verified, end
        if len(self._kept) > self._max_tokens:
            self._kept.popitem(last=False)
