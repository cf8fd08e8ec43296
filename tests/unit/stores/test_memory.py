"""The stores that keep everything in the memory of the process."""

import asyncio
import sys
import threading
from collections.abc import Iterator

import pytest

from wigwag.stores import memory
from wigwag.stores.contract import Replay, StoreFull
from wigwag.stores.memory import (
    MemoryBus,
    MemoryCacheStore,
    MemoryEvents,
    MemorySessions,
    memory_stores,
)

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


# --- answers, beyond what every store of them keeps to


async def test_the_answers_that_nobody_asked_for_the_longest_time_go_first() -> None:
    store = MemoryCacheStore(max_entries=3)
    for key in ("a", "b", "c"):
        await store.save("group", key, key.encode(), 60)
    await store.load("group", ["a"])
    await store.save("group", "d", b"d", 60)
    assert await store.load("group", ["b"]) is None
    assert [(await store.load("group", [key])) is not None for key in "acd"] == [True] * 3
    assert len(store) == 3
    await store.save("group", "c", b"again", 60)  # which is use of it, and no further one
    await store.save("group", "e", b"e", 60)
    assert await store.load("group", ["a"]) is None
    assert len(store) == 3


async def test_answers_together_have_only_so_many_bytes() -> None:
    store = MemoryCacheStore(max_bytes=10)
    await store.save("a", "key", b"x" * 4, 60)
    await store.save("b", "key", b"x" * 6, 60)
    assert len(store) == 2
    await store.save("c", "key", b"x", 60)
    assert await store.load("a", ["key"]) is None
    assert await store.load("b", ["key"]) is not None
    await store.save("c", "key", b"x" * 4, 60)
    assert len(store) == 2
    await store.delete(["b"])
    await store.save("d", "key", b"x" * 6, 60)
    assert len(store) == 2


async def test_an_answer_that_is_too_long_costs_no_other_its_place() -> None:
    store = MemoryCacheStore(max_bytes=10)
    await store.save("a", "key", b"x" * 10, 60)
    await store.save("b", "key", b"x" * 11, 60)
    assert await store.load("b", ["key"]) is None
    assert await store.load("a", ["key"]) is not None
    await store.save("a", "key", b"x" * 11, 60)  # nor is the one before it the right one any more
    assert await store.load("a", ["key"]) is None
    assert len(store) == 0


async def test_nothing_is_left_of_groups_that_have_nothing_any_more(clock: Clock) -> None:
    store = MemoryCacheStore(max_entries=2, clock=clock)
    for number in range(10):
        await store.save(f"group {number}", "key", b"", 10)
    assert list(store._keys) == ["group 8", "group 9"]
    clock.now += 10
    assert await store.load("group 8", ["key"]) is None
    await store.delete(["group 9"])
    assert store._keys == {}
    assert store._bytes == 0


@pytest.fixture
def restless_threads() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_threads_may_share_answers(restless_threads: None) -> None:
    store = MemoryCacheStore(max_entries=3)
    failures: list[BaseException] = []

    async def use() -> None:
        for each in range(1500):
            await store.save(f"{each % 4}", "key", b"x" * 10, 60)
            await store.load(f"{each % 3}", ["key"])
            await store.delete([f"{each % 2}"])

    def run() -> None:
        try:
            asyncio.run(use())
        except BaseException as error:  # noqa: BLE001 - shown below
            failures.append(error)

    users = [threading.Thread(target=run) for _ in range(4)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert failures == []
    assert store._bytes == 10 * len(store)
    assert sum(map(len, store._keys.values())) == len(store) <= 3
