"""The server behind an HTTP relay: how it is connected to, and what names it in a head."""

from __future__ import annotations

import asyncio
import base64
import re
import socket
import ssl as tls
from collections.abc import Mapping
from typing import Final, TypeAlias
from urllib.parse import unquote, urlsplit

from wigwag.errors import ConnectionRefused, HostNotFound, ServerUnreachable, TLSFailed
from wigwag.tracing.http_framing import Head
from wigwag.transports.http_client_engine import is_same_origin, public_url, words_of

__all__ = ["HttpTarget"]

_CONNECT_SECONDS: Final = 15.0
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}

_Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class HttpTarget:
    """A URL.

    Args:
        url: It; user and password in it are sent as `Authorization`.
        headers: What requests carry besides, or instead of their own.
        ssl: What servers are trusted; what the system trusts if `None`.

    Attributes:
        path: That of the URL.

    Raises:
        ValueError: It is none.
    """

    def __init__(
        self, url: str, headers: Mapping[str, str] | None = None, ssl: tls.SSLContext | None = None
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
            raise ValueError(f"{public_url(url)} is no URL of http or https")
        self._url = url
        self.path = parts.path or "/"
        self._query = parts.query
        self._host = parts.hostname
        self._port = parts.port or _DEFAULT_PORTS[parts.scheme]
        self._ssl = None
        if parts.scheme == "https":
            self._ssl = ssl or tls.create_default_context()
        self.headers = {
            **_authorization_of(parts.username, parts.password),
            **(headers or {}),
            "Host": parts.netloc.rpartition("@")[2],
        }
        for name, value in self.headers.items():
            if not _is_sound(f"{name}: {value}"):
                raise ValueError(
                    f"the header {name!r} cannot be sent: it has a line end, or letters that are"
                    " not of Western Europe"
                )

    def __str__(self) -> str:
        """The URL, without what may be secret in it."""
        return public_url(self._url)

    async def connect(self) -> _Streams:
        """Open a connection.

        Raises:
            ServerUnreachable: There is none.
        """
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                return await asyncio.open_connection(
                    self._host,
                    self._port,
                    ssl=self._ssl,
                    server_hostname=self._host if self._ssl else None,
                )
        except TimeoutError:
            raise ServerUnreachable(
                f"no connection to {self} within {_CONNECT_SECONDS:g} s"
            ) from None
        except tls.SSLError as error:
            raise TLSFailed(f"no secure connection to {self}: {words_of(error)}") from error
        except socket.gaierror as error:
            raise HostNotFound(f"cannot find the host of {self}: {words_of(error)}") from error
        except ConnectionRefusedError as error:
            raise ConnectionRefused(f"cannot connect to {self}: nobody listens there") from error
        except OSError as error:
            raise ServerUnreachable(f"cannot connect to {self}: {words_of(error)}") from error

    def request_head(self, head: Head) -> Head:
        """Return the head of a request as it goes to the server."""
        words = head.first.split(b" ")
        if self._query and head.path == self.path:
            words[1] = f"{head.path}?{self._query}".encode("latin-1")
            head = head.with_first(b" ".join(words))
        return head.with_headers(self.headers)

    def response_head(self, head: Head, origin: str) -> Head:
        """Return the head of a response as it goes to the host.

        Args:
            head: As it came.
            origin: What the relay is to the host, to which redirections must lead.
        """
        location = head.header("location")
        if "://" not in location or not is_same_origin(location, self._url):
            return head
        parts = urlsplit(location)
        path = location[location.index(parts.netloc) + len(parts.netloc) :]
        return head.with_headers({"Location": origin + (path or "/")})


def _is_sound(field: str) -> bool:
    """Tell whether HTTP can carry a line of a head."""
    return (
        not re.search(r"[\r\n\0]", field)
        and field.encode("latin-1", "replace").decode("latin-1") == field
    )


def _authorization_of(user: str | None, password: str | None) -> dict[str, str]:
    if user is None:
        return {}
    pair = f"{unquote(user)}:{unquote(password or '')}".encode()
    return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
