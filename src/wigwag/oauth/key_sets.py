"""The keys that an issuer signs with: reading its JWK set, choosing one, and how long it holds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from wigwag.oauth.jwk import PRIVATE_MEMBERS, can_verify, public_key
from wigwag.oauth.requests import HttpResponse

__all__ = ["IssuerKey", "candidates", "key_lifetime", "read_key_set"]

# More than any issuer has; the rest is ignored.
_MAX_KEYS: Final = 100
# How many keys without a name are tried: each costs the time of a signature.
_MAX_CANDIDATES: Final = 8
_MAX_NAME_CHARACTERS: Final = 1024

_max_age: Final = re.compile(r"(?:^|[\s,])max-age\s*+=\s*+\"?(\d{1,10})", re.IGNORECASE)
_must_not_keep: Final = re.compile(r"(?:^|[\s,])no-(?:store|cache)\b", re.IGNORECASE)

# Asking at every token would let whoever sends tokens make this server ask.
_MIN_SECONDS: Final = 60.0
_MAX_SECONDS: Final = 86_400.0
_USUAL_SECONDS: Final = 900.0


class IssuerKey(msgspec.Struct, frozen=True):
    """A public key of an issuer."""

    kid: str | None
    jwk: Mapping[str, Any]
    """Without private members, should it have been published with them."""


_Key = TypeVar("_Key", bound=IssuerKey)


def read_key_set(document: Mapping[str, Any]) -> tuple[IssuerKey, ...]:
    """Read a JWK set (RFC 7517 section 5); what cannot be used to verify is passed over.

    Raises:
        ValueError: It is no JWK set.
    """
    listed = document.get("keys")
    if not isinstance(listed, list):
        raise ValueError("it is no JWK set: there are no keys in it")
    keys: list[IssuerKey] = []
    for jwk in listed[:_MAX_KEYS]:
        if public_key(jwk) is None:
            continue
        kid = jwk.get("kid")
        if kid is not None and not (isinstance(kid, str) and len(kid) <= _MAX_NAME_CHARACTERS):
            continue
        public = {name: value for name, value in jwk.items() if name not in PRIVATE_MEMBERS}
        keys.append(IssuerKey(kid, public))
    return tuple(keys)


def candidates(keys: Sequence[_Key], kid: object, algorithm: str) -> tuple[_Key, ...]:
    """Return the keys that a token may have been signed with.

    Args:
        keys: All that the issuer has.
        kid: What the header of the token calls its key; `None` if it does not say.
        algorithm: What it says that it is signed with.
    """
    fitting = [key for key in keys if can_verify(key.jwk, algorithm)]
    if kid is not None:
        named = [key for key in fitting if key.kid == kid]
        fitting = named or [key for key in fitting if key.kid is None]
    return tuple(fitting[:_MAX_CANDIDATES])


def key_lifetime(response: HttpResponse) -> float:
    """Return for how many seconds keys are used before they are fetched again.

    >>> key_lifetime(HttpResponse(200, (("Cache-Control", "public, max-age=3600"),)))
    3600.0
    """
    control = ", ".join(response.values("cache-control"))
    if _must_not_keep.search(control):
        return _MIN_SECONDS
    found = _max_age.search(control)
    seconds = _USUAL_SECONDS if found is None else float(found[1])
    return min(max(seconds, _MIN_SECONDS), _MAX_SECONDS)
