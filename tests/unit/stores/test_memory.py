"""The stores that keep everything in the memory of the process."""

import pytest

from wigwag.stores import memory
from wigwag.stores.contract import Replay, StoreFull
from wigwag.stores.memory import MemoryBus, MemoryEvents, MemorySessions, memory_stores

pytestmark = pytest.mark.anyio


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def add(events: MemoryEvents, session_id: str, stream: str, message: bytes) -> str:
    """Keep one event and return its id."""
    [event_id] = await events.append(session_id, stream, [message])
    return event_id


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(memory, "monotonic", clock)
    return clock


# --- sessions


async def test_a_session_is_kept_until_it_was_not_used_for_its_lifetime(clock: Clock) -> None:
    sessions = MemorySessions()
    await sessions.create("a", b"record", 10)
    clock.now += 9
    assert await sessions.load("a") == b"record"
    assert await sessions.touch("a", 10) == b"record"
    clock.now += 9
    assert await sessions.load("a") == b"record"
    clock.now += 2
    assert await sessions.load("a") is None
    assert await sessions.touch("a", 10) is None
    assert len(sessions) == 0


async def test_reading_a_session_is_no_use_of_it(clock: Clock) -> None:
    sessions = MemorySessions()
    await sessions.create("a", b"record", 10)
    for _ in range(3):
        clock.now += 4
        await sessions.load("a")
    assert await sessions.load("a") is None


async def test_saving_changes_a_session_and_is_use_of_it(clock: Clock) -> None:
    sessions = MemorySessions()
    await sessions.create("a", b"before", 10)
    clock.now += 9
    assert await sessions.save("a", b"after", 10)
    clock.now += 9
    assert await sessions.load("a") == b"after"
    assert not await sessions.save("b", b"unknown", 10)
    assert await sessions.load("b") is None
    clock.now += 2
    assert not await sessions.save("a", b"too late", 10)


async def test_a_session_can_be_deleted_once() -> None:
    sessions = MemorySessions()
    await sessions.create("a", b"record", 10)
    assert await sessions.delete("a")
    assert not await sessions.delete("a")
    assert await sessions.load("a") is None


async def test_there_are_no_more_sessions_than_allowed(clock: Clock) -> None:
    sessions = MemorySessions(max_sessions=2)
    await sessions.create("a", b"", 10)
    await sessions.create("b", b"", 20)
    with pytest.raises(StoreFull, match="2 sessions are open, and no more are allowed"):
        await sessions.create("c", b"", 10)
    clock.now += 15
    await sessions.create("c", b"", 10)
    assert await sessions.load("a") is None
    assert await sessions.load("b") == b""
    assert len(sessions) == 2


# --- events


async def test_what_came_after_an_event_on_its_stream_is_replayed_in_order() -> None:
    events = MemoryEvents()
    first = await add(events, "s", "x", b"1")
    await add(events, "s", "y", b"other")
    second = await add(events, "s", "x", b"2")
    third = await add(events, "s", "x", b"3")
    assert await events.replay("s", first) == Replay("x", [(second, b"2"), (third, b"3")])
    assert await events.replay("s", third) == Replay("x", [])
    assert len({first, second, third}) == 3


async def test_events_of_other_sessions_are_not_replayed() -> None:
    events = MemoryEvents()
    mine = await add(events, "mine", "x", b"1")
    await add(events, "others", "x", b"secret")
    assert await events.replay("mine", mine) == Replay("x", [])
    assert await events.replay("unknown", mine) is None


@pytest.mark.parametrize(
    "event_id", ["", "x", "1", "-", "1-", "-x", "2-x", "1-y", "01-z", "¹-x", "1-x ", "9" * 5000]
)
async def test_ids_that_were_not_given_out_are_not_known(event_id: str) -> None:
    events = MemoryEvents()
    assert await add(events, "s", "x", b"1") == "1-x"
    await add(events, "s", "y", b"2")
    assert await events.replay("s", event_id) is None


