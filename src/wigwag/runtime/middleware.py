"""What is put around messages: async functions of a context and of what comes next."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial
from typing import Any, Generic, TypeVar

from wigwag.runtime.callables import is_async

__all__ = ["MiddlewareList", "inside_of"]

M = TypeVar("M", bound=Callable[..., Awaitable[Any]])
C = TypeVar("C")

CallNext = Callable[[C], Awaitable[Any]]


class MiddlewareList(Generic[M]):
    """The middleware of a server or of a client, outermost first.

    It is a decorator as well:

    >>> from wigwag import Server
    >>> server = Server("kites")
    >>> @server.middleware
    ... async def announce(context, call_next):
    ...     print("begin", context.method)
    ...     return await call_next(context)
    """

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._steps: list[M] = []
        self._on_change = on_change

    def __call__(self, middleware: M) -> M:
        """Add one, inside of those that are there."""
        self.append(middleware)
        return middleware

    def __iter__(self) -> Iterator[M]:
        """All of them, outermost first."""
        return iter(list(self._steps))

    def __len__(self) -> int:
        """How many there are."""
        return len(self._steps)

    def append(self, middleware: M) -> None:
        """Add one, inside of those that are there.

        Raises:
            TypeError: It is no async function of a context and of what comes next.
        """
        if not is_async(middleware):
            raise TypeError(
                f"{middleware!r} is no middleware: write `async def name(context, call_next)`"
            )
        self._steps.append(middleware)
        self._on_change()

    def remove(self, middleware: M) -> None:
        """Take one away.

        Raises:
            ValueError: It is not there.
        """
        self._steps.remove(middleware)
        self._on_change()


def inside_of(
    steps: Iterable[Callable[[C, CallNext[C]], Awaitable[Any]]], handle: CallNext[C]
) -> CallNext[C]:
    """Return what calls a function inside of middleware, whose steps come outermost first."""
    call = handle
    for step in reversed(list(steps)):
        call = partial(_call, step, call)
    return call


async def _call(
    step: Callable[[C, CallNext[C]], Awaitable[Any]], call_next: CallNext[C], context: C
) -> Any:
    return await step(context, call_next)
