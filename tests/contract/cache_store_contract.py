"""What every store of answers keeps to, wherever it keeps them.

Each check gets a `Shop`, which has an empty store and moves its clock. `CHECKS` has them all; run
every one on every store.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from wigwag.stores.contract import CacheStore


class Shop(NamedTuple):
    """A store to be judged.

    Attributes:
        store: The store, which is empty.
        wait: Lets so many seconds pass for the store.
    """

    store: CacheStore
    wait: Callable[[float], Awaitable[None]]


Check = Callable[[Shop], Awaitable[None]]


async def value_of(store: CacheStore, group: str, *keys: str) -> bytes | None:
    kept = await store.load(group, keys)
    return None if kept is None else kept.value


async def what_is_saved_can_be_loaded(shop: Shop) -> None:
    store, _ = shop
    await store.save("group", "key", b"\x00\xff\n value", 60)
    assert await value_of(store, "group", "key") == b"\x00\xff\n value"
    assert await value_of(store, "group", "key") == b"\x00\xff\n value"


async def nothing_is_found_that_was_not_saved(shop: Shop) -> None:
    store, _ = shop
    await store.save("group", "key", b"value", 60)
    assert await store.load("group", ["other"]) is None
    assert await store.load("other", ["key"]) is None
    assert await store.load("group", []) is None
    assert await store.load("", [""]) is None


async def the_first_of_the_keys_that_has_something_counts(shop: Shop) -> None:
    store, _ = shop
    await store.save("group", "second", b"2", 60)
    await store.save("group", "third", b"3", 60)
    assert await value_of(store, "group", "first", "second", "third") == b"2"
    assert await value_of(store, "group", "third", "second") == b"3"


async def the_latest_value_takes_the_place_of_the_one_before(shop: Shop) -> None:
    store, wait = shop
    await store.save("group", "key", b"before", 10)
    await wait(5)
    await store.save("group", "key", b"after", 60)
    await wait(20)
    assert await value_of(store, "group", "key") == b"after"
    await store.save("group", "key", b"short", 5)
    await wait(6)
    assert await store.load("group", ["key"]) is None


async def a_value_tells_its_age(shop: Shop) -> None:
    store, wait = shop
    await store.save("group", "key", b"value", 60)
    await wait(20)
    kept = await store.load("group", ["key"])
    assert kept is not None
    assert 19.5 < kept.age < 21.5
    await store.save("group", "key", b"value", 60)
    kept = await store.load("group", ["key"])
    assert kept is not None
    assert 0 <= kept.age < 1.5


async def a_value_is_forgotten_at_the_end_of_its_lifetime(shop: Shop) -> None:
    store, wait = shop
    await store.save("group", "short", b"value", 10)
    await store.save("group", "long", b"value", 60)
    await wait(8)
    assert await value_of(store, "group", "short") == b"value"
    await wait(4)
    assert await store.load("group", ["short"]) is None
    assert await value_of(store, "group", "short", "long") == b"value"


async def a_lifetime_may_be_a_fraction_or_a_year(shop: Shop) -> None:
    store, wait = shop
    await store.save("group", "fraction", b"value", 2.5)
    await store.save("group", "year", b"value", 366 * 24 * 3600.0)
    await wait(4)
    assert await store.load("group", ["fraction"]) is None
    assert await value_of(store, "group", "year") == b"value"


async def reading_a_value_does_not_lengthen_its_life(shop: Shop) -> None:
    store, wait = shop
    await store.save("group", "key", b"value", 10)
    for _ in range(3):
        await wait(4)
        await store.load("group", ["key"])
    assert await store.load("group", ["key"]) is None


async def groups_are_deleted_whole(shop: Shop) -> None:
    store, _ = shop
    for group in ("a", "b", "c"):
        await store.save(group, "1", b"1", 60)
        await store.save(group, "2", b"2", 60)
    await store.delete(["a", "b", "unknown"])
    assert [await value_of(store, group, "1", "2") for group in ("a", "b", "c")] == [
        None,
        None,
        b"1",
    ]


async def keys_are_deleted_in_each_of_the_groups(shop: Shop) -> None:
    store, _ = shop
    for group in ("a", "b", "c"):
        await store.save(group, "1", b"1", 60)
        await store.save(group, "2", b"2", 60)
    await store.delete(["a", "b"], ["1", "unknown"])
    assert [await value_of(store, group, "1", "2") for group in ("a", "b", "c")] == [
        b"2",
        b"2",
        b"1",
    ]
    await store.delete(["c"], [])
    assert await value_of(store, "c", "1") == b"1"
    await store.delete([])


async def a_group_can_be_filled_again(shop: Shop) -> None:
    store, _ = shop
    await store.save("group", "key", b"before", 60)
    await store.delete(["group"])
    await store.save("group", "key", b"after", 60)
    assert await value_of(store, "group", "key") == b"after"


async def names_may_be_anything(shop: Shop) -> None:
    store, _ = shop
    names = ["", " ", "/", "*", "a:b", "a\nb", "\u00e9\u2603", "x" * 2000, "a", "a/b", "?", "[a]"]
    for group in names:
        for key in names:
            await store.save(group, key, f"{group}\0{key}".encode(), 60)
    for group in names:
        for key in names:
            assert await value_of(store, group, key) == f"{group}\0{key}".encode()
    await store.delete(["*"])
    await store.delete(["a"], ["*"])
    assert await store.load("*", names) is None
    assert await value_of(store, "a", "a/b") == b"a\0a/b"
    assert await value_of(store, "a/b", "a") == b"a/b\0a"


async def a_value_may_be_empty_or_a_megabyte(shop: Shop) -> None:
    store, _ = shop
    await store.save("group", "empty", b"", 60)
    await store.save("group", "large", b"x" * 1_000_000, 60)
    assert await value_of(store, "group", "empty", "large") == b""
    assert await value_of(store, "group", "large") == b"x" * 1_000_000


async def many_may_use_it_at_once(shop: Shop) -> None:
    store, _ = shop

    async def use(number: int) -> None:
        group = f"group {number}"
        await store.save(group, "key", b"%d" % number, 60)
        assert await value_of(store, group, "key") == b"%d" % number
        await store.delete([group])
        assert await store.load(group, ["key"]) is None

    await asyncio.gather(*(use(number) for number in range(50)))


CHECKS: Final[tuple[Check, ...]] = (
    what_is_saved_can_be_loaded,
    nothing_is_found_that_was_not_saved,
    the_first_of_the_keys_that_has_something_counts,
    the_latest_value_takes_the_place_of_the_one_before,
    a_value_tells_its_age,
    a_value_is_forgotten_at_the_end_of_its_lifetime,
    a_lifetime_may_be_a_fraction_or_a_year,
    reading_a_value_does_not_lengthen_its_life,
    groups_are_deleted_whole,
    keys_are_deleted_in_each_of_the_groups,
    a_group_can_be_filled_again,
    names_may_be_anything,
    a_value_may_be_empty_or_a_megabyte,
    many_may_use_it_at_once,
)
