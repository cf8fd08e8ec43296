"""Who a request comes from, as far as the server knows. Spec: basic/authorization."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Set
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import force_setattr

if TYPE_CHECKING:
    from wigwag.transports.asgi import HttpRequest


class Principal(Struct, frozen=True):
    """Somebody whom the server has recognised.

    Attributes:
        subject: Who it is, as whoever vouches for it names them.
        issuer: Who vouches for it.
        scopes: What they may do.
        claims: What else is known of them.
        roles: What they are to whoever vouches for them, such as `admin`.

    Raises:
        TypeError: `subject` is no text; or `scopes` or `roles` are no set or list of texts.
    """

    subject: str
    issuer: str = ""
    scopes: frozenset[str] = frozenset()
    claims: Mapping[str, Any] = {}
    roles: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not isinstance(self.subject, str):
            raise TypeError(f"`subject` is text, not {self.subject!r}")
        for name in ("scopes", "roles"):
            given = getattr(self, name)
            if type(given) is not frozenset:  # which is all that may be compared with them
                if not isinstance(given, Set | list | tuple):
                    raise TypeError(f"`{name}` are a set of texts, not {given!r}")
                force_setattr(self, name, frozenset(given))


Identify = Callable[["HttpRequest | None"], "Principal | Awaitable[Principal | None] | None"]
"""Recognises who has sent a request, by its HTTP request; over other transports there is none."""

Visible = Callable[["Principal | None"], bool]
"""Tells whether somebody gets to see a feature, and may use it."""
