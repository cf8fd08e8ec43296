"""Logs a user in with the browser of this machine.

Spec: basic/authorization#authorization-flow-steps; RFC 8252
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import parse_qs, urlsplit

from wigwag.client.authorization.browsers import check_page, open_in_browser
from wigwag.client.authorization.loopback_listener import LoopbackListener
from wigwag.errors import AuthorizationFailed
from wigwag.oauth.requests import told
from wigwag.oauth.steps import AskUser
from wigwag.oauth.urls import is_loopback, read_url, shown
from wigwag.stores.threads import call_in_thread

__all__ = ["BrowserLogin", "no_answer", "say", "state_of"]

DEFAULT_TIMEOUT = 300.0


class BrowserLogin:
    """Opens the browser, and listens on a port of this machine until it comes back.

    The URL is told as well, for the case that no browser comes up. It logs one user in once.

    Args:
        port: The port; 0 for the one that the client is registered with, or any that is free.
        host: The loopback address, or `localhost`.
        timeout: How long the user may take, in seconds.
        open_browser: Opens a URL, and returns whether it could; by default `webbrowser.open`. It is
            called in a thread.
        on_url: Is told what to say to the user, the URL included; by default it goes to the
            standard error.

    Raises:
        ValueError: The host is not this machine.
    """

    def __init__(
        self,
        port: int = 0,
        *,
        host: str = "127.0.0.1",
        timeout: float = DEFAULT_TIMEOUT,
        open_browser: Callable[[str], object] | None = None,
        on_url: Callable[[str], object] | None = None,
    ) -> None:
        address = f"[{host}]" if ":" in host else host
        if not is_loopback(read_url(f"http://{address}")):
            raise ValueError(f"{host} is not this machine: only it may see where the browser ends")
        self._listener = LoopbackListener(host, port)
        self._timeout = timeout
        self._open_browser = open_browser or open_in_browser
        self._say = on_url or say

    async def listen(self, registered: tuple[str, ...]) -> str:
        """Begin to listen, and return the redirect URI.

        Raises:
            AuthorizationFailed: There is no port to listen at.
        """
        return await self._listener.open(registered)

    async def ask(self, question: AskUser) -> str:
        """Open the browser, and wait until it comes back.

        Raises:
            AuthorizationFailed: It did not in time.
        """
        check_page(question.url)
        self._say(
            f"To give access to {told(question.resource)}, log in at {told(question.issuer)}.\n"
            f"If no browser comes up, open this URL on this machine:\n\n  {question.url}\n"
        )
        opening = asyncio.create_task(self._open(question.url))
        try:
            async with asyncio.timeout(self._timeout):
                return await self._listener.wait(state_of(question))
        except TimeoutError:
            raise no_answer(self._timeout, question, self._listener) from None
        finally:
            opening.cancel()
            await asyncio.wait([opening])

    async def aclose(self) -> None:
        """Stop listening."""
        await self._listener.aclose()

    async def _open(self, url: str) -> None:
        try:
            is_open = await call_in_thread(lambda: self._open_browser(url))
        except Exception:  # noqa: BLE001 - the URL is there to be opened by hand
            is_open = False
        if not is_open:
            self._say("No browser could be opened.\n")


def say(text: str) -> None:
    """Say something to the user, on the standard error."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):  # nobody reads it
            sys.stderr.write(text)
            sys.stderr.flush()


def state_of(question: AskUser) -> str | None:
    """Return what must come back with the browser."""
    found = parse_qs(urlsplit(question.url).query).get("state")
    return found[0] if found else None


def no_answer(
    timeout: float, question: AskUser, listener: LoopbackListener | None
) -> AuthorizationFailed:
    """Return the error that says that the user has not come back."""
    also = ""
    if listener is not None and listener.has_seen_another:
        also = ", but another one than was waited for: use the window that was opened last"
    return AuthorizationFailed(
        f"no browser came back within {timeout:g} s{also}",
        shown(question.issuer),
        "try again to be asked again",
    )
