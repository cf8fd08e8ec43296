"""Requests to one URL: headers of the user, redirects, and what is said of refusals."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urljoin

from wigwag._version import __version__
from wigwag.errors import HttpStatusError, RemoteProtocolError
from wigwag.transports.http_client_authorization import Held, RequestAuthorization
from wigwag.transports.http_client_engine import (
    HttpEngine,
    HttpOptions,
    HttpResponse,
    is_same_origin,
    library_of,
    public_url,
)

__all__ = ["HttpPeer", "open_peer"]

# A body that says why a request was refused is no longer than this.
_MAX_REFUSAL_BYTES: Final = 256 * 1024
_MAX_REDIRECTS: Final = 3
# Whoever authorizes gives up before; this is for who does not.
_MAX_AUTHORIZATIONS: Final = 8
_USER_AGENT: Final = f"wigwag/{__version__}"

_OF_THE_PROTOCOL: Final = ("accept", "content-length", "content-type", "last-event-id")


def open_peer(url: str, options: HttpOptions) -> HttpPeer:
    """Return what makes requests to a URL; nothing is sent yet.

    Raises:
        TransportError: aiohttp is not installed, or certificates cannot be read.
    """
    return HttpPeer(url, _open_engine(options, url), options)


def _open_engine(options: HttpOptions, url: str) -> HttpEngine:
    client = options.http_client
    if client is not None and library_of(client) != "aiohttp":
        from wigwag.transports.http_client_httpx2 import Httpx2Engine  # noqa: PLC0415

        return Httpx2Engine(client)
    from wigwag.transports.http_client_aiohttp import AiohttpEngine  # noqa: PLC0415

    return AiohttpEngine(options, url)


class HttpPeer:
    """What answers at one URL.

    Args:
        url: The URL.
        engine: What makes the requests; it is closed with this.
        options: How they are made.
    """

    def __init__(self, url: str, engine: HttpEngine, options: HttpOptions) -> None:
        self.url = url
        self.name = public_url(url)
        self.max_message_bytes = options.max_message_bytes
        self._engine = engine
        self._headers = options.headers
        self._auth = options.auth
        self._held = options.held

    @property
    def is_authorized(self) -> bool:
        """Whether something authorizes the requests, which may take its time."""
        return self._auth is not None

    async def request(
        self,
        method: str,
        headers: dict[str, str],
        body: bytes | None = None,
        *,
        url: str | None = None,
        operation: str = "",
        held: Held | None = None,
    ) -> HttpResponse:
        """Make a request and wait for the head of the response.

        A redirect is followed where it keeps to the origin and leaves the request as it is; any
        other may carry credentials to where they do not belong.

        Args:
            method: `POST`, `GET` or `DELETE`.
            headers: Headers of the protocol; more are added to them.
            body: The body of a POST.
            url: Another URL of the same origin.
            operation: What it is to do, for who authorizes it.
            held: What is told when it has to wait for that.

        Raises:
            AuthorizationFailed: There is nothing to authorize it with.
            ServerUnreachable: There is no connection.
            ConnectionClosed: The connection was cut.
            LocalProtocolError: A header cannot be sent.
        """
        if self._headers is None:
            headers["User-Agent"] = _USER_AGENT
        else:
            headers = await self._with_users(self._headers, headers)
        target = url or self.url
        if self._auth is not None:
            if method == "DELETE":  # nobody waits until it can be said well that it is over
                headers = _with_ours(headers, self._auth.at_hand(method, target))
            else:
                return await self._authorized(
                    self._auth.begin(operation), method, target, headers, body, held
                )
        response = await self._engine.request(method, target, headers, body)
        if response.status < 300:  # mostly
            return response
        for _ in range(_MAX_REDIRECTS):
            location = _redirection(response, target)
            if location is None:
                break
            await response.aclose()
            target = location
            response = await self._engine.request(method, target, headers, body)
        return response

    async def _authorized(
        self,
        authorization: RequestAuthorization,
        method: str,
        target: str,
        headers: dict[str, str],
        body: bytes | None,
        held: Held | None,
    ) -> HttpResponse:
        """Make a request, again if that is of use when it was refused for want of authorization."""
        redirects = renewals = 0
        while True:
            with self._holding(held):
                ours = await authorization.headers(method, target)
            response = await self._engine.request(method, target, _with_ours(headers, ours), body)
            if authorization.is_refusal(response):
                if renewals == _MAX_AUTHORIZATIONS:
                    return response
                renewals += 1
                await response.aclose()
                with self._holding(held):
                    await authorization.renew()
                continue
            location = _redirection(response, target)
            if location is None or redirects == _MAX_REDIRECTS:
                return response
            redirects += 1
            await response.aclose()
            target = location

    @contextmanager
    def _holding(self, held: Held | None) -> Iterator[None]:
        """Let no time count meanwhile."""
        told = [one for one in (held, self._held) if one is not None]
        for one in told:
            one.hold()
        try:
            yield
        finally:
            for one in told:
                one.release()

    async def aclose(self) -> None:
        """Free what the engine holds."""
        await self._engine.aclose()

    def abort(self) -> None:
        """Free it at once."""
        self._engine.abort()

    async def _with_users(self, given: Any, headers: dict[str, str]) -> dict[str, str]:
        """Add the user's headers; those of the protocol are not theirs to change."""
        if callable(given):
            given = given()
            if inspect.isawaitable(given):
                given = await given
        users = {n: v for n, v in given.items() if not _is_of_the_protocol(n.lower())}
        if not any(name.lower() == "user-agent" for name in users):
            users["User-Agent"] = _USER_AGENT
        return {**users, **headers}

    async def read_body(self, response: HttpResponse) -> bytes:
        """Read the whole body of a response.

        Raises:
            RemoteProtocolError: It is longer than any message may be.
            ConnectionClosed: The connection was cut before its end.
        """
        body = await response.read()
        more = await response.read() if body else b""
        if not more:
            self._check_length(len(body))
            return body
        pieces, length = [body], len(body)
        while more:
            pieces.append(more)
            length += len(more)
            self._check_length(length)
            more = await response.read()
        return b"".join(pieces)

    def _check_length(self, length: int) -> None:
        if length > self.max_message_bytes:
            raise RemoteProtocolError(
                f"the answer of {self.name} is longer than {self.max_message_bytes} bytes, which "
                "`max_message_bytes` allows"
            )

    async def refusal(self, response: HttpResponse) -> HttpStatusError:
        """Read why a request was refused.

        Raises:
            ConnectionClosed: The connection was cut before the end of the body.
        """
        body = bytearray()
        while len(body) < _MAX_REFUSAL_BYTES and (piece := await response.read()):
            body += piece
        text = bytes(body[:_MAX_REFUSAL_BYTES]).decode("utf-8", "replace")
        return HttpStatusError(
            self.name, response.status, response.reason, text, response.headers()
        )


def _is_of_the_protocol(name: str) -> bool:
    """Tell whether a header is set by the protocol, or left out because it must not be there."""
    return name in _OF_THE_PROTOCOL or name.startswith("mcp-")


def _with_ours(headers: dict[str, str], ours: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a request with those that authorize it, which prevail."""
    names = {name.lower() for name in ours}
    return {**{n: v for n, v in headers.items() if n.lower() not in names}, **ours}


def _redirection(response: HttpResponse, url: str) -> str | None:
    """Return where a request is to be made instead, if it may be made there."""
    if response.status not in (307, 308):
        return None
    location = urljoin(url, response.header("location"))
    return location if is_same_origin(location, url) else None
