"""A function of the author's that tells whose a token is."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from wigwag.oauth.secret import Secret
from wigwag.server.authorization.contract import VerifiedToken
from wigwag.server.principal import Principal

__all__ = ["FunctionVerifier", "VerifyFunction"]

VerifyFunction: TypeAlias = Callable[
    [str], Principal | VerifiedToken | Awaitable[Principal | VerifiedToken | None] | None
]
"""Called with a token; returns whose it is, or `None` if it does not know the token."""


class FunctionVerifier:
    """Asks a function about each token.

    It is called on the event loop, as `identify` is: one that waits for something is to be `async`.
    What it says is asked anew at every request, unless it returns a `VerifiedToken`, which says how
    long it may be kept. It has to see for itself to it that the token is meant for this server.

    Args:
        function: Returns the `Principal`, a `VerifiedToken`, or `None` for a token that is not good
            or that another verifier knows; it may raise `InvalidToken` or `VerifierUnavailable`.
    """

    def __init__(self, function: VerifyFunction) -> None:
        self._function = function

    async def verify(self, token: Secret, resource: str) -> VerifiedToken | None:
        """Return what the function says about a token.

        Raises:
            TypeError: It returned something else.
        """
        found = self._function(token.reveal())
        if inspect.isawaitable(found):
            found = await found
        if found is None or isinstance(found, VerifiedToken):
            return found
        if isinstance(found, Principal):
            return VerifiedToken(principal=found, max_age=0)
        raise TypeError(
            f"a function that verifies tokens returned {type(found).__name__}: it must return a "
            "Principal, a VerifiedToken or None"
        )
