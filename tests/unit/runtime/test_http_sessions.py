"""How long sessions live, what keeps them alive, and that nothing is left of them."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from msgspec import UNSET

from tests.asgi import (
    Call,
    Site,
    hello,
    legacy,
    legacy_call,
    modern_call,
    notification,
    serving,
    until,
)
from wigwag import Context, Limits, Server
from wigwag.protocol.server import Session
from wigwag.runtime.http_sessions import LiveSession
from wigwag.schema import LATEST_LEGACY, ClientCapabilities
from wigwag.stores.contract import Stores
from wigwag.stores.memory import MemoryBus, MemoryEvents, MemorySessions, memory_stores

pytestmark = pytest.mark.anyio

LIFETIME = 1.0
# Where a busy machine must not be taken for a client that does nothing.
LONG = 3.0


def make_server(go: asyncio.Event, lifetime: float = LIFETIME) -> Server:
    server = Server("sessions", limits=Limits(session_lifetime=lifetime))

    @server.tool
    async def wait(context: Context) -> str:
        await go.wait()
        return "waited"

    @server.tool
    async def ask(context: Context) -> str:
        return f"{len(await context.list_roots(timeout=None))} roots"

    @server.resource("memo://one")
    def memo() -> str:
        return "one"

    return server


@pytest.fixture
def go() -> asyncio.Event:
    return asyncio.Event()


@pytest.fixture
async def site(go: asyncio.Event) -> AsyncIterator[Site]:
    async with serving(make_server(go)) as site:
        yield site


def is_kept(site: Site, session: str) -> bool:
    assert site.stores is not None
    sessions = site.stores.sessions
    assert isinstance(sessions, MemorySessions)
    return session in sessions._records


async def test_a_session_that_is_not_used_is_forgotten(site: Site) -> None:
    session = await site.begin()
    began = time.monotonic()
    await until(lambda: site.endpoint.sessions == 0, "the session has expired")
    assert time.monotonic() - began >= LIFETIME * 0.9
    assert not is_kept(site, session)
    assert (await site.ask(legacy(1, "tools/list"), session=session)).status == 404
    again = await site.ask(legacy(1, "tools/list"), session=await site.begin())
    assert again.status == 200


async def test_use_keeps_a_session_alive(go: asyncio.Event) -> None:
    async with serving(make_server(go, LONG)) as site:
        session = await site.begin()
        for number in range(15):
            call = await site.ask(legacy(number, "tools/list"), session=session)
            assert call.status == 200
            await asyncio.sleep(LONG / 10)
        assert site.endpoint.sessions == 1


async def test_an_open_stream_does_not_keep_a_session_alive(site: Site) -> None:
    session = await site.begin()
    stream = site.get(session)
    await stream.event()
    assert await stream.rest() == []
    assert site.endpoint.sessions == 0
    assert (await site.get(session, stream.last_id).whole()).status == 404
    await until(lambda: not site.endpoint._standalone, "the stream is forgotten")


async def test_a_call_keeps_its_session_alive(site: Site, go: asyncio.Event) -> None:
    session = await site.begin()
    call = site.post(legacy_call(1, "wait"), session=session)
    began = time.monotonic()
    await until(lambda: time.monotonic() - began > LIFETIME * 3, "a while")
    go.set()
    assert [answer["id"] for answer in await call.rest()] == [1]
    assert (await site.ask(legacy(2, "tools/list"), session=session)).status == 200


async def test_waiting_for_a_client_that_has_gone_does_not_keep_a_session_alive(
    site: Site,
) -> None:
    session = await site.begin(roots={})
    call = site.post(legacy_call(1, "ask"), session=session)
    await call.message()
    began = time.monotonic()
    await until(lambda: time.monotonic() - began > LIFETIME * 2, "a while")
    assert site.endpoint.sessions == 1  # it may still think about the answer
    call.disconnect()
    await call.over()
    await until(lambda: site.endpoint.sessions == 0, "the session has expired")
    await until(lambda: site.endpoint.calls == 0, "the call has ended")


async def test_nothing_is_kept_of_sessions_that_have_ended(site: Site) -> None:
    sessions = []
    for number in range(20):
        sessions.append(session := await site.begin())
        stream = site.get(session)
        await stream.event()
        if number % 2:
            stream.disconnect()
        call = await site.ask(
            legacy_call(1, "nothing"), session=session, accept="text/event-stream"
        )
        assert call.status == 200
        if number % 4 < 2:
            assert (await site.delete(session)).status == 200
    await until(lambda: site.endpoint.sessions == 0, "the others have expired")
    assert not any(is_kept(site, session) for session in sessions)
    assert site.stores is not None
    assert site.stores.events._sessions == {}  # type: ignore[attr-defined]
    await until(lambda: not site.endpoint._standalone, "the streams are forgotten")


async def test_expired_sessions_make_room_for_new_ones(go: asyncio.Event) -> None:
    stores = memory_stores(max_sessions=1)
    async with serving(make_server(go), stores=stores) as site:
        await site.begin()
        assert (await site.ask(legacy_call("hello", "wait"))).status == 400
        await until(lambda: site.endpoint.sessions == 0, "it has expired")
        await site.begin()


# --- several processes


async def test_a_session_that_began_elsewhere_is_served(go: asyncio.Event) -> None:
    stores = memory_stores()
    async with (
        serving(make_server(go, 100), stores=stores) as here,
        serving(make_server(go, 100), stores=stores) as there,
    ):
        session = await here.begin("2025-06-18")
        call = await there.ask(legacy(1, "tools/list"), session=session)
        assert call.status == 200
        uri = {"uri": "memo://one"}
        subscribed = await there.ask(legacy(2, "resources/subscribe", uri), session=session)
        assert subscribed.status == 200
        record = await stores.sessions.load(session)
        assert record is not None
        assert b"memo://one" in record
        assert (await there.delete(session)).status == 200
        assert (await here.ask(legacy(3, "tools/list"), session=session)).status == 404
        assert (here.endpoint.sessions, there.endpoint.sessions) == (0, 0)


async def test_what_one_process_learns_of_a_session_the_others_know(go: asyncio.Event) -> None:
    stores = memory_stores()
    async with (
        serving(make_server(go, 100), stores=stores) as here,
        serving(make_server(go, 100), stores=stores) as there,
    ):
        session = (await here.ask(hello(roots={}))).headers["mcp-session-id"]
        stream = there.get(session)
        await stream.event()
        note = notification("notifications/initialized")
        assert (await here.ask(note, session=session)).status == 202
        call = there.post(legacy_call(1, "ask"), session=session)  # which needs that
        assert (await call.message())["method"] == "roots/list"
        call.disconnect()
        uri = {"uri": "memo://one"}
        await here.ask(legacy(2, "resources/subscribe", uri), session=session)
        await there.ask(legacy(3, "ping"), session=session)
        server = there.app._server
        assert isinstance(server, Server)
        server.resource_updated("memo://one")
        assert (await stream.message())["params"] == uri
        await there.delete(session)


async def test_a_process_does_not_forget_a_session_that_another_uses(go: asyncio.Event) -> None:
    stores = memory_stores()
    async with (
        serving(make_server(go, LONG), stores=stores) as here,
        serving(make_server(go, LONG), stores=stores) as there,
    ):
        session = await here.begin()
        for number in range(15):
            assert (await there.ask(legacy(number, "ping"), session=session)).status == 200
            await asyncio.sleep(LONG / 10)
        assert (await here.ask(legacy("here", "ping"), session=session)).status == 200


class Notes(MemorySessions):
    """A store that notes what was saved, and whether the client had been answered before."""

    def __init__(self) -> None:
        super().__init__()
        self.call: Call | None = None
        self.saved: list[bool] = []

    async def save(self, session_id: str, record: bytes, lifetime: float) -> bool:
        assert self.call is not None
        self.saved.append(self.call.is_complete)
        return await super().save(session_id, record, lifetime)


async def test_what_has_changed_is_kept_before_the_client_is_answered(go: asyncio.Event) -> None:
    sessions = Notes()
    stores = Stores(sessions, MemoryEvents(), MemoryBus())
    async with serving(make_server(go, LONG), stores=stores) as site:
        begun = await site.ask(hello())
        session = begun.headers["mcp-session-id"]
        for message in (
            notification("notifications/initialized"),
            legacy(1, "resources/subscribe", {"uri": "memo://one"}),
            legacy(2, "logging/setLevel", {"level": "error"}),
            legacy(3, "tools/list"),
        ):
            sessions.call = site.post(message, session=session)
            await sessions.call.whole()
    assert sessions.saved == [False, False, False]


class BrokenSessions(MemorySessions):
    """A store that fails when it is told to."""

    is_broken = False

    async def load(self, session_id: str) -> bytes | None:
        if self.is_broken:
            raise ConnectionError("the store is away")
        return await super().load(session_id)


async def test_a_store_that_is_away_for_a_while_does_no_lasting_harm(
    go: asyncio.Event, caplog: pytest.LogCaptureFixture
) -> None:
    sessions = BrokenSessions()
    stores = Stores(sessions, MemoryEvents(), MemoryBus())
    async with serving(make_server(go), stores=stores) as site:
        await site.begin()
        sessions.is_broken = True
        await until(lambda: "the store is away" in caplog.text, "it is noticed")
        assert (await site.ask(*modern_call(1, "nothing"))).status == 200
        sessions.is_broken = False
        await until(lambda: site.endpoint.sessions == 0, "it is looked at again")


async def test_initialized_is_kept(site: Site) -> None:
    session = await site.begin()
    assert site.stores is not None
    record = await site.stores.sessions.load(session)
    assert record is not None
    assert b'"is_initialized":true' in record
    note = notification("notifications/roots/list_changed")
    assert (await site.ask(note, session=session)).status == 202


async def test_processes_of_one_session_number_their_questions_differently() -> None:
    def first_id() -> int:
        record = Session(LATEST_LEGACY, UNSET, ClientCapabilities())
        return LiveSession("same", record, None).in_flight.outgoing.next_id()

    ids = {first_id() for _ in range(5)}
    assert len(ids) == 5
    assert all(0 < number < 2**53 for number in ids)
