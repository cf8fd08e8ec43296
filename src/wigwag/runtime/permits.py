"""Who sent an HTTP request, where that has been made sure of before it is served.

Spec: basic/authorization
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from msgspec import Struct

from wigwag.errors import RequestFailed
from wigwag.jsonrpc.codes import INVALID_REQUEST
from wigwag.protocol.subscriptions import Change

if TYPE_CHECKING:
    from wigwag.transports.asgi import Headers

__all__ = [
    "NOBODY",
    "PERMIT",
    "MayHear",
    "Permit",
    "Refuse",
    "ScopesMissing",
    "owner_in",
    "permit_in",
]

PERMIT: Final = "wigwag.permit"
"""Where a scope of ASGI has the permit of its request. No client can put anything there."""

NOBODY: Final = ""
"""Whose a session is that was opened without a token."""

Refuse: TypeAlias = "Callable[[Iterable[str]], tuple[int, Headers]]"
"""Returns status and headers of the answer to somebody who lacks scopes."""


class Permit(Struct, frozen=True):
    """What has been found out about the sender of a request.

    Attributes:
        principal: Who it is; `None` for somebody without a token, where that is allowed.
        owner: Whose the sessions are that it begins, as text that tells nothing else.
        expires_at: When the permit ends, in seconds since 1970; infinite if nobody knows.
        refuse: Makes the answer to a request that needs more scopes than there are.
    """

    principal: Any
    owner: str
    expires_at: float
    refuse: Refuse


MayHear = Callable[[Permit | None, Change], bool]
"""Tells whether somebody may hear of a change; where it is missing, everybody may."""


class ScopesMissing(RequestFailed):
    """Whoever asks has not all the scopes that it takes.

    Args:
        scopes: All that it takes.
    """

    def __init__(self, scopes: Iterable[str]) -> None:
        self.scopes = tuple(scopes)
        needed = " ".join(self.scopes)
        super().__init__(INVALID_REQUEST, f"Forbidden: this needs the scopes {needed!r}")


def permit_in(scope: Mapping[str, Any]) -> Permit | None:
    """Return what is known of the sender of a request, where somebody has made sure of that."""
    permit: Permit | None = scope.get(PERMIT)
    return permit


def owner_in(scope: Mapping[str, Any]) -> str:
    """Return whose the sessions are that a request begins, and may use."""
    permit = permit_in(scope)
    return NOBODY if permit is None else permit.owner
