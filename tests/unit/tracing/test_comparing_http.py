"""What a server on the web answers otherwise than one that was recorded."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import pytest

from tests.unit.tracing.recordings import MODERN, Told
from wigwag import Context, Header, Server
from wigwag.errors import ServerUnreachable
from wigwag.server.http_process import make_http_server
from wigwag.tracing.comparing import Comparison, replay_against
from wigwag.tracing.records import HttpPart
from wigwag.tracing.replaying import ReplayServer
from wigwag.transports.sockets import bind_tcp

pytestmark = pytest.mark.anyio

IGNORED = ("capabilities", "_meta", "structuredContent", "tools")


@asynccontextmanager
async def serving(app: Any) -> AsyncIterator[str]:
    """Serve an application; gives its URL."""
    (listener,) = bind_tcp("127.0.0.1", 0, backlog=16)
    server = make_http_server(app)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    finally:
        server.should_exit = True
        await running
        listener.close()


def text(said: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}]}


def library() -> Server:
    server = Server("library", version="2.0")

    @server.tool
    async def where(ctx: Context) -> str:
        """Tell where."""
        await ctx.report_progress(1)
        return str((await ctx.list_roots())[0].uri)

    @server.tool
    async def regional(region: Annotated[str, Header("Region")]) -> str:
        """Answer for a region."""
        return region

    return server


def otherwise(comparison: Comparison) -> list[Any]:
    return [outcome for outcome in comparison.outcomes if not outcome.is_alike]


async def test_a_session_is_played_with_what_the_server_asks_in_it() -> None:
    told = Told(transport="http", target="http://localhost/mcp")
    info = {"name": "host", "version": "1"}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {"roots": {}}, "clientInfo": info}
    told.asks(0, "initialize", hello, connection=1)
    began = HttpPart(status=200, session=1)
    greeting = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "serverInfo": {"name": "library", "version": "2.0"},
    }
    told.answers(0, greeting, http=began, connection=1)
    session = HttpPart(session=1)
    told.notifies("notifications/initialized", sender="client", http=session, connection=2)
    call = {"name": "where", "arguments": {}, "_meta": {"progressToken": "p"}}
    told.asks(1, "tools/call", call, http=session, connection=3)
    progress = {"progressToken": "p", "progress": 1}
    told.notifies("notifications/progress", progress, http=session, connection=3)
    told.asks(9, "roots/list", sender="server", http=session, connection=3)
    roots = {"roots": [{"uri": "file:///recorded"}]}
    told.answers(9, roots, sender="client", http=session, connection=4)
    told.answers(1, text("file:///recorded"), http=session, connection=3)
    async with serving(library().http_app()) as url:
        comparison = await replay_against(told.recording, url, ignore=IGNORED)
        assert otherwise(comparison) == []
    async with serving(ReplayServer(told.recording).http_app()) as url:
        assert otherwise(await replay_against(told.recording, url)) == []


async def test_a_modern_conversation_is_played_with_its_headers_and_refusals() -> None:
    told = Told(transport="http", target="http://localhost/mcp")
    told.asks(1, "tools/list", {"_meta": MODERN}, connection=1)
    tools = {"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private"}
    told.answers(1, tools, connection=1)
    call = {"name": "regional", "arguments": {"region": "north"}, "_meta": MODERN}
    told.asks(2, "tools/call", call, connection=2)
    told.answers(2, {"resultType": "complete", **text("north")}, connection=2)
    told.asks(3, "prompts/list", {"_meta": MODERN}, connection=3)
    refusal = "Method not found: this server does not offer prompts/list"
    told.refuses(3, -32601, refusal, connection=3, http=HttpPart(status=404))
    async with serving(library().http_app()) as url:
        comparison = await replay_against(told.recording, url, ignore=IGNORED)
    assert otherwise(comparison) == []


async def test_a_question_that_was_not_recorded_is_refused_and_told() -> None:
    told = Told()
    told.greets()
    told.asks(1, "tools/call", {"name": "where"})
    told.answers(1, {**text("somewhere"), "isError": False})
    asking = Told()
    asking.greets()
    asking.asks(1, "tools/call", {"name": "where"})
    asking.asks(9, "roots/list", sender="server")
    asking.answers(9, {"roots": []}, sender="client")
    asking.answers(1, {**text("somewhere"), "isError": False})
    async with serving(ReplayServer(asking.recording).http_app()) as url:
        comparison = await replay_against(told.recording, url)
    (outcome,) = otherwise(comparison)
    assert (outcome.method, outcome.id) == ("roots/list", None)
    assert [each.path for each in outcome.differences] == ["roots/list[0]"]


async def test_a_url_where_nobody_listens_is_a_failure_of_its_own() -> None:
    told = Told()
    told.greets()
    with pytest.raises(ServerUnreachable, match="nobody listens there"):
        await replay_against(told.recording, "http://127.0.0.1:1/mcp")


async def test_what_is_no_message_is_kept_as_junk() -> None:
    told = Told(transport="http", target="http://localhost/mcp")
    told.asks(1, "ping", {"_meta": MODERN})
    told.answers(1, {})

    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        body = b'data: <oops>\n\ndata: {"jsonrpc":"2.0","id":1,"result":{}}\n\n'
        await send({"type": "http.response.body", "body": body})

    app.aclose = _nothing  # type: ignore[attr-defined]
    async with serving(app) as url:
        comparison = await replay_against(told.recording, url)
    assert comparison.is_alike
    assert [type(each).__name__ for each in comparison.recording.records] == [
        "MessageRecord",
        "JunkRecord",
        "MessageRecord",
        "EndRecord",
    ]


async def _nothing() -> None:
    pass
