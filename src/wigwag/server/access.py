"""Who may use which feature: by scopes, by roles, and by a function of the author's.

Over stdio, sockets and in memory the client is a program of whoever started the server, so scopes
and roles keep nobody out there. Spec: basic/authorization#protocol-requirements
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from wigwag.protocol.events import RequestReceived
    from wigwag.runtime.dispatch import Dispatch
    from wigwag.server.principal import Principal, Visible

    # For type checkers alone: making a protocol at run time takes longer than another class.
    class Restricted(Protocol):
        """What is asked of whoever uses a feature."""

        visible: Visible | None
        scopes: tuple[str, ...]
        roles: frozenset[str]

    class HasPrincipal(Protocol):
        """A context, as far as it matters here."""

        @property
        def principal(self) -> Principal | None:
            """Who asks."""
            ...


class Caller:
    """Who uses a server.

    Args:
        principal: Who it is, if that is known.
        is_remote: Whether it may be anybody, as over HTTP, so that scopes and roles count.
    """

    __slots__ = ("is_remote", "principal")

    def __init__(self, principal: Principal | None, *, is_remote: bool) -> None:
        self.principal = principal
        self.is_remote = is_remote

    def sees(self, feature: Restricted) -> bool:
        """Tell whether a feature is there at all for them; more scopes may still be needed."""
        if feature.roles and self.is_remote:
            principal = self.principal
            if principal is None or feature.roles.isdisjoint(principal.roles):
                return False
        return feature.visible is None or feature.visible(self.principal)

    def has(self, scopes: Iterable[str]) -> bool:
        """Tell whether they have all of these scopes, or need none."""
        if not self.is_remote:
            return True
        principal = self.principal
        held: frozenset[str] = frozenset() if principal is None else principal.scopes
        return held.issuperset(scopes)

    def may_use(self, feature: Restricted) -> bool:
        """Tell whether they may use a feature as they are."""
        return self.has(feature.scopes) and self.sees(feature)

    def finds(self, feature: Restricted) -> bool:
        """Tell whether a feature is there for them, who want to use it.

        Raises:
            ScopesMissing: It is, and they need more scopes for it.
        """
        if not self.sees(feature):
            return False
        self.require(feature.scopes)
        return True

    def require(self, scopes: Iterable[str]) -> None:
        """See to it that they have scopes.

        Raises:
            ScopesMissing: They have not.
        """
        if not self.has(scopes):
            from wigwag.runtime.permits import ScopesMissing  # noqa: PLC0415 - few servers need it

            raise ScopesMissing(scopes)


def caller_of(
    request: RequestReceived, connection: Dispatch, context: HasPrincipal | None
) -> Caller:
    """Return who makes a request; what is around handlers may have found that out already."""
    if context is not None:
        return Caller(context.principal, is_remote=connection.is_remote)
    permit = connection.permit_of(request)
    principal = None if permit is None else permit.principal
    return Caller(principal, is_remote=connection.is_remote)
