"""Tokens written down beforehand, for development."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from hashlib import sha256
from hmac import compare_digest
from typing import Final

from wigwag.oauth.secret import Secret
from wigwag.server.authorization.contract import VerifiedToken
from wigwag.server.principal import Principal

__all__ = ["StaticTokens"]

_logger: Final = logging.getLogger("wigwag.server")


class StaticTokens:
    """Tokens that are known beforehand, and whose they are; for development and tests only.

    They never expire, cannot be revoked, and are good for any server that knows them. The log says
    so once.

    >>> StaticTokens({"let-me-in": Principal("ada", scopes=frozenset({"files:read"}))})
    StaticTokens(1 token)

    Args:
        tokens: Who sends each token.

    Raises:
        ValueError: A token is empty.
    """

    def __init__(self, tokens: Mapping[str, Principal]) -> None:
        if not all(tokens):
            raise ValueError("a token is empty: anybody could send it")
        # By digests, whose comparison tells nobody how much of a guess was right.
        self._known = [
            (sha256(token.encode()).digest(), VerifiedToken(principal=principal, max_age=0))
            for token, principal in tokens.items()
        ]
        self._has_warned = False

    def __repr__(self) -> str:
        return f"StaticTokens({len(self._known)} token{'s' if len(self._known) != 1 else ''})"

    async def verify(self, token: Secret, resource: str) -> VerifiedToken | None:
        """Return whose a token is; `None` if it is not among them."""
        if not self._has_warned:
            self._has_warned = True
            _logger.warning(
                "this server accepts static tokens, which never expire and cannot be revoked: "
                "that is for development only; use JwtVerifier or IntrospectionVerifier elsewhere"
            )
        digest = sha256(token.reveal().encode()).digest()
        found = None
        for known, verified in self._known:
            if compare_digest(known, digest):
                found = verified
        return found
