"""The way to the machine: its name, its addresses, and who listens there."""

from __future__ import annotations

import asyncio
import errno
import socket
from contextlib import suppress
from ipaddress import ip_address
from typing import Final

from wigwag.doctor.findings import Facts, Finding, Severity
from wigwag.doctor.patience import Patience
from wigwag.doctor.url_checks.lookalikes import misspelt_scheme
from wigwag.oauth.requests import told
from wigwag.oauth.urls import Url, is_loopback, read_url
from wigwag.transports.http_client_engine import words_of

__all__ = ["check_connections", "check_encryption", "check_spelling", "find_addresses"]

# Nobody has more that matter; each is tried.
_MAX_ADDRESSES: Final = 8


def check_spelling(url: str) -> Finding | None:
    """Return what is wrong with a URL as it is written."""
    try:
        read_url(url)
    except ValueError as error:
        if "@" in url.partition("://")[2].partition("/")[0]:
            return Finding(
                "credentials-in-url",
                "error",
                "the URL has a user name or a password in it, which most clients refuse",
                "what is before the @ is not shown",
                "take them out, and put them into a header: Authorization: Basic …",
            )
        advice = misspelt_scheme(url)
        if advice is None or advice == f"write {url}":
            advice = "write it as https://host/path, or http://host:port/path, in ASCII"
        what = f"the URL cannot be used: {error}"
        return Finding("url-not-usable", "error", what, told(url.partition("?")[0]), advice)
    return None


async def find_addresses(url: Url, patience: Patience) -> list[str] | Finding:
    """Look up the host of a URL."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(patience.connect):
            found = await loop.getaddrinfo(url.host, url.port, type=socket.SOCK_STREAM)
    except TimeoutError:
        evidence = f"the look-up of {url.host} took more than {patience.connect:g} s"
    except (OSError, UnicodeError) as error:
        evidence = f"{url.host}: {words_of(error)}"
    else:
        return list(dict.fromkeys(str(address[0]) for *_, address in found))[:_MAX_ADDRESSES]
    return Finding(
        "host-not-found", "error", f"the host {url.host} has no address", evidence, _spell(url.host)
    )


def _spell(host: str) -> str:
    advice = "correct the spelling, or create the DNS record of that name"
    if "." not in host:
        advice += (
            "; a name without a dot is known only inside one network, such as that of a Docker "
            "Compose project: from outside use the published port on localhost"
        )
    elif host.endswith((".local", ".internal", ".lan", ".svc", ".ts.net")):
        advice += "; this one is known only inside its own network or VPN"
    return advice


def check_encryption(url: Url, addresses: list[str]) -> Finding | None:
    """Return that what is said can be read on the way, if it goes through a network in plain."""
    if url.scheme == "https" or is_loopback(url):
        return None
    is_public = any(ip_address(one.partition("%")[0]).is_global for one in addresses)
    return Finding(
        "not-encrypted",
        "warning" if is_public else "note",
        "the URL is plain http, so that everybody on the way can read and change what is said",
        f"{url.origin} leads to {', '.join(addresses)}",
        "serve it by https; hosts that run as a service, such as Claude and ChatGPT, take no other",
    )


async def check_connections(
    url: Url, addresses: list[str], patience: Patience, facts: Facts
) -> list[Finding]:
    """Connect to each address of a host, and tell which of them do not answer."""
    outcomes = await asyncio.gather(*(_connect(one, url.port, patience) for one in addresses))
    failed = {a: o for a, o in zip(addresses, outcomes, strict=True) if o is not None}
    facts["addresses"] = addresses
    if len(failed) < len(addresses):
        # Many machines have no IPv6; that is no fault of the server's.
        failed = {address: why for address, why in failed.items() if why != _NO_ROUTE}
    if not failed:
        return []
    evidence = "\n".join(f"{address} port {url.port}: {why}" for address, why in failed.items())
    if len(failed) == len(addresses):
        return [_nobody(url, evidence, is_refused=_REFUSED in failed.values())]
    # Clients try one address after the other, and mostly the IPv6 ones first.
    severity: Severity = "note" if is_loopback(url) else "warning"
    return [
        Finding(
            "address-not-served",
            severity,
            f"{len(failed)} of the {len(addresses)} addresses of {url.host} do not answer",
            evidence,
            "let the server listen on all of them, or take the others out of the DNS"
            if severity == "warning"
            else f"clients that try only these fail: write {_served(addresses, failed)} instead of "
            f"{url.host}, or let the server listen on both",
        )
    ]


def _served(addresses: list[str], failed: dict[str, str]) -> str:
    address = next(one for one in addresses if one not in failed)
    return f"[{address}]" if ":" in address else address


_REFUSED: Final = "connection refused"
_NO_ROUTE: Final = "this machine has no way there"
_OURS: Final = (errno.ENETUNREACH, errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


async def _connect(address: str, port: int, patience: Patience) -> str | None:
    """Return why there is no connection to an address; `None` if there is one."""
    try:
        async with asyncio.timeout(patience.connect):
            _, writer = await asyncio.open_connection(address, port)
    except TimeoutError:
        return f"no answer within {patience.connect:g} s"
    except ConnectionRefusedError:
        return _REFUSED
    except OSError as error:
        return _NO_ROUTE if error.errno in _OURS else words_of(error.strerror or error)
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return None


def _nobody(url: Url, evidence: str, *, is_refused: bool) -> Finding:
    if is_refused:
        advice = f"start the server, and see in its output whether it listens on port {url.port}"
        if is_loopback(url):
            advice += "; in a container it must listen on 0.0.0.0 and the port must be published"
        else:
            advice += (
                "; one that says 127.0.0.1 or localhost there is reached from its own machine only"
            )
        what = f"nobody listens at {url.host} port {url.port}"
        return Finding("nobody-listens", "error", what, evidence, advice)
    return Finding(
        "not-reachable",
        "error",
        f"there is no way to {url.host} port {url.port}",
        evidence,
        "see whether a firewall, a security group or a VPN is in between, and whether host and "
        "port are right",
    )
