"""What every store of tokens keeps to, wherever it keeps them.

Each check gets a `Place`, whose stores share what they keep. `CHECKS` has them all; run every one
on every store.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, NamedTuple

import pytest

from wigwag.stores.contract import TokenStore

PATIENCE: Final = 60.0


class Place(NamedTuple):
    """Where stores keep things.

    Attributes:
        open: Returns a store of this place, which is empty at first.
    """

    open: Callable[[], TokenStore]


Check = Callable[[Place], Awaitable[None]]


async def what_is_saved_can_be_loaded(place: Place) -> None:
    store = place.open()
    await store.save("tokens https://as.example https://mcp.example", b"\x00\xff\n secret")
    kept = await place.open().load("tokens https://as.example https://mcp.example")
    assert kept == b"\x00\xff\n secret"
    assert await store.load("tokens https://as.example https://mcp.example/other") is None
    assert await store.load("") is None


async def the_latest_value_takes_the_place_of_the_one_before(place: Place) -> None:
    first, second = place.open(), place.open()
    await first.save("key", b"a much longer value than the one that comes later")
    assert await second.load("key") == b"a much longer value than the one that comes later"
    await second.save("key", b"after")
    assert await first.load("key") == b"after"
    assert await second.load("key") == b"after"


async def what_is_forgotten_is_gone(place: Place) -> None:
    store = place.open()
    await store.save("one", b"1")
    await store.save("two", b"2")
    await store.save("one", None)
    await store.save("never there", None)
    assert await store.load("one") is None
    assert await place.open().load("two") == b"2"
    await store.save("one", b"anew")
    assert await store.load("one") == b"anew"


async def it_tells_what_it_has(place: Place) -> None:
    store = place.open()
    assert list(await store.keys()) == []
    for key in ("registration https://as.example", "server https://mcp.example/a b", "\u2603"):
        await store.save(key, b"value")
    await store.save("\u2603", b"again")
    await store.save("registration https://as.example", None)
    assert sorted(await place.open().keys()) == ["server https://mcp.example/a b", "\u2603"]


async def keys_may_be_anything(place: Place) -> None:
    store = place.open()
    names = ["", " ", "/", "..", "../a", "*", "a:b", "a\nb", "\0", "\u00e9", "A", "a", "x" * 5000]
    for name in names:
        await store.save(name, name.encode())
    assert [await store.load(name) for name in names] == [name.encode() for name in names]
    assert sorted(await store.keys()) == sorted(names)
    await store.save("a", None)
    assert await store.load("A") == b"A"


async def a_value_may_be_empty_or_a_hundred_kilobytes(place: Place) -> None:
    store = place.open()
    large = bytes(number * number % 251 for number in range(100_000))
    await store.save("empty", b"")
    await store.save("large", large)
    assert await store.load("empty") == b""
    assert await store.load("large") == large
    await store.save("large", b"small")
    assert await store.load("large") == b"small"


async def a_lock_lets_one_in_at_a_time(place: Place) -> None:
    inside = 0
    rounds = []

    async def enter(store: TokenStore, number: int) -> None:
        nonlocal inside
        async with store.lock("tokens"):
            inside += 1
            assert inside == 1
            await asyncio.sleep(0)  # whoever could come in would
            inside -= 1
            rounds.append(number)

    stores = [place.open(), place.open()]
    await asyncio.gather(*(enter(stores[number % 2], number) for number in range(10)))
    assert sorted(rounds) == list(range(10))


async def locks_of_other_names_do_not_wait(place: Place) -> None:
    store = place.open()
    async with asyncio.timeout(PATIENCE), store.lock("a/b"), store.lock("a"), store.lock(""):
        await store.save("a", b"value")  # and what is kept is not locked


async def who_fails_inside_lets_the_next_one_in(place: Place) -> None:
    store = place.open()
    with pytest.raises(ZeroDivisionError):
        async with store.lock("tokens"):
            raise ZeroDivisionError
    async with asyncio.timeout(PATIENCE), place.open().lock("tokens"):
        pass


async def waiting_for_a_lock_can_be_cancelled(place: Place) -> None:
    first, second = place.open(), place.open()

    async def enter(store: TokenStore) -> None:
        async with store.lock("tokens"):
            raise AssertionError("two are inside")

    async with first.lock("tokens"):
        waiting = [asyncio.create_task(enter(store)) for store in (first, second, first)]
        await asyncio.sleep(0)
        for task in waiting:
            task.cancel()
        ended = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(each) for each in ended] == [asyncio.CancelledError] * 3
    async with asyncio.timeout(PATIENCE), second.lock("tokens"):
        pass


async def who_is_cancelled_at_the_door_lets_the_next_one_in(place: Place) -> None:
    store = place.open()
    entered = asyncio.Event()

    async def enter() -> None:
        async with store.lock("tokens"):
            entered.set()

    async with store.lock("tokens"):
        cancelled, waiting = asyncio.create_task(enter()), asyncio.create_task(enter())
        await asyncio.sleep(0)
    cancelled.cancel()
    with suppress(asyncio.CancelledError):
        await cancelled
    async with asyncio.timeout(PATIENCE):
        await entered.wait()
        await waiting


async def event_loops_in_several_threads_take_turns(place: Place) -> None:
    counted, most = 0, 0

    async def count(store: TokenStore) -> None:
        nonlocal counted, most
        for _ in range(5):
            async with store.lock("tokens"):
                counted += 1
                most = max(most, counted)
                value = int(await store.load("count") or b"0")
                await store.save("count", b"%d" % (value + 1))
                counted -= 1

    shared = place.open()
    threads = [
        threading.Thread(target=lambda store=store: asyncio.run(count(store)))
        for store in (shared, shared, place.open())
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join)
    assert await shared.load("count") == b"15"
    assert most == 1


CHECKS: Final[tuple[Check, ...]] = (
    what_is_saved_can_be_loaded,
    the_latest_value_takes_the_place_of_the_one_before,
    what_is_forgotten_is_gone,
    it_tells_what_it_has,
    keys_may_be_anything,
    a_value_may_be_empty_or_a_hundred_kilobytes,
    a_lock_lets_one_in_at_a_time,
    locks_of_other_names_do_not_wait,
    who_fails_inside_lets_the_next_one_in,
    waiting_for_a_lock_can_be_cancelled,
    who_is_cancelled_at_the_door_lets_the_next_one_in,
    event_loops_in_several_threads_take_turns,
)
