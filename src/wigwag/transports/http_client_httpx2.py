"""Makes HTTP requests with an `httpx2.AsyncClient` of the user's."""

from __future__ import annotations

import socket
import ssl
import sys
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, Final

from wigwag.errors import (
    ConnectionClosed,
    ConnectionRefused,
    HostNotFound,
    LocalProtocolError,
    McpError,
    RemoteProtocolError,
    ServerUnreachable,
    TLSFailed,
)
from wigwag.transports.http_client_engine import (
    HttpResponse,
    cut_off,
    library_of,
    public_url,
    words_of,
)

if TYPE_CHECKING:
    import httpx2


class Httpx2Engine:
    """Makes requests with the user's client, and never closes it.

    Its timeouts for connecting count; how long to wait for answers is not for it to decide.
    """

    def __init__(self, client: httpx2.AsyncClient) -> None:
        # It has the names of httpx, and a client of that one will do as well.
        httpx2: Any = sys.modules[library_of(client)]
        self._httpx2 = httpx2
        self._causes = _causes_of(httpx2)
        self._client = client
        self._timeout = httpx2.Timeout(
            None, connect=client.timeout.connect, pool=client.timeout.pool
        )

    async def request(
        self, method: str, url: str, headers: dict[str, str], body: bytes | None
    ) -> HttpResponse:
        """Make a request and wait for the head of the response.

        Raises:
            ServerUnreachable: There is no connection.
            ConnectionClosed: The connection was cut.
            RemoteProtocolError: What answers does not speak HTTP.
            LocalProtocolError: A header cannot be sent.
        """
        try:
            request = self._client.build_request(
                method, url, headers=headers, content=body, timeout=self._timeout
            )
            response = await self._client.send(request, stream=True, follow_redirects=False)
        except (self._httpx2.HTTPError, self._httpx2.InvalidURL, ValueError, RuntimeError) as error:
            raise self._translated(error, public_url(url)) from None
        return _Httpx2Response(response, self._httpx2.HTTPError, url)

    async def aclose(self) -> None:
        """Do nothing: the client is the user's."""

    def abort(self) -> None:
        """Do nothing: the client is the user's."""

    def _translated(self, error: Exception, url: str) -> McpError:
        """Say what has happened, in the terms of this library."""
        words = words_of(error)
        roots = list(_roots(error))
        if isinstance(error, self._httpx2.ConnectError):
            for kind, cause, text in _CONNECT_CAUSES:
                if any(isinstance(root, kind) for root in roots):
                    return cause(text.format(url=url, words=words))
        if isinstance(error, self._httpx2.RemoteProtocolError) and "disconnected" not in words:
            return RemoteProtocolError(f"{url} does not speak HTTP: {words}")
        for kinds, cause, text in self._causes:
            if isinstance(error, kinds):
                return cause(text.format(url=url, words=words))
        return LocalProtocolError(f"the request to {url} cannot be sent: {words}")


_CONNECT_CAUSES: Final[list[tuple[type[Exception], type[McpError], str]]] = [
    (ssl.SSLError, TLSFailed, "no secure connection to {url}: {words}"),
    (ConnectionRefusedError, ConnectionRefused, "cannot connect to {url}: nobody listens there"),
    (socket.gaierror, HostNotFound, "cannot find the host of {url}: {words}"),
]


def _causes_of(httpx2: Any) -> list[tuple[Any, type[McpError], str]]:
    """Return what its exceptions mean, the special ones before the general."""
    return [
        (httpx2.ProxyError, ServerUnreachable, "the proxy does not connect to {url}: {words}"),
        (httpx2.ConnectError, ServerUnreachable, "cannot connect to {url}: {words}"),
        (
            (httpx2.ConnectTimeout, httpx2.PoolTimeout),
            ServerUnreachable,
            "no connection to {url} in time: {words}",
        ),
        (
            (httpx2.LocalProtocolError, httpx2.UnsupportedProtocol, httpx2.InvalidURL, ValueError),
            LocalProtocolError,
            "the request to {url} cannot be sent: {words}",
        ),
        (
            (httpx2.TransportError, OSError),
            ConnectionClosed,
            "{url} closed the connection before it answered",
        ),
        # The client or the event loop is closed.
        (RuntimeError, ConnectionClosed, "{url} cannot be asked any more: {words}"),
    ]


class _Httpx2Response:
    """A response of httpx2."""

    def __init__(self, response: httpx2.Response, error: type[httpx2.HTTPError], url: str) -> None:
        self.status = response.status_code
        self.reason = response.reason_phrase
        self._response = response
        self._pieces: AsyncIterator[bytes] = response.aiter_bytes()
        self._error = error
        self._url = url

    def header(self, name: str) -> str:
        """Return the value of a header, `""` where there is none."""
        return str(self._response.headers.get(name, ""))

    def headers(self) -> dict[str, str]:
        """Return all headers, with names in lower case."""
        return {name.lower(): value for name, value in self._response.headers.items()}

    async def read(self) -> bytes:
        """Wait for the next piece of the body; `b""` at its end.

        Raises:
            ConnectionClosed: The connection was cut before the end.
        """
        try:
            async for piece in self._pieces:
                if piece:
                    return piece
        except (self._error, OSError):
            raise cut_off(self._url) from None
        return b""

    async def aclose(self) -> None:
        """Leave what has not been read."""
        await self._response.aclose()


def _roots(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and what it came from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
