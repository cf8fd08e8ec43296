"""Tokens and keys that the caller has already, or gets in a way of their own.

Spec: basic/authorization#access-token-usage
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from wigwag.client.authorization.authorizer import AuthorizationNews
from wigwag.errors import AuthorizationFailed, AuthorizationRefused, InsufficientScope
from wigwag.oauth.challenges import demand_of, parse_challenges
from wigwag.oauth.requests import told
from wigwag.oauth.scopes import Scopes
from wigwag.oauth.secret import Secret
from wigwag.oauth.urls import shown
from wigwag.transports.http_client_authorization import ResponseHead

__all__ = ["ApiKey", "BearerToken", "GivenAuthorizer", "headers_of"]

_is_token: Final = re.compile(r"[!-~]+").fullmatch
_is_value: Final = re.compile(r"[!-~](?:[ -~]*[!-~])?").fullmatch
_is_name: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+").fullmatch


_NOT_FOR_KEYS: Final = (
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "transfer-encoding",
)


class BearerToken:
    """A token that is sent with each request as it is; a plain string means the same.

    Args:
        token: The token, without `Bearer` before it.

    Raises:
        TypeError: It is no text.
        ValueError: It is empty, or cannot be sent.
    """

    def __init__(self, token: str | Secret) -> None:
        text = _text("a token", token)
        if text[:7].lower() == "bearer ":
            text = _text("a token", text[7:].strip())
        if not _is_token(text):
            raise ValueError("a token has no blanks, line ends or characters beyond ASCII in it")
        self._token = Secret(text)

    def __repr__(self) -> str:
        """Its kind only."""
        return "BearerToken(…)"

    def headers(self) -> dict[str, str]:
        """Return what is sent."""
        return {"Authorization": f"Bearer {self._token.reveal()}"}


class ApiKey:
    """A key that is sent with each request in a header of its own.

    Args:
        header: The name of the header, for example `X-API-Key`.
        key: The key.

    Raises:
        TypeError: It is no text.
        ValueError: It is empty, or cannot be sent.
    """

    def __init__(self, header: str, key: str | Secret) -> None:
        text = _text("a key", key)
        if not isinstance(header, str):
            raise TypeError(f"the name of a header is text, not {type(header).__name__}")
        if not _is_name(header):
            raise ValueError(f"{header!r} is no name of a header")
        if header.lower() in _NOT_FOR_KEYS or header.lower().startswith("mcp-"):
            raise ValueError(f"a key cannot be sent as {header}, which HTTP or MCP has a use for")
        if not _is_value(text):
            raise ValueError("a key has no line ends or characters beyond ASCII in it")
        self._header = header
        self._key = Secret(text)

    def __repr__(self) -> str:
        """The name of the header."""
        return f"ApiKey({self._header!r}, …)"

    def headers(self) -> dict[str, str]:
        """Return what is sent."""
        return {self._header: self._key.reveal()}


def _text(what: str, given: Any) -> str:
    """Return the text of a token or key, which is not shown, whatever is wrong with it."""
    text = given.reveal() if isinstance(given, Secret) else given
    if not isinstance(text, str):
        raise TypeError(f"{what} is text, not {type(text).__name__}")
    if not text.strip():
        raise ValueError(f"{what} is empty: see where it comes from")
    return text


def headers_of(given: Any) -> dict[str, str]:
    """Return the headers that something means which a function has returned.

    Raises:
        AuthorizationFailed: It means none.
    """
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return dict(given)
    try:
        if isinstance(given, str | Secret):
            given = BearerToken(given)
        if isinstance(given, BearerToken | ApiKey):
            return given.headers()
    except ValueError as error:
        raise AuthorizationFailed(
            f"the function that `auth` is returned no token: {error}"
        ) from None
    raise AuthorizationFailed(
        f"the function that `auth` is returned {type(given).__name__}",
        advice="it returns a token, a mapping of headers, or None for no authorization",
    )


class GivenAuthorizer:
    """Authorizes requests with what the caller gives.

    Args:
        url: The URL of the server.
        given: What is sent, or a function that is called for each request; it may be `async`.
    """

    extensions: tuple[str, ...] = ()

    def __init__(self, url: str, given: BearerToken | ApiKey | Callable[[], Any]) -> None:
        self._where = shown(url)
        self._given = given
        self._last: dict[str, str] = {}
        self.tell: Callable[[AuthorizationNews], object] = lambda _: None

    def begin(self, operation: str) -> _GivenRequest:
        """Begin a request."""
        return _GivenRequest(self)

    def at_hand(self, method: str, url: str) -> Mapping[str, str]:
        """Return what was sent last."""
        return self._last

    def principal(self) -> str | None:
        """Return the same for what is always the same; a function may return anybody's token."""
        return None if self.is_computed else ""

    async def aclose(self) -> None:
        """Do nothing: there is nothing under way."""

    @property
    def is_computed(self) -> bool:
        """Whether a function says what is sent."""
        return not isinstance(self._given, BearerToken | ApiKey)

    async def headers(self) -> dict[str, str]:
        """Return what is sent now."""
        given = self._given
        if isinstance(given, BearerToken | ApiKey):
            self._last = given.headers()
        else:
            found = given()
            self._last = headers_of(await found if isinstance(found, Awaitable) else found)
        return self._last

    def refused(self, description: str) -> AuthorizationRefused:
        """Return what to raise when the server does not accept it."""
        what = (
            "what the function that `auth` is returned" if self.is_computed else "what it is given"
        )
        return AuthorizationRefused(
            f"the MCP server does not accept {what}{': ' if description else ''}{description}",
            self._where,
            "give another token or key as `auth`; it may have expired",
        )

    def insufficient(self, scopes: Scopes) -> InsufficientScope:
        """Return what to raise when it does not allow what was asked."""
        needed = f": it needs {told(' '.join(scopes))}" if scopes else ""
        return InsufficientScope(
            f"the token does not allow this{needed}",
            self._where,
            "give one that does as `auth`",
            scopes,
        )


class _GivenRequest:
    def __init__(self, authorizer: GivenAuthorizer) -> None:
        self._authorizer = authorizer
        self._sent: dict[str, str] | None = None
        self._next: dict[str, str] | None = None
        self._is_repeated = False
        self._description = ""
        self._missing: Scopes | None = None

    async def headers(self, method: str, url: str) -> Mapping[str, str]:
        self._sent = await self._authorizer.headers() if self._next is None else self._next
        self._next = None
        return self._sent

    def is_refusal(self, response: ResponseHead) -> bool:
        if response.status not in (401, 403):
            return False
        lines = (response.headers().get("www-authenticate", ""),)
        demand = demand_of(parse_challenges(lines))
        if response.status == 403 and not demand.is_about_scope:
            return False
        self._missing = (demand.scopes or ()) if response.status == 403 else None
        self._description = told(demand.error_description)
        return True

    async def renew(self) -> None:
        """Ask the function once more: the token may have expired on the way."""
        if self._authorizer.is_computed and not self._is_repeated:
            self._is_repeated = True
            self._next = await self._authorizer.headers()
            if self._next != self._sent:
                return
        if self._missing is not None:
            raise self._authorizer.insufficient(self._missing)
        raise self._authorizer.refused(self._description)
