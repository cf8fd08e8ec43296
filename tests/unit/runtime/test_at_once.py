"""Coroutines that wait for nothing, run without a task."""

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from functools import partial
from typing import Any

import pytest

from wigwag.runtime.at_once import begin_turn, end_turn, run_at_once, waits_for_nothing
from wigwag.runtime.tasks import start_task

is_offered = sys.version_info >= (3, 12)
only_if_offered = pytest.mark.skipif(not is_offered, reason="there are no eager tasks")

note: ContextVar[str] = ContextVar("note", default="none")


async def at_once(value: int = 1) -> int:
    note.set("set")
    return value


async def calls_others() -> int:
    work = at_once()
    work.close()
    return sum(number for number in range(3))


async def look() -> asyncio.Task[Any] | None:
    return asyncio.current_task()


class Desk:
    async def at_once(self) -> int:
        return 1

    async def __call__(self) -> int:
        return 1


async def awaits() -> int:
    return await at_once()


async def numbers() -> AsyncIterator[int]:
    yield 1


async def loops() -> None:
    async for _ in numbers():
        pass


async def comprehends() -> list[int]:
    return [number async for number in numbers()]


async def enters() -> None:
    async with asyncio.Lock():
        pass


@pytest.mark.parametrize("function", [at_once, calls_others, Desk().at_once])
def test_functions_without_any_await_wait_for_nothing(function: Callable[..., Any]) -> None:
    assert waits_for_nothing(function) is is_offered


@pytest.mark.parametrize(
    "function",
    [awaits, loops, comprehends, enters, numbers, Desk(), partial(at_once), len, lambda: 1],
)
def test_whatever_may_wait_or_cannot_be_looked_into_is_taken_for_waiting(
    function: Callable[..., Any],
) -> None:
    assert not waits_for_nothing(function)


def within_a_loop(function: Callable[[asyncio.AbstractEventLoop], Any]) -> Any:
    """Call a function as the event loop calls back: outside of any task."""
    loop = asyncio.new_event_loop()
    outcome: list[Any] = []

    def call() -> None:
        try:
            outcome.append(function(loop))
        finally:
            loop.stop()

    loop.call_soon(call)
    try:
        loop.run_forever()
    finally:
        loop.close()
    return outcome[0]


@only_if_offered
def test_it_returns_what_the_coroutine_returns_and_keeps_context_variables_apart() -> None:
    def twice(loop: asyncio.AbstractEventLoop) -> list[Any]:
        return [run_at_once(at_once(1), loop), run_at_once(at_once(2), loop), note.get()]

    assert within_a_loop(twice) == [1, 2, "none"]


@only_if_offered
def test_what_a_coroutine_raises_comes_through_and_the_next_one_runs() -> None:
    async def fails() -> None:
        raise StopIteration if "stop" in stops else LookupError("no")

    stops: list[str] = []

    def in_turn(loop: asyncio.AbstractEventLoop) -> int:
        with pytest.raises(LookupError, match="no"):
            run_at_once(fails(), loop)
        stops.append("stop")
        with pytest.raises(RuntimeError, match="StopIteration"):
            run_at_once(fails(), loop)
        assert asyncio.current_task(loop) is None
        value: int = run_at_once(at_once(3), loop)
        return value

    assert within_a_loop(in_turn) == 3


@only_if_offered
def test_there_is_a_current_task_that_nobody_can_cancel() -> None:
    async def look() -> tuple[bool, bool]:
        task = asyncio.current_task()
        assert task is not None
        return task.done(), task.cancel()

    assert within_a_loop(partial(run_at_once, look())) == (True, False)


@only_if_offered
def test_within_a_task_that_is_the_current_one() -> None:
    async def main() -> None:
        assert run_at_once(look(), asyncio.get_running_loop()) is asyncio.current_task()

    asyncio.run(main())


@only_if_offered
def test_one_may_run_another() -> None:
    def nested(loop: asyncio.AbstractEventLoop) -> Any:
        async def outer() -> Any:
            return run_at_once(at_once(5), loop), asyncio.current_task()

        value, seen = run_at_once(outer(), loop)
        return value, seen is not None, run_at_once(at_once(6), loop)

    assert within_a_loop(nested) == (5, True, 6)


@only_if_offered
def test_event_loops_of_several_threads_do_not_meet() -> None:
    found: dict[str, list[int]] = {}

    def work(name: str) -> None:
        def many(loop: asyncio.AbstractEventLoop) -> list[int]:
            return [run_at_once(at_once(number), loop) for number in range(2000)]

        found[name] = within_a_loop(many)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {name: list(range(2000)) for name in "abc"}


@only_if_offered
def test_all_of_one_turn_sees_the_same_task_and_nothing_after_it_does() -> None:
    async def fails() -> None:
        raise LookupError("no")

    def in_turn(loop: asyncio.AbstractEventLoop) -> None:
        assert begin_turn(loop) is None  # nothing was run before, so nothing may ever be
        before = run_at_once(look(), loop)
        turn = begin_turn(loop)
        assert turn is before
        assert run_at_once(look(), loop) is turn
        assert run_at_once(at_once(2), loop) == 2
        assert note.get() == "none"
        with pytest.raises(LookupError, match="no"):
            run_at_once(fails(), loop)
        assert run_at_once(look(), loop) is turn
        assert begin_turn(loop) is None  # one is enough
        started = start_task(look(), loop)
        assert started.result() is started
        end_turn(loop, turn)
        assert asyncio.current_task(loop) is None

    within_a_loop(in_turn)


@only_if_offered
def test_there_are_no_turns_within_a_task() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        run_at_once(look(), loop)
        assert begin_turn(loop) is None

    asyncio.run(main())


@only_if_offered
def test_a_coroutine_may_start_tasks() -> None:
    async def start() -> asyncio.Task[int]:
        return asyncio.create_task(at_once(7))

    async def main() -> int:
        task: asyncio.Task[int] = run_at_once(start(), asyncio.get_running_loop())
        return await task

    assert asyncio.run(main()) == 7
