"""A server as an ASGI application: paths, hosts, pages, and its life."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.asgi import (
    JSON,
    Call,
    Message,
    Site,
    hello,
    legacy_call,
    modern_call,
    notification,
    serving,
    until,
)
from wigwag import Context, Server

pytestmark = pytest.mark.anyio


def make_server(**options: Any) -> Server:
    server = Server("site", version="1.0.0", **options)

    @server.tool
    async def echo(text: str, context: Context) -> str:
        return f"{text} {context.lifespan}"

    return server


def modern_echo(number: int = 1) -> tuple[Message, dict[str, str]]:
    return modern_call(number, "echo", {"text": "x"})


async def posted(site: Site, path: str, **extra: Any) -> Call:
    body, headers = modern_echo()
    data = json.dumps(body).encode()
    return await site.open("POST", path, headers=headers, body=data, **extra).whole()


# --- paths


@pytest.mark.parametrize(
    ("option", "root", "served", "not_found"),
    [
        ("/mcp", "", ["/mcp", "/mcp/"], ["/", "/mcpx", "/mcp/x", "/x/mcp", "/MCP"]),
        ("/mcp/", "", ["/mcp", "/mcp/"], ["/"]),
        ("/", "", ["/"], ["/mcp"]),
        ("/a/b", "", ["/a/b", "/a/b/"], ["/a", "/b"]),
        ("/mcp", "/api", ["/api/mcp", "/api/mcp/", "/api", "/api/", "/mcp"], ["/api/x", "/apix"]),
        ("/mcp", "/mcp", ["/mcp", "/mcp/", "/mcp/mcp", "/mcp/mcp/"], ["/mcp/x"]),
        ("/", "/mcp", ["/mcp", "/mcp/"], ["/mcp/x"]),
        ("/mcp", "/a/b", ["/a/b/mcp", "/a/b", "/a/b/mcp/"], ["/a/mcp"]),
    ],
)
async def test_both_spellings_of_the_path_are_served_below_any_prefix(
    option: str, root: str, served: list[str], not_found: list[str]
) -> None:
    async with serving(make_server(), path=option) as site:
        for path in served:
            call = await posted(site, path, root_path=root)
            assert (path, call.status) == (path, 200)
        for path in not_found:
            call = await posted(site, path, root_path=root)
            assert (path, call.status) == (path, 404)
            assert root + option.rstrip("/") in call.json["error"]["message"]


async def test_a_path_begins_with_a_slash() -> None:
    with pytest.raises(ValueError, match="begins with a slash"):
        make_server().http_app("mcp")


async def test_other_methods_are_told_which_there_are() -> None:
    async with serving(make_server()) as site:
        for method in ("PUT", "HEAD", "PATCH", "OPTIONS", "TRACE"):
            call = await site.open(method).whole()
            assert (call.status, call.headers["allow"]) == (405, "GET, POST, DELETE")
    async with serving(make_server(), sessions=False) as site:
        call = await site.open("PUT").whole()
        assert (call.status, call.headers["allow"]) == (405, "POST")


async def test_nothing_but_http_is_served() -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await make_server().http_app()({"type": "websocket", "path": "/mcp"}, receive, send)  # type: ignore[arg-type]
    assert [message["type"] for message in sent] == ["websocket.close"]


@pytest.mark.parametrize(("option", "path"), [(True, "/health"), ("/up", "/up")])
async def test_the_health_of_the_server_is_told_to_anybody(
    *, option: bool | str, path: str
) -> None:
    async with serving(make_server(), health=option, host="127.0.0.1") as site:
        for spelling in (path, f"{path}/"):
            headers = {"host": "10.0.0.7:8080", "origin": "http://evil.example"}
            call = await site.open("GET", spelling, headers=headers).whole()
            assert (call.status, call.json) == (200, {"status": "ok"})
    async with serving(make_server()) as site:
        assert (await site.open("GET", path).whole()).status == 404


# --- hosts and pages

LOCAL = ["localhost", "127.0.0.1", "[::1]", "localhost:8765", "127.0.0.1:1", "LOCALHOST"]


async def refused(site: Site, **headers: str) -> bool:
    call = await site.ask(hello(), **headers)
    assert call.status in (200, 403), call.body
    if call.status == 403:
        assert "log" in call.json["error"]["message"]
        assert "id" not in call.json
    return call.status == 403


async def test_a_local_server_answers_to_local_names_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving(make_server(), host="127.0.0.1") as site:
        for host in LOCAL:
            assert not await refused(site, host=host)
        for host in ("evil.example", "localhost.evil.example", "10.0.0.7", ""):
            caplog.clear()
            assert await refused(site, host=host)
            assert f"refused Host {host!r}" in caplog.text
        assert await refused(site)
        await refused(site, host="evil.example")
        assert "add 'evil.example' to allowed_hosts" in caplog.text


async def test_a_local_server_refuses_pages_from_elsewhere(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving(make_server(), host="127.0.0.1") as site:
        for origin in ("http://localhost", "http://localhost:3000", "http://127.0.0.1:8765"):
            assert not await refused(site, host="localhost:8765", origin=origin)
        for origin in ("http://evil.example", "null", "file://", "http://localhost.evil.example"):
            caplog.clear()
            assert await refused(site, host="localhost:8765", origin=origin)
            assert f"refused Origin {origin!r}" in caplog.text
        await refused(site, host="localhost", origin="http://evil.example")
        assert "add 'http://evil.example' to allowed_origins" in caplog.text


async def test_hosts_and_pages_can_be_allowed() -> None:
    options: dict[str, Any] = {
        "host": "127.0.0.1",
        "allowed_hosts": ["mcp.example.com", "*.internal"],
        "allowed_origins": ["https://app.example.com"],
    }
    async with serving(make_server(), **options) as site:
        for host in ("mcp.example.com", "mcp.example.com:443", "a.internal", "localhost"):
            assert not await refused(site, host=host)
        assert not await refused(site, host="localhost", origin="https://app.example.com")
        assert await refused(site, host="example.com")
        assert await refused(site, host="localhost", origin="http://app.example.com")


async def test_a_server_that_is_reached_by_any_name_still_refuses_foreign_pages() -> None:
    async with serving(make_server()) as site:
        assert not await refused(site, host="anything.example")
        assert not await refused(site, host="a.example", origin="https://a.example")
        assert await refused(site, host="a.example", origin="https://b.example")


async def test_a_server_that_is_reached_by_any_name_says_so_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving(make_server()) as site:
        for _ in range(2):
            await site.ask(*modern_echo())
            await site.app.aclose()
    (warning,) = [record for record in caplog.records if record.levelname == "WARNING"]
    assert warning.name == "wigwag.http"
    assert warning.getMessage().startswith("site accepts any Host (set allowed_hosts")
    caplog.clear()
    for options in ({"host": "127.0.0.1"}, {"allowed_hosts": ["mcp.example.com"]}):
        async with serving(make_server(), **options) as site:
            await site.open("GET", "/nope").whole()
    assert "any Host" not in caplog.text


async def test_a_refused_request_is_not_looked_at() -> None:
    async with serving(make_server(), host="127.0.0.1") as site:
        call = site.open("POST", headers={**JSON, "host": "evil.example"}, body=None)
        assert (await call.whole()).status == 403  # though no body has come
        for method in ("GET", "DELETE", "PUT"):
            call = await site.open(method, headers={"host": "evil.example"}).whole()
            assert call.status == 403


async def test_a_page_that_may_can_read_the_answers() -> None:
    options: dict[str, Any] = {"allowed_origins": ["https://app.example.com"], "cors": True}
    origin = "https://app.example.com"
    async with serving(make_server(), **options) as site:
        wanted = "content-type,mcp-method,mcp-name,mcp-param-region,mcp-protocol-version"
        preflight = await site.open(
            "OPTIONS",
            headers={
                "origin": origin,
                "access-control-request-method": "POST",
                "access-control-request-headers": wanted,
            },
        ).whole()
        assert preflight.status == 204
        assert preflight.headers["access-control-allow-origin"] == origin
        assert preflight.headers["access-control-allow-headers"] == wanted
        assert preflight.headers["access-control-allow-methods"] == "GET, POST, DELETE, OPTIONS"
        assert preflight.headers["vary"] == "origin"
        begun = await site.ask(hello(), origin=origin)
        session = begun.headers["mcp-session-id"]
        exposed = begun.headers["access-control-expose-headers"]
        assert "mcp-session-id" in exposed
        stream = await site.open(
            "GET",
            headers={"accept": "text/event-stream", "mcp-session-id": session, "origin": origin},
        ).begun()
        failed = await site.ask(*modern_call(1, "nope"), origin=origin)
        missing = await site.open("GET", "/nope", headers={"origin": origin}).whole()
        for call in (begun, stream, failed, missing):
            assert call.headers["access-control-allow-origin"] == origin
        plain = await site.ask(hello())
        assert "access-control-allow-origin" not in plain.headers
        foreign = await site.open("OPTIONS", headers={"origin": "https://evil.example"}).whole()
        assert foreign.status == 403
        assert "access-control-allow-origin" not in foreign.headers


async def test_a_preflight_that_names_no_headers_is_told_those_of_mcp() -> None:
    async with serving(make_server(), allowed_origins=["*"], cors=True) as site:
        call = await site.open("OPTIONS", headers={"origin": "https://any.example"}).whole()
        allowed = call.headers["access-control-allow-headers"].split(", ")
        assert {"content-type", "mcp-session-id", "mcp-method", "authorization"} <= set(allowed)


async def test_without_the_option_no_page_can_read_the_answers() -> None:
    async with serving(make_server(), allowed_origins=["https://app.example.com"]) as site:
        call = await site.ask(hello(), origin="https://app.example.com")
        assert call.status == 200
        assert not any(name.startswith("access-control") for name in call.headers)


# --- its life


class Lifespan:
    """Counts how often a server's lifespan is entered and left."""

    def __init__(self) -> None:
        self.entered = 0
        self.left = 0
        self.fails = False
        self.may_begin = asyncio.Event()
        self.may_begin.set()

    @asynccontextmanager
    async def __call__(self, server: Server) -> AsyncIterator[str]:
        if self.fails:
            raise ConnectionError("no database")
        await self.may_begin.wait()
        self.entered += 1
        task = asyncio.current_task()
        yield f"life {self.entered}"
        assert asyncio.current_task() is task
        self.left += 1


