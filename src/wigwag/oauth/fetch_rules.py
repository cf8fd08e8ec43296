"""Which addresses authorization may fetch from, and which redirects it may follow.

URLs come from servers that nobody vouches for. They must not make a client ask its own machine, its
own network or the metadata service of its cloud for something.
Spec: basic/authorization/security-considerations; security best practices, SSRF
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final, TypeAlias
from urllib.parse import urljoin

import msgspec

from wigwag.oauth.requests import HttpRequest
from wigwag.oauth.urls import Url, is_loopback, read_url, shown

__all__ = ["MAX_DOCUMENT_BYTES", "MAX_REDIRECTS", "Networks", "redirect_refusal"]

MAX_REDIRECTS: Final = 3
MAX_DOCUMENT_BYTES: Final = 1024 * 1024
"""Metadata documents and token responses are a few kilobytes."""

# Whole ranges rather than what `ipaddress` knows of each: that differs between Pythons.
_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
_UNIQUE_LOCAL: Final = IPv6Network("fc00::/7")

# By which networks of IPv6 reach addresses of IPv4 (RFC 6052).
_NAT64: Final = IPv6Network("64:ff9b::/96")

_Address: TypeAlias = IPv4Address | IPv6Address


class Networks(msgspec.Struct, frozen=True, kw_only=True):
    """Where URLs of others may lead; by default to public addresses only."""

    loopback: bool = False
    """To this machine."""

    private: bool = False
    """To addresses of a private network."""

    hosts: tuple[str, ...] = ()
    """To these hosts, wherever they are; in lower case."""

    @staticmethod
    def around(server: Url, addresses: Iterable[str], hosts: Sequence[str] = ()) -> Networks:
        """Allow what an MCP server that the user has chosen can be expected to point to.

        One on this machine may point to this machine, and one in a private network into private
        networks. None may point to link-local addresses, where clouds keep credentials.

        Args:
            server: The URL of the server.
            addresses: What its host resolved to.
            hosts: What the user allows besides.
        """
        readable = [address for text in addresses if (address := _read_address(text))]
        # One that has a public address, too, is not taken for a neighbour: its owner decides what
        # its name resolves to.
        local = is_loopback(server) or _are_all(lambda one: one.is_loopback, readable)
        private = local or _are_all(lambda one: one.is_loopback or _is_private(one), readable)
        return Networks(loopback=local, private=private, hosts=tuple(h.lower() for h in hosts))

    def refusal(self, url: str, addresses: Iterable[str]) -> str | None:
        """Return why a URL may not be fetched, in one sentence; `None` if it may.

        Every address must be allowed, and the connection must then be made to one of them: a name
        that is resolved again may resolve to something else.

        Args:
            url: What is to be fetched.
            addresses: What its host has resolved to.
        """
        try:
            parts = read_url(url)
        except ValueError as error:
            return f"a URL cannot be used: {error}"
        if parts.host in self.hosts:
            return None
        found = list(addresses)
        if not found:
            return f"{shown(url)} has no address"
        for text in found:
            reason = self._refusal_of(text)
            if reason is not None:
                return f"{shown(url)} leads to {text}, {reason}; allow the host to go there"
        return None

    def _refusal_of(self, text: str) -> str | None:
        address = _read_address(text)
        if address is None:
            return "which is no address"
        if address.is_loopback:
            return None if self.loopback else "which is this machine"
        if _is_private(address):
            return None if self.private else "which is in a private network"
        return None if _is_public(address) else "which no server of tokens is at"


def redirect_refusal(request: HttpRequest, location: str, followed: int) -> str | None:
    """Return why a redirect may not be followed, in one sentence; `None` if it may.

    The URL that it leads to must still pass `Networks.refusal`.

    Args:
        request: What was redirected, with the URL that it was last redirected to.
        location: Where to, as the `Location` header says; it may be relative.
        followed: How many redirects this request has been through already.
    """
    target = urljoin(request.url, location)
    where = f"{shown(request.url)} redirects to {shown(target)}"
    if request.method != "GET":
        return f"{where}, which would carry secrets to another place"
    if followed >= MAX_REDIRECTS:
        return f"{where}, after {followed} other redirects"
    try:
        before, after = read_url(request.url), read_url(target)
    except ValueError:
        return f"{where}, which cannot be followed"
    if before.scheme == "https" and after.scheme != "https":
        return f"{where}, which is not https"
    if after.scheme == "http" and not is_loopback(after):
        return f"{where}, which is not https"
    return None


def _are_all(is_so: Callable[[_Address], bool], addresses: Sequence[_Address]) -> bool:
    return bool(addresses) and all(map(is_so, addresses))


def _read_address(text: str) -> _Address | None:
    """Read an address; an IPv6 address that stands for one of IPv4 is that one."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address.sixtofour is not None:
            return address.sixtofour
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def _is_private(address: _Address) -> bool:
    """Tell whether an address is that of a machine in a network that is not the Internet."""
    if isinstance(address, IPv6Address):
        return address in _UNIQUE_LOCAL or address.is_site_local
    return not address.is_global and not address.is_reserved and not _is_nobodys(address)


def _is_public(address: _Address) -> bool:
    if isinstance(address, IPv6Address):
        return address in _GLOBAL_UNICAST and address.is_global and address.teredo is None
    return address.is_global and not address.is_reserved and not _is_nobodys(address)


def _is_nobodys(address: IPv4Address) -> bool:
    return address.is_link_local or address.is_multicast or address.is_unspecified
