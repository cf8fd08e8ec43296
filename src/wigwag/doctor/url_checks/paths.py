"""Where an MCP server is, if not where the URL says."""

from __future__ import annotations

import asyncio
from typing import Final

from wigwag.doctor.findings import Finding
from wigwag.doctor.url_checks.exchanges import Asker, Exchange
from wigwag.doctor.url_checks.http_sse import has_endpoint
from wigwag.doctor.url_checks.messages import initialize, modern
from wigwag.doctor.url_checks.sessions import end_session
from wigwag.oauth.challenges import demand_of, parse_challenges
from wigwag.oauth.urls import read_url
from wigwag.transports.http_client_engine import public_url

__all__ = ["explain_path", "find_nearby"]

# Where servers are, the usual places first.
_USUAL: Final = ("/mcp", "/mcp/", "/sse", "/", "/api/mcp", "/v1/mcp", "/mcp/sse")

# What servers without anything at a path answer with; some have a page for every path.
_NOT_HERE: Final = (200, 202, 204, 400, 404, 405, 410, 501)


async def find_nearby(asker: Asker, exchange: Exchange) -> Finding | None:
    """Look for an MCP server at other paths of the same origin.

    Args:
        asker: What asks at the URL.
        exchange: What it got there.
    """
    if exchange.status not in _NOT_HERE:
        return None
    url = read_url(asker.url)
    own = f"{url.origin}{url.path}"
    candidates = [f"{url.origin}{path}" for path in _USUAL]
    candidates += [f"{url.origin}{url.bare_path}/mcp", f"{url.origin}{url.bare_path}/sse"]
    candidates.append(f"{url.origin}{url.path.rpartition('/')[0]}/mcp")
    candidates.append(f"{url.origin}{url.bare_path}{'' if url.path.endswith('/') else '/'}")
    urls = [one for one in dict.fromkeys(candidates) if one != own]
    answers = await asyncio.gather(*(_is_there(asker.at(one)) for one in urls))
    found = next((one for one, how in zip(urls, answers, strict=True) if how), None)
    if found is None:
        return None
    how = answers[urls.index(found)]
    return Finding(
        "wrong-path",
        "error",
        "there is no MCP server at this path, but at another one",
        f"{asker.shown(exchange)}\n{how}",
        f"put {public_url(found)} into the host's configuration",
    )


async def _is_there(asker: Asker) -> str | None:
    """Return what shows that a server is there; `None` if there is none."""
    for question in (initialize(), modern("server/discover")):
        found = await asker.post(question)
        await end_session(asker, found)
        if found.result is not None:
            return f"{found.asked} → {found.status}, and an answer to {question.method}"
        if found.status == 401:
            demand = demand_of(parse_challenges([found.headers.get("www-authenticate", "")]))
            if demand.resource_metadata is not None:
                return f"{found.asked} → 401, with the metadata of an MCP server"
        if found.status in (404, 405):
            break
    if await has_endpoint(asker):
        return f"GET {asker.name} → a stream of HTTP+SSE"
    return None


def explain_path(asker: Asker, exchange: Exchange) -> Finding:
    """Return that there is nothing of MCP at a URL, where nothing better is known."""
    evidence = asker.shown(exchange)
    if exchange.status == 405:
        return Finding(
            "post-not-allowed",
            "error",
            "the URL takes no POST, and is no stream of HTTP+SSE",
            f"{evidence}\nAllow: {asker.told(exchange.headers.get('allow', '')) or 'not told'}",
            "look at the path; if it is right, let the proxy or the web framework pass POST, GET "
            "and DELETE for it",
        )
    if exchange.status in (404, 410):
        return Finding(
            "nothing-at-path",
            "error",
            "there is nothing at this path, nor at those where MCP servers usually are",
            evidence,
            "look at the path (what the server says when it starts, or its documentation); if it "
            "is right, see which paths the proxy passes on, and whether it takes a part of them "
            "away",
        )
    return Finding(
        "request-refused",
        "error",
        f"the first request of a client is refused with {exchange.status}",
        evidence,
        "look at what the answer says, and into the log of the server",
    )
