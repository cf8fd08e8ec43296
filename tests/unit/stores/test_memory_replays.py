import pytest

from wigwag.stores.memory_replays import MemoryReplays

pytestmark = pytest.mark.anyio


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_what_was_used_is_not_new_until_it_cannot_be_used_anyway() -> None:
    clock = Clock()
    replays = MemoryReplays(clock=clock)
    assert await replays.remember("a", 10)
    assert await replays.remember("b", 10)
    clock.now = 9.9
    assert not await replays.remember("a", 0.1)
    clock.now = 13
    assert await replays.remember("c", 10)
    assert len(replays) == 1


async def test_a_clock_that_is_read_twice_forgets_nothing_too_early() -> None:
    clock = Clock()
    replays = MemoryReplays(clock=clock)
    assert await replays.remember("a", 10)
    clock.now = 10.001
    assert not await replays.remember("a", 0.0)


async def test_without_room_nothing_that_was_used_becomes_new() -> None:
    clock = Clock()
    replays = MemoryReplays(3, clock=clock)
    for name, lifetime in (("c", 30), ("a", 10), ("b", 20), ("d", 40)):
        assert await replays.remember(name, lifetime)
    assert len(replays) == 3
    clock.now = 1
    assert not await replays.remember("a", 9)  # forgotten, and refused for its age
    assert not await replays.remember("b", 19)
    assert await replays.remember("fresh", 50)
    assert len(replays) == 3


async def test_there_is_no_more_of_it_than_allowed() -> None:
    replays = MemoryReplays(100, clock=Clock())
    for number in range(1000):
        assert await replays.remember(str(number), 300 + number)
    assert len(replays) == 100
