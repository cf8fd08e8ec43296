"""How a user logs in: what sends them to the authorization server, and hears where they end."""

from __future__ import annotations

from typing import Protocol

from wigwag.oauth.steps import AskUser

__all__ = ["Login"]


class Login(Protocol):
    """Asks one user once.

    `listen` comes first, then `ask`, or not; `aclose` in any case, and after it neither of them.

    Spec: basic/authorization#authorization-flow-steps
    """

    async def listen(self, registered: tuple[str, ...]) -> str:
        """Get ready for the browser to come back, and return the redirect URI for it.

        Args:
            registered: The redirect URIs that the client is registered with; empty if it is not.
                With another one than these it may have to be registered anew.

        Raises:
            AuthorizationFailed: There is no way to log in here.
        """
        ...

    async def ask(self, question: AskUser) -> str:
        """Send the user there, and return the URL that the browser came back to, as it came.

        What follows its `?` will do as well. Whether it is sound is for the flow to judge.

        Raises:
            AuthorizationFailed: The user did not come back.
        """
        ...

    async def aclose(self) -> None:
        """Stop listening; may be called at any time, and twice."""
        ...
