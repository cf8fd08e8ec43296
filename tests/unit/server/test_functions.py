import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any

import pytest

from tests.unit.server.house import function_of
from wigwag.server.context import Context

pytestmark = pytest.mark.anyio


async def run(function: Callable[..., Any], *, threads: bool = True) -> Any:
    known = function_of(function, threads=threads)
    async with asyncio.timeout(30):
        return await known.run(known.parameters.read(b"{}"), None)


async def test_a_plain_function_runs_in_a_thread_unless_it_was_told_otherwise() -> None:
    assert await run(threading.current_thread) is not threading.current_thread()
    assert await run(threading.current_thread, threads=False) is threading.current_thread()


async def test_whatever_is_async_is_awaited_on_the_event_loop() -> None:
    async def later(number: int = 1) -> Any:
        return number, threading.current_thread()

    class Caller:
        async def __call__(self) -> Any:
            return await later()

        async def method(self) -> Any:
            return await later()

    def returns_something_to_await() -> Awaitable[Any]:
        return later()

    here = threading.current_thread()
    functions: list[Callable[..., Any]] = [
        later, Caller(), Caller().method, partial(later, 1), returns_something_to_await
    ]  # fmt: skip
    for function in functions:
        assert await run(function) == (1, here)


def test_a_function_that_yields_is_refused() -> None:
    def numbers() -> Iterator[int]:
        yield 1

    async def more() -> Any:
        yield 1

    for function in (numbers, more):
        with pytest.raises(TypeError, match=r"yields; it must return its result"):
            function_of(function)


async def test_a_limit_stops_an_async_function() -> None:
    stopped: list[str] = []

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append("stopped")

    known = function_of(wait, timeout=0.01)
    async with asyncio.timeout(30):
        with pytest.raises(TimeoutError):
            await known.run(known.parameters.read(b"{}"), None)
    assert stopped == ["stopped"]


async def test_only_an_async_function_of_arguments_alone_is_called_directly() -> None:
    async def plain(a: int) -> None: ...
    async def with_context(ctx: Context) -> None: ...
    async def with_keyword(*, a: int) -> None: ...
    def in_a_thread(a: int) -> None: ...

    assert function_of(plain).is_direct
    assert not function_of(plain, timeout=1).is_direct
    for function in (with_context, with_keyword, in_a_thread):
        assert not function_of(function).is_direct
