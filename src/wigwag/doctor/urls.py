"""Finds out what stands between a client and a server at a URL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import Any, Final

from wigwag.doctor.findings import Facts, Finding
from wigwag.doctor.patience import Patience
from wigwag.doctor.url_checks.answers import check_answer, check_modern_headers
from wigwag.doctor.url_checks.authorization import check_authorization
from wigwag.doctor.url_checks.certificates import check_certificate
from wigwag.doctor.url_checks.connections import (
    check_connections,
    check_encryption,
    check_spelling,
    find_addresses,
)
from wigwag.doctor.url_checks.exchanges import Asker, Exchange
from wigwag.doctor.url_checks.first_bytes import explain_first_bytes
from wigwag.doctor.url_checks.hosts import check_origin, host_refusal
from wigwag.doctor.url_checks.http_sse import check_http_sse, find_refusal
from wigwag.doctor.url_checks.messages import initialize, modern
from wigwag.doctor.url_checks.pages import check_pages
from wigwag.doctor.url_checks.paths import explain_path, find_nearby
from wigwag.doctor.url_checks.redirects import follow_redirects, is_redirect
from wigwag.doctor.url_checks.refusals import explain_answer, explain_refusal
from wigwag.doctor.url_checks.sessions import check_sessions, end_session
from wigwag.doctor.url_checks.streams import (
    check_progress,
    check_standalone_stream,
    check_subscription,
)
from wigwag.oauth.urls import read_url
from wigwag.transports.http_client_engine import TLS, public_url

__all__ = ["check_url"]

_UNAUTHORIZED: Final = 401
_NOT_ALLOWED: Final = 405


async def check_url(
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    tls: TLS | None = None,
    call: tuple[str, Mapping[str, Any]] | None = None,
    patience: Patience,
    facts: Facts,
) -> AsyncGenerator[Finding, None]:
    """Examine the way to a server at a URL, step by step, and yield what is wrong.

    The server is asked who it is, in each era, and for signs of life; its streams are listened to.
    What it names as the source of tokens is fetched and read, and nothing is sent there.

    What there is to talk to, if anything, is in `facts["transport"]` afterwards.

    Args:
        url: The URL, as the host has it.
        headers: What each request carries besides; never told.
        tls: Which HTTPS servers are trusted, as `ssl` of `Client`.
        call: A tool that reports progress and its arguments, to see whether the reports come when
            they are made. No tool is called without it.
        patience: How long to wait.
        facts: Takes what else is found out.

    Raises:
        TransportError: aiohttp is not installed, or certificates cannot be read.
    """
    spelling = check_spelling(url)
    if spelling is not None:
        yield spelling
        return
    asker = Asker(url, headers=headers or {}, tls=tls, patience=patience)
    asker, greeting, findings = await _arrive(asker, facts)
    if greeting is None:
        for finding in findings:
            yield finding
        return
    try:
        for finding in findings:
            yield finding
        discovered = await asker.post(modern("server/discover"))
        if greeting.speaks_mcp or discovered.speaks_mcp:
            findings = await _check_answers(asker, greeting, discovered, call, facts)
        else:
            findings = await _explain(asker, greeting, discovered, facts)
        for finding in findings:
            yield finding
    finally:
        await end_session(asker, greeting)


async def _arrive(asker: Asker, facts: Facts) -> tuple[Asker, Exchange | None, list[Finding]]:
    """Find the way to the URL, and from there to where it redirects.

    Returns:
        What asks there, what it got for `initialize`, and what is wrong; nothing was got if there
        is nothing to go on with.
    """
    findings = await _check_way(asker, facts)
    if any(finding.severity == "error" for finding in findings):
        return asker, None, findings
    greeting = await asker.post(initialize())
    if not is_redirect(greeting):
        return asker, greeting, findings
    asker, more = await follow_redirects(asker, greeting)
    findings += more
    if any(finding.severity == "error" for finding in more):
        return asker, None, findings
    return asker, await asker.post(initialize()), findings


async def _check_way(asker: Asker, facts: Facts) -> list[Finding]:
    """Look whether there is a connection to be had."""
    from wigwag.transports.http_client_aiohttp import proxy_of  # noqa: PLC0415 - few ask

    url = read_url(asker.url)
    proxy = proxy_of(asker.url)
    if proxy is not None:  # which looks up names itself, and may be the only way
        facts["proxy"] = public_url(proxy)
        return [
            Finding(
                "proxy-used",
                "note",
                "requests go through the proxy that the environment names",
                f"proxy: {facts['proxy']}",
                f"if the server should be reached directly, add {url.host} to NO_PROXY; a host "
                "started from a desktop may not have these variables",
            )
        ]
    addresses = await find_addresses(url, asker.patience)
    if isinstance(addresses, Finding):
        return [addresses]
    findings = await check_connections(url, addresses, asker.patience, facts)
    plain = check_encryption(url, addresses)
    findings += [] if plain is None else [plain]
    if url.scheme == "https" and not any(each.severity == "error" for each in findings):
        fault = await check_certificate(asker, url, facts)
        findings += [] if fault is None else [fault]
    return findings


async def _explain(
    asker: Asker, greeting: Exchange, discovered: Exchange, facts: Facts
) -> list[Finding]:
    """Find out why there is no answer of MCP."""
    for exchange in (greeting, discovered):
        if exchange.status == _UNAUTHORIZED:
            return await check_authorization(asker, exchange, facts)
    if not greeting.has_response:
        strange = None if greeting.state == "late" else await explain_first_bytes(asker)
        silent = strange or explain_answer(asker, greeting)
        return [] if silent is None else [silent]
    refusal = explain_refusal(asker, greeting) or await host_refusal(asker, greeting)
    if refusal is not None:
        return [refusal]
    return await _explain_path(asker, greeting, facts)


async def _explain_path(asker: Asker, greeting: Exchange, facts: Facts) -> list[Finding]:
    """Find out what there is in place of an MCP endpoint."""
    old = await check_http_sse(asker)
    if old is not None:
        facts["transport"] = "HTTP+SSE"
        return old
    refused = await find_refusal(asker) if greeting.status == _NOT_ALLOWED else None
    if refused is not None and refused.status == _UNAUTHORIZED:
        return await check_authorization(asker, refused, facts)
    if refused is not None:
        refusal = explain_refusal(asker, refused) or await host_refusal(asker, refused)
        if refusal is not None:
            return [refusal]
    nearby = await find_nearby(asker, greeting)
    if nearby is not None:
        return [nearby]
    return [explain_answer(asker, greeting) or explain_path(asker, greeting)]


async def _check_answers(
    asker: Asker,
    greeting: Exchange,
    discovered: Exchange,
    call: tuple[str, Mapping[str, Any]] | None,
    facts: Facts,
) -> list[Finding]:
    """Look closer at a server that speaks MCP."""
    facts["transport"] = "Streamable HTTP"
    is_legacy = greeting.result is not None
    findings = check_answer(asker, greeting if greeting.speaks_mcp else discovered, facts)
    broken = await check_sessions(asker, greeting, facts) if is_legacy else []
    findings += [*broken, *await check_modern_headers(asker, discovered)]
    listening = [check_subscription(asker, discovered, facts)]
    if is_legacy and not any(finding.severity == "error" for finding in broken):
        listening.insert(0, check_standalone_stream(asker, greeting, facts))
    for found in await asyncio.gather(*listening):
        findings += found
    if call is not None:
        how = None if discovered.result is not None else greeting
        findings += await check_progress(asker, how, *call)
    findings += await check_pages(asker, is_modern=not is_legacy)
    return findings + await check_origin(asker)