async def test_the_lifespan_is_entered_once_and_left_once() -> None:
    lifespan = Lifespan()
    async with serving(make_server(lifespan=lifespan)) as site:
        assert lifespan.entered == 0
        calls = [site.ask(*modern_echo(number)) for number in range(20)]
        for call in await asyncio.gather(*calls):
            assert call.json["result"]["content"][0]["text"] == "x life 1"
        for _ in range(20):
            session = await site.begin()
            call = await site.ask(legacy_call(1, "echo", {"text": "x"}), session=session)
            assert call.json["result"]["content"][0]["text"] == "x life 1"
            await site.delete(session)
        assert (lifespan.entered, lifespan.left) == (1, 0)
    assert (lifespan.entered, lifespan.left) == (1, 1)


async def test_whoever_asked_first_may_be_gone_when_the_server_has_begun() -> None:
    lifespan = Lifespan()
    lifespan.may_begin.clear()
    async with serving(make_server(lifespan=lifespan)) as site:
        first = site.post(*modern_echo())
        second = site.post(*modern_echo())
        await asyncio.sleep(0)
        first.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first.task
        site.calls.remove(first)
        lifespan.may_begin.set()
        assert (await second.whole()).status == 200
    assert (lifespan.entered, lifespan.left) == (1, 1)


