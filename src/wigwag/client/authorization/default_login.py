"""Logs a user in however that can be done where the program runs."""

from __future__ import annotations

import sys
from collections.abc import Callable

from wigwag.client.authorization.browser_login import DEFAULT_TIMEOUT, BrowserLogin
from wigwag.client.authorization.browsers import has_browser
from wigwag.client.authorization.login import Login
from wigwag.client.authorization.terminal_login import TerminalLogin
from wigwag.errors import AuthorizationFailed
from wigwag.oauth.steps import AskUser

__all__ = ["DefaultLogin"]


class DefaultLogin:
    """The browser where the user sees one, else the terminal where there is one.

    Args:
        port: The port to listen at; 0 for the one that the client is registered with, or any that
            is free.
        timeout: How long the user may take, in seconds.
        has_browser: Tells whether the user sees a browser that is opened here.
    """

    def __init__(
        self,
        port: int = 0,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        has_browser: Callable[[], bool] = has_browser,
    ) -> None:
        self._port = port
        self._timeout = timeout
        self._has_browser = has_browser
        self._login: Login | None = None

    async def listen(self, registered: tuple[str, ...]) -> str:
        """Choose the way, get ready, and return the redirect URI.

        Raises:
            AuthorizationFailed: There is no way, or no port to listen at.
        """
        if self._has_browser():
            self._login = BrowserLogin(self._port, timeout=self._timeout)
        elif sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty():
            self._login = TerminalLogin(self._port, timeout=self._timeout)
        else:
            raise AuthorizationFailed(
                "a user must log in, and here is neither a browser nor a terminal",
                "",
                "log in once from a terminal as the same user, with `wigwag auth login`; what is "
                "kept then is used here as well",
            )
        return await self._login.listen(registered)

    async def ask(self, question: AskUser) -> str:
        """Send the user there, and return where the browser came back to.

        Raises:
            AuthorizationFailed: The user did not come back.
        """
        assert self._login is not None, "`listen` comes first"
        return await self._login.ask(question)

    async def aclose(self) -> None:
        """Stop listening."""
        if self._login is not None:
            await self._login.aclose()
