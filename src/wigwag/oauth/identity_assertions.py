"""Assertions by which an identity provider lets a client in on behalf of a user (ID-JAG).

They are for authorization servers, which give access tokens for them; an MCP server that is one
itself checks them here, after it has verified the signature of the identity provider. None of them
is an access token.
Spec: extensions, enterprise-managed authorization
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

import msgspec

from wigwag.oauth.access_tokens import DEFAULT_LEEWAY, is_audience
from wigwag.oauth.jwt import Jwt, read_time, type_of
from wigwag.oauth.requests import told
from wigwag.oauth.scopes import Scopes, read_scopes

__all__ = ["IdentityAssertion", "InvalidAssertion", "check_identity_assertion"]

_TYPE: Final = "oauth-id-jag+jwt"
_TEXTS: Final = ("iss", "sub", "aud", "resource", "client_id", "jti")
_MAX_JTI_CHARACTERS: Final = 256


class InvalidAssertion(Exception):
    """An assertion is not good: the answer is `invalid_grant`; the text is for the log."""


class IdentityAssertion(msgspec.Struct, frozen=True, kw_only=True):
    """What a good assertion says."""

    issuer: str
    """The identity provider."""

    subject: str
    client_id: str
    resource: str
    scopes: Scopes
    expires_at: float
    claims: Mapping[str, Any]
    replay_key: str
    """What tells it from all others. It is good once: `ReplayStore.remember` knows whether it was
    used before."""

    def __repr__(self) -> str:
        return "IdentityAssertion(…)"


def check_identity_assertion(
    jwt: Jwt,
    *,
    issuer: str,
    audience: str,
    client_id: str,
    resource: str,
    now: float,
    leeway: float = DEFAULT_LEEWAY,
) -> IdentityAssertion:
    """Return what an assertion says, if it is good.

    Args:
        jwt: The assertion, signed by the identity provider: that was verified before.
        issuer: The identity provider that is trusted.
        audience: The issuer of this authorization server, letter for letter.
        client_id: The client that shows it, and has proved who it is.
        resource: The URI of the MCP server.
        now: Seconds since 1970.
        leeway: How many seconds clocks may be apart.

    Raises:
        InvalidAssertion: It is not.
    """
    claims = jwt.claims
    _check_shape(jwt)
    _check_time(claims, now, leeway)
    if claims["iss"] != issuer:
        raise InvalidAssertion(f"its issuer is {told(claims['iss'])}, not {issuer}")
    if claims["aud"] != audience:
        raise InvalidAssertion(f"it is for {told(claims['aud'])}, not for {audience}")
    if claims["client_id"] != client_id:
        raise InvalidAssertion("it was issued to another client than the one that shows it")
    if not is_audience(claims["resource"], resource):
        raise InvalidAssertion(f"it is for the resource {told(claims['resource'])}")
    scope = claims.get("scope", "")
    return IdentityAssertion(
        issuer=issuer,
        subject=claims["sub"],
        client_id=client_id,
        resource=claims["resource"],
        scopes=read_scopes(scope) if isinstance(scope, str) else (),
        expires_at=claims["exp"],
        claims=claims,
        replay_key=sha256(f"id-jag {issuer} {claims['jti']}".encode()).hexdigest(),
    )


def _check_shape(jwt: Jwt) -> None:
    try:
        kind = type_of(jwt)
    except ValueError as error:
        raise InvalidAssertion(str(error)) from None
    if kind != _TYPE:
        raise InvalidAssertion(f"its typ is not {_TYPE}")
    for name in _TEXTS:
        if not isinstance(jwt.claims.get(name), str) or not jwt.claims[name]:
            raise InvalidAssertion(f"it has no {name}")
    if len(jwt.claims["jti"]) > _MAX_JTI_CHARACTERS:
        raise InvalidAssertion(f"its jti has more than {_MAX_JTI_CHARACTERS} characters")


def _check_time(claims: Mapping[str, Any], now: float, leeway: float) -> None:
    expires_at, issued_at = read_time(claims.get("exp")), read_time(claims.get("iat"))
    if expires_at is None or issued_at is None:
        raise InvalidAssertion(f"it has no {'exp' if expires_at is None else 'iat'}")
    if expires_at + leeway <= now:
        raise InvalidAssertion("it has expired")
    if now + leeway < issued_at:
        raise InvalidAssertion("it will be issued in the future: compare the clocks")