async def test_a_server_may_run_again_after_it_has_ended() -> None:
    lifespan = Lifespan()
    async with serving(make_server(lifespan=lifespan)) as site:
        for number in (1, 2, 3):
            call = await site.ask(*modern_echo())
            assert call.json["result"]["content"][0]["text"] == f"x life {number}"
            await site.app.aclose()
            await site.app.aclose()
            assert (lifespan.entered, lifespan.left) == (number, number)


def test_a_server_may_run_in_another_event_loop() -> None:
    lifespan = Lifespan()
    server = make_server(lifespan=lifespan)
    app = server.http_app()

    async def ask(*, closes: bool) -> str:
        site = Site(app)
        session = await site.begin()
        call = await site.ask(legacy_call(1, "echo", {"text": "x"}), session=session)
        if closes:
            await app.aclose()
        text: str = call.json["result"]["content"][0]["text"]
        return text

    assert asyncio.run(ask(closes=True)) == "x life 1"
    assert asyncio.run(ask(closes=False)) == "x life 2"
    assert asyncio.run(ask(closes=True)) == "x life 3"
    assert (lifespan.entered, lifespan.left) == (3, 3)


async def test_a_lifespan_that_fails_is_told_and_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lifespan = Lifespan()
    lifespan.fails = True
    async with serving(make_server(lifespan=lifespan)) as site:
        calls = await asyncio.gather(*(site.ask(*modern_echo()) for _ in range(3)))
        for call in calls:
            assert call.status == 500
            assert "log" in call.json["error"]["message"]
            assert b"no database" not in call.body
        assert "no database" in caplog.text
        assert len(caplog.records) == len({id(record.exc_info) for record in caplog.records})
        lifespan.fails = False
        assert (await site.ask(*modern_echo())).status == 200
    assert (lifespan.entered, lifespan.left) == (1, 1)


