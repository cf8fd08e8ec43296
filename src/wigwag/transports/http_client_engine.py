"""Requests to one URL, whichever HTTP library makes them.

An engine is the adapter of a library: it opens a response and translates what its library raises.
`HttpPeer` adds what does not depend on the library: headers of the user, redirects, error texts.
"""

from __future__ import annotations

import inspect
import os
import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol
from urllib.parse import SplitResult, urljoin, urlsplit

from msgspec import Struct

from wigwag._version import __version__
from wigwag.bindings.lines import DEFAULT_MAX_LINE_BYTES
from wigwag.errors import HttpStatusError, RemoteProtocolError

__all__ = ["TLS", "Headers", "HttpEngine", "HttpOptions", "HttpPeer", "HttpResponse"]

Headers = Mapping[str, str] | Callable[[], Mapping[str, str] | Awaitable[Mapping[str, str]]]
TLS = ssl.SSLContext | str | os.PathLike[str]

# A body that says why a request was refused is no longer than this.
_MAX_REFUSAL_BYTES: Final = 256 * 1024
_MAX_REDIRECTS: Final = 3
_USER_AGENT: Final = f"wigwag/{__version__}"
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class HttpResponse(Protocol):
    """A response whose head has arrived.

    Attributes:
        status: Its status.
        reason: The words that go with it.
    """

    status: int
    reason: str

    def header(self, name: str) -> str:
        """Return the value of a header, `""` where there is none."""
        ...

    def headers(self) -> dict[str, str]:
        """Return all headers, with names in lower case."""
        ...

    async def read(self) -> bytes:
        """Wait for the next piece of the body; `b""` at its end.

        Raises:
            ConnectionClosed: The connection was cut before the end.
        """
        ...

    async def aclose(self) -> None:
        """Leave what has not been read; may be called twice."""
        ...


class HttpEngine(Protocol):
    """Makes requests with one HTTP library."""

    async def request(
        self, method: str, url: str, headers: dict[str, str], body: bytes | None
    ) -> HttpResponse:
        """Make a request and wait for the head of the response; follows no redirect.

        Raises:
            ServerUnreachable: There is no connection.
            ConnectionClosed: The connection was cut.
            LocalProtocolError: A header cannot be sent.
        """
        ...

    async def aclose(self) -> None:
        """Free what it holds, if that is not the user's."""
        ...

    def abort(self) -> None:
        """Free it at once, without waiting."""
        ...


class HttpOptions(Struct, frozen=True, kw_only=True):
    """How requests to a URL are made.

    Attributes:
        headers: What every request carries beside the headers of the protocol, or a function that
            returns it, called for every request.
        ssl: What servers are trusted: a context, or a file with certificates.
        http_client: An `aiohttp.ClientSession` or `httpx2.AsyncClient` to use.
        max_message_bytes: Longest message accepted.
    """

    headers: Headers | None = None
    ssl: TLS | None = None
    http_client: Any = None
    max_message_bytes: int = DEFAULT_MAX_LINE_BYTES


def library_of(http_client: Any) -> str:
    """Return the name of the library that a client is of; none is imported to find out.

    Raises:
        TypeError: It is none that is known.
    """
    for kind in type(http_client).__mro__:
        library = kind.__module__.partition(".")[0]
        if library in ("aiohttp", "httpx", "httpx2"):
            return library
    kind = type(http_client)
    raise TypeError(
        f"`http_client` is an aiohttp.ClientSession or an httpx2.AsyncClient, not {kind.__name__}"
    )


def open_engine(options: HttpOptions, url: str) -> HttpEngine:
    """Return what makes requests to a URL.

    Raises:
        TransportError: aiohttp is not installed.
    """
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

    async def request(
        self,
        method: str,
        headers: dict[str, str],
        body: bytes | None = None,
        *,
        url: str | None = None,
    ) -> HttpResponse:
        """Make a request and wait for the head of the response.

        A redirect is followed where it keeps to the origin and leaves the request as it is; any
        other may carry credentials to where they do not belong.

        Args:
            method: `POST`, `GET` or `DELETE`.
            headers: Headers of the protocol; more are added to them.
            body: The body of a POST.
            url: Another URL of the same origin.

        Raises:
            ServerUnreachable: There is no connection.
            ConnectionClosed: The connection was cut.
            LocalProtocolError: A header cannot be sent.
        """
        if self._headers is None:
            headers["User-Agent"] = _USER_AGENT
        else:
            headers = await self._with_users(self._headers, headers)
        target = url or self.url
        response = await self._engine.request(method, target, headers, body)
        if response.status < 300:  # mostly
            return response
        for _ in range(_MAX_REDIRECTS):
            if response.status not in (307, 308):
                break
            location = urljoin(target, response.header("location"))
            if not is_same_origin(location, target):
                break
            await response.aclose()
            target = location
            response = await self._engine.request(method, target, headers, body)
        return response

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
        taken = {name.lower() for name in headers}
        users = {name: value for name, value in given.items() if name.lower() not in taken}
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


def public_url(url: str) -> str:
    """Return a URL without what may be secret in it, for error texts and logs.

    >>> public_url("https://me:pw@example.com:8443/mcp?key=1#x")
    'https://example.com:8443/mcp'
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def is_same_origin(one: str, other: str) -> bool:
    """Tell whether two URLs lead to the same place, so that it may see the same credentials.

    >>> is_same_origin("http://a/x", "http://A:80/y"), is_same_origin("http://a/x", "https://a/x")
    (True, False)
    """
    try:
        return _origin(urlsplit(one)) == _origin(urlsplit(other))
    except ValueError:  # a port that is none
        return False


def _origin(parts: SplitResult) -> tuple[str, str | None, int | None]:
    return parts.scheme, parts.hostname, parts.port or _DEFAULT_PORTS.get(parts.scheme)
