"""What becomes of requests when the store of their answers fails."""

import asyncio
import logging
from collections.abc import Sequence

import pytest

from wigwag.client.guarded_store import REST, GuardedStore
from wigwag.stores.contract import Kept

pytestmark = pytest.mark.anyio


class MoodyStore:
    """A store that works, fails, or says nothing, as the test wants it."""

    def __init__(self) -> None:
        self.mood = "fine"
        self.calls: list[str] = []
        self.is_silent = asyncio.Event()

    async def _act(self, what: str) -> None:
        self.calls.append(what)
        if self.mood == "failing":
            raise OSError("the line is cut")
        if self.mood == "silent":
            self.is_silent.set()
            await asyncio.Event().wait()

    async def load(self, group: str, keys: Sequence[str]) -> Kept | None:
        await self._act("load")
        return Kept(b"value", 1.0) if keys == ["known"] else None

    async def save(self, group: str, key: str, value: bytes, lifetime: float) -> None:
        await self._act("save")

    async def delete(self, groups: Sequence[str], keys: Sequence[str] | None = None) -> None:
        await self._act("delete")


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_what_works_is_used_as_it_is() -> None:
    store = MoodyStore()
    guarded = GuardedStore(store)
    assert await guarded.load("group", ["known"]) == Kept(b"value", 1.0)
    assert await guarded.load("group", ["unknown"]) is None
    await guarded.save("group", "key", b"value", 60)
    assert await guarded.delete(["group"])
    assert store.calls == ["load", "load", "save", "delete"]


async def test_a_store_that_fails_is_left_alone_for_a_while(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store, clock = MoodyStore(), Clock()
    guarded = GuardedStore(store, clock=clock)
    store.mood = "failing"
    with caplog.at_level(logging.WARNING, "wigwag.client"):
        assert await guarded.load("group", ["known"]) is None
        store.mood = "fine"
        assert await guarded.load("group", ["known"]) is None
        await guarded.save("group", "key", b"value", 60)
        assert not await guarded.delete(["group"])
        assert store.calls == ["load"]
        clock.now += REST
        store.mood = "failing"
        assert await guarded.load("group", ["known"]) is None
        assert store.calls == ["load", "load"]
        clock.now += REST
        store.mood = "fine"
        assert await guarded.load("group", ["known"]) == Kept(b"value", 1.0)
        assert await guarded.delete(["group"])
    assert caplog.messages == [
        "the store of the client's cache fails, and is not used: OSError: the line is cut"
    ]


async def test_the_log_says_anew_when_a_store_fails_anew(caplog: pytest.LogCaptureFixture) -> None:
    store, clock = MoodyStore(), Clock()
    guarded = GuardedStore(store, clock=clock)
    with caplog.at_level(logging.WARNING, "wigwag.client"):
        for _ in range(2):
            store.mood = "failing"
            await guarded.load("group", ["known"])
            clock.now += REST
            store.mood = "fine"
            await guarded.load("group", ["known"])
    assert len(caplog.messages) == 2


async def test_nobody_waits_long_for_a_store(caplog: pytest.LogCaptureFixture) -> None:
    store = MoodyStore()
    guarded = GuardedStore(store, patience=0.05)
    store.mood = "silent"
    with caplog.at_level(logging.WARNING, "wigwag.client"):
        assert await guarded.load("group", ["known"]) is None
        assert not await guarded.delete(["group"])
    assert store.calls == ["load"]
    assert caplog.messages == [
        "the store of the client's cache fails, and is not used: it did not answer within 0.05 s"
    ]


async def test_who_is_cancelled_while_waiting_for_a_store_is_cancelled() -> None:
    store = MoodyStore()
    guarded = GuardedStore(store)
    store.mood = "silent"
    task = asyncio.ensure_future(guarded.load("group", ["known"]))
    await store.is_silent.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    store.mood = "fine"
    assert await guarded.load("group", ["known"]) is not None
