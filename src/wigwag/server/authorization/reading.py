"""From what the rules say of a token to what the server knows of who sent it."""

from __future__ import annotations

from collections.abc import Sequence

from wigwag.oauth.access_tokens import AccessToken
from wigwag.server.authorization.contract import VerifiedToken
from wigwag.server.principal import Principal

__all__ = ["names_of", "verified_token"]


def names_of(audience: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the names that an author gives a server; none if it goes by its URL.

    Raises:
        ValueError: A name is empty.
    """
    names = () if audience is None else (audience,) if isinstance(audience, str) else (*audience,)
    if not all(names) or (audience is not None and not names):
        raise ValueError("an audience must have a name")
    return names


def verified_token(token: AccessToken, max_age: float | None = None) -> VerifiedToken:
    """Return what a server knows of a token.

    Args:
        token: What it says.
        max_age: Seconds for which that may be kept.
    """
    principal = Principal(
        token.subject,
        issuer=token.issuer,
        scopes=frozenset(token.scopes),
        claims=token.claims,
        roles=token.roles,
    )
    return VerifiedToken(
        principal=principal,
        expires_at=token.expires_at,
        key_thumbprint=token.key_thumbprint,
        client_id=token.client_id,
        max_age=max_age,
    )
