"""Fetches what authorization needs from servers that nobody vouches for: metadata, keys, tokens.

Whatever they do, a fetch ends within its time, takes no more memory than a document may have, and
connects to nothing but the addresses that it has looked at.
Spec: security best practices, SSRF
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urljoin

from wigwag.errors import (
    AuthorizationFailed,
    AuthorizationUnavailable,
    AuthorizationUntrusted,
    TransportError,
)
from wigwag.oauth.fetch_rules import MAX_DOCUMENT_BYTES, Networks, redirect_refusal
from wigwag.oauth.requests import HttpRequest, HttpResponse
from wigwag.oauth.urls import Url, read_url, shown
from wigwag.transports.http_client_engine import TLS, words_of

if TYPE_CHECKING:
    import aiohttp

__all__ = ["AddressesOf", "DocumentFetcher", "addresses_of"]

AddressesOf = Callable[[str, int], Awaitable[list[str]]]

_REDIRECTS: Final = (301, 302, 303, 307, 308)
# What must not reach another place than it was meant for.
_FOR_ANYBODY: Final = ("accept", "user-agent")


async def addresses_of(host: str, port: int) -> list[str]:
    """Return the addresses of a host; none if there is no such host."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class DocumentFetcher:
    """Makes the requests of `wigwag.oauth`; nothing of one is left for the next.

    Args:
        networks: Where URLs may lead.
        timeout: How long a request may take in all, redirects and body included, in seconds.
        ssl: Whom to trust: a context, or a file with certificates; by default, as the system does.
        addresses_of: Looks up the addresses of a host.
        clock: Tells the seconds since 1970.
    """

    def __init__(
        self,
        *,
        networks: Networks | None = None,
        timeout: float = 10.0,
        ssl: TLS | None = None,
        addresses_of: AddressesOf = addresses_of,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._networks = networks or Networks()
        self._timeout = timeout
        self._ssl = ssl
        self._addresses_of = addresses_of
        self._clock = clock

    async def fetch(self, request: HttpRequest) -> HttpResponse:
        """Make a request and return the whole response, whatever its status.

        Raises:
            AuthorizationUnavailable: There was no answer, or none in time.
            AuthorizationUntrusted: The URL or a redirect leads to where it must not, the
                certificate is not trusted, or the answer is larger than any document.
            AuthorizationFailed: What answers does not speak HTTP.
            TransportError: aiohttp is not installed, or certificates cannot be read.
        """
        try:
            async with asyncio.timeout(self._timeout):
                return await self._follow(request)
        except TimeoutError:
            raise AuthorizationUnavailable(
                f"no complete answer within {self._timeout:g} s", shown(request.url), _LATER
            ) from None

    async def _follow(self, request: HttpRequest) -> HttpResponse:
        followed = 0
        while True:
            response = await self._request(request)
            locations = response.values("location")
            if response.status not in _REDIRECTS or not locations:
                return response
            refusal = redirect_refusal(request, locations[0], followed)
            if refusal is not None:
                raise AuthorizationUntrusted(refusal, "", _NOT_FOLLOWED)
            request = _redirected(request, urljoin(request.url, locations[0]))
            followed += 1

    async def _request(self, request: HttpRequest) -> HttpResponse:
        """Make one request, to addresses that are allowed and to no others."""
        aiohttp = _aiohttp()
        url = self._read(request.url)
        addresses = await self._addresses_of(url.host, url.port)
        if not addresses:
            raise AuthorizationUnavailable(
                f"cannot find the host of {shown(request.url)}", "", _LATER
            )
        refusal = self._networks.refusal(request.url, addresses)
        if refusal is not None:
            raise AuthorizationUntrusted(refusal)
        connector = aiohttp.TCPConnector(
            resolver=_Found(url, addresses),
            use_dns_cache=False,
            force_close=True,
            ssl=self._context(),
        )
        try:
            async with (
                aiohttp.ClientSession(
                    connector=connector,
                    cookie_jar=aiohttp.DummyCookieJar(),
                    timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
                    auto_decompress=False,
                    trust_env=False,
                ) as session,
                session.request(
                    request.method,
                    _as_it_is(request.url),
                    headers={"Accept-Encoding": "identity", **request.headers},
                    data=request.body or None,
                    allow_redirects=False,
                ) as response,
            ):
                return HttpResponse(
                    response.status,
                    tuple(response.headers.items()),
                    await _read_body(response, request.url),
                    self._clock(),
                )
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise _translated(aiohttp, error, shown(request.url)) from None

    def _read(self, text: str) -> Url:
        try:
            return read_url(text)
        except ValueError as error:
            raise AuthorizationUntrusted(f"a URL cannot be used: {error}") from None

    def _context(self) -> ssl.SSLContext | bool:
        if self._ssl is None:
            return True
        if not isinstance(self._ssl, ssl.SSLContext):
            try:
                self._ssl = ssl.create_default_context(cafile=self._ssl)
            except (OSError, ssl.SSLError) as error:
                raise TransportError(
                    f"cannot read certificates from {self._ssl}: {error}"
                ) from error
        return self._ssl


_LATER: Final = "try again later"
_NOT_FOLLOWED: Final = "it is not followed; tell the operator of the server"


def _aiohttp() -> Any:
    try:
        import aiohttp  # noqa: PLC0415 - only for who needs authorization
    except ImportError:
        raise TransportError(
            "authorization needs aiohttp, which is not installed: pip install 'wigwag[auth,http]'"
        ) from None
    return aiohttp


def _as_it_is(url: str) -> Any:
    """Return a URL that aiohttp leaves as it is."""
    from yarl import URL  # noqa: PLC0415 - comes with aiohttp

    return URL(url, encoded=True)


def _redirected(request: HttpRequest, target: str) -> HttpRequest:
    headers = request.headers
    if read_url(target).origin != read_url(request.url).origin:
        headers = {n: v for n, v in headers.items() if n.lower() in _FOR_ANYBODY}
    return HttpRequest("GET", target, headers)


class _Found:
    """Tells aiohttp the addresses that were found and looked at; it looks up nothing itself."""

    def __init__(self, url: Url, addresses: list[str]) -> None:
        self._host = url.host
        self._addresses = addresses

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[dict[str, Any]]:
        if host.lower().removesuffix(".") != self._host:
            raise OSError(f"{host} was not looked at")
        return [
            {
                "hostname": host,
                "host": address,
                "port": port,
                "family": socket.AF_INET6 if ":" in address else socket.AF_INET,
                "proto": 0,
                "flags": socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            }
            for address in self._addresses
        ]

    async def close(self) -> None:
        """Do nothing: it holds nothing."""


async def _read_body(response: aiohttp.ClientResponse, url: str) -> bytes:
    body = bytearray()
    while piece := await response.content.readany():
        body += piece
        if len(body) > MAX_DOCUMENT_BYTES:
            raise AuthorizationUntrusted(
                f"{shown(url)} answered with more than {MAX_DOCUMENT_BYTES} bytes",
                "",
                "no such document is that large; tell its operator",
            )
    return bytes(body)


def _translated(aiohttp: Any, error: Exception, url: str) -> AuthorizationFailed:
    """Say what has happened, in the terms of this library."""
    cause = getattr(error, "os_error", None) or error
    words = words_of(cause)
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return AuthorizationUntrusted(
            f"the certificate of {url} is not trusted: {words}",
            "",
            "give `ssl` the certificates to trust, if it is yours",
        )
    if isinstance(error, aiohttp.ClientSSLError | ssl.SSLError):
        return AuthorizationUntrusted(f"no secure connection to {url}: {words}")
    if isinstance(error, aiohttp.ClientConnectorError):
        is_refused = isinstance(cause, ConnectionRefusedError)
        said = f"nobody listens at {url}" if is_refused else f"cannot connect to {url}: {words}"
        return AuthorizationUnavailable(said, "", _LATER)
    if isinstance(error, aiohttp.ClientResponseError):
        return AuthorizationFailed(f"{url} does not speak HTTP: {words}")
    if isinstance(error, ValueError):
        return AuthorizationFailed(f"the request to {url} cannot be sent: {words}")
    return AuthorizationUnavailable(f"{url} cut the connection", "", _LATER)
