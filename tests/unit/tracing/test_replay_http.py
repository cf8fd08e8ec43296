"""A recorded server on the web."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from tests.asgi import Site, hello, legacy, legacy_call, modern, modern_call, notification
from tests.unit.tracing.recordings import MODERN, Told
from wigwag.tracing.records import HttpPart
from wigwag.tracing.replaying import ReplayServer

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def replaying(told: Told, **options: Any) -> AsyncIterator[Site]:
    site = Site(cast("Any", ReplayServer(told.recording).http_app(**options)))
    try:
        yield site
    finally:
        await site.app.aclose()
        for call in site.calls:
            call.disconnect()
            await call.over()


def text(said: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}]}


def legacy_told() -> Told:
    told = Told()
    told.greets()
    told.asks(1, "tools/call", {"name": "next", "arguments": {}})
    told.answers(1, text("one"))
    told.asks(2, "tools/call", {"name": "next", "arguments": {}})
    told.answers(2, text("two"))
    return told


async def test_each_legacy_client_has_a_session_with_the_recording_from_its_beginning() -> None:
    async with replaying(legacy_told()) as site:
        first, second = await site.begin(), await site.begin()
        for session, number, said in ((first, 1, "one"), (first, 2, "two"), (second, 1, "one")):
            asked = await site.ask(legacy_call(number, "next"), session=session)
            assert (asked.status, asked.json["id"]) == (200, number)
            assert asked.json["result"] == text(said)


async def test_a_session_that_is_not_named_or_not_known_is_refused_and_may_be_ended() -> None:
    async with replaying(legacy_told()) as site:
        session = await site.begin()
        assert (await site.ask(legacy(1, "ping"))).status == 400
        assert (await site.ask(legacy(1, "ping"), session="other")).status == 404
        assert (await site.delete(session)).status == 204
        assert (await site.ask(legacy(1, "ping"), session=session)).status == 404


async def test_what_comes_before_the_answer_makes_it_a_stream() -> None:
    told = Told()
    told.greets()
    told.asks(1, "tools/call", {"name": "slow", "_meta": {"progressToken": "p"}})
    told.notifies("notifications/progress", {"progressToken": "p", "progress": 1})
    told.answers(1, text("done"))
    async with replaying(told) as site:
        session = await site.begin()
        slow = site.post(legacy_call(5, "slow", token=7), session=session)
        progress, answer = await slow.rest()
        assert slow.is_stream
        assert progress["params"]["progressToken"] == 7
        assert (answer["id"], answer["result"]) == (5, text("done"))


async def test_an_answer_that_came_as_an_event_comes_as_one_again_and_a_status_stays() -> None:
    told = Told(transport="http", target="http://localhost/mcp")
    events = {"content-type": "text/event-stream; charset=utf-8"}
    told.asks(1, "a", {"_meta": MODERN}, connection=1)
    told.answers(1, {}, connection=1, http=HttpPart(status=200, headers=events))
    told.asks(2, "b", {"_meta": MODERN}, connection=2)
    told.refuses(2, -32602, "no", connection=2, http=HttpPart(status=400))
    async with replaying(told) as site:
        as_event = site.post(*modern(5, "a"))
        assert [each["id"] for each in await as_event.rest()] == [5]
        assert as_event.is_stream
        refused = await site.ask(*modern(6, "b"))
        assert (refused.status, refused.json["error"]["message"]) == (400, "no")


async def test_a_question_goes_out_on_the_stream_and_its_answer_comes_by_another_post() -> None:
    told = Told()
    told.greets()
    told.asks(1, "tools/call", {"name": "ask", "arguments": {}})
    told.asks(9, "roots/list", sender="server")
    told.answers(9, {"roots": []}, sender="client")
    told.answers(1, text("done"))
    async with replaying(told) as site:
        session = await site.begin()
        call = site.post(legacy_call(5, "ask"), session=session)
        assert (await call.message())["method"] == "roots/list"
        answer = {"jsonrpc": "2.0", "id": 9, "result": {"roots": []}}
        assert (await site.ask(answer, session=session)).status == 202
        assert (await call.message())["result"] == text("done")


async def test_what_the_server_said_of_its_own_accord_is_told_on_the_stream_for_that() -> None:
    told = Told()
    told.greets()
    told.notifies("notifications/tools/list_changed")
    async with replaying(told) as site:
        session = await site.begin()
        stream = site.get(session)
        assert (await stream.message())["method"] == "notifications/tools/list_changed"
        stream.disconnect()
        assert (await site.open("GET", headers={"accept": "text/html"}).whole()).status == 406


async def test_a_modern_listener_hears_what_another_request_has_caused() -> None:
    told = Told(transport="http", target="http://localhost/mcp")
    key = "io.modelcontextprotocol/subscriptionId"
    told.asks(1, "subscriptions/listen", {"_meta": MODERN}, connection=1)
    told.notifies("notifications/subscriptions/acknowledged", {"_meta": {key: 1}}, connection=1)
    told.asks(2, "tools/call", {"name": "grow", "arguments": {}, "_meta": MODERN}, connection=2)
    told.notifies("notifications/tools/list_changed", {"_meta": {key: 1}}, connection=1)
    told.answers(2, text("grown"), connection=2)
    async with replaying(told) as site:
        listener = site.post(*modern("l", "subscriptions/listen"))
        acknowledged = await listener.message()
        assert acknowledged["params"]["_meta"] == {key: "l"}
        grown = await site.ask(*modern_call(5, "grow"))
        assert grown.json["result"] == text("grown")
        assert (await listener.message())["params"]["_meta"] == {key: "l"}
        assert (await site.open("GET").whole()).status == 405


async def test_statuses_tell_clients_which_era_was_recorded() -> None:
    async with replaying(legacy_told()) as site:
        probe = await site.ask(*modern(1, "server/discover"))
        assert (probe.status, probe.json["error"]["code"]) == (400, -32601)
    told = Told()
    told.asks(1, "tools/list", {"_meta": MODERN})
    told.answers(1, {"tools": []})
    async with replaying(told) as site:
        assert (await site.ask(*modern(1, "tools/list"))).status == 200
        assert (await site.ask(*modern(1, "prompts/list"))).status == 404
        old = await site.ask(hello())
        assert old.json["error"]["code"] == -32022


async def test_a_server_without_sessions_is_replayed_without() -> None:
    told = Told(transport="http", target="http://localhost/mcp")
    told.greets()
    told.asks(1, "tools/list", {})
    told.answers(1, {"tools": []})
    async with replaying(told) as site:
        begun = await site.ask(hello())
        assert "mcp-session-id" not in begun.headers
        assert (await site.ask(notification("notifications/initialized"))).status == 202
        assert (await site.ask(legacy(1, "tools/list"))).json["result"] == {"tools": []}


async def test_an_array_of_requests_is_answered_on_one_stream() -> None:
    async with replaying(legacy_told()) as site:
        session = await site.begin()
        both = site.post([legacy_call(1, "next"), legacy(2, "ping")], session=session)
        assert {each["id"] for each in await both.rest()} == {1, 2}


async def test_what_is_no_message_for_it_is_refused() -> None:
    async with replaying(legacy_told(), host="127.0.0.1") as site:
        here = {"host": "127.0.0.1:8765"}
        assert (await site.ask(b"{", here)).status == 400
        assert (await site.ask(b"[]", {"host": "evil.example"})).status == 403
        origin = {**here, "origin": "http://evil.example"}
        assert (await site.ask(legacy(1, "ping"), origin)).status == 403
        elsewhere = await site.open("POST", "/elsewhere", headers=here).whole()
        assert (elsewhere.status, "/mcp" in elsewhere.json["error"]["message"]) == (404, True)
        assert (await site.open("PUT", headers=here).whole()).status == 405


async def test_the_end_ends_open_streams() -> None:
    async with replaying(legacy_told()) as site:
        session = await site.begin()
        stream = await site.get(session).begun()
        await site.app.aclose()
        await stream.over()
