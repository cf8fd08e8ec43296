"""A limit of time that can be held, on a clock that the test sets."""

import asyncio
from collections.abc import Callable

import pytest

from wigwag.transports.pausable_timeout import PausableTimeout

pytestmark = pytest.mark.anyio


PassTime = Callable[[float], None]


@pytest.fixture
def pass_time() -> PassTime:
    """Lets time pass on the event loop, without waiting for it."""

    def go(seconds: float) -> None:
        loop = asyncio.get_running_loop()
        before = loop.time
        loop.time = lambda: before() + seconds  # type: ignore[method-assign]

    return go


async def turn() -> None:
    """Let the event loop do what is due."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_what_takes_too_long_is_ended(pass_time: PassTime) -> None:
    async def take_too_long() -> None:
        async with PausableTimeout(100.0):
            pass_time(101.0)
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await take_too_long()


async def test_time_does_not_count_while_it_is_held(pass_time: PassTime) -> None:
    steps: list[str] = []

    async def be_held() -> None:
        async with PausableTimeout(100.0) as limit:
            pass_time(60.0)
            limit.hold()
            limit.hold()
            pass_time(1000.0)
            await turn()
            limit.release()
            pass_time(1000.0)
            await turn()
            limit.release()
            pass_time(39.0)  # of the 40 seconds that are left
            await turn()
            steps.append("in time")
            pass_time(2.0)
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await be_held()
    assert steps == ["in time"]


async def test_it_can_be_held_from_before_its_beginning_to_after_its_end(
    pass_time: PassTime,
) -> None:
    limit = PausableTimeout(100.0)
    limit.hold()
    async with limit:
        pass_time(1000.0)
        await turn()
    limit.release()
    assert limit.held_for >= 1000.0


async def test_it_can_be_held_when_it_is_over_already(pass_time: PassTime) -> None:
    async def be_late() -> None:
        async with PausableTimeout(100.0) as limit:
            pass_time(101.0)
            try:
                await asyncio.Event().wait()
            finally:
                limit.hold()
                limit.release()

    with pytest.raises(TimeoutError):
        await be_late()
