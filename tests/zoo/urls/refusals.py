"""Servers that send clients elsewhere, refuse them, or are something else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from tests.interaction.http_server import HttpRequest, HttpServer, McpUrl
from tests.zoo.urls.patients import (
    UNHEARD,
    Place,
    always,
    answering,
    greeting,
    legacy_server,
    patient,
)


def redirecting(server: McpUrl, status: int, location: str, *, at: str = "/mcp") -> None:
    server.paths[at] = always(status, headers=(("Location", location),))


# --- redirects


@patient("redirect-on-slash")
async def redirects_for_the_slash() -> AsyncIterator[Place]:
    async with legacy_server() as server:
        redirecting(server, 307, "/mcp/")
        yield Place(server.url)


@patient("redirect-to-path")
async def redirects_to_another_path() -> AsyncIterator[Place]:
    async with legacy_server() as server:
        redirecting(server, 308, "/v2/mcp")
        yield Place(server.url)


@patient("redirect-loses-post")
async def redirects_as_for_pages() -> AsyncIterator[Place]:
    async with legacy_server() as server:
        redirecting(server, 302, "/v2/mcp")
        yield Place(server.url)


@patient("redirect-to-https")
async def redirects_to_https() -> AsyncIterator[Place]:
    async with HttpServer(always(404)) as server:
        other = server.url.replace("http:", "https:")
        server._handle = always(308, headers=(("Location", other),))
        yield Place(server.url)


@patient("redirect-elsewhere")
async def redirects_to_another_host() -> AsyncIterator[Place]:
    async with legacy_server() as there, HttpServer() as server:
        server._handle = always(307, headers=(("Location", there.url),))
        yield Place(server.url)


@patient("redirect-to-login")
async def redirects_to_a_login() -> AsyncIterator[Place]:
    async with HttpServer() as server:
        page = f"{server.origin}/login?next=/mcp"
        server._handle = always(302, headers=(("Location", page),))
        yield Place(server.url)


@patient("redirect-loop")
async def redirects_in_a_circle() -> AsyncIterator[Place]:
    async def turn(request: HttpRequest) -> None:
        other = "/mcp" if request.path.endswith("/") else "/mcp/"
        await request.answer(308, headers=(("Location", other),))

    async with answering(turn) as place:
        yield place


# --- names and pages


def guarded(status: int, body: bytes, *, kind: str = "text/plain") -> McpUrl:
    """Return a server that takes requests for localhost alone."""
    server = legacy_server()
    serve = server.handle

    async def guard(request: HttpRequest) -> None:
        if request.headers["host"].startswith("localhost"):
            await serve(request)
        else:
            await request.answer(status, body, kind=kind)

    server.handle = guard  # type: ignore[method-assign]  # for this one alone
    return server


@patient("host-refused")
async def python_sdk_behind_a_proxy() -> AsyncIterator[Place]:
    async with guarded(421, b"Invalid Host header") as server:
        yield Place(server.url)


@patient("host-refused")
async def typescript_sdk_behind_a_proxy() -> AsyncIterator[Place]:
    body = b'{"jsonrpc":"2.0","error":{"code":-32000,"message":"Invalid Host: a"},"id":null}'
    async with guarded(403, body, kind="application/json") as server:
        yield Place(server.url)


ANY_PAGE = ("Access-Control-Allow-Origin", "*")


async def allow_all(request: HttpRequest) -> None:
    wanted = request.headers["access-control-request-headers"]
    await request.answer(204, headers=[ANY_PAGE, ("Access-Control-Allow-Headers", wanted)])


@patient("cors-incomplete")
async def hides_the_session_from_pages() -> AsyncIterator[Place]:
    answers = {"OPTIONS": allow_all, "initialize": greeting(ANY_PAGE, session="s-1")}
    async with legacy_server(session=None, DELETE=always(200), **answers) as server:
        yield Place(server.url)


@patient("cors-incomplete")
async def wants_a_token_of_a_preflight() -> AsyncIterator[Place]:
    answers = {"OPTIONS": always(401), "initialize": greeting(ANY_PAGE)}
    async with legacy_server(session=None, **answers) as server:
        yield Place(server.url)


@patient("cors-incomplete")
async def takes_no_headers_of_pages() -> AsyncIterator[Place]:
    answers = {"OPTIONS": always(200, headers=(ANY_PAGE,)), "initialize": greeting(ANY_PAGE)}
    async with legacy_server(session=None, **answers) as server:
        yield Place(server.url)


# --- refusals


@patient("bot-check")
async def takes_clients_for_bots() -> AsyncIterator[Place]:
    page = b"<!DOCTYPE html><title>Just a moment...</title>"
    async with answering(always(403, page, headers=(("Cf-Mitigated", "challenge"),))) as place:
        yield place


@patient("rate-limited")
async def limits_rates() -> AsyncIterator[Place]:
    async with answering(always(429, b"slow down", headers=(("Retry-After", "30"),))) as place:
        yield place


@patient("gateway-error")
async def bad_gateway() -> AsyncIterator[Place]:
    page = b"<html><title>502 Bad Gateway</title><hr>nginx/1.27.0</html>"
    async with answering(always(502, page, headers=(("Server", "nginx/1.27.0"),))) as place:
        yield place


@patient("accept-refused")
async def loses_accept() -> AsyncIterator[Place]:
    body = b'{"jsonrpc":"2.0","error":{"code":-32000,"message":"Not Acceptable"},"id":null}'
    async with answering(always(406, body, kind="application/json")) as place:
        yield place


@patient("content-type-refused")
async def loses_content_type() -> AsyncIterator[Place]:
    async with answering(always(415, b"Unsupported Media Type", kind="text/plain")) as place:
        yield place


@patient("body-refused")
async def takes_no_bodies() -> AsyncIterator[Place]:
    async with answering(always(413, b"<html>413</html>")) as place:
        yield place


@patient("forbidden")
async def forbids() -> AsyncIterator[Place]:
    async with answering(always(403, b"no", kind="text/plain")) as place:
        yield place


@patient("server-error")
async def lifespan_not_run() -> AsyncIterator[Place]:
    body = b"RuntimeError: Task group is not initialized. Make sure to use run()."
    async with answering(always(500, body, kind="text/plain")) as place:
        yield place


@patient("request-refused")
async def refuses_the_handshake() -> AsyncIterator[Place]:
    async with answering(always(422, b'{"detail": "no"}', kind="application/json")) as place:
        yield place


# --- other things than servers


@patient("wrong-path")
async def at_another_path() -> AsyncIterator[Place]:
    async def serve(request: HttpRequest) -> None:
        await (server.handle(request) if request.path == "/mcp" else request.answer(404))

    async with legacy_server() as server, answering(serve, path="/api") as place:
        yield place


@patient("nothing-at-path")
async def not_there_at_all() -> AsyncIterator[Place]:
    async with answering(always(404, b"Not Found", kind="text/plain")) as place:
        yield place


@patient("post-not-allowed")
async def takes_no_post() -> AsyncIterator[Place]:
    async with answering(always(405, headers=(("Allow", "GET, HEAD"),))) as place:
        yield place


@patient("html-instead-of-mcp")
async def a_web_site() -> AsyncIterator[Place]:
    async with answering(always(200, b"<!doctype html><div id=root></div>")) as place:
        yield place


@patient("login-page")
async def a_login_page() -> AsyncIterator[Place]:
    page = b"<html><form><input type=password></form></html>"
    async with answering(always(200, page)) as place:
        yield place


@patient("not-mcp")
async def another_service() -> AsyncIterator[Place]:
    async with answering(always(200, b'{"ok": true}', kind="application/json")) as place:
        yield place


@patient("broken-json")
async def prints_before_json() -> AsyncIterator[Place]:
    body = b'Warning: undefined variable\n{"jsonrpc":"2.0","id":1,"result":{}}'
    async with answering(always(200, body, kind="application/json")) as place:
        yield place


@patient("request-not-answered")
async def accepts_and_says_nothing() -> AsyncIterator[Place]:
    async with answering(always(202)) as place:
        yield place


@patient("stream-held-back", patience=UNHEARD)
async def buffers_the_first_answer() -> AsyncIterator[Place]:
    async def hold(request: HttpRequest) -> None:
        await request.stream()
        await request.wait_gone()

    async with answering(hold) as place:
        yield place


@patient("stream-without-answer")
async def streams_no_answer() -> AsyncIterator[Place]:
    async def end(request: HttpRequest) -> None:
        if request.method == "POST":
            await request.stream(b": nothing\n\n")
        else:
            await request.answer(405)

    async with answering(end) as place:
        yield place
        await asyncio.sleep(0)
