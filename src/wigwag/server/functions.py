"""Runs the functions of features: in threads or on the event loop, in time, so many at once."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from wigwag.runtime.callables import is_async
from wigwag.runtime.threads import WorkerThreads
from wigwag.server.context import Context
from wigwag.server.parameters.signature import Parameters

if TYPE_CHECKING:
    from wigwag.server.injection import Injection
    from wigwag.server.parameters.written_schema import WrittenParameters

AnyParameters: TypeAlias = "Parameters | WrittenParameters"
P = TypeVar("P", bound="AnyParameters", covariant=True)


class Function(Generic[P]):
    """A registered function, however it is to be run.

    Args:
        parameters: What it takes.
        threads: Where a plain function runs; `None` to run it on the event loop.
        timeout: Seconds after which it is stopped; `None` for never.
        concurrency: How many calls of it may run at the same time; the others wait their turn,
            and their seconds do not count meanwhile. `None` for any number.

    Raises:
        TypeError: It yields, or what it depends on cannot be made.
        ValueError: The time is over before it begins, or no call may run.
    """

    def __init__(
        self,
        parameters: P,
        threads: WorkerThreads | None,
        timeout: float | None = None,
        concurrency: int | None = None,
    ) -> None:
        function = parameters.function
        if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
            name = getattr(function, "__qualname__", repr(function))
            raise TypeError(f"{name} yields; it must return its result")
        self._is_async = is_async(function)
        self._threads = threads
        if timeout is not None and not timeout > 0:
            raise ValueError(f"`timeout` is more than 0 seconds, not {timeout:g}")
        self.timeout = timeout
        self._turns = None if concurrency is None else Turns(concurrency)
        self.parameters = parameters
        self.wants_context = parameters.context is not None
        self._injection: Injection | None = None
        if parameters.dependencies:
            from wigwag.server.injection import Injection  # noqa: PLC0415 - few depend on anything

            self._injection = Injection(parameters)
            self.wants_context = True

    @property
    def is_direct(self) -> bool:
        """Whether what its arguments are, in order, is all there is to calling and awaiting it."""
        is_free = self.timeout is None and self._turns is None
        return self._is_async and is_free and self.parameters.is_plain

    def run(self, arguments: Any, context: Context[Any] | None) -> Awaitable[Any]:
        """Call the function with arguments that its parameters have read.

        Raises:
            TimeoutError: Its limit was reached.
        """
        if self._turns is None and self.timeout is None:  # the way of most
            return self._begin(arguments, context)
        return self._run_in_turn(arguments, context)

    async def _run_in_turn(self, arguments: Any, context: Context[Any] | None) -> Any:
        if self._turns is None:
            return await self._run_in_time(arguments, context)
        async with self._turns.one():
            return await self._run_in_time(arguments, context)

    async def _run_in_time(self, arguments: Any, context: Context[Any] | None) -> Any:
        if self.timeout is None:
            return await self._begin(arguments, context)
        async with asyncio.timeout(self.timeout) as limit:
            if context is not None:
                context.limit = limit
            return await self._begin(arguments, context)

    def _begin(self, arguments: Any, context: Context[Any] | None) -> Awaitable[Any]:
        if self._injection is not None and context is not None:
            return self._injection.run(arguments, context, self._threads)
        if self._is_async:
            awaitable: Awaitable[Any] = self.parameters.call(arguments, context)
            return awaitable
        return self._run_plain(arguments, context)

    async def _run_plain(self, arguments: Any, context: Context[Any] | None) -> Any:
        if self._threads is None:
            result = self._run_here(arguments, context)
        else:
            result = await self._threads.run(self.parameters.call, arguments, context)
        # A plain function may return something to await, such as a partial of a coroutine function.
        return await result if inspect.isawaitable(result) else result

    def _run_here(self, arguments: Any, context: Context[Any] | None) -> Any:
        if context is None:
            return self.parameters.call(arguments, None)
        return context.call_on_the_loop(partial(self.parameters.call, arguments, context))


class Turns:
    """Lets a number of calls run at the same time.

    Args:
        number: How many.

    Raises:
        ValueError: None at all.
    """

    def __init__(self, number: int) -> None:
        if number < 1:
            raise ValueError(f"`concurrency` is 1 or more, not {number}")
        self._number = number
        # A server may be used in several event loops, one after the other or at the same time.
        self._by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            WeakKeyDictionary()
        )

    def one(self) -> asyncio.Semaphore:
        """Return what is held while a call runs."""
        loop = asyncio.get_running_loop()
        turns = self._by_loop.get(loop)
        if turns is None:
            turns = self._by_loop[loop] = asyncio.Semaphore(self._number)
        return turns
