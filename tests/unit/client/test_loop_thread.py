"""An event loop in a thread of its own."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from tests.e2e.host import PATIENCE
from wigwag.client.loop_thread import Call, LoopThread
from wigwag.errors import ConnectionClosed, LocalProtocolError


class Life:
    """What a loop is told to do at its end."""

    def __init__(self) -> None:
        self.ends: list[str] = []

    async def at_end(self) -> None:
        self.ends.append("at end")

    def after_end(self) -> None:
        self.ends.append("after end")


@pytest.fixture
def life() -> Life:
    return Life()


@pytest.fixture
def loop(life: Life) -> Iterator[LoopThread]:
    loop = LoopThread(life.at_end, life.after_end)
    yield loop
    loop.ask_to_end()
    loop.join()


async def name_of_thread() -> str:
    return threading.current_thread().name


async def fail() -> None:
    raise KeyError("lost")


async def wait_for_ever(begun: threading.Event, ended: threading.Event) -> None:
    begun.set()
    try:
        await asyncio.Event().wait()
    finally:
        ended.set()


def test_a_coroutine_runs_in_the_thread_of_the_loop(loop: LoopThread) -> None:
    assert loop.run(name_of_thread()) == "wigwag-client"


def test_what_a_coroutine_raises_is_raised_where_it_is_waited_for(loop: LoopThread) -> None:
    with pytest.raises(KeyError, match="lost"):
        loop.run(fail())


def test_who_waits_does_meanwhile_what_is_handed_over(loop: LoopThread) -> None:
    seen: list[str] = []

    async def hand_over() -> str:
        call.hand_over(lambda: seen.append(threading.current_thread().name))
        return "done"

    call = Call(hand_over())
    loop.begin(call)
    assert loop.finish(call) == "done"
    assert seen == [threading.current_thread().name]


def test_who_is_interrupted_cancels_what_runs(loop: LoopThread) -> None:
    begun, ended = threading.Event(), threading.Event()

    def interrupt() -> None:
        raise KeyboardInterrupt

    call = Call(wait_for_ever(begun, ended))
    loop.begin(call)
    assert begun.wait(PATIENCE)
    call.hand_over(interrupt)
    with pytest.raises(KeyboardInterrupt):
        loop.finish(call)
    assert ended.wait(PATIENCE)
    assert loop.run(name_of_thread())


def test_what_still_runs_at_the_end_fails(life: Life) -> None:
    loop = LoopThread(life.at_end, life.after_end)
    begun, ended = threading.Event(), threading.Event()
    call = Call(wait_for_ever(begun, ended))
    loop.begin(call)
    assert begun.wait(PATIENCE)
    loop.ask_to_end()
    with pytest.raises(ConnectionClosed):
        loop.finish(call)
    loop.join()
    assert ended.is_set()
    assert life.ends == ["at end", "after end"]


def test_nothing_runs_after_the_end(life: Life) -> None:
    loop = LoopThread(life.at_end, life.after_end)
    loop.ask_to_end()
    with pytest.raises(ConnectionClosed):
        loop.run(name_of_thread())
    loop.join()
    loop.ask_to_end()
    loop.join()
    with pytest.raises(ConnectionClosed):
        loop.run(name_of_thread())
    assert life.ends == ["at end", "after end"]


def test_what_goes_wrong_at_the_end_is_raised_once(life: Life) -> None:
    loop = LoopThread(fail, life.after_end)
    loop.ask_to_end()
    with pytest.raises(KeyError):
        loop.join()
    loop.join()


def test_the_loop_cannot_wait_for_itself(loop: LoopThread) -> None:
    async def run_again() -> None:
        loop.run(name_of_thread())

    with pytest.raises(LocalProtocolError, match="plain function"):
        loop.run(run_again())


def test_a_task_that_ends_the_loop_leaves_nobody_waiting(life: Life) -> None:
    async def leave() -> None:
        raise SystemExit(3)

    loop = LoopThread(life.at_end, life.after_end)
    with pytest.raises(SystemExit):
        loop.run(leave())
    loop.join()
    with pytest.raises(ConnectionClosed):
        loop.run(name_of_thread())
