"""HTTP+SSE: the stream that a client opens, and the path that it posts to."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest

from tests.asgi import (
    JSON,
    Call,
    Message,
    Site,
    hello,
    legacy,
    legacy_call,
    notification,
    serving,
    until,
)
from wigwag import Context, Limits, Server
from wigwag.runtime.sse_endpoints import SseEndpoints

pytestmark = pytest.mark.anyio


class Stage:
    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.started = asyncio.Event()
        self.cancelled = False


def make_server(stage: Stage, **options: Any) -> Server:
    server = Server("old", version="1.0.0", **options)

    @server.tool(title="Echo")
    def echo(text: str) -> str:
        return text

    @server.tool
    async def wait(context: Context) -> str:
        context.report_progress(1)
        stage.started.set()
        try:
            await stage.go.wait()
        except asyncio.CancelledError:
            stage.cancelled = True
            raise
        return "waited"

    @server.tool
    async def greet(context: Context) -> str:
        return f"{len(await context.list_roots())} roots"

    @server.tool
    async def who(context: Context) -> str:
        await asyncio.sleep(0)
        assert context.http_request is not None
        return context.http_request.headers["X-User"]

    return server


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.fixture
async def site(stage: Stage) -> AsyncIterator[Site]:
    async with serving(make_server(stage), sse=True) as site:
        yield site


def endpoints_of(site: Site) -> SseEndpoints:
    life = site.app._life
    assert life is not None
    assert life.sse is not None
    return life.sse


class Client:
    """A client of 2024-11-05, over the two paths."""

    def __init__(self, site: Site, stream: Call, target: str) -> None:
        self.site = site
        self.stream = stream
        self.target = target

    async def post(self, message: Message | bytes, **headers: str) -> Call:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        call = self.site.open("POST", self.target, headers={**JSON, **headers}, body=body)
        return await call.whole()

    async def ask(self, message: Message) -> Message:
        posted = await self.post(message)
        assert (posted.status, posted.body) == (202, b"")
        while True:
            answer = await self.stream.message()
            if answer.get("id") == message["id"] and "method" not in answer:
                return answer


async def connected(
    site: Site, path: str = "/sse", revision: str = "2024-11-05", **capabilities: Any
) -> Client:
    stream = site.open("GET", path, headers={"accept": "text/event-stream"})
    first = await stream.event()
    assert (stream.status, first.event) == (200, "endpoint")
    assert stream.headers["content-type"] == "text/event-stream"
    assert stream.headers["x-accel-buffering"] == "no"
    parts = urlsplit(urljoin(f"http://host{path}", first.data))
    client = Client(site, stream, f"{parts.path}?{parts.query}")
    answer = await client.ask(hello(revision, **capabilities))
    assert answer["result"]["protocolVersion"] == revision
    await client.post(notification("notifications/initialized"))
    return client


async def test_a_client_of_2024_11_05_is_served(site: Site) -> None:
    client = await connected(site)
    answer = await client.ask(legacy(1, "tools/list"))
    assert "title" not in answer["result"]["tools"][0]
    answer = await client.ask(legacy_call(2, "echo", {"text": "hello"}))
    assert answer["result"]["content"] == [{"type": "text", "text": "hello"}]
    answer = await client.ask(legacy(3, "ping"))
    assert answer["result"] == {}


async def test_newer_revisions_may_be_settled_too(site: Site) -> None:
    client = await connected(site, revision="2025-11-25")
    answer = await client.ask(legacy(1, "tools/list"))
    assert answer["result"]["tools"][0]["title"] == "Echo"


@pytest.mark.parametrize("path", ["/sse", "/sse/"])
async def test_the_path_to_post_to_is_told_relative_to_that_of_the_stream(
    site: Site, path: str
) -> None:
    client = await connected(site, path)
    assert client.target.startswith("/messages?")
    other = await connected(site, path)
    assert client.target != other.target


async def test_the_paths_can_be_chosen(stage: Stage) -> None:
    async with serving(make_server(stage), sse="/old/stream") as site:
        client = await connected(site, "/old/stream")
        assert client.target.startswith("/old/messages?session_id=")
        assert (await site.open("GET", "/sse").whole()).status == 404


async def test_they_are_there_only_when_wanted(stage: Stage) -> None:
    async with serving(make_server(stage)) as site:
        assert (await site.open("GET", "/sse").whole()).status == 404
        assert (await site.open("POST", "/messages").whole()).status == 404


async def test_clients_do_not_hear_each_other(site: Site) -> None:
    clients = [await connected(site) for _ in range(5)]
    answers = await asyncio.gather(
        *(c.ask(legacy_call(1, "echo", {"text": f"{n}"})) for n, c in enumerate(clients))
    )
    texts = [answer["result"]["content"][0]["text"] for answer in answers]
    assert texts == ["0", "1", "2", "3", "4"]


async def test_handlers_see_the_post_that_their_request_came_by(site: Site) -> None:
    client = await connected(site)
    for number, user in enumerate(("ann", "ben"), 1):
        await client.post(legacy_call(number, "who"), **{"x-user": user})
    answers = [await client.stream.message() for _ in range(2)]
    assert {a["id"]: a["result"]["content"][0]["text"] for a in answers} == {1: "ann", 2: "ben"}


async def test_a_client_can_be_asked(site: Site) -> None:
    client = await connected(site, roots={})
    await client.post(legacy_call(1, "greet"))
    asked = await client.stream.message()
    assert asked["method"] == "roots/list"
    await client.post({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": []}})
    assert (await client.stream.message())["result"]["content"][0]["text"] == "0 roots"


async def test_changes_are_told(site: Site) -> None:
    server = site.app._server
    assert isinstance(server, Server)
    client = await connected(site)
    server.tools_changed()
    assert (await client.stream.message())["method"] == "notifications/tools/list_changed"


async def test_a_client_that_goes_away_cancels_what_it_asked(site: Site, stage: Stage) -> None:
    client = await connected(site)
    body = legacy_call(1, "wait", token="p")
    await client.post(body)
    await stage.started.wait()
    client.stream.disconnect()
    await client.stream.over()
    await until(lambda: stage.cancelled, "the handler is cancelled")
    gone = await client.post(legacy(2, "ping"))
    assert gone.status == 404
    endpoints = endpoints_of(site)
    await until(lambda: not endpoints._served, "nothing is left")
    assert endpoints._open == {}


async def test_a_client_may_go_away_while_it_posts(site: Site) -> None:
    client = await connected(site)
    call = site.open("POST", client.target, headers=JSON, body=None)
    call.send_body(b'{"jsonrpc":"2.0",', more=True)
    await asyncio.sleep(0)
    client.stream.disconnect()
    await client.stream.over()
    call.send_body(b'"id":1,"method":"ping"}', more=False)
    await call.whole()
    assert call.status in (202, 404)


@pytest.mark.parametrize(
    ("path", "status"),
    [("/messages", 404), ("/messages?session_id=nope", 404), ("/messages?session_id=", 404)],
)
async def test_a_stream_that_is_not_there_is_not_found(site: Site, path: str, status: int) -> None:
    call = await site.open("POST", path, headers=JSON, body=b"{}").whole()
    assert call.status == status
    assert "new one" in call.json["error"]["message"]


async def test_other_methods_are_not_allowed(site: Site) -> None:
    refused = await site.open("POST", "/sse", headers=JSON, body=b"{}").whole()
    assert (refused.status, refused.headers["allow"]) == (405, "GET")
    refused = await site.open("GET", "/messages").whole()
    assert (refused.status, refused.headers["allow"]) == (405, "POST")


@pytest.mark.broken_messages("client", sometimes=True)
async def test_what_is_no_message_is_answered_on_the_stream(site: Site) -> None:
    client = await connected(site)
    assert (await client.post(b"{")).status == 202
    assert (await client.stream.message())["error"]["code"] == -32700
    assert (await client.post(b"{}", **{"content-type": "text/plain"})).status == 415


async def test_a_message_that_is_too_long_is_refused(stage: Stage) -> None:
    server = make_server(stage, limits=Limits(max_message_bytes=1000, streams=1))
    async with serving(server, sse=True) as site:
        client = await connected(site)
        assert (await client.post(b" " * 1001)).status == 413
        assert (await client.ask(legacy(1, "ping")))["result"] == {}
        refused = await site.open("GET", "/sse").whole()
        assert refused.status == 503
        client.stream.disconnect()
        await client.stream.over()
        await connected(site)


async def test_foreign_pages_are_refused(site: Site) -> None:
    for method, path in (("GET", "/sse"), ("POST", "/messages")):
        headers = {**JSON, "origin": "http://evil.example"}
        assert (await site.open(method, path, headers=headers, body=b"{}").whole()).status == 403


async def test_the_end_of_the_server_ends_the_streams(stage: Stage) -> None:
    async with serving(make_server(stage), sse=True) as site:
        client = await connected(site)
        stuck = await connected(site)
        await stuck.post(legacy_call(1, "wait", token="p"))
        await stage.started.wait()
        deaf = await connected(site)
        deaf.stream.may_write.clear()
        await deaf.post(legacy(1, "ping"))
    assert client.stream.is_complete
    assert stuck.stream.is_complete
    assert stage.cancelled
    deaf.stream.disconnect()
