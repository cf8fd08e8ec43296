"""What a flow of authorization yields to be done for it, and what it receives back.

A flow is a generator. Whoever runs it does each step, sends the answer in, and throws in whatever
exception doing it raised; what the flow returns is the result.

| step | answer |
|---|---|
| `HttpRequest` | `HttpResponse` |
| `ListenForRedirect` | the redirect URI, a text |
| `AskUser` | the redirect as it came, a text |
| `NeedAssertion` | a `Secret` |
| `Load` | the bytes under the key, or `None` |
| `Save` | `None` |
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

import msgspec

from wigwag.oauth.requests import HttpRequest, HttpResponse
from wigwag.oauth.secret import Secret
from wigwag.oauth.urls import shown

__all__ = [
    "Answer",
    "AskUser",
    "Flow",
    "ListenForRedirect",
    "Load",
    "NeedAssertion",
    "Save",
    "Step",
    "ask",
    "assertion",
    "fetch",
    "listen",
    "load",
    "save",
]

_T = TypeVar("_T")


class ListenForRedirect(msgspec.Struct, frozen=True):
    """Get ready to receive the redirect of a browser, on this machine or wherever.

    The answer is the redirect URI: https, or http on a loopback address.
    Spec: basic/authorization/security-considerations#communication-security
    """

    registered: tuple[str, ...]
    """The redirect URIs that the client has been registered with; empty if it has not been. Any
    other one may mean that it must be registered anew, or that it is refused."""


class AskUser(msgspec.Struct, frozen=True):
    """Send the user to a URL: open the browser, or show it to be opened somewhere else.

    The answer is the URL that the browser was redirected to, or what follows its `?`, unchanged.
    """

    url: str
    """https, or http on this machine; nothing else ever."""

    redirect_uri: str
    """Where the browser comes back to."""

    resource: str
    """What access is asked for, to be shown."""

    issuer: str
    """Who asks the user, to be shown."""

    def __repr__(self) -> str:
        return f"AskUser({shown(self.url)!r})"


class NeedAssertion(msgspec.Struct, frozen=True):
    """Give a token from elsewhere that says who is there, read afresh.

    For workload identity, a JWT of the platform; for enterprise-managed authorization, what the
    identity provider said when the user logged in.
    """

    audience: str
    """The issuer that it is shown to; the JWT of a workload must name it as its audience."""


class Load(msgspec.Struct, frozen=True):
    """Look something up that was saved."""

    key: str


class Save(msgspec.Struct, frozen=True):
    """Keep something, where only the user can read it."""

    key: str
    value: bytes | None
    """JSON with secrets in it; `None` to forget what is under the key."""

    def __repr__(self) -> str:
        return f"Save({self.key!r}{', None' if self.value is None else ''})"


Step: TypeAlias = HttpRequest | ListenForRedirect | AskUser | NeedAssertion | Load | Save
Answer: TypeAlias = HttpResponse | Secret | bytes | str | None
Flow: TypeAlias = Generator[Step, Answer, _T]


def fetch(request: HttpRequest) -> Flow[HttpResponse]:
    """Have a request made."""
    return _expect(HttpResponse, (yield request))


def listen(registered: tuple[str, ...]) -> Flow[str]:
    """Have the redirect URI made ready."""
    return _expect(str, (yield ListenForRedirect(registered)))


def ask(question: AskUser) -> Flow[str]:
    """Have the user asked."""
    return _expect(str, (yield question))


def assertion(audience: str) -> Flow[Secret]:
    """Have an assertion read."""
    return _expect(Secret, (yield NeedAssertion(audience)))


def load(key: str) -> Flow[bytes | None]:
    """Have something looked up."""
    answer = yield Load(key)
    return None if answer is None else _expect(bytes, answer)


def save(key: str, value: bytes | None) -> Flow[None]:
    """Have something kept, or forgotten."""
    yield Save(key, value)


def _expect(kind: type[_T], answer: Answer) -> _T:
    if not isinstance(answer, kind):
        raise TypeError(f"this step is answered with a {kind.__name__}")
    return answer
