"""Reading a JWT as it is written, before anybody knows whether to believe it (RFC 7519)."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from collections.abc import Collection, Mapping
from typing import Any, Final

import msgspec

__all__ = ["Jwt", "check_header", "read_jwt", "read_time", "type_of"]

_is_jwt: Final = re.compile(r"([A-Za-z0-9_-]++)\.([A-Za-z0-9_-]++)\.[A-Za-z0-9_-]*+").fullmatch
_MEDIA_TYPE: Final = "application/"
_MAX_SECONDS: Final = 1e15


class Jwt(msgspec.Struct, frozen=True):
    """What a JWT says of itself; nothing of it is true until the signature is verified."""

    header: Mapping[str, Any]
    claims: Mapping[str, Any]

    def __repr__(self) -> str:
        return "Jwt(…)"


def read_jwt(text: str) -> Jwt:
    """Take a JWT apart.

    Raises:
        ValueError: It is none: three parts in Base64url, of which two are JSON objects.
    """
    parts = _is_jwt(text)
    if parts is None:
        raise ValueError("it is no JWT")
    return Jwt(_object(parts[1], "header"), _object(parts[2], "claims"))


def _object(part: str, name: str) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, RecursionError):  # of Base64, of UTF-8 and of JSON
        raise ValueError(f"it is no JWT: its {name} cannot be read") from None
    if not isinstance(found, dict):
        raise ValueError(f"it is no JWT: its {name} is no object")
    return found


def type_of(jwt: Jwt) -> str | None:
    """Return what kind of JWT it says it is, in lower case: `at+jwt`, `jwt`; `None` if it does not.

    >>> type_of(Jwt({"typ": "application/AT+JWT"}, {}))
    'at+jwt'

    Raises:
        ValueError: What it says is no text.
    """
    kind = jwt.header.get("typ")
    if kind is None:
        return None
    if not isinstance(kind, str):
        raise ValueError("its typ is no text")
    return kind.lower().removeprefix(_MEDIA_TYPE)


def check_header(jwt: Jwt, algorithms: Collection[str]) -> str:
    """Return the algorithm that a JWT is signed with, if it is one of these.

    A key that the header brings along (`jwk`, `jku`, `x5c`, `x5u`) is nobody's, and never used.

    Raises:
        ValueError: It is another one, or the header demands something that nobody understands.
    """
    algorithm = jwt.header.get("alg")
    if not isinstance(algorithm, str) or algorithm not in algorithms:
        raise ValueError("it is not signed with an algorithm that is accepted")
    if "crit" in jwt.header:
        raise ValueError("its header has critical extensions, and none is understood")
    return algorithm


def read_time(value: object) -> float | None:
    """Return a time in seconds since 1970; `None` if it is none that anybody could mean.

    >>> read_time(1_700_000_000), read_time(True), read_time("now"), read_time(10**400)
    (1700000000.0, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -_MAX_SECONDS < value < _MAX_SECONDS else None
