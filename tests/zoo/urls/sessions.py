"""Servers that answer, and break what follows."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator
from itertools import count

from tests.interaction.http_server import HttpRequest
from tests.pair import discovered, initialized, result
from tests.zoo.urls.patients import (
    LEGACY,
    MODERN,
    Place,
    always,
    answer_ping,
    greeting,
    legacy_server,
    modern_server,
    patient,
)
from wigwag.doctor.patience import Patience


@patient("session-not-shared")
async def workers_without_shared_sessions() -> AsyncIterator[Place]:
    turn = count()

    async def second_worker(request: HttpRequest) -> None:
        if next(turn) % 2:
            await request.refuse(404, -32600, "Session not found")
        else:
            await request.result()

    async with legacy_server(ping=second_worker) as server:
        yield Place(server.url)


@patient("session-not-shared")
async def sticky_by_cookie() -> AsyncIterator[Place]:
    async def by_cookie(request: HttpRequest) -> None:
        if "cookie" in request.headers:
            await request.result()
        else:
            await request.refuse(404, -32600, "Session not found")

    greet = greeting(("Set-Cookie", "route=w1; Path=/"), session="s-1")
    answers = {"initialize": greet, "DELETE": always(200)}
    async with legacy_server(session=None, ping=by_cookie, **answers) as server:
        yield Place(server.url)


@patient("session-id-lost")
async def a_proxy_drops_the_session_id() -> AsyncIterator[Place]:
    async def want_it(request: HttpRequest) -> None:
        await request.refuse(400, -32000, "Bad Request: Mcp-Session-Id header is required")

    async with legacy_server(session=None, ping=want_it) as server:
        yield Place(server.url)


@patient("session-id-lost")
async def a_proxy_drops_the_session_id_and_ping_needs_none() -> AsyncIterator[Place]:
    async def want_it(request: HttpRequest) -> None:
        await request.refuse(400, -32600, "Mcp-Session-Id is missing")

    async with legacy_server(session=None, notifications__initialized=want_it) as server:
        yield Place(server.url)


@patient("session-id-lost")
async def a_proxy_drops_the_session_id_of_requests() -> AsyncIterator[Place]:
    async def want_it(request: HttpRequest) -> None:
        await request.refuse(400, -32600, "Mcp-Session-Id is missing")

    async with legacy_server(notifications__initialized=want_it) as server:
        yield Place(server.url)


@patient("session-id-lost")
async def forgets_sessions_at_once() -> AsyncIterator[Place]:
    async def forget(request: HttpRequest) -> None:
        await request.refuse(404, -32600, "Session not found")

    async with legacy_server(ping=forget) as server:
        yield Place(server.url)


@patient("session-id-invalid")
async def odd_session_id() -> AsyncIterator[Place]:
    answers = {"initialize": greeting(session="my session"), "DELETE": always(200)}
    async with legacy_server(session=None, **answers) as server:
        yield Place(server.url)


@patient("unknown-session-not-404")
async def fails_over_unknown_sessions() -> AsyncIterator[Place]:
    async def check(request: HttpRequest) -> None:
        if request.headers.get("mcp-session-id") == "s-1":
            await request.result()
        else:
            await request.answer(500, b"KeyError: session", kind="text/plain")

    answers = {"initialize": greeting(session="s-1"), "DELETE": always(200)}
    async with legacy_server(session=None, ping=check, **answers) as server:
        yield Place(server.url)


@patient("notification-not-accepted")
async def answers_notifications() -> AsyncIterator[Place]:
    async with legacy_server(notifications__initialized=always(200)) as server:
        yield Place(server.url)


@patient("ping-not-answered")
async def knows_no_ping() -> AsyncIterator[Place]:
    async def unknown(request: HttpRequest) -> None:
        await request.refuse(200, -32601, "Method not found")

    async with legacy_server(ping=unknown) as server:
        yield Place(server.url)


@patient("token-wanted-later")
async def wants_a_token_after_the_handshake() -> AsyncIterator[Place]:
    async with legacy_server(ping=always(401)) as server:
        yield Place(server.url)


@patient("rate-limited")
async def limits_rates_soon() -> AsyncIterator[Place]:
    turn = count()

    async def limit(request: HttpRequest) -> None:
        await (answer_ping(request) if next(turn) < 3 else request.answer(429))

    async with legacy_server(ping=limit) as server:
        yield Place(server.url)


@patient("protocol-version-refused")
async def refuses_its_own_version() -> AsyncIterator[Place]:
    async def refuse(request: HttpRequest) -> None:
        await request.refuse(400, -32000, "Bad Request: Unsupported protocol version")

    async with legacy_server(session=None, ping=refuse) as server:
        yield Place(server.url)


@patient("request-after-handshake-fails")
async def breaks_after_the_handshake() -> AsyncIterator[Place]:
    async with legacy_server(ping=always(500, b"oops", kind="text/plain")) as server:
        yield Place(server.url)


# --- what answers look like


@patient("wrong-content-type")
async def json_as_text() -> AsyncIterator[Place]:
    async def greet(request: HttpRequest) -> None:
        found = json.dumps(result(request.message["id"], initialized(LEGACY, {})))
        await request.answer(200, found.encode(), kind="text/plain; charset=utf-8")

    async with legacy_server(session=None, initialize=greet) as server:
        yield Place(server.url)


@patient("compression-unasked")
async def compresses_always() -> AsyncIterator[Place]:
    async def greet(request: HttpRequest) -> None:
        found = json.dumps(result(request.message["id"], initialized(LEGACY, {})))
        packed = gzip.compress(found.encode())
        headers = [("Content-Encoding", "gzip")]
        await request.answer(200, packed, kind="application/json", headers=headers)

    async with legacy_server(session=None, initialize=greet) as server:
        yield Place(server.url)


@patient("clock-skew")
async def wrong_clock() -> AsyncIterator[Place]:
    greet = greeting(("Date", "Mon, 01 Jan 2024 00:00:00 GMT"))
    async with legacy_server(session=None, initialize=greet) as server:
        yield Place(server.url)


@patient("slow-answer", patience=Patience(answer=30.0, slow_start=0.0, idle=0.1))
async def slow() -> AsyncIterator[Place]:
    async with legacy_server() as server:
        yield Place(server.url)


@patient("headers-lost")
async def a_proxy_drops_headers() -> AsyncIterator[Place]:
    async def miss(request: HttpRequest) -> None:
        await request.refuse(400, -32020, "Mcp-Method is missing")

    async with modern_server(server__discover=miss) as server:
        yield Place(server.url)


@patient("headers-not-checked")
async def believes_the_body_alone() -> AsyncIterator[Place]:
    async def believe(request: HttpRequest) -> None:
        await request.result(**discovered([MODERN], {"tools": {}}))

    async with modern_server(server__discover=believe) as server:
        yield Place(server.url)
