"""Which scopes to ask for, and when asking for more is of no use.

Spec: basic/authorization#scope-selection-strategy
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, TypeAlias

__all__ = [
    "OFFLINE_ACCESS",
    "FailedStepUps",
    "Scopes",
    "choose_scopes",
    "join_scopes",
    "read_scopes",
    "write_scopes",
]

Scopes: TypeAlias = tuple[str, ...]
"""Each once, in the order in which they were first named."""

OFFLINE_ACCESS: Final = "offline_access"

# Far above what any server wants; what goes beyond is not asked for.
_MAX_SCOPES: Final = 128
_MAX_SCOPE_CHARACTERS: Final = 256

_MAX_REMEMBERED: Final = 256

_is_scope: Final = re.compile(r"[!#-\[\]-~]+").fullmatch


def read_scopes(text: str) -> Scopes:
    """Read scopes as headers and token responses give them; what can be none is passed over.

    >>> read_scopes('files:read files:write files:read "')
    ('files:read', 'files:write')
    """
    return join_scopes(text.split(" "))


def write_scopes(scopes: Scopes) -> str:
    """Write scopes as requests carry them."""
    return " ".join(scopes)


def join_scopes(*several: Iterable[str]) -> Scopes:
    """Return the union, as long as scopes may be, and no longer than any server wants."""
    joined = dict.fromkeys(
        scope
        for scopes in several
        for scope in scopes
        if len(scope) <= _MAX_SCOPE_CHARACTERS and _is_scope(scope)
    )
    return tuple(joined)[:_MAX_SCOPES]


def choose_scopes(
    *,
    challenged: Scopes | None,
    of_resource: Scopes | None,
    before: Scopes = (),
    wanted: Scopes = (),
) -> Scopes:
    """Return what to ask for; empty if the request should name no scope at all.

    Args:
        challenged: What the server says that this request needs.
        of_resource: `scopes_supported` in its metadata, which counts only where it says nothing.
        before: What was asked for before, and would be lost otherwise.
        wanted: What the user of the library wants in any case.
    """
    needed = challenged if challenged is not None else of_resource if not before else ()
    return join_scopes(before, needed or (), wanted)


class FailedStepUps:
    """Remembers which operations were refused although their scopes had been asked for.

    Asking again would send the user to the browser for nothing, at every call.
    Spec: basic/authorization#step-up-authorization-flow
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, frozenset[str]], None] = {}

    def add(self, resource: str, operation: str, scopes: Scopes) -> None:
        """Note a failure; the oldest ones are forgotten when there are very many."""
        self._known[resource, operation, frozenset(scopes)] = None
        if len(self._known) > _MAX_REMEMBERED:
            del self._known[next(iter(self._known))]

    def has(self, resource: str, operation: str, scopes: Scopes) -> bool:
        """Tell whether this very thing has failed before."""
        return (resource, operation, frozenset(scopes)) in self._known

    def clear(self) -> None:
        """Forget all: the user has logged in on purpose, perhaps as someone else."""
        self._known.clear()