async def test_while_it_ends_a_server_takes_nothing_new() -> None:
    lifespan = Lifespan()
    go = asyncio.Event()
    started = asyncio.Event()
    server = make_server(lifespan=lifespan)

    @server.tool
    async def wait() -> str:
        started.set()
        await go.wait()
        return "waited"

    async with serving(server) as site:
        call = site.post(*modern_call(1, "wait"))
        await started.wait()
        closing = asyncio.create_task(site.app.aclose())
        await until(lambda: site.app._life.stop.is_set(), "it ends")  # type: ignore[union-attr]
        late = await site.ask(*modern_echo())
        assert late.status == 503
        assert "about to end" in late.json["error"]["message"]
        go.set()
        assert (await call.whole()).json["result"]["content"][0]["text"] == "waited"
        await closing
    assert (lifespan.entered, lifespan.left) == (1, 1)


class LifespanDriver:
    """An ASGI server that runs the lifespan of an application."""

    def __init__(self, app: Callable[..., Any]) -> None:
        self.sent: asyncio.Queue[Message] = asyncio.Queue()
        self._to_app: asyncio.Queue[Message] = asyncio.Queue()
        self.task = asyncio.create_task(
            app({"type": "lifespan", "asgi": {"version": "3.0"}}, self._to_app.get, self.sent.put)
        )

    async def say(self, what: str) -> Message:
        self._to_app.put_nowait({"type": f"lifespan.{what}"})
        async with asyncio.timeout(30):
            return await self.sent.get()


async def test_an_asgi_server_may_run_the_lifespan() -> None:
    lifespan = Lifespan()
    async with serving(make_server(lifespan=lifespan)) as site:
        driver = LifespanDriver(site.app)
        assert await driver.say("startup") == {"type": "lifespan.startup.complete"}
        assert lifespan.entered == 1
        call = await site.ask(*modern_echo())
        assert call.json["result"]["content"][0]["text"] == "x life 1"
        assert await driver.say("shutdown") == {"type": "lifespan.shutdown.complete"}
        await driver.task
        assert (lifespan.entered, lifespan.left) == (1, 1)


async def test_an_asgi_server_is_told_that_the_lifespan_failed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lifespan = Lifespan()
    lifespan.fails = True
    driver = LifespanDriver(make_server(lifespan=lifespan).http_app())
    answer = await driver.say("startup")
    assert answer == {"type": "lifespan.startup.failed", "message": "no database"}
    await driver.task
    assert "no database" in caplog.text


async def test_several_applications_share_the_lifespan_of_their_server() -> None:
    lifespan = Lifespan()
    server = make_server(lifespan=lifespan)
    async with serving(server) as one, serving(server, path="/other") as two:
        for site in (one, two):
            call = await site.ask(*modern_echo())
            assert call.json["result"]["content"][0]["text"] == "x life 1"
    assert (lifespan.entered, lifespan.left) == (1, 1)


async def test_changes_reach_the_clients_of_every_application() -> None:
    server = make_server()
    async with serving(server) as one, serving(server) as two:
        streams = []
        for site in (one, two):
            streams.append(site.get(await site.begin()))
            await streams[-1].event()
        server.tools_changed()
        for stream in streams:
            assert (await stream.message())["method"] == "notifications/tools/list_changed"


async def test_changes_may_come_from_any_thread() -> None:
    server = make_server()
    async with serving(server) as site:
        stream = site.get(await site.begin())
        await stream.event()
        await asyncio.to_thread(server.tools_changed)
        assert (await stream.message())["method"] == "notifications/tools/list_changed"


@pytest.mark.broken_messages("client")
async def test_changes_that_follow_one_another_are_told_once() -> None:
    server = make_server()
    async with serving(server) as site:
        stream = site.get(await site.begin())
        await stream.event()
        for _ in range(50):
            server.tools_changed()
        await stream.message()
        await site.ask(notification("notifications/zzz"), mcp_protocol_version="2026-07-28")
        await until(lambda: not site.endpoint._changes, "all is told")
    assert await stream.rest() == []
