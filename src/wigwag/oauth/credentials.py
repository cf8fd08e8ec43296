"""What a request brings along to be let in: reading `Authorization` as a server.

Spec: basic/authorization#token-requirements, and RFC 6750 section 2.1
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from wigwag.oauth.secret import Secret

__all__ = [
    "MAX_TOKEN_CHARACTERS",
    "Credentials",
    "Scheme",
    "has_token_in_query",
    "is_token",
    "read_credentials",
]

MAX_TOKEN_CHARACTERS: Final = 16_384

Scheme: TypeAlias = Literal["Bearer", "DPoP"]

_SCHEMES: Final[dict[str, Scheme]] = {"bearer": "Bearer", "dpop": "DPoP"}

_read: Final = re.compile(r"[ \t]*+([!#$%&'*+.^_`|~0-9A-Za-z-]++)(?:[ \t]++(.*))?", re.DOTALL)
_is_token: Final = re.compile(r"[A-Za-z0-9._~+/-]++=*+").fullmatch
_names_token: Final = re.compile(r"(?:^|&)access_token=").search


class Credentials(msgspec.Struct, frozen=True):
    """A token, and how it was sent."""

    scheme: Scheme
    token: Secret


def read_credentials(values: Sequence[str]) -> Credentials | None:
    """Read the lines of an `Authorization` header.

    >>> read_credentials(["bearer abc"])
    Credentials(scheme='Bearer', token=Secret(…))

    Returns:
        `None` if there is no token: there is no such header, or it is about something else.

    Raises:
        ValueError: It cannot be read; the text says why, and has nothing of it.
    """
    if not values:
        return None
    if len(values) > 1:
        raise ValueError("there is more than one Authorization header")
    found = _read.fullmatch(values[0])
    if found is None:
        raise ValueError("the Authorization header has no scheme")
    scheme = _SCHEMES.get(found[1].lower())
    if scheme is None:
        return None
    token = (found[2] or "").rstrip(" \t")
    if not token:
        raise ValueError(f"there is no token behind {scheme} in the Authorization header")
    if not _is_token(token):
        raise ValueError("the Authorization header has characters that no token has")
    return Credentials(scheme, Secret(token))


def is_token(text: str) -> bool:
    """Tell whether a text can be sent as a token.

    >>> is_token("abc=="), is_token("a b")
    (True, False)
    """
    return _is_token(text) is not None


def has_token_in_query(query: str) -> bool:
    """Tell whether a URL carries a token, where logs and histories keep it.

    >>> has_token_in_query("a=1&access_token=x"), has_token_in_query("my_access_token=x")
    (True, False)
    """
    return _names_token(query) is not None
