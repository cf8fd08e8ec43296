"""What makes HTTP requests, whichever library it is.

An engine is the adapter of a library: it opens a response and translates what its library raises.
`http_client_peer` adds what does not depend on the library.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

from wigwag.bindings.lines import DEFAULT_MAX_LINE_BYTES
from wigwag.errors import ConnectionClosed

if TYPE_CHECKING:
    from wigwag.transports.http_client_authorization import Authorizer, Held

__all__ = [
    "TLS",
    "Headers",
    "HttpEngine",
    "HttpOptions",
    "HttpResponse",
    "cut_off",
    "is_same_origin",
    "library_of",
    "public_url",
    "words_of",
]

Headers = Mapping[str, str] | Callable[[], Mapping[str, str] | Awaitable[Mapping[str, str]]]
TLS = ssl.SSLContext | str | os.PathLike[str]

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
        auth: What authorizes them.
        held: What is told besides when a request is held up for that.
    """

    headers: Headers | None = None
    ssl: TLS | None = None
    http_client: Any = None
    max_message_bytes: int = DEFAULT_MAX_LINE_BYTES
    auth: Authorizer | None = None
    held: Held | None = None


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


def public_url(url: str) -> str:
    """Return a URL without what may be secret in it, for error texts and logs.

    >>> public_url("https://me:pw@example.com:8443/mcp?key=1#x")
    'https://example.com:8443/mcp'
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def words_of(error: object) -> str:
    r"""Return an error in words, for a sentence; some have none.

    >>> words_of(OSError("no\n  route")), words_of(ValueError())
    ('no route', 'ValueError')
    """
    return " ".join(str(error).split()) or type(error).__name__


def cut_off(url: str) -> ConnectionClosed:
    """Return what to raise where a response is not complete."""
    return ConnectionClosed(f"the answer of {public_url(url)} was cut off before its end")


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
