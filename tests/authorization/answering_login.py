"""A user who logs in at once: follows the authorization URL as a browser would."""

import asyncio
from collections.abc import Awaitable, Callable

from wigwag.oauth.fetch_rules import Networks
from wigwag.oauth.requests import get_request
from wigwag.oauth.steps import AskUser
from wigwag.transports.document_fetching import DocumentFetcher

REDIRECT_URI = "http://127.0.0.1:9/callback"


class AnsweringLogin:
    """One who is asked once; `Logins` makes them."""

    def __init__(self, logins: "Logins") -> None:
        self._logins = logins

    async def listen(self, registered: tuple[str, ...]) -> str:
        self._logins.listening += 1
        return registered[0] if registered else REDIRECT_URI

    async def ask(self, question: AskUser) -> str:
        self._logins.asked.append(question)
        self._logins.has_asked.set()
        if self._logins.before is not None:
            await self._logins.before()
        return await self._logins.follow(question)

    async def aclose(self) -> None:
        self._logins.listening -= 1
        self._logins.has_closed.set()


class Logins:
    """What `OAuth(login=…)` takes.

    Attributes:
        asked: What users were asked.
        listening: How many of them have not been closed.
        before: What is waited for before a user answers.
    """

    def __init__(self) -> None:
        self.asked: list[AskUser] = []
        self.listening = 0
        self.before: Callable[[], Awaitable[object]] | None = None
        self.has_asked = asyncio.Event()
        self.has_closed = asyncio.Event()

    def __call__(self) -> AnsweringLogin:
        return AnsweringLogin(self)

    async def follow(self, question: AskUser) -> str:
        """Return the redirect that a browser would be sent to."""
        return await redirect_of(question.url)


class _NotFollowed(DocumentFetcher):
    """Returns redirects as they are."""

    async def _follow(self, request):  # type: ignore[no-untyped-def] # as the one above
        return await self._request(request)


async def redirect_of(url: str) -> str:
    """Ask for a page, and return where it redirects to."""
    response = await _NotFollowed(networks=Networks(loopback=True)).fetch(get_request(url))
    return response.values("location")[0]
