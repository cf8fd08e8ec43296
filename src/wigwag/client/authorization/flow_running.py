"""Runs a flow of authorization: does each step that it yields, and sends it the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from wigwag.client.authorization.login import Login
from wigwag.errors import AuthorizationFailed
from wigwag.oauth.requests import HttpRequest, HttpResponse
from wigwag.oauth.secret import Secret
from wigwag.oauth.steps import (
    Answer,
    AskUser,
    Flow,
    ListenForRedirect,
    Load,
    NeedAssertion,
    Save,
    Step,
)
from wigwag.oauth.urls import shown
from wigwag.stores.contract import TokenStore

__all__ = ["FlowRun", "ReadAssertion", "Steps"]

_T = TypeVar("_T")

Fetch = Callable[[HttpRequest], Awaitable[HttpResponse]]
ReadAssertion = Callable[[str], Awaitable[Secret]]


class Steps:
    """What does the steps of the flows of one client.

    Args:
        store: Where everything is kept.
        fetch: Makes a request of HTTP.
        open_login: Returns what asks a user; `None` where there is no user.
        read_assertion: Returns a token from elsewhere, for an audience.
        patience: How long a user may take, in seconds; `None` for whoever asks to say.
    """

    def __init__(
        self,
        *,
        store: TokenStore,
        fetch: Fetch,
        open_login: Callable[[], Login] | None = None,
        read_assertion: ReadAssertion | None = None,
        patience: float | None = None,
    ) -> None:
        self.store: Final = store
        self.fetch: Final = fetch
        self.open_login: Final = open_login
        self.read_assertion: Final = read_assertion
        self.patience: Final = patience


class FlowRun:
    """One run of a flow.

    Args:
        steps: What does the steps.
    """

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._login: Login | None = None
        self._is_abandoned = False
        self.is_with_user = False
        """Whether it waits for the user, so that it can be given up without losing anything."""
        self.has_posted = False
        """Whether anything was asked of a server that may have changed something there."""

    def abandon(self) -> None:
        """Let no user be asked: nobody waits for the end of the flow any more."""
        self._is_abandoned = True

    async def run(self, flow: Flow[_T]) -> _T:
        """Run a flow to its end, and return its result.

        Raises:
            AuthorizationFailed: Whatever the flow raises.
        """
        answer: Answer = None
        failure: Exception | None = None
        try:
            while True:
                try:
                    step = flow.send(answer) if failure is None else flow.throw(failure)
                except StopIteration as end:
                    result: _T = end.value
                    return result
                answer = failure = None
                try:
                    answer = await self._do(step)
                except Exception as error:  # noqa: BLE001 - it is for the flow to judge
                    failure = error
        finally:
            flow.close()
            if self._login is not None:
                await self._login.aclose()

    async def _do(self, step: Step) -> Answer:
        match step:
            case HttpRequest():
                self.has_posted = self.has_posted or step.method == "POST"
                return await self._steps.fetch(step)
            case Load():
                return await self._steps.store.load(step.key)
            case Save():
                await self._steps.store.save(step.key, step.value)
                return None
            case NeedAssertion():
                assert self._steps.read_assertion is not None
                return await self._steps.read_assertion(step.audience)
            case ListenForRedirect():
                return await self._listen(step)
            case AskUser():
                return await self._ask(step)

    async def _listen(self, step: ListenForRedirect) -> str:
        if self._is_abandoned:
            raise asyncio.CancelledError
        assert self._steps.open_login is not None
        self._login = self._steps.open_login()
        return await self._login.listen(step.registered)

    async def _ask(self, question: AskUser) -> str:
        if self._is_abandoned:
            raise asyncio.CancelledError
        assert self._login is not None
        self.is_with_user = True
        limit = asyncio.timeout(self._steps.patience)
        try:
            async with limit:
                return await self._login.ask(question)
        except TimeoutError:
            if not limit.expired():  # it is one of its own
                raise
            raise AuthorizationFailed(
                f"nobody has logged in within {self._steps.patience:g} s",
                shown(question.issuer),
                "try again to be asked again",
            ) from None
        finally:
            self.is_with_user = False
