"""What tells a callback of changes."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from wigwag.client.watching import Teller

pytestmark = pytest.mark.anyio

PATIENCE = 30.0


class Told:
    """A callback that takes until it is let go, and what prepares what it is told."""

    def __init__(self) -> None:
        self.prepared = 0
        self.told: list[Any] = []
        self.at_once = self.most_at_once = 0
        self.is_free = asyncio.Event()
        self.is_called = asyncio.Event()

    async def prepare(self) -> list[int]:
        self.prepared += 1
        return [self.prepared]

    async def tell(self, what: int) -> None:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.is_called.set()
        await self.is_free.wait()
        self.told.append(what)
        self.at_once -= 1

    async def called(self) -> None:
        async with asyncio.timeout(PATIENCE):
            await self.is_called.wait()
        self.is_called.clear()


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not is_so():
            turn = asyncio.Event()
            asyncio.get_running_loop().call_soon(turn.set)
            await turn.wait()


async def test_what_is_due_many_times_is_told_once() -> None:
    told = Told()
    told.is_free.set()
    teller = Teller(told.prepare, told.tell, 0)
    for _ in range(5):
        teller.due()
    await until(lambda: told.told == [1])
    teller.due()
    await until(lambda: told.told == [1, 2])


async def test_a_callback_is_never_called_twice_at_a_time_and_once_more_for_all_meanwhile() -> None:
    told = Told()
    teller = Teller(told.prepare, told.tell, 0)
    teller.due()
    await told.called()
    for _ in range(3):
        teller.due()
        await asyncio.sleep(0)
    told.is_free.set()
    await until(lambda: told.told == [1, 2])
    teller.due()
    await until(lambda: told.told == [1, 2, 3])
    assert told.most_at_once == 1


async def test_nothing_is_told_after_it_was_stopped_until_something_is_due() -> None:
    told = Told()
    told.is_free.set()
    teller = Teller(told.prepare, told.tell, 3600)
    teller.due()
    await teller.stop()
    assert teller._task is None
    teller.due()
    await teller.stop()
    assert told.prepared == 0


async def test_a_callback_that_is_being_called_is_left_to_its_end() -> None:
    told = Told()
    teller = Teller(told.prepare, told.tell, 0)
    teller.due()
    await told.called()
    await teller.stop()
    teller.due()  # of the next connection
    told.is_free.set()
    await until(lambda: told.told == [1, 2])
    assert told.most_at_once == 1


async def test_one_callback_that_fails_does_not_keep_the_next_from_being_called(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told: list[int] = []

    async def prepare() -> list[int]:
        return [1, 2]

    def tell(what: int) -> None:
        told.append(what)
        raise ValueError(what)

    Teller(prepare, tell, 0).due()
    await until(lambda: told == [1, 2])
    assert caplog.text.count("a callback of the client failed") == 2
