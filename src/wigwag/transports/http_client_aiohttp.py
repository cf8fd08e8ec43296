"""Makes HTTP requests with aiohttp.

Bodies are read in the pieces in which they arrive, never by lines: those have a limit.
"""

from __future__ import annotations

import asyncio
import io
import os
import ssl
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from wigwag.errors import (
    ConnectionClosed,
    ConnectionRefused,
    HostNotFound,
    LocalProtocolError,
    McpError,
    RemoteProtocolError,
    ServerUnreachable,
    TLSFailed,
    TransportError,
)
from wigwag.transports.http_client_engine import (
    HttpOptions,
    HttpResponse,
    cut_off,
    public_url,
    words_of,
)

if TYPE_CHECKING:
    import aiohttp

_CONNECT_TIMEOUT: Final = 10.0

# Servers in Python and Node close an idle connection after five seconds, and one must not be used
# again just while it is being closed.
_KEEP_ALIVE: Final = 4.0

# aiohttp does not like to be given more than this as bytes.
_LARGE_BODY: Final = 1024 * 1024


class AiohttpEngine:
    """Makes requests with a session of aiohttp, its own or the user's.

    Args:
        options: How requests are made.
        url: What they will be made to.

    Raises:
        TransportError: aiohttp is not installed, or the certificates cannot be read.
    """

    def __init__(self, options: HttpOptions, url: str) -> None:
        try:
            import aiohttp  # noqa: PLC0415
        except ImportError:
            raise TransportError(
                "HTTP needs aiohttp, which is not installed: pip install 'wigwag[http]'"
            ) from None
        self._errors = (aiohttp.ClientError, OSError, ValueError, RuntimeError)
        self._causes = _causes_of(aiohttp)
        self._read_errors = (aiohttp.ClientError, OSError)
        self._loop = asyncio.get_running_loop()
        self._closing: asyncio.Task[None] | None = None
        self._is_ours = options.http_client is None
        self._more: dict[str, Any] = {}
        # What the user's own session does about proxies and certificates is theirs to decide.
        if self._is_ours:
            self._proxy = proxy_of(url)
            self._more["proxy"] = self._proxy
            self._session = aiohttp.ClientSession(
                # One connection for each stream that is open; a limit would let calls wait for it.
                connector=aiohttp.TCPConnector(
                    limit=0, keepalive_timeout=_KEEP_ALIVE, ssl=_context(options.ssl)
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        else:
            self._session = options.http_client
            if options.ssl is not None:
                self._more["ssl"] = _context(options.ssl)
        # How long to wait for answers is not for this layer to decide.
        self._more["raise_for_status"] = False  # as the user's session may want it
        self._more["timeout"] = aiohttp.ClientTimeout(
            total=None, sock_connect=_CONNECT_TIMEOUT, sock_read=None
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
        data: bytes | io.BytesIO | None = body
        if body is not None and len(body) > _LARGE_BODY:
            data = io.BytesIO(body)
        try:
            response = await self._session.request(
                method, url, headers=headers, data=data, allow_redirects=False, **self._more
            )
        except self._errors as error:
            cause: OSError | None = getattr(error, "os_error", None)
            raise self._translated(error, public_url(url)) from cause
        return _AiohttpResponse(response, self._read_errors, url)

    async def aclose(self) -> None:
        """Close the session, unless it is the user's."""
        if self._is_ours:
            await self._session.close()

    def abort(self) -> None:
        """Close the session without waiting for it, unless it is the user's."""
        if not self._is_ours:
            return
        if self._loop.is_closed():
            self._session.detach()  # nothing of it runs any more
        else:
            self._closing = self._loop.create_task(self._session.close())

    def _translated(self, error: Exception, url: str) -> McpError:
        """Say what has happened, in the terms of this library."""
        words = words_of(getattr(error, "os_error", None) or error)
        is_refused = isinstance(getattr(error, "os_error", None), ConnectionRefusedError)
        for kinds, cause, text in self._causes:
            if isinstance(error, kinds) and (is_refused or cause is not ConnectionRefused):
                return cause(text.format(url=url, words=words))
        return LocalProtocolError(f"the request to {url} cannot be sent: {words}")


def _causes_of(aiohttp: Any) -> list[tuple[Any, type[McpError], str]]:
    """Return what its exceptions mean, the special ones before the general."""
    return [
        (
            (aiohttp.ClientProxyConnectionError, aiohttp.ClientHttpProxyError),
            ServerUnreachable,
            "the proxy does not connect to {url}: {words}",
        ),
        (
            aiohttp.ClientConnectorDNSError,
            HostNotFound,
            "cannot find the host of {url}: {words}",
        ),
        (
            aiohttp.ClientConnectorCertificateError,
            TLSFailed,
            "{url} has a certificate that is not trusted: {words}",
        ),
        (
            (aiohttp.ClientSSLError, ssl.SSLError),
            TLSFailed,
            "no secure connection to {url}: {words}",
        ),
        (
            aiohttp.ClientConnectorError,  # with that very reason
            ConnectionRefused,
            "cannot connect to {url}: nobody listens there",
        ),
        (aiohttp.ClientConnectorError, ServerUnreachable, "cannot connect to {url}: {words}"),
        (
            aiohttp.ServerTimeoutError,
            ServerUnreachable,
            f"no connection to {{url}} within {_CONNECT_TIMEOUT:g} s",
        ),
        (aiohttp.ClientResponseError, RemoteProtocolError, "{url} does not speak HTTP: {words}"),
        (
            (aiohttp.InvalidURL, ValueError),
            LocalProtocolError,
            "the request to {url} cannot be sent: {words}",
        ),
        (
            (aiohttp.ClientError, OSError),
            ConnectionClosed,
            "{url} closed the connection before it answered",
        ),
        # The session or the event loop is closed.
        (RuntimeError, ConnectionClosed, "{url} cannot be asked any more: {words}"),
    ]


class _AiohttpResponse:
    """A response of aiohttp."""

    def __init__(
        self, response: aiohttp.ClientResponse, errors: tuple[type[Exception], ...], url: str
    ) -> None:
        self.status = response.status
        self.reason = response.reason or ""
        self._response = response
        self._errors = errors
        self._url = url

    def header(self, name: str) -> str:
        """Return the value of a header, `""` where there is none."""
        return self._response.headers.get(name, "")

    def headers(self) -> dict[str, str]:
        """Return all headers, with names in lower case."""
        headers: dict[str, str] = {}
        for name, value in self._response.headers.items():
            key = name.lower()
            headers[key] = f"{headers[key]}, {value}" if key in headers else value
        return headers

    async def read(self) -> bytes:
        """Wait for the next piece of the body; `b""` at its end.

        Raises:
            ConnectionClosed: The connection was cut before the end.
        """
        try:
            return await self._response.content.readany()
        except self._errors:
            raise cut_off(self._url) from None

    async def aclose(self) -> None:
        """Leave what has not been read."""
        if self._response.content.at_eof():
            self._response.release()
        else:
            self._response.close()


def proxy_of(url: str) -> str | None:
    """Return the proxy that the environment names for a URL: `HTTPS_PROXY`, `NO_PROXY` and kin."""
    parts = urlsplit(url)
    if not parts.hostname or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    proxies = getproxies()
    return proxies.get(parts.scheme) or proxies.get("all")


def _context(given: ssl.SSLContext | str | os.PathLike[str] | None) -> ssl.SSLContext | bool:
    """Return the context to check certificates with; `True` stands for that of the system.

    Raises:
        TransportError: The file has no certificates that can be read.
    """
    if given is None:
        return True
    if isinstance(given, ssl.SSLContext):
        return given
    try:
        return ssl.create_default_context(cafile=os.fspath(given))
    except (OSError, ssl.SSLError) as error:
        raise TransportError(f"cannot read certificates from {given}: {error}") from error
