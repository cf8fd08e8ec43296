"""Refusals for the name that a server is called by, or for the page that calls it."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from wigwag.bindings.sse import EVENT_STREAM
from wigwag.doctor.findings import Finding
from wigwag.doctor.url_checks.exchanges import Asker, Exchange
from wigwag.doctor.url_checks.messages import initialize
from wigwag.doctor.url_checks.sessions import end_session
from wigwag.oauth.urls import is_loopback, read_url

__all__ = ["check_origin", "host_refusal"]

# What no server serves pages at.
_FOREIGN_ORIGIN: Final = "https://wigwag-doctor.invalid"

_host: Final = re.compile(r"\bhost(name)?s?\b|domain", re.IGNORECASE)


class Guard(NamedTuple):
    """What is known to refuse names, and where it is told which to take."""

    words: re.Pattern[str]
    setting: str


# By what they answer; the first that fits counts.
_GUARDS: Final = (
    Guard(
        re.compile(r"Host is not allowed; the server's log says more"),
        "Wigwag: `allowed_hosts=[{name!r}]` where the server is run",
    ),
    Guard(
        re.compile(r"^Invalid Host header$"),
        "the official Python SDK: `transport_security=TransportSecuritySettings(allowed_hosts="
        "[{named!r}])`, where {name}:* stands for any port and a name alone for none; FastMCP: "
        "`allowed_hosts` or FASTMCP_HTTP_ALLOWED_HOSTS",
    ),
    Guard(
        re.compile(r"Invalid Host(?: header)?:|Missing Host header"),
        "the official TypeScript SDK: `allowedHosts: [{name!r}]`, of `createMcpExpressApp`, "
        "`hostHeaderValidation` or the transport",
    ),
    Guard(
        re.compile(r"^Invalid host header$"),
        "Starlette and FastAPI: `TrustedHostMiddleware(allowed_hosts=[{name!r}])`",
    ),
    Guard(
        re.compile(r"Host header is not allowed"),
        "the Rust SDK: `allowed_hosts` of `StreamableHttpServerConfig`",
    ),
    Guard(
        re.compile(r"invalid Host header"),
        "the Go SDK: `DisableLocalhostProtection` of `StreamableHTTPOptions`, behind a proxy that "
        "checks names itself",
    ),
    Guard(
        re.compile(r"server\.allowedHosts|preview\.allowedHosts"),
        "Vite: `server.allowedHosts: [{name!r}]`",
    ),
    Guard(
        re.compile(r"ALLOWED_HOSTS|DisallowedHost|Invalid HTTP_HOST"),
        "Django: `ALLOWED_HOSTS = [{name!r}]`",
    ),
    Guard(re.compile(r"Blocked hosts?:", re.IGNORECASE), "Rails: `config.hosts << {name!r}`"),
)


async def host_refusal(asker: Asker, exchange: Exchange) -> Finding | None:
    """Return what is wrong if a request was refused for the name in its `Host`.

    Whether it was is tried: another name is sent that such servers take.

    Args:
        asker: What has asked.
        exchange: The refusal of `initialize`, or of a GET.
    """
    if exchange.status not in (400, 403, 404, 421):
        return None
    words = _words(exchange)
    is_told = exchange.status == 421 or _host.search(words) is not None
    url = read_url(asker.url)
    if not is_told and (exchange.status != 403 or is_loopback(url)):
        return None
    under = await _accepted_name(asker, is_get=exchange.asked.startswith("GET"))
    if under is None and (not is_told or exchange.status == 404):
        return None
    named = url.origin.partition("://")[2]
    evidence = asker.shown(exchange)
    if under is not None:
        evidence += f"\nwith `Host: {under}` it answers"
    return Finding(
        "host-refused",
        "error",
        f"the server does not answer to the name {named}",
        evidence,
        f"tell it its name: {_setting(words, named, url.host)}; if a proxy is in between, let it "
        "send the Host that clients use (nginx: proxy_set_header Host $http_host), or one that the "
        "server takes",
    )


def _words(exchange: Exchange) -> str:
    """Return what a refusal says, the message of an error of JSON-RPC without what is around."""
    error = (exchange.message or {}).get("error")
    if isinstance(error, dict) and isinstance(error.get("message"), str):
        return str(error["message"])
    return exchange.text[:4000].strip()


def _setting(words: str, named: str, name: str) -> str:
    for guard in _GUARDS:
        if guard.words.search(words):
            return guard.setting.format(name=name, named=named)
    return f"whatever lists its allowed hosts (`allowed_hosts`, ALLOWED_HOSTS) needs {name!r}"


async def _accepted_name(asker: Asker, *, is_get: bool) -> str | None:
    """Return a name that the server answers to."""
    port = read_url(asker.url).port
    for name in (f"localhost:{port}", f"127.0.0.1:{port}", "localhost"):
        if is_get:
            async with asker.opened("GET", {"Accept": EVENT_STREAM, "Host": name}) as (found, _):
                is_accepted = found.status == 200
        else:
            found = await asker.post(initialize(), Host=name)
            await end_session(asker, found)
            is_accepted = found.result is not None
        if is_accepted or found.status == 401:
            return name
    return None


async def check_origin(asker: Asker) -> list[Finding]:
    """Look whether any web page may use a server of this machine."""
    if not is_loopback(read_url(asker.url)):
        return []
    found = await asker.post(initialize(), Origin=_FOREIGN_ORIGIN)
    await end_session(asker, found)
    if found.result is None:
        return []
    return [
        Finding(
            "origin-not-checked",
            "note",
            "any web page that somebody opens on this machine can use the server",
            f"with `Origin: {_FOREIGN_ORIGIN}`: {asker.told(found.status)}, and an answer",
            "let it refuse an Origin that it does not know with 403, as the specification demands; "
            "the SDKs do, once their protection against DNS rebinding is on",
        )
    ]
