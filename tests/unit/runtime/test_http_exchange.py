"""How a message is answered: with JSON or with events, to clients that stay and that go away."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.asgi import (
    Call,
    Message,
    Site,
    legacy_call,
    modern,
    modern_call,
    notification,
    serving,
    until,
)
from wigwag import Context, Limits, Server
from wigwag.runtime import event_stream, progress_pace

pytestmark = pytest.mark.anyio

TOKEN = {"progressToken": "p"}


class Stage:
    """What tools do, and what has become of them."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.started: list[Any] = []
        self.finished: list[Any] = []
        self.cancelled: list[Any] = []

    async def play(self, name: Any) -> None:
        """Wait to be let go."""
        self.started.append(name)
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled.append(name)
            raise
        self.finished.append(name)


def make_server(stage: Stage, **options: Any) -> Server:
    server = Server("stage", version="1.0.0", **options)

    @server.tool
    async def wait(name: str = "a") -> str:
        await stage.play(name)
        return f"waited for {name}"

    @server.tool
    async def work(context: Context, name: str = "a", steps: int = 2) -> str:
        for step in range(steps):
            context.report_progress(step, message=name)
            await asyncio.sleep(0)
        await stage.play(name)
        context.report_progress(steps, message=name)
        return f"worked on {name}"

    @server.tool
    async def count(context: Context, to: int) -> str:
        for step in range(to):
            context.report_progress(step)
        return "counted"

    @server.tool
    async def flood(context: Context, messages: int, size: int) -> str:
        for step in range(messages):
            context.report_progress(step, message="x" * size)
            await asyncio.sleep(0)
        await stage.play("flood")
        return "flooded"

    @server.tool
    async def long() -> str:
        return "x" * 20_000

    @server.tool
    async def fail() -> str:
        raise RuntimeError("secret")

    add_simple_tools(server)
    return server


def add_simple_tools(server: Server) -> None:
    @server.tool
    async def talk(context: Context) -> str:
        context.info("hello")
        return "talked"

    @server.tool
    async def roots(context: Context) -> int:
        return len(await context.list_roots())

    @server.tool
    async def who(context: Context) -> str:
        request = context.http_request
        assert request is not None
        client = request.client
        assert client is not None
        return f"{request.headers['X-Who']} {client[0]} {request.path}?{request.query}"


