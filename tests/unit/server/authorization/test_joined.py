import asyncio

import pytest

from wigwag.errors import VerifierUnavailable
from wigwag.server.authorization.joined import Joined

pytestmark = pytest.mark.anyio


class Work:
    """Work that ends when it is told to."""

    def __init__(self, error: Exception | None = None) -> None:
        self.begun = 0
        self.may_end = asyncio.Event()
        self.error = error

    async def __call__(self) -> int:
        self.begun += 1
        await self.may_end.wait()
        if self.error is not None:
            raise self.error
        return self.begun


async def test_whoever_wants_the_same_waits_for_the_same() -> None:
    joined: Joined[int] = Joined()
    work = Work()
    waiting = [asyncio.create_task(joined.run("a", work)) for _ in range(20)]
    await asyncio.sleep(0)
    assert joined.is_running("a")
    work.may_end.set()
    assert await asyncio.gather(*waiting) == [1] * 20
    await asyncio.sleep(0)
    assert not joined.is_running("a")
    assert await joined.run("a", work) == 2


async def test_what_is_different_is_done_on_its_own() -> None:
    joined: Joined[int] = Joined()
    one, other = Work(), Work()
    waiting = [asyncio.create_task(joined.run(each, each)) for each in (one, other)]
    one.may_end.set()
    other.may_end.set()
    assert await asyncio.gather(*waiting) == [1, 1]


async def test_one_that_is_cancelled_takes_nothing_from_the_others() -> None:
    joined: Joined[int] = Joined()
    work = Work()
    first, second = (asyncio.create_task(joined.run("a", work)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    work.may_end.set()
    assert await second == 1


async def test_a_failure_is_everybodys() -> None:
    joined: Joined[int] = Joined()
    work = Work(VerifierUnavailable("no"))
    work.may_end.set()
    results = await asyncio.gather(
        *(joined.run("a", work) for _ in range(3)), return_exceptions=True
    )
    assert [str(each) for each in results] == ["no"] * 3
    assert work.begun == 1


async def test_closing_breaks_off_what_is_being_done() -> None:
    joined: Joined[int] = Joined()
    waiting = asyncio.create_task(joined.run("a", Work()))
    await asyncio.sleep(0)
    await joined.aclose()
    with pytest.raises(VerifierUnavailable, match="closing"):
        await waiting


def test_work_of_an_event_loop_that_stands_still_is_not_waited_for() -> None:
    joined: Joined[int] = Joined()

    async def begin() -> None:
        joined.start("a", Work())
        await asyncio.sleep(0)

    async def do() -> int:
        work = Work()
        work.may_end.set()
        return await joined.run("a", work)

    left = asyncio.new_event_loop()
    try:
        left.run_until_complete(begin())  # and is not run any more
        assert asyncio.run(do()) == 1
    finally:
        tasks = asyncio.all_tasks(left)
        for task in tasks:
            task.cancel()
        left.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        left.close()