async def test_only_the_latest_events_are_kept() -> None:
    events = MemoryEvents(max_events=3)
    ids = [await add(events, "s", "x", b"%d" % number) for number in range(5)]
    assert await events.replay("s", ids[1]) is None  # what came after it may be gone as well
    replay = await events.replay("s", ids[2])
    assert replay is not None
    assert [message for _, message in replay.events] == [b"3", b"4"]


async def test_only_so_many_bytes_are_kept_but_always_the_latest_event() -> None:
    events = MemoryEvents(max_bytes=10)
    ids = [await add(events, "s", "x", b"x" * 4) for _ in range(3)]
    assert await events.replay("s", ids[0]) is None
    assert await events.replay("s", ids[1]) == Replay("x", [(ids[2], b"xxxx")])
    large = await add(events, "s", "x", b"x" * 100)
    assert await events.replay("s", ids[2]) is None
    assert await events.replay("s", large) == Replay("x", [])
    after = await add(events, "s", "x", b"y")
    assert await events.replay("s", large) is None
    assert await events.replay("s", after) == Replay("x", [])


async def test_events_can_be_forgotten() -> None:
    events = MemoryEvents()
    first = await add(events, "s", "x", b"1")
    await events.forget("s")
    await events.forget("unknown")
    assert await events.replay("s", first) is None


async def test_sessions_together_keep_only_so_many_bytes() -> None:
    events = MemoryEvents(max_total_bytes=10)
    first = await add(events, "a", "x", b"xxxx")
    second = await add(events, "b", "x", b"xxxx")
    again = await add(events, "a", "x", b"x")
    await add(events, "c", "x", b"xxxx")  # b has had none for the longest time
    assert await events.replay("b", second) is None
    assert await events.replay("a", first) == Replay("x", [(again, b"x")])
    later = await add(events, "b", "x", b"")
    assert later != second
    assert await events.replay("b", later) == Replay("x", [])


async def test_what_is_forgotten_makes_room() -> None:
    events = MemoryEvents(max_total_bytes=10)
    first = await add(events, "a", "x", b"x" * 5)
    for _ in range(5):
        await add(events, "b", "x", b"x" * 5)
        await events.forget("b")
    assert await events.replay("a", first) == Replay("x", [])
    large = await add(events, "b", "x", b"x" * 100)
    assert await events.replay("a", first) is None
    assert await events.replay("b", large) == Replay("x", [])


# --- news of changes


def test_changes_are_heard_by_all_who_listen() -> None:
    bus = MemoryBus()
    heard: list[tuple[str, bytes]] = []
    stop = bus.subscribe(lambda message: heard.append(("a", message)))
    bus.subscribe(lambda message: heard.append(("b", message)))
    bus.publish(b"1")
    stop()
    bus.publish(b"2")
    assert heard == [("a", b"1"), ("b", b"1"), ("b", b"2")]


def test_a_listener_may_stop_listening_when_it_hears_something() -> None:
    bus = MemoryBus()
    heard: list[bytes] = []

    def once(message: bytes) -> None:
        heard.append(message)
        stop()

    stop = bus.subscribe(once)
    bus.subscribe(heard.append)
    bus.publish(b"1")
    bus.publish(b"2")
    assert heard == [b"1", b"1", b"2"]


def test_the_limits_are_those_of_the_stores() -> None:
    stores = memory_stores(max_sessions=1, max_events=2, max_event_bytes=3, max_total_event_bytes=4)
    assert isinstance(stores.sessions, MemorySessions)
    assert isinstance(stores.events, MemoryEvents)
    assert stores.sessions._max_sessions == 1
    events = stores.events
    assert (events._max_events, events._max_bytes, events._max_total_bytes) == (2, 3, 4)


async def test_events_may_be_kept_together() -> None:
    events = MemoryEvents()
    ids = await events.append("s", "x", [b"1", b"2", b"3"])
    assert ids == ["1-x", "2-x", "3-x"]
    assert await events.replay("s", ids[0]) == Replay("x", [(ids[1], b"2"), (ids[2], b"3")])
    assert await events.append("s", "x", []) == []
    assert await add(events, "s", "x", b"4") == "4-x"
