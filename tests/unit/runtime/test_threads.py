"""Plain functions in threads."""

import asyncio
import contextvars
import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from wigwag.runtime.threads import WorkerThreads

pytestmark = pytest.mark.anyio

name_of_request: contextvars.ContextVar[str] = contextvars.ContextVar("name_of_request")


class Gate:
    """A function that says that it has begun and then waits to be let through."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.begun = asyncio.Event()
        self.open = threading.Event()

    def __call__(self) -> str:
        self._loop.call_soon_threadsafe(self.begun.set)
        assert self.open.wait(5)
        return threading.current_thread().name


@pytest.mark.parametrize("limit", [0, -1])
def test_no_threads_at_all_are_refused(limit: int) -> None:
    with pytest.raises(ValueError, match="at least one worker thread is needed"):
        WorkerThreads(limit)


async def test_a_function_runs_in_another_thread_with_its_arguments() -> None:
    def add(one: int, other: int) -> tuple[int, threading.Thread]:
        return one + other, threading.current_thread()

    async with asyncio.timeout(30):
        total, thread = await WorkerThreads().run(add, 1, 2)
    assert total == 3
    assert thread is not threading.current_thread()
    assert thread.daemon  # the interpreter does not wait for it


async def test_threads_are_used_again() -> None:
    threads = WorkerThreads()
    used = set()
    async with asyncio.timeout(30):
        for _ in range(3):
            gate = Gate()
            gate.open.set()
            used.add(await threads.run(gate))
    assert len(used) <= 2  # a thread may not be back yet when the next function comes


async def test_as_many_run_at_the_same_time_as_the_limit_says_and_the_rest_in_turn() -> None:
    threads = WorkerThreads(2)
    gates = [Gate() for _ in range(4)]
    runs = [threads.run(gate) for gate in gates]
    async with asyncio.timeout(30):
        await gates[0].begun.wait()
        await gates[1].begun.wait()
        assert not gates[2].begun.is_set()
        gates[1].open.set()
        await gates[2].begun.wait()
        assert not gates[3].begun.is_set()
        for gate in gates:
            gate.open.set()
        names = await asyncio.gather(*runs)
    assert len(set(names)) == 2


async def test_what_has_not_begun_when_it_is_cancelled_never_does() -> None:
    threads = WorkerThreads(1)
    gate, second, third = Gate(), Gate(), Gate()
    third.open.set()
    running, waiting, last = threads.run(gate), threads.run(second), threads.run(third)
    async with asyncio.timeout(30):
        await gate.begun.wait()
        waiting.cancel()
        gate.open.set()
        await running
        await last
    assert third.begun.is_set()
    assert not second.begun.is_set()


async def test_what_has_begun_when_it_is_cancelled_goes_on_and_nobody_hears_of_it() -> None:
    threads = WorkerThreads(1)
    gate = Gate()
    ended: list[str] = []

    def fail_at_last() -> None:
        gate()
        ended.append("ended")
        raise ValueError("nobody hears this")

    run = threads.run(fail_at_last)
    async with asyncio.timeout(30):
        await gate.begun.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        gate.open.set()
        assert await threads.run(lambda: list(ended)) == ["ended"]


async def test_a_function_has_a_copy_of_the_context() -> None:
    def look_and_set() -> str:
        seen = name_of_request.get()
        name_of_request.set("in the thread")
        return seen

    name_of_request.set("outside")
    async with asyncio.timeout(30):
        assert await WorkerThreads(1).run(look_and_set) == "outside"
    assert name_of_request.get() == "outside"


async def test_what_a_function_raises_is_raised_where_it_is_waited_for() -> None:
    def fail(error: BaseException) -> None:
        raise error

    threads = WorkerThreads(1)
    errors: list[BaseException] = [ValueError("no"), SystemExit(3)]
    async with asyncio.timeout(30):
        for error in errors:
            run = threads.run(fail, error)
            await asyncio.wait([run])
            assert run.exception() is error
        assert await threads.run(lambda: "still there") == "still there"


async def test_the_end_of_an_iterator_is_an_error_like_any_other() -> None:
    def run_out() -> Any:
        return next(iter(()))

    async with asyncio.timeout(30):
        with pytest.raises(RuntimeError, match="the function raised StopIteration"):
            await WorkerThreads().run(run_out)


async def test_a_function_that_would_close_the_coroutine_that_waits_fails() -> None:
    def close() -> None:
        raise GeneratorExit

    async def wait() -> None:
        await WorkerThreads().run(close)

    async with asyncio.timeout(30):
        with pytest.raises(RuntimeError, match="the function raised GeneratorExit") as caught:
            await wait()
    assert isinstance(caught.value.__cause__, GeneratorExit)


async def test_a_thread_that_waits_keeps_nothing_alive() -> None:
    class Thing:
        pass

    threads = WorkerThreads(1)

    def use(thing: Thing) -> None:
        pass

    thing = Thing()
    watched = weakref.ref(thing)
    async with asyncio.timeout(30):
        await threads.run(use, thing)
        del thing
        await threads.run(lambda: None)
        await threads.run(lambda: None)
    gc.collect()
    assert watched() is None


def test_a_function_that_outlives_its_event_loop_does_no_harm() -> None:
    threads = WorkerThreads(1)
    begun, let_go = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        assert let_go.wait(5)

    async def start(function: Callable[[], Any]) -> None:
        threads.run(function)
        await asyncio.wait_for(asyncio.to_thread(begun.wait), 30)

    async def use() -> str:
        async with asyncio.timeout(30):
            return await threads.run(lambda: "still there")

    asyncio.run(start(wait))
    let_go.set()
    assert asyncio.run(use()) == "still there"
