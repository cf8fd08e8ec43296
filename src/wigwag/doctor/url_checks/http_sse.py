"""The transport of 2024-11-05, HTTP+SSE: a stream, and an endpoint that it names."""

from __future__ import annotations

from typing import Final
from urllib.parse import urljoin

from wigwag.bindings.lines import LineTooLong
from wigwag.bindings.sse import EVENT_STREAM
from wigwag.doctor.findings import Finding
from wigwag.doctor.url_checks.exchanges import Asker, Exchange, OpenStream
from wigwag.doctor.url_checks.messages import initialize
from wigwag.doctor.url_checks.streams import UNBUFFERED
from wigwag.transports.http_client_engine import is_same_origin, public_url

__all__ = ["check_http_sse", "find_refusal", "has_endpoint"]

_REVISION: Final = "2024-11-05"
_NO_REFUSALS: Final = (200, 202, 204, 404, 405, 406, 410, 415)
_ACCEPT: Final = {"Accept": EVENT_STREAM}


def _endpoint_in(exchange: Exchange) -> str | None:
    for event in exchange.events():
        if event.type == "endpoint" and not isinstance(event.data, LineTooLong):
            return event.data.decode("utf-8", "replace").strip()
    return None


def _has_named_it(exchange: Exchange) -> bool:
    return _endpoint_in(exchange) is not None


async def has_endpoint(asker: Asker) -> bool:
    """Tell whether a URL is the stream of an HTTP+SSE server."""
    async with asker.opened("GET", _ACCEPT) as (exchange, stream):
        if stream is None or exchange.status != 200 or not exchange.is_stream:
            return False
        return await stream.read(asker.patience.event, _has_named_it)


async def find_refusal(asker: Asker) -> Exchange | None:
    """Return why the stream cannot be had, where something refuses it; `None` otherwise."""
    async with asker.opened("GET", _ACCEPT) as (exchange, stream):
        if stream is None or exchange.status in _NO_REFUSALS:
            return None
        await stream.read(asker.patience.answer, lambda _: False)
        return exchange


async def check_http_sse(asker: Asker) -> list[Finding] | None:
    """Examine an HTTP+SSE server; `None` if the URL is none of it."""
    async with asker.opened("GET", _ACCEPT) as (exchange, stream):
        if stream is None or exchange.status != 200 or not exchange.is_stream:
            return None
        if not await stream.read(asker.patience.event, _has_named_it):
            return [_nameless(asker, exchange)]
        endpoint = _endpoint_in(exchange) or ""
        url = urljoin(asker.url, endpoint)
        if not is_same_origin(url, asker.url):
            return [_elsewhere(asker, url)]
        old = Finding(
            "http-sse-only",
            "warning",
            "the server speaks only HTTP+SSE, which was replaced in 2025 and which hosts give up",
            f"GET {asker.name} → a stream whose first event names an endpoint; a POST gets no "
            "answer of MCP",
            "serve Streamable HTTP, with the same SDK: mostly it is one word where the server is "
            "run, and the path becomes /mcp",
        )
        fault = await _ask(asker, stream, url)
        return [old if fault is None else fault]


def _nameless(asker: Asker, exchange: Exchange) -> Finding:
    if exchange.state == "late" and not exchange.body:
        return Finding(
            "stream-held-back",
            "error",
            "the stream of events opens, and nothing comes through it",
            f"GET {asker.name} → {exchange.status}, no byte within {asker.patience.event:g} s",
            UNBUFFERED,
        )
    return Finding(
        "stream-without-endpoint",
        "error",
        "the stream of events does not begin as one of HTTP+SSE does",
        asker.shown(exchange),
        "see whether the path is right; the first event of the stream is `endpoint`",
    )


def _elsewhere(asker: Asker, url: str) -> Finding:
    return Finding(
        "endpoint-elsewhere",
        "error",
        "the stream of HTTP+SSE names an endpoint at another origin, which clients refuse",
        f"{asker.name} names {asker.told(public_url(url))}",
        "let it name a path alone; behind a proxy, let the proxy send X-Forwarded-Proto and "
        "X-Forwarded-Host and the server believe them",
    )


async def _ask(asker: Asker, stream: OpenStream, url: str) -> Finding | None:
    """Ask at the endpoint, and look whether the answer comes through the stream."""
    posted = await asker.at(url).post(initialize(_REVISION))
    if not 200 <= posted.status < 300:
        return Finding(
            "endpoint-refuses",
            "error",
            "the endpoint that the stream of HTTP+SSE names does not take messages",
            asker.shown(posted),
            "behind a proxy that takes a part of the path away, tell the server that part "
            "(root_path; in the SDKs the mount path); with several workers, each request must "
            "reach the one that has the stream",
        )
    if await stream.read(asker.patience.event, _has_answer):
        return None
    return Finding(
        "stream-held-back",
        "error",
        "the endpoint of HTTP+SSE takes messages, and no answer comes through the stream",
        f"{posted.asked} → {posted.status}; no answer on GET {asker.name} within "
        f"{asker.patience.event:g} s",
        f"{UNBUFFERED}; with several workers, each request must reach the one that has the stream",
    )


def _has_answer(exchange: Exchange) -> bool:
    return exchange.message is not None
