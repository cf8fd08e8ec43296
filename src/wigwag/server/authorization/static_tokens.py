"""Tokens written down beforehand, for development."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from hashlib import sha256
from hmac import compare_digest
from typing import Any, Final

from wigwag.oauth.credentials import is_token
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
        TypeError: It is no mapping of tokens to principals.
        ValueError: A token is empty, or has characters that no token has.
    """

    def __init__(self, tokens: Mapping[str, Principal]) -> None:
        _check(tokens)
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


def _check(tokens: Any) -> None:
    if not isinstance(tokens, Mapping):
        raise TypeError(f"StaticTokens takes a mapping of tokens, not {type(tokens).__name__}")
    for number, (token, principal) in enumerate(tokens.items(), 1):
        if not isinstance(token, str) or not isinstance(principal, Principal):
            raise TypeError(
                f"static token {number}: write its text, and the Principal who sends it"
            )
        if not token:
            raise ValueError("a token is empty: anybody could send it")
        if not is_token(token):
            raise ValueError(f"static token {number} has characters that no token has")
