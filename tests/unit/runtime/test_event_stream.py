"""Streams that are cut: what a client gets when it comes back, and what it never gets."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.asgi import (
    Call,
    Event,
    Message,
    Site,
    legacy,
    legacy_call,
    modern_call,
    notification,
    serving,
    until,
)
from wigwag import Context, Limits, Server
from wigwag.runtime.event_stream import EventStream
from wigwag.transports.asgi import Answer

pytestmark = pytest.mark.anyio


class Stage:
    """Tells a tool how far to go."""

    def __init__(self) -> None:
        self.steps: asyncio.Queue[int] = asyncio.Queue()
        self.done: list[str] = []
        self.left: list[bool] = []


def make_server(stage: Stage, **options: Any) -> Server:
    server = Server("stage", version="1.0.0", **options)

    @server.tool
    async def work(context: Context, name: str = "a") -> str:
        """Report each step until there is a negative one."""
        while (step := await stage.steps.get()) >= 0:
            context.report_progress(step)
        stage.done.append(name)
        return f"worked on {name}"

    @server.tool
    async def leave(context: Context, retry: float | None = None, first: int = 0) -> str:
        """Let the client go in the middle."""
        if first:
            context.report_progress(first)
            await asyncio.sleep(0)
        stage.left.append(context._connection.close_stream(retry))
        while (step := await stage.steps.get()) >= 0:
            context.report_progress(step)
        return "left and done"

    @server.tool
    async def greet(context: Context) -> str:
        """Ask for the roots."""
        roots = await context.list_roots()
        return ", ".join(root.uri for root in roots)

    @server.resource("memo://one")
    def memo() -> str:
        return "one"

    return server


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


async def progress(call: Call) -> tuple[int, str]:
    """Wait for progress and return how far, and the id of the event."""
    event = await call.event()
    assert event.id is not None
    return event.message["params"]["progress"], event.id


async def cut(call: Call) -> None:
    call.disconnect()
    await call.over()


async def open_work(site: Site, session: str, name: str = "a", number: int = 1) -> tuple[Call, str]:
    """Call a tool whose answer is a stream; return the id of its first event."""
    body = legacy_call(number, "work", {"name": name}, token=f"p{number}")
    call = site.post(body, session=session, accept="text/event-stream")
    first = await call.event()
    assert first.id is not None
    assert (first.data, first.event) == ("", "message")
    return call, first.id


# --- cuts


async def test_a_stream_survives_several_cuts(site: Site, stage: Stage) -> None:
    session = await site.begin()
    call, _ = await open_work(site, session)
    for step in range(5):
        stage.steps.put_nowait(2 * step)
        assert (await progress(call))[0] == 2 * step
        await cut(call)
        stage.steps.put_nowait(2 * step + 1)  # nobody is there to hear it
        await until(stage.steps.empty, "the step is taken")
        call = site.get(session, call.last_id)
        assert (await progress(call))[0] == 2 * step + 1
    stage.steps.put_nowait(-1)
    (answer,) = await call.rest()
    assert text_of(answer) == "worked on a"
    assert site.endpoint.calls == 0


async def test_a_client_that_comes_back_too_late_gets_the_answer(site: Site, stage: Stage) -> None:
    session = await site.begin()
    call, last = await open_work(site, session)
    await cut(call)
    for step in (1, 2, -1):
        stage.steps.put_nowait(step)
    await until(lambda: site.endpoint.calls == 0, "the call has ended")
    back = call
    for _ in range(2):  # as often as it likes
        back = await site.get(session, last).whole()
        *before, answer = await back.rest()
        assert [each["params"]["progress"] for each in before] == [1, 2]
        assert text_of(answer) == "worked on a"
    nothing_more = await site.get(session, back.last_id).whole()
    assert (nothing_more.status, nothing_more.events) == (200, [])


async def test_a_client_may_come_back_before_its_connection_is_known_to_be_dead(
    site: Site, stage: Stage
) -> None:
    session = await site.begin()
    call, last = await open_work(site, session)
    stage.steps.put_nowait(1)
    await progress(call)
    back = site.get(session, last)
    assert (await progress(back))[0] == 1
    await call.whole()  # it ended as a stream should
    again = site.get(session, back.last_id)
    await again.begun()
    await back.whole()
    stage.steps.put_nowait(2)
    stage.steps.put_nowait(-1)
    assert (await progress(again))[0] == 2
    assert text_of((await again.rest())[0]) == "worked on a"
    assert (call.events, back.events) == ([], [])
    await until(lambda: site.endpoint.calls == 0, "the exchange is over")


async def test_a_client_may_come_back_though_its_dead_connection_does_not_drain(
    site: Site, stage: Stage
) -> None:
    session = await site.begin()
    call, last = await open_work(site, session)
    call.may_write.clear()
    stage.steps.put_nowait(1)
    await until(lambda: call.blocked, "a write is stuck")
    stage.steps.put_nowait(2)
    await until(stage.steps.empty, "the step is taken")
    back = site.get(session, last)
    assert [(await progress(back))[0] for _ in range(2)] == [1, 2]
    stage.steps.put_nowait(-1)
    assert text_of((await back.rest())[0]) == "worked on a"
    assert site.endpoint.calls == 0
    await cut(call)


async def test_two_clients_that_come_back_at_once_do_not_share_a_stream(
    site: Site, stage: Stage
) -> None:
    session = await site.begin()
    call, last = await open_work(site, session)
    await cut(call)
    backs = [site.get(session, last) for _ in range(3)]
    await until(lambda: sum(back.task.done() for back in backs) == 2, "one is left")
    stage.steps.put_nowait(1)
    stage.steps.put_nowait(-1)
    messages = [message for back in backs for message in await back.rest()]
    assert len(messages) == 2
    assert text_of(messages[1]) == "worked on a"
    assert site.endpoint.calls == 0


async def test_every_event_has_an_id_of_its_own_and_comes_on_its_own_stream(
    site: Site, stage: Stage
) -> None:
    session = await site.begin()
    one, first = await open_work(site, session, "one", 1)
    two, second = await open_work(site, session, "two", 2)
    standalone = site.get(session)
    third = (await standalone.event()).id
    for step in (1, 2, 3, 4):  # each of them waits in turn
        stage.steps.put_nowait(step)
        await until(stage.steps.empty, "the step is taken")
    heard = [await one.event(), await one.event(), await two.event(), await two.event()]
    ids = {first, second, third, *(event.id for event in heard)}
    assert len(ids) == 7
    assert [event.message["params"]["progressToken"] for event in heard] == ["p1", "p1", "p2", "p2"]
    await cut(one)
    await cut(two)
    back = site.get(session, first)
    replayed = [(await back.event()).message["params"]["progressToken"] for _ in range(2)]
    assert replayed == ["p1", "p1"]
    stage.steps.put_nowait(-1)
    stage.steps.put_nowait(-1)
    assert text_of((await back.rest())[0]) == "worked on one"
    late = await site.get(session, heard[3].id).whole()
    assert [text_of(message) for message in await late.rest()] == ["worked on two"]


@pytest.mark.parametrize("last", ["x", "7", "999-x", "-1", "1", "\xe9", "9" * 5000])
async def test_an_event_nobody_knows_is_refused(site: Site, stage: Stage, last: str) -> None:
    session, other = await site.begin(), await site.begin()
    _, first = await open_work(site, session)
    headers = [
        (b"accept", b"text/event-stream"),
        (b"mcp-session-id", session.encode()),
        (b"last-event-id", last.encode("latin-1")),
    ]
    call = await site.open("GET", headers=headers).whole()
    assert (call.status, call.json["error"]["code"]) == (400, -32600)
    foreign = await site.get(other, first).whole()
    assert foreign.status == 400
    stage.steps.put_nowait(-1)


async def test_a_wrong_event_id_does_not_disturb_the_stream_it_names(
    site: Site, stage: Stage
) -> None:
    session = await site.begin()
    call, first = await open_work(site, session)
    name = first.partition("-")[2]
    assert (await site.get(session, f"999-{name}").whole()).status == 400
    stage.steps.put_nowait(1)
    assert (await progress(call))[0] == 1
    stage.steps.put_nowait(-1)
    assert text_of((await call.rest())[0]) == "worked on a"


async def test_modern_requests_know_nothing_of_event_ids(site: Site, stage: Stage) -> None:
    stage.steps.put_nowait(1)
    stage.steps.put_nowait(-1)
    body, headers = modern_call(1, "work", meta={"progressToken": "p"})
    call = await site.ask(body, headers, last_event_id="7-x")
    assert len(await call.rest()) == 2
    assert b"\nid" not in call.body
    assert not call.body.startswith(b"id")


# --- priming


async def test_only_clients_of_2025_11_25_get_an_event_without_data(
    site: Site, stage: Stage
) -> None:
    for revision in ("2025-03-26", "2025-06-18", "2025-11-25"):
        session = await site.begin(revision)
        standalone = await site.get(session).begun()
        call = site.post(
            legacy_call(1, "work", token="p"), session=session, accept="text/event-stream"
        )
        await call.begun()
        stage.steps.put_nowait(1)
        first = await call.event()
        if revision == "2025-11-25":
            assert (first.data, first.retry) == ("", 1000)
            assert first.id
            assert (await standalone.event()).data == ""
        else:
            assert first.message["params"]["progress"] == 1
            assert standalone.events == []
        stage.steps.put_nowait(-1)
        await call.whole()


async def test_older_clients_can_come_back_too(site: Site, stage: Stage) -> None:
    session = await site.begin("2025-03-26")
    call = site.post(legacy_call(1, "work", token="p"), session=session)
    stage.steps.put_nowait(1)
    await progress(call)
    await cut(call)
    stage.steps.put_nowait(-1)
    back = site.get(session, call.last_id)
    assert text_of((await back.rest())[0]) == "worked on a"


# --- a server that lets its client go


async def test_a_server_may_let_its_client_go_and_come_back_for_the_result(
    site: Site, stage: Stage
) -> None:
    session = await site.begin()
    call = await site.ask(legacy_call(1, "leave", token="p"), session=session)
    assert call.status == 200
    (event,) = call.events
    assert (event.data, event.retry) == ("", 1000)
    assert stage.left == [True]
    back = site.get(session, event.id)
    await back.begun()
    stage.steps.put_nowait(5)
    assert (await progress(back))[0] == 5
    stage.steps.put_nowait(-1)
    assert text_of((await back.rest())[0]) == "left and done"
    assert site.endpoint.calls == 0


@pytest.mark.parametrize("first", [0, 1])
async def test_a_client_that_is_let_go_is_told_when_to_come_back(
    site: Site, stage: Stage, first: int
) -> None:
    session = await site.begin()
    body = legacy_call(1, "leave", {"retry": 0.25, "first": first}, token="p")
    call = await site.ask(body, session=session)
    retries = [event.retry for event in call.events if event.retry is not None]
    assert retries[-1] == 250
    stage.steps.put_nowait(-1)
    back = await site.get(session, call.last_id).whole()
    assert text_of((await back.rest())[-1]) == "left and done"


async def test_only_who_can_come_back_is_let_go(site: Site, stage: Stage) -> None:
    old = await site.begin("2025-06-18")
    new = await site.begin()
    calls = [
        site.post(legacy_call(1, "leave"), session=old),
        site.post(legacy_call(1, "leave"), session=new, accept="application/json"),
        site.post(*modern_call(1, "leave")),
    ]
    await until(lambda: len(stage.left) == 3, "all have tried")
    assert stage.left == [False] * 3
    for _ in calls:
        stage.steps.put_nowait(-1)
    for call in calls:
        await call.whole()
        message = (await call.rest())[0] if call.is_stream else call.json
        assert text_of(message) == "left and done"


# --- the standalone stream


async def test_changes_come_on_the_standalone_stream(site: Site) -> None:
    server = site.app._server
    assert isinstance(server, Server)
    session, deaf = await site.begin(), await site.begin()
    await site.ask(legacy(1, "resources/subscribe", {"uri": "memo://one"}), session=session)
    stream, other = site.get(session), site.get(deaf)
    for each in (stream, other):
        await each.event()

    @server.tool
    def another() -> str:
        return ""

    server.resource_updated("memo://one")
    server.resource_updated("memo://two")
    heard = [await stream.message(), await stream.message()]
    assert [each["method"] for each in heard] == [
        "notifications/tools/list_changed",
        "notifications/resources/updated",
    ]
    assert (await other.message())["method"] == "notifications/tools/list_changed"
    assert (stream.events, other.events) == ([], [])


async def test_the_standalone_stream_survives_cuts(site: Site) -> None:
    server = site.app._server
    assert isinstance(server, Server)
    session = await site.begin()
    stream = site.get(session)
    last = (await stream.event()).id
    await cut(stream)
    server.tools_changed()
    for _ in range(2):
        back = site.get(session, last)
        assert (await back.message())["method"] == "notifications/tools/list_changed"
        await cut(back)
    back = await site.get(session, back.last_id).begun()
    server.prompts_changed()
    server.tools_changed()
    assert (await back.message())["method"] == "notifications/tools/list_changed"


async def test_a_new_standalone_stream_takes_the_place_of_the_one_before(site: Site) -> None:
    server = site.app._server
    assert isinstance(server, Server)
    session = await site.begin()
    first = site.get(session)
    await first.event()
    second = site.get(session)
    await second.event()
    assert await first.rest() == []
    server.tools_changed()
    assert (await second.message())["method"] == "notifications/tools/list_changed"
    assert first.events == []


# --- asking on the stream of the call


@pytest.mark.broken_messages("client")  # which answers twice in the end
async def test_a_client_is_asked_on_the_stream_of_the_call_and_answers_by_another_post(
    site: Site,
) -> None:
    session = await site.begin(roots={})
    standalone = site.get(session)
    await standalone.event()
    call = site.post(legacy_call(1, "greet"), session=session)
    asked = await call.message()
    assert asked["method"] == "roots/list"
    answer = {"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": [{"uri": "file:///a"}]}}
    given = await site.ask(answer, session=session)
    assert (given.status, given.body) == (202, b"")
    assert text_of((await call.rest())[-1]) == "file:///a"
    assert standalone.events == []
    too_late = await site.ask(answer, session=session)
    assert too_late.status == 202


async def test_a_client_can_be_asked_though_its_stream_was_cut(site: Site) -> None:
    session = await site.begin(roots={})
    call = site.post(legacy_call(1, "greet"), session=session, accept="text/event-stream")
    last = (await call.event()).id
    await cut(call)
    back = site.get(session, last)
    asked = await back.message()
    answer = {"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": []}}
    await site.ask(answer, session=session)
    assert (await back.rest())[-1]["result"]["content"] == [{"type": "text", "text": ""}]


@pytest.mark.broken_messages("client")
async def test_what_a_client_is_asked_belongs_to_its_session(site: Site) -> None:
    mine, others = await site.begin(roots={}), await site.begin(roots={})
    call = site.post(legacy_call(1, "greet"), session=mine)
    asked = await call.message()
    answer = {"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": [{"uri": "file:///evil"}]}}
    await site.ask(answer, session=others)
    answer["result"] = {"roots": [{"uri": "file:///mine"}]}
    await site.ask(answer, session=mine)
    assert text_of((await call.rest())[-1]) == "file:///mine"


async def test_a_question_ends_with_its_request(site: Site) -> None:
    session = await site.begin(roots={})
    call = site.post(legacy_call(1, "greet"), session=session)
    asked = await call.message()
    await site.ask(notification("notifications/cancelled", {"requestId": 1}), session=session)
    (withdrawn,) = await call.rest()
    assert withdrawn["method"] == "notifications/cancelled"
    assert withdrawn["params"]["requestId"] == asked["id"]
    gone = site.post(legacy_call(2, "greet"), session=session)
    await gone.message()
    await site.delete(session)
    await gone.whole()
    assert site.endpoint.calls == 0


async def test_without_sessions_a_client_cannot_be_asked(stage: Stage) -> None:
    async with serving(make_server(stage), sessions=False) as site:
        call = await site.ask(legacy_call(1, "greet"), mcp_protocol_version="2025-11-25")
        assert call.json["result"]["isError"] is True
        assert "session" in text_of(call.json)


# --- how much is kept


async def test_no_more_is_kept_than_allowed(stage: Stage) -> None:
    async with serving(make_server(stage, limits=Limits(events=3))) as site:
        session = await site.begin()
        call, first = await open_work(site, session)
        for step in range(5):
            stage.steps.put_nowait(step)
        heard: list[Event] = [await call.event() for _ in range(5)]
        await cut(call)
        assert (await site.get(session, first).whole()).status == 400
        back = site.get(session, heard[2].id)
        assert [(await progress(back))[0] for _ in range(2)] == [3, 4]
        stage.steps.put_nowait(-1)
        await back.rest()
        assert site.stores is not None
        (kept,) = site.stores.events._sessions.values()  # type: ignore[attr-defined]
        assert len(kept.events) == 3
        await site.delete(session)
        assert site.stores.events._sessions == {}  # type: ignore[attr-defined]


# --- comments


async def test_a_silent_stream_gets_a_comment_every_other_time() -> None:
    sent: list[bytes] = []

    async def send(message: Any) -> None:
        sent.append(message.get("body", b""))

    stream = EventStream(Answer(send), asyncio.get_running_loop(), on_detached=lambda: None)
    stream.push([b"{}"])
    await stream.written()
    assert sent == [b"", b"data: {}\n\n"]
    comments = []
    for _ in range(6):
        stream.keep_alive()
        await stream.written()
        comments.append(sent.count(b": keep-alive\n\n"))
    assert comments == [0, 1, 1, 2, 2, 3]
    stream.keep_alive()
    stream.push([b"{}"])
    stream.keep_alive()
    await stream.written()
    assert sent.count(b": keep-alive\n\n") == 3
    stream.end()
    await stream.written()
    stream.keep_alive()
    stream.keep_alive()
    assert not stream.is_attached


async def test_an_end_just_after_everything_was_written_ends_the_stream() -> None:
    loop = asyncio.get_running_loop()
    has_ended = asyncio.Event()

    async def send(message: Any) -> None:
        await asyncio.sleep(0)

    stream = EventStream(Answer(send), loop, on_detached=has_ended.set)

    def end_in_between() -> None:
        """End it when the writer has finished, and before it has been told so."""
        writer = stream._writer
        assert writer is not None, "the moment has been missed"
        if writer.done():
            stream.end()
        else:
            loop.call_soon(end_in_between)

    stream.push([b"{}"])
    end_in_between()
    async with asyncio.timeout(30):
        await has_ended.wait()
