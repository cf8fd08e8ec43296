"""What authorizes the requests of a client, as far as the client has to know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

from wigwag.transports.http_client_authorization import Authorizer

__all__ = ["AuthorizationNews", "ClientAuthorizer"]

AuthorizationNews = Literal["logged_in", "token_refreshed"]


class ClientAuthorizer(Authorizer, Protocol):
    """What authorizes the requests of one client to one server.

    Attributes:
        extensions: The extensions of the protocol that it makes use of.
        tell: Called when there is something to tell.
    """

    extensions: tuple[str, ...]
    tell: Callable[[AuthorizationNews], object]

    def principal(self) -> str | None:
        """Return what tells who asks from others, as long as it is the same; `None` if unknown."""
        ...

    async def aclose(self) -> None:
        """End what is under way; it can be used again."""
        ...
