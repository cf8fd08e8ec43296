"""What tells a good token from a bad one, as an interface that anyone can implement.

Spec: basic/authorization#token-handling
"""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from wigwag.oauth.secret import Secret
from wigwag.server.principal import Principal

__all__ = ["TokenVerifier", "VerifiedToken"]


class VerifiedToken(Struct, frozen=True, kw_only=True):
    """What a good token says.

    Attributes:
        principal: Who sent it, and what they may do.
        expires_at: When it ends, in seconds since 1970; `None` if nobody knows.
        key_thumbprint: The SHA-256 thumbprint of the key that its sender must prove to hold
            (`cnf.jkt`, RFC 9449); `None` for a bearer token.
        client_id: Which program it was issued to, if that is known.
        max_age: Seconds for which it may be kept without asking again; 0 never to keep it, `None`
            as long as it is good, and never longer than the server keeps any.
    """

    principal: Principal
    expires_at: float | None = None
    key_thumbprint: str | None = None
    client_id: str | None = None
    max_age: float | None = None


class TokenVerifier(Protocol):
    """Tells a good token from a bad one."""

    async def verify(self, token: Secret, resource: str) -> VerifiedToken | None:
        """Return what a token says, if it is good for this server.

        What is returned may be kept for `VerifiedToken.max_age`, and this is not called meanwhile.

        Args:
            token: The token, as it came.
            resource: The URI of this server, which the token must be meant for.

        Returns:
            `None` if it is for another verifier to judge.

        Raises:
            InvalidToken: It is not good, whoever else may be asked.
            VerifierUnavailable: That cannot be told at the moment.
        """
        ...
