"""URLs as authorization compares them: parts, origins, what is secure, which resource is meant.

What comes from a server is taken apart only if every reader would take it apart in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

import msgspec

__all__ = [
    "Url",
    "canonical_resource",
    "is_loopback",
    "is_resource_of",
    "is_usable",
    "read_url",
    "shown",
]

MAX_URL_CHARACTERS: Final = 4096

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}

# Blanks, controls, backslashes and the like are read differently by different libraries.
_is_plain: Final = re.compile(r"[!#-;=?-\[\]_a-z~]+").fullmatch
_is_host: Final = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+").fullmatch


class Url(msgspec.Struct, frozen=True):
    """An absolute http or https URL in parts."""

    scheme: str
    """`http` or `https`."""

    host: str
    """In lower case; an IPv6 address without its brackets."""

    port: int
    """That of the scheme where the URL names none."""

    path: str
    query: str
    fragment: str

    @property
    def origin(self) -> str:
        """Scheme, host and port, the port left out where it is that of the scheme."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"

    @property
    def bare_path(self) -> str:
        """The path without the slash at its end; empty for the root.

        >>> read_url("https://a.example/mcp/").bare_path, read_url("https://a.example/").bare_path
        ('/mcp', '')
        """
        return self.path.removesuffix("/")


def read_url(text: str) -> Url:
    """Take an absolute URL apart.

    >>> read_url("HTTPS://A.example:443/mcp?x=1").origin
    'https://a.example'

    Raises:
        ValueError: It is no http or https URL, or one that can be read in more than one way.
    """
    if len(text) > MAX_URL_CHARACTERS or not _is_plain(text):
        raise ValueError("it has characters that no URL has, or too many")
    parts = urlsplit(text)
    if parts.scheme not in _DEFAULT_PORTS:
        raise ValueError("it does not begin with https:// or http://")
    if "@" in parts.netloc:
        raise ValueError("it has a user name in it")
    host = (parts.hostname or "").removesuffix(".")
    is_bracketed = "[" in parts.netloc
    if not _is_host(host) or (is_bracketed and not _is_address(host)):
        raise ValueError("it has no readable host")
    port = parts.port  # raises ValueError itself
    if port is None:
        port = _DEFAULT_PORTS[parts.scheme]
    return Url(parts.scheme, host, port, parts.path, parts.query, parts.fragment)


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def is_loopback(url: Url) -> bool:
    """Tell whether a URL leads to this very machine, going by its host.

    >>> [is_loopback(read_url(f"http://{host}/")) for host in ("localhost:1", "[::1]", "a.example")]
    [True, True, False]
    """
    if url.host == "localhost" or url.host.endswith(".localhost"):
        return True
    return _is_address(url.host) and ip_address(url.host).is_loopback


def is_usable(text: str, server: Url | None, hosts: Collection[str] = ()) -> bool:
    """Tell whether a URL may be used for what decides over tokens.

    It must be https without a fragment; plain http only on this machine, where the server is too,
    or from a host that somebody has named.

    Spec: basic/authorization/security-considerations#communication-security

    Args:
        text: The URL.
        server: Who names it, an MCP server or an issuer; `None` if the user does.
        hosts: What the user allows besides, in lower case.
    """
    try:
        url = read_url(text)
    except ValueError:
        return False
    if url.fragment:
        return False
    if url.scheme == "https" or url.host in hosts:
        return True
    return is_loopback(url) and (server is None or is_loopback(server))


def canonical_resource(server: Url) -> str:
    """Return the URI of an MCP server where its metadata gives none.

    Without the query, which may hold keys that the authorization server has no business with.
    Spec: basic/authorization#canonical-server-uri

    >>> canonical_resource(read_url("https://MCP.example/a/mcp/?key=1#x"))
    'https://mcp.example/a/mcp'
    """
    return f"{server.origin}{server.bare_path}"


def is_resource_of(resource: str, server: Url) -> bool:
    """Tell whether a resource, as metadata names it, is an MCP server or holds it.

    It has the origin of the server, and its path or a path above. One slash at the end means
    nothing. Spec: basic/authorization/authorization-server-discovery
    """
    try:
        url = read_url(resource)
    except ValueError:
        return False
    if url.origin != server.origin or url.fragment or url.query not in ("", server.query):
        return False
    return server.bare_path == url.bare_path or server.path.startswith(f"{url.bare_path}/")


def shown(text: str) -> str:
    """Return what of a URL may be shown: where it leads, without what may be secret.

    >>> shown("https://a.example/x?code=1"), shown("https://me:pw@a.example/")
    ('https://a.example/x', 'an unreadable URL')
    """
    try:
        url = read_url(text)
    except ValueError:
        return "an unreadable URL"
    return f"{url.origin}{url.path}"
