"""What a server that refuses wants instead: reading `WWW-Authenticate`.

Servers write this header in many ways, and hostile ones in ways nobody should: whatever cannot be
read is passed over, and reading takes linear time.
Spec: basic/authorization/authorization-server-discovery, and RFC 9110 section 11.6.1
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from wigwag.oauth.scopes import Scopes, read_scopes

__all__ = ["Challenge", "Demand", "demand_of", "parse_challenges"]

# Far above what any server sends; beyond it nothing is read.
_MAX_HEADER_CHARACTERS: Final = 16_384
_MAX_CHALLENGES: Final = 32
_MAX_PARAMETERS: Final = 64

_separators: Final = re.compile(r"[ \t,]*+")
_token: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]++")
_equals: Final = re.compile(r"[ \t]*+=[ \t]*+")
_token68: Final = re.compile(r"[ \t]++([A-Za-z0-9._~+/-]++=*+)[ \t]*+(?=,|$)")
_quoted: Final = re.compile(r'"((?:[^"\\]++|\\.)*+)"', re.DOTALL)
# Wider than a token: addresses and lists are sent without their quotes.
_unquoted: Final = re.compile(r'[^ \t,"]++')
_escape: Final = re.compile(r"\\(.)", re.DOTALL)

# The schemes that OAuth tokens are sent under.
_TOKEN_SCHEMES: Final = ("bearer", "dpop")


class Challenge(msgspec.Struct, frozen=True):
    """One way in which a server would accept the request."""

    scheme: str
    """In lower case: `bearer`, `dpop`, `basic`."""

    parameters: Mapping[str, str] = {}
    """By their names in lower case; of one given twice, the first."""

    token68: str | None = None
    """What stands in place of parameters in a few schemes."""


class Demand(msgspec.Struct, frozen=True):
    """What the challenges about tokens say, taken together."""

    resource_metadata: str | None = None
    scopes: Scopes | None = None
    """What the request needs; `None` if the server does not say."""

    error: str | None = None
    error_description: str | None = None

    @property
    def is_about_scope(self) -> bool:
        """Whether the token was fine but does not allow enough."""
        return self.error == "insufficient_scope"


def parse_challenges(values: Iterable[str]) -> tuple[Challenge, ...]:
    """Read the lines of a `WWW-Authenticate` header, or several in one.

    >>> [c.parameters for c in parse_challenges(['Basic, bearer Scope="a b", x=https://y/z'])]
    [{}, {'scope': 'a b', 'x': 'https://y/z'}]
    """
    challenges: list[Challenge] = []
    budget = _MAX_HEADER_CHARACTERS
    for value in values:
        challenges += _parse(value[:budget])
        budget -= len(value)
        if budget <= 0:
            break
    return tuple(challenges[:_MAX_CHALLENGES])


def _parse(text: str) -> list[Challenge]:
    found: list[tuple[str, dict[str, str], str | None]] = []
    position = 0
    while (position := _end(_separators.match(text, position))) < len(text):
        name = _token.match(text, position)
        if name is None:
            position = _next_comma(text, position)
            continue
        position = name.end()
        equals = _equals.match(text, position)
        if equals is None:
            if len(found) == _MAX_CHALLENGES:
                break
            token68 = _token68.match(text, position)
            found.append((name[0].lower(), {}, token68[1] if token68 else None))
            position = token68.end() if token68 else position
            continue
        value, position = _value(text, equals.end())
        if value is not None and found and len(found[-1][1]) < _MAX_PARAMETERS:
            found[-1][1].setdefault(name[0].lower(), value)
    return [Challenge(*each) for each in found]


def _value(text: str, position: int) -> tuple[str | None, int]:
    """Return the value of a parameter and where it ends; `None` if there is no sound one."""
    if text.startswith('"', position):
        quoted = _quoted.match(text, position)
        if quoted is None:  # it never ends, so nothing behind it can be told apart
            return None, len(text)
        return _escape.sub(r"\1", quoted[1]), quoted.end()
    unquoted = _unquoted.match(text, position)
    return ("", position) if unquoted is None else (unquoted[0], unquoted.end())


def _end(match: re.Match[str] | None) -> int:
    assert match is not None  # it matches the empty text too
    return match.end()


def _next_comma(text: str, position: int) -> int:
    comma = text.find(",", position)
    return len(text) if comma < 0 else comma


def demand_of(challenges: Iterable[Challenge]) -> Demand:
    """Return what is said about tokens; of what is said twice, the first."""
    merged: dict[str, str] = {}
    for challenge in challenges:
        if challenge.scheme in _TOKEN_SCHEMES:
            for name, value in challenge.parameters.items():
                merged.setdefault(name, value)
    scope = merged.get("scope")
    return Demand(
        merged.get("resource_metadata"),
        None if scope is None else read_scopes(scope) or None,
        merged.get("error"),
        merged.get("error_description"),
    )
