"""Servers of HTTP+SSE, with the faults that proxies give them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from msgspec.structs import replace

from tests.interaction.http_server import HttpRequest, HttpServer
from tests.pair import error, initialized, result
from tests.zoo.urls.patients import UNHEARD, Place, always, answering, patient


def answer_to(message: Any) -> Any:
    match message["method"]:
        case "initialize":
            return result(message["id"], initialized("2024-11-05", {"tools": {}}))
        case "tools/list":
            return result(message["id"], {"tools": []})
        case "ping":
            return result(message["id"], {})
    return error(message["id"], -32601, "Method not found")


class HttpSse(HttpServer):
    """A server of HTTP+SSE.

    Args:
        endpoint: What its stream names.
        answers: Whether anything else comes through the stream.
    """

    def __init__(self, endpoint: str = "/messages?id=1", *, answers: bool = True) -> None:
        super().__init__()
        self.endpoint = endpoint
        self.answers = answers
        self._to_say: asyncio.Queue[bytes] = asyncio.Queue()

    async def handle(self, request: HttpRequest) -> None:
        if request.method == "GET" and request.path == "/sse":
            await request.stream(f"event: endpoint\ndata: {self.endpoint}\n\n".encode())
            saying = asyncio.ensure_future(self._say(request))
            try:
                await request.wait_gone()
            finally:
                saying.cancel()
                await asyncio.gather(saying, return_exceptions=True)
        elif request.method == "POST" and request.path.startswith("/messages"):
            if self.answers and "id" in request.message:
                message = json.dumps(answer_to(request.message))
                self._to_say.put_nowait(f"event: message\ndata: {message}\n\n".encode())
            await request.answer(202, b"Accepted", kind="text/plain")
        else:
            await request.answer(405 if request.path == "/sse" else 404)

    async def _say(self, request: HttpRequest) -> None:
        while True:
            await request.raw(await self._to_say.get())


@patient("http-sse-only")
async def of_2024() -> AsyncIterator[Place]:
    async with HttpSse() as server:
        yield Place(f"{server.origin}/sse")


@patient("wrong-path")
async def of_2024_at_the_path_of_today() -> AsyncIterator[Place]:
    async with HttpSse() as server:
        yield Place(f"{server.origin}/mcp")


@patient("endpoint-elsewhere")
async def names_an_inner_endpoint() -> AsyncIterator[Place]:
    async with HttpSse("http://10.0.0.7:8000/messages?id=1") as server:
        yield Place(f"{server.origin}/sse")


@patient("endpoint-refuses")
async def loses_its_prefix() -> AsyncIterator[Place]:
    async with HttpSse("/inner/messages?id=1") as server:
        yield Place(f"{server.origin}/sse")


@patient("host-refused")
async def of_2024_by_another_name() -> AsyncIterator[Place]:
    async with HttpSse() as server:
        serve = server.handle

        async def guard(request: HttpRequest) -> None:
            if request.method == "GET" and not request.headers["host"].startswith("localhost"):
                await request.answer(421, b"Invalid Host header", kind="text/plain")
            else:
                await serve(request)

        server.handle = guard  # type: ignore[method-assign]  # for this one alone
        yield Place(f"{server.origin}/sse")


@patient("stream-held-back", patience=replace(UNHEARD, event=3.0))
async def answers_nowhere() -> AsyncIterator[Place]:
    async with HttpSse(answers=False) as server:
        yield Place(f"{server.origin}/sse")


@patient("stream-without-endpoint")
async def streams_something_else() -> AsyncIterator[Place]:
    async def tick(request: HttpRequest) -> None:
        if request.method == "GET":
            await request.stream(b"data: tick\n\n")
        else:
            await always(405)(request)

    async with answering(tick, path="/sse") as place:
        yield place