@pytest.fixture
def unpaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let progress go as fast as it comes."""
    monkeypatch.setattr(progress_pace, "BURST", 10_000)


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.fixture
async def site(stage: Stage) -> AsyncIterator[Site]:
    async with serving(make_server(stage)) as site:
        yield site


def text_of(message: Message) -> str:
    (block,) = message["result"]["content"]
    text: str = block["text"]
    return text


async def begun(site: Site, stage: Stage, call: Call, name: str = "a") -> Call:
    await until(lambda: name in stage.started, f"{name} has begun")
    return call


# --- JSON and events


async def test_what_takes_long_is_still_answered_with_json(site: Site, stage: Stage) -> None:
    call = await begun(site, stage, site.post(*modern_call(1, "wait")))
    assert not call.headers
    stage.go.set()
    await call.whole()
    assert (call.status, text_of(call.json)) == (200, "waited for a")
    assert site.endpoint.calls == 0


async def test_an_answer_becomes_a_stream_when_something_comes_before_it(
    site: Site, stage: Stage
) -> None:
    call = site.post(*modern_call(1, "work", meta=TOKEN))
    assert (await call.message())["params"]["progress"] == 0
    assert (call.status, call.is_stream) == (200, True)
    assert call.headers["x-accel-buffering"] == "no"
    assert call.headers["cache-control"] == "no-cache, no-transform"
    assert "content-length" not in call.headers
    stage.go.set()
    *progress, answer = await call.rest()
    assert [each["params"]["progress"] for each in progress] == [1, 2]
    assert text_of(answer) == "worked on a"
    assert all(event.id is None for event in call.events)
    assert b"id:" not in call.body
    assert site.endpoint.calls == 0


async def test_every_message_of_a_stream_is_one_line(site: Site, stage: Stage) -> None:
    stage.go.set()
    call = await site.ask(*modern_call(1, "work", meta=TOKEN))
    lines = call.body.decode().split("\n")
    assert lines[-2:] == ["", ""]
    assert all(line == "" or line.startswith("data: {") for line in lines)


async def test_progress_that_nobody_asked_for_makes_no_stream(site: Site, stage: Stage) -> None:
    stage.go.set()
    call = await site.ask(*modern_call(1, "work"))
    assert text_of(call.json) == "worked on a"


@pytest.mark.parametrize("tool", ["wait", "work", "count"])
async def test_who_takes_no_events_gets_json_all_the_same(
    site: Site, stage: Stage, tool: str
) -> None:
    session = await site.begin()
    arguments = {"to": 3} if tool == "count" else {"name": "x"}
    stage.go.set()
    call = modern_call(1, tool, arguments, meta=TOKEN)
    old = legacy_call(1, tool, arguments, token="p")
    for answer in (
        await site.ask(*call, accept="application/json"),
        await site.ask(old, session=session, accept="application/json"),
    ):
        assert answer.status == 200
        assert text_of(answer.json) in ("waited for x", "worked on x", "counted")


async def test_who_takes_no_events_cannot_be_asked(site: Site) -> None:
    session = await site.begin(roots={})
    body = legacy_call(1, "roots")
    call = await site.ask(body, session=session, accept="application/json")
    assert call.json["result"]["isError"] is True
    assert "text/event-stream" in text_of(call.json)


async def test_who_takes_no_events_and_cancels_is_told_nothing(site: Site, stage: Stage) -> None:
    session = await site.begin()
    call = site.post(legacy_call(1, "work"), session=session, accept="application/json")
    await begun(site, stage, call)
    await site.ask(notification("notifications/cancelled", {"requestId": 1}), session=session)
    await call.whole()
    assert (call.status, call.body) == (202, b"")


async def test_who_takes_no_events_cannot_listen(site: Site) -> None:
    body, headers = modern("l", "subscriptions/listen", {"notifications": {}})
    call = await site.ask(body, headers, accept="application/json")
    assert call.status == 406
    assert site.endpoint.calls == 0


@pytest.mark.usefixtures("unpaced")
async def test_many_notifications_and_the_result_at_once_keep_their_order(site: Site) -> None:
    call = await site.ask(*modern_call(1, "count", {"to": 500}, meta=TOKEN))
    *progress, answer = await call.rest()
    assert [each["params"]["progress"] for each in progress] == list(range(500))
    assert text_of(answer) == "counted"


async def test_crashes_are_not_told_to_the_client(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    call = await site.ask(*modern_call(1, "fail"))
    assert call.status == 200
    assert b"secret" not in call.body
    assert "secret" in caplog.text


async def test_handlers_see_the_http_request_that_is_theirs(site: Site) -> None:
    async def ask(number: int) -> str:
        body, headers = modern_call(number, "who")
        lines = {**headers, "x-who": f"client {number}"}
        call = site.open(
            "POST",
            f"/mcp?n={number}",
            headers=lines,
            body=json.dumps(body).encode(),
            client=(f"192.0.2.{number}", 99),
        )
        return text_of((await call.whole()).json)

    answers = await asyncio.gather(*map(ask, range(20)))
    assert answers == [f"client {n} 192.0.2.{n} /mcp?n={n}" for n in range(20)]


async def test_requests_in_a_session_have_the_headers_of_their_own_http_request(
    site: Site,
) -> None:
    session = await site.begin()
    for number in range(3):
        call = await site.ask(legacy_call(number, "who"), session=session, x_who=f"caller {number}")
        assert text_of(call.json) == f"caller {number} 192.0.2.7 /mcp?"


async def test_log_messages_come_before_the_answer_where_they_can(site: Site) -> None:
    session = await site.begin()
    wanted = {"io.modelcontextprotocol/logLevel": "info"}
    for call in (
        site.post(*modern_call(1, "talk", meta=wanted)),
        site.post(legacy_call(1, "talk"), session=session),
    ):
        heard, answer = await call.rest()
        assert (heard["method"], heard["params"]["data"]) == ("notifications/message", "hello")
        assert text_of(answer) == "talked"
    for call in (
        site.post(*modern_call(2, "talk")),
        site.post(*modern_call(3, "talk", meta=wanted), accept="application/json"),
        site.post(legacy_call(2, "talk"), session=session, accept="application/json"),
    ):
        assert text_of((await call.whole()).json) == "talked"


async def test_a_small_answer_that_is_there_at_once_is_one_event_and_no_more(site: Site) -> None:
    session = await site.begin()
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    call = await site.ask(message, session=session, accept="text/event-stream")
    (event,) = call.events
    assert (event.id, event.message["id"]) == (None, 1)


async def test_a_long_answer_that_is_there_at_once_can_be_asked_for_again(site: Site) -> None:
    session = await site.begin()
    message = legacy_call(1, "long")
    call = await site.ask(message, session=session, accept="text/event-stream")
    priming, event = call.events
    assert (priming.data, event.message["id"]) == ("", 1)
    again = await site.get(session, priming.id).whole()
    assert again.events == [event]


# --- clients that go away


@pytest.mark.parametrize("tool", ["wait", "work"])
async def test_a_modern_client_cancels_by_going_away(site: Site, stage: Stage, tool: str) -> None:
    call = await begun(site, stage, site.post(*modern_call(1, tool, meta=TOKEN)))
    if tool == "work":
        await call.begun()
    before = call.body
    call.disconnect()
    await call.over()
    await until(lambda: stage.cancelled == ["a"], "the handler is cancelled")
    assert call.body == before
    assert (site.endpoint.calls, stage.finished) == (0, [])


@pytest.mark.parametrize("tool", ["wait", "work"])
async def test_a_legacy_client_does_not_cancel_by_going_away(
    site: Site, stage: Stage, tool: str
) -> None:
    session = await site.begin()
    call = site.post(legacy_call(1, tool, token="p"), session=session)
    await begun(site, stage, call)
    call.disconnect()
    await call.over()
    stage.go.set()
    await until(lambda: stage.finished == ["a"], "the handler finishes")
    await until(lambda: site.endpoint.calls == 0, "the exchange is over")
    assert stage.cancelled == []


async def test_an_application_that_is_cancelled_has_no_client_any_more(
    site: Site, stage: Stage
) -> None:
    call = await begun(site, stage, site.post(*modern_call(1, "wait")))
    call.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call.over()
    await until(lambda: stage.cancelled == ["a"], "the handler is cancelled")
    assert site.endpoint.calls == 0
    site.calls.remove(call)


async def test_a_client_may_go_away_just_as_it_is_answered(site: Site, stage: Stage) -> None:
    for number in range(20):
        stage.go.clear()
        call = site.post(*modern_call(number, "work", {"name": f"{number}"}, meta=TOKEN))
        await begun(site, stage, call, f"{number}")
        stage.go.set()
        for _ in range(number % 7):
            await asyncio.sleep(0)
        call.disconnect()
        await call.over()
        assert site.endpoint.calls == 0


# --- cancelling


@pytest.mark.parametrize("tool", ["wait", "work"])
async def test_a_request_is_cancelled_by_another_post_of_its_session(
    site: Site, stage: Stage, tool: str
) -> None:
    session = await site.begin()
    call = await begun(site, stage, site.post(legacy_call(1, tool, token="p"), session=session))
    cancel = notification("notifications/cancelled", {"requestId": 1})
    assert (await site.ask(cancel, session=session)).status == 202
    assert all("result" not in m and "error" not in m for m in await call.rest())
    assert stage.cancelled == ["a"]
    assert site.endpoint.calls == 0
    again = await site.ask(cancel, session=session)
    assert again.status == 202


async def test_nobody_cancels_a_request_of_another_session(site: Site, stage: Stage) -> None:
    mine, others = await site.begin(), await site.begin()
    call = await begun(site, stage, site.post(legacy_call(1, "wait"), session=mine))
    cancel = notification("notifications/cancelled", {"requestId": 1})
    await site.ask(cancel, session=others)
    modern_cancel = await site.ask(cancel, mcp_protocol_version="2026-07-28")
    assert modern_cancel.status == 202
    stage.go.set()
    assert text_of((await call.whole()).json) == "waited for a"
    assert stage.cancelled == []


@pytest.mark.broken_messages("client", sometimes=True)
async def test_a_cancellation_that_makes_no_sense_does_no_harm(site: Site, stage: Stage) -> None:
    session = await site.begin()
    call = await begun(site, stage, site.post(legacy_call(0, "wait"), session=session))
    for params in ({}, {"requestId": None}, {"requestId": "0"}, {"requestId": 7}, None):
        answer = await site.ask(notification("notifications/cancelled", params), session=session)
        assert answer.status in (202, 400)
    assert stage.cancelled == []
    stage.go.set()
    assert text_of((await call.whole()).json) == "waited for a"


async def test_a_request_of_an_array_can_be_cancelled(site: Site, stage: Stage) -> None:
    session = await site.begin("2025-03-26")
    array = [legacy_call(1, "wait", {"name": "a"}), legacy_call(2, "wait", {"name": "b"})]
    call = await begun(site, stage, site.post(array, session=session), "b")
    cancel = notification("notifications/cancelled", {"requestId": 1})
    await site.ask(cancel, session=session)
    await until(lambda: stage.cancelled == ["a"], "one is cancelled")
    stage.go.set()
    await call.whole()
    assert [each["id"] for each in call.json] == [2]


async def test_a_session_that_ends_takes_its_requests_along(site: Site, stage: Stage) -> None:
    for number, tool in enumerate(["wait", "work"]):
        session = await site.begin()
        name = f"{number}"
        call = site.post(legacy_call(1, tool, {"name": name}, token="p"), session=session)
        await begun(site, stage, call, name)
        assert (await site.delete(session)).status == 200
        assert all("result" not in m and "error" not in m for m in await call.rest())
        assert name in stage.cancelled
    assert (site.endpoint.calls, site.endpoint.sessions) == (0, 0)
    assert site.stores is not None
    assert site.stores.events._sessions == {}  # type: ignore[attr-defined]


@pytest.mark.broken_messages("client", "server")  # the watch takes the refusal for the answer
async def test_the_same_id_cannot_be_in_flight_twice_in_a_session(site: Site, stage: Stage) -> None:
    session = await site.begin()
    first = await begun(site, stage, site.post(legacy_call(1, "wait"), session=session))
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}'
    second = site.post(body, session=session)
    await second.whole()
    assert (second.status, second.json["error"]["code"]) == (400, -32600)
    stage.go.set()
    assert text_of((await first.whole()).json) == "waited for a"


async def test_modern_clients_may_choose_the_same_ids(site: Site, stage: Stage) -> None:
    calls = [
        site.post(*modern_call(1, "work", {"name": f"{n}"}, meta={"progressToken": 1}))
        for n in range(20)
    ]
    await until(lambda: len(stage.started) == 20, "all have begun")
    stage.go.set()
    for number, call in enumerate(calls):
        *progress, answer = await call.rest()
        assert [each["params"]["message"] for each in progress] == [f"{number}"] * 3
        assert text_of(answer) == f"worked on {number}"


# --- keep-alive


async def test_silent_streams_get_comments(stage: Stage) -> None:
    limits = Limits(keep_alive=0.02)
    async with serving(make_server(stage, limits=limits), sse=True) as site:
        session = await site.begin()
        body, headers = modern(
            "l", "subscriptions/listen", {"notifications": {"toolsListChanged": True}}
        )
        listening = site.post(body, headers)
        standalone = site.get(session)
        old = site.open("GET", "/sse")
        working = site.post(*modern_call(1, "work", meta=TOKEN))
        for call in (listening, standalone, old, working):
            await call.wait(lambda call=call: call.comments >= 2, "two comments")  # type: ignore[misc]
        stage.go.set()
        await working.rest()


async def test_a_slow_call_becomes_a_stream_so_that_it_is_kept_alive(stage: Stage) -> None:
    async with serving(make_server(stage, limits=Limits(keep_alive=0.02))) as site:
        session = await site.begin()
        slow = site.post(*modern_call(1, "wait"))
        old = site.post(legacy_call(1, "wait"), session=session)
        json_only = site.post(*modern_call(2, "wait"), accept="application/json")
        for call in (slow, old):
            await call.wait(lambda call=call: call.comments >= 1, "a comment")  # type: ignore[misc]
        assert json_only.status is None
        stage.go.set()
        assert text_of((await slow.rest())[0]) == "waited for a"
        assert text_of((await old.rest())[0]) == "waited for a"
        assert text_of((await json_only.whole()).json) == "waited for a"


# --- clients that do not read


@pytest.mark.usefixtures("unpaced")
async def test_a_client_that_does_not_read_holds_up_nobody_else(site: Site, stage: Stage) -> None:
    stage.go.set()
    stuck = site.post(*modern_call(1, "flood", {"messages": 50, "size": 1000}, meta=TOKEN))
    stuck.may_write.clear()
    others = [site.ask(*modern_call(2, "work", meta=TOKEN)) for _ in range(5)]
    for other in await asyncio.gather(*others):
        assert other.status == 200
    await until(lambda: stuck.blocked == 1, "a write is stuck")
    stuck.may_write.set()
    assert len(await stuck.rest()) == 51


@pytest.mark.usefixtures("unpaced")
@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_a_client_that_never_reads_is_given_up(
    stage: Stage, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "MAX_UNREAD_BYTES", 50_000)
    async with serving(make_server(stage)) as site:
        arguments = {"messages": 200, "size": 1000}
        if era == "modern":
            stuck = site.post(*modern_call(1, "flood", arguments, meta=TOKEN))
        else:
            session = await site.begin()
            stuck = site.post(legacy_call(1, "flood", arguments, token="p"), session=session)
        stuck.may_write.clear()
        await stuck.wait(lambda: stuck.task.done() or stuck.blocked, "stuck")
        async with asyncio.timeout(2):
            await stuck.task  # as its server would close the connection now
        if era == "modern":
            await until(lambda: site.endpoint.calls == 0, "it is cancelled")
        else:
            await until(lambda: "flood" in stage.started, "it goes on")
            (exchange,) = site.endpoint._around.open
            assert exchange._stream is not None
            await until(lambda: not exchange._stream._pending, "nothing piles up")  # type: ignore[union-attr]
            stage.go.set()
            await until(lambda: site.endpoint.calls == 0, "it has finished")
        stuck.disconnect()
        site.calls.remove(stuck)


# --- the end of the server


async def test_the_end_of_the_server_ends_subscriptions_with_their_result(stage: Stage) -> None:
    async with serving(make_server(stage)) as site:
        body, headers = modern(
            "l", "subscriptions/listen", {"notifications": {"toolsListChanged": True}}
        )
        listening = site.post(body, headers)
        first = await listening.message()
        assert first["method"] == "notifications/subscriptions/acknowledged"
        standalone = await site.get(await site.begin()).begun()
    (result,) = await listening.rest()
    assert (result["id"], result["result"]["resultType"]) == ("l", "complete")
    assert await standalone.rest() == []


async def test_the_end_of_the_server_gives_calls_time_to_finish(stage: Stage) -> None:
    async with serving(make_server(stage)) as site:
        call = await begun(site, stage, site.post(*modern_call(1, "work", meta=TOKEN)))
        quick = await begun(site, stage, site.post(*modern_call(2, "wait", {"name": "b"})), "b")
        asyncio.get_running_loop().call_later(0.05, stage.go.set)
    assert text_of((await call.rest())[-1]) == "worked on a"
    assert text_of((await quick.whole()).json) == "waited for b"


async def test_the_end_of_the_server_does_not_wait_for_ever(stage: Stage) -> None:
    async with serving(make_server(stage), grace=0.05) as site:
        call = await begun(site, stage, site.post(*modern_call(1, "work", meta=TOKEN)))
        quiet = await begun(site, stage, site.post(*modern_call(2, "wait", {"name": "b"})), "b")
        stuck = site.post(*modern_call(3, "flood", {"messages": 5, "size": 5}, meta=TOKEN))
        stuck.may_write.clear()
        await until(lambda: stuck.blocked, "a write is stuck")
    assert (await call.rest())[-1]["error"]["code"] == -32603
    assert (await quiet.whole()).json["error"]["code"] == -32603
    assert sorted(stage.cancelled) == ["a", "b", "flood"]
