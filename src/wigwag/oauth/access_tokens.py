"""What an access token says, and whether it is good for this server at this time.

The same rules hold for the claims of a JWT (RFC 9068) and for what an authorization server says of
a token (RFC 7662). Whether they can be believed was found out before.
Spec: basic/authorization#token-handling
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from wigwag.errors import InvalidToken
from wigwag.oauth.jwt import Jwt, read_time, type_of
from wigwag.oauth.requests import told
from wigwag.oauth.scopes import Scopes, join_scopes
from wigwag.oauth.urls import read_url

__all__ = [
    "DEFAULT_LEEWAY",
    "MAX_LEEWAY",
    "AccessToken",
    "ClaimNames",
    "check_claims",
    "check_issuer",
    "check_leeway",
    "check_token_type",
    "is_audience",
    "read_access_token",
]

DEFAULT_LEEWAY: Final = 60.0
"""How far apart clocks may be, in seconds."""

MAX_LEEWAY: Final = 120.0

_ACCESS_TOKEN: Final = "at+jwt"
_UNSPECIFIC: Final = "jwt"
# What an ID token has, and nobody puts into an access token.
_OF_ID_TOKENS: Final = ("nonce", "at_hash", "c_hash", "s_hash")
# Keycloak says in a claim what it does not say in the header.
_BEARER: Final = "bearer"

_CLIENT_CLAIMS: Final = ("client_id", "azp", "appid", "cid")
_SCOPE_CLAIMS: Final = ("scope", "scp")
_MAX_ROLES: Final = 1024
_THUMBPRINT_CHARACTERS: Final = 43

_EXPIRED: Final = "the token has expired"
_OTHER_AUDIENCE: Final = "the token is not meant for this server"


class ClaimNames(msgspec.Struct, frozen=True):
    """Where an issuer puts what a principal may do.

    A name with dots is that claim, if there is one, and otherwise the way into objects:
    `realm_access.roles` is `roles` in `realm_access`.
    """

    roles: str = "roles"
    scopes: str | None = None
    """By default `scope`, or else `scp`."""


class AccessToken(msgspec.Struct, frozen=True, kw_only=True):
    """What a good token says."""

    subject: str
    issuer: str
    scopes: Scopes
    roles: frozenset[str]
    claims: Mapping[str, Any]
    expires_at: float | None
    client_id: str | None
    key_thumbprint: str | None

    def __repr__(self) -> str:
        return "AccessToken(…)"


def check_token_type(jwt: Jwt, *, is_strict: bool = False) -> None:
    """Refuse a JWT that is something other than an access token.

    Not everybody writes `at+jwt` into the header. Without it, what looks like an ID token is none.
    Spec: RFC 9068 section 4

    Args:
        jwt: The token.
        is_strict: Whether it must say `at+jwt`.

    Raises:
        InvalidToken: It is an ID token, an assertion, a proof or the like.
    """
    try:
        kind = type_of(jwt)
    except ValueError as error:
        raise InvalidToken(str(error)) from None
    if kind == _ACCESS_TOKEN:
        return
    if is_strict or kind not in (None, _UNSPECIFIC):
        said = "nothing" if kind is None else told(kind)
        raise InvalidToken(f"it is no access token: its typ says {said}")
    claim = jwt.claims.get("typ")
    if claim is not None:
        if not isinstance(claim, str) or claim.lower() != _BEARER:
            raise InvalidToken(f"it is no access token: its claim typ says {told(claim)}")
        return
    found = [name for name in _OF_ID_TOKENS if name in jwt.claims]
    if found:
        raise InvalidToken(f"it is an ID token, not an access token: it has {found[0]}")


def check_leeway(leeway: float) -> float:
    """Return how far apart clocks may be, if that makes sense.

    Raises:
        ValueError: It would make expired tokens good.
    """
    if not 0 <= leeway <= MAX_LEEWAY:
        raise ValueError(f"a leeway is between 0 and {MAX_LEEWAY:g} s: set the clocks instead")
    return leeway


def check_issuer(claims: Mapping[str, Any], issuer: str) -> None:
    """Refuse the token of another issuer, letter for letter.

    Raises:
        InvalidToken: It is.
    """
    if claims.get("iss") != issuer:
        raise InvalidToken(f"its issuer is {told(claims.get('iss')) or 'nobody'}, not {issuer}")


def check_claims(
    claims: Mapping[str, Any],
    *,
    audience: Sequence[str],
    now: float,
    leeway: float = DEFAULT_LEEWAY,
    is_expiry_required: bool = True,
    is_audience_required: bool = True,
) -> None:
    """Refuse a token that is for someone else, or not good at this time.

    Args:
        claims: What it says.
        audience: What this server is called; the token must name one of them.
        now: Seconds since 1970.
        leeway: How many seconds the clock of the issuer may be ahead or behind.
        is_expiry_required: Whether it must say when it ends.
        is_audience_required: Whether it must say whom it is for.

    Raises:
        InvalidToken: Something is wrong with it.
    """
    expires_at = _time(claims, "exp")
    if expires_at is None and is_expiry_required:
        raise InvalidToken("it does not say when it expires")
    if expires_at is not None and expires_at + leeway <= now:
        raise InvalidToken(f"it expired {now - expires_at:.0f} s ago", _EXPIRED)
    not_before = _time(claims, "nbf")
    if not_before is not None and now + leeway < not_before:
        raise InvalidToken(
            f"it is not valid for another {not_before - now:.0f} s", "the token is not valid yet"
        )
    issued_at = _time(claims, "iat")
    if issued_at is not None and now + leeway < issued_at:
        raise InvalidToken(f"it will be issued in {issued_at - now:.0f} s: compare the clocks")
    if "aud" in claims or is_audience_required:
        _check_audience(claims.get("aud"), audience)


def _check_audience(named: object, audience: Sequence[str]) -> None:
    several = [named] if isinstance(named, str) else named
    if not isinstance(several, list) or not all(isinstance(each, str) for each in several):
        raise InvalidToken("it does not say for whom it is", _OTHER_AUDIENCE)
    if not any(is_audience(each, own) for each in several for own in audience):
        raise InvalidToken(
            f"it is for {told(', '.join(several)) or 'nobody'}, not for {' or '.join(audience)}",
            _OTHER_AUDIENCE,
        )


def is_audience(named: str, own: str) -> bool:
    """Tell whether a token names this server.

    >>> is_audience("HTTPS://a.example:443/mcp/", "https://a.example/mcp")
    True
    """
    return named == own or _canonical(named) == _canonical(own)


def _canonical(resource: str) -> tuple[str, ...]:
    """Return what two ways to write the same URL have in common; one slash at the end is nothing.

    What is no URL is itself: many issuers call a server by a name or a number.
    """
    try:
        url = read_url(resource)
    except ValueError:
        return (resource,)
    return url.origin, url.bare_path, url.query, url.fragment


def _time(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    time = read_time(value)
    if time is None:
        raise InvalidToken(f"its {name} is no time")
    return time


def read_access_token(
    claims: Mapping[str, Any], issuer: str, names: ClaimNames | None = None
) -> AccessToken:
    """Return what a token says, that was checked before.

    Args:
        claims: Its claims.
        issuer: Who has issued it.
        names: Where to find scopes and roles.

    Raises:
        InvalidToken: It does not say whose it is, or is bound to something that nobody can check.
    """
    names = names or ClaimNames()
    client_id = next((text for name in _CLIENT_CLAIMS if (text := _text(claims, name))), None)
    # One that a program got for itself may name the program alone.
    subject = _text(claims, "sub") or (client_id if "sub" not in claims else None)
    if subject is None:
        raise InvalidToken("it does not say whose it is")
    scope_claims = _SCOPE_CLAIMS if names.scopes is None else (names.scopes,)
    listed = next((found for name in scope_claims if (found := _listed(claims, name))), ())
    return AccessToken(
        subject=subject,
        issuer=issuer,
        scopes=join_scopes(listed),
        roles=frozenset(_listed(claims, names.roles)[:_MAX_ROLES]),
        claims=claims,
        expires_at=_time(claims, "exp"),
        client_id=client_id,
        key_thumbprint=_confirmation(claims),
    )


def _text(claims: Mapping[str, Any], name: str) -> str | None:
    value = claims.get(name)
    return value if isinstance(value, str) and value else None


def _listed(claims: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the texts of a list, or the words of a text."""
    value: Any = claims.get(name)
    if value is None:
        value = claims
        for part in name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, str):
        return tuple(value.split())
    if isinstance(value, list):
        return tuple(each for each in value if isinstance(each, str))
    return ()


def _confirmation(claims: Mapping[str, Any]) -> str | None:
    """Return the thumbprint of the key that a token is bound to; `None` if it is to none.

    A token that is bound to a certificate, or in another way, was not meant to be used by whoever
    holds it.
    """
    confirmation = claims.get("cnf")
    if confirmation is None:
        return None
    found = confirmation.get("jkt") if isinstance(confirmation, Mapping) else None
    if not isinstance(found, str) or len(found) != _THUMBPRINT_CHARACTERS:
        raise InvalidToken("it is bound to something that this server cannot check")
    return found
