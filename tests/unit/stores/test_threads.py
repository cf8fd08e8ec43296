"""Tests of what is called in threads."""

import asyncio
import threading

import pytest

from wigwag.stores.threads import call_in_thread, call_to_the_end

pytestmark = pytest.mark.anyio


def fail() -> None:
    raise OSError("no disk")


@pytest.mark.parametrize("call", [call_in_thread, call_to_the_end])
async def test_what_is_returned_or_raised_comes_back(call) -> None:  # type: ignore[no-untyped-def]  # either
    assert await call(threading.get_ident) != threading.get_ident()
    with pytest.raises(OSError, match="no disk"):
        await call(fail)


async def test_who_is_cancelled_waits_for_the_end_of_what_must_come_to_its_end() -> None:
    begun, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def write() -> None:
        begun.set()
        may_end.wait()
        ended.set()

    task = asyncio.create_task(call_to_the_end(write))
    await asyncio.to_thread(begun.wait)
    for _ in range(2):
        task.cancel()
        await asyncio.sleep(0)
    assert not task.done()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


async def test_who_is_cancelled_leaves_the_rest_to_itself() -> None:
    begun, may_end = threading.Event(), threading.Event()

    def read() -> None:
        begun.set()
        may_end.wait()

    task = asyncio.create_task(call_in_thread(read))
    await asyncio.to_thread(begun.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    may_end.set()
