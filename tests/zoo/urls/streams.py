"""Servers whose streams, or the proxies before them, do not let events through as they come."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator

from tests.interaction.http_server import HttpRequest
from tests.zoo.urls.patients import (
    ATTENTIVE,
    UNHEARD,
    Place,
    always,
    discovering,
    legacy_server,
    modern_server,
    patient,
)
from wigwag.doctor.patience import Patience


async def stay_open(request: HttpRequest) -> None:
    await request.stream(b": here\n\n")
    await request.wait_gone()


@patient("stream-refused")
async def has_a_page_for_get() -> AsyncIterator[Place]:
    async with legacy_server(GET=always(404, b"<html>Not Found</html>")) as server:
        yield Place(server.url)


@patient("stream-held-back", patience=UNHEARD)
async def buffers_even_the_head() -> AsyncIterator[Place]:
    async def hold(request: HttpRequest) -> None:
        request.is_keep_alive = False
        await request.wait_gone()

    async with legacy_server(GET=hold) as server:
        yield Place(server.url)


@patient("stream-cut", patience=ATTENTIVE)
async def cuts_streams() -> AsyncIterator[Place]:
    async def cut(request: HttpRequest) -> None:
        request.is_keep_alive = False
        head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
        await request.raw(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        await request.raw(b"8\r\n: here\n\n\r\n")

    async with legacy_server(GET=cut) as server:
        yield Place(server.url)


@patient("stream-compressed")
async def compresses_streams() -> AsyncIterator[Place]:
    async def pack(request: HttpRequest) -> None:
        head = [("Content-Encoding", "gzip")]
        await request.stream(gzip.compress(b": here\n\n"), headers=head)
        await request.wait_gone()

    async with legacy_server(GET=pack) as server:
        yield Place(server.url)


@patient("no-keep-alive", patience=Patience(answer=30.0, slow_start=25.0, idle=0.3, keep_alive=0.3))
async def silent_streams() -> AsyncIterator[Place]:
    async def be_silent(request: HttpRequest) -> None:
        await request.stream()
        await request.wait_gone()

    async with legacy_server(GET=be_silent) as server:
        yield Place(server.url)


announce = discovering({"tools": {"listChanged": True}})


@patient("stream-held-back", patience=UNHEARD)
async def buffers_subscriptions() -> AsyncIterator[Place]:
    async def hold(request: HttpRequest) -> None:
        await request.stream()
        await request.wait_gone()

    async with modern_server(server__discover=announce, subscriptions__listen=hold) as server:
        yield Place(server.url)


@patient("subscription-refused")
async def announces_what_nobody_hears() -> AsyncIterator[Place]:
    async with modern_server(server__discover=announce) as server:
        yield Place(server.url)


def report(step: int) -> dict[str, object]:
    params = {"progressToken": "wigwag-doctor", "progress": step}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


@patient("progress-in-one-lump", call=("work", {}))
async def buffers_progress() -> AsyncIterator[Place]:
    async def work(request: HttpRequest) -> None:
        end = {"jsonrpc": "2.0", "id": request.message["id"], "result": {"content": []}}
        events = [report(1), report(2), end]
        await request.stream("".join(f"data: {json.dumps(e)}\n\n" for e in events).encode())

    async with legacy_server(tools__call=work) as server:
        yield Place(server.url)
        await asyncio.sleep(0)
