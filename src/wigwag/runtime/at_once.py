"""Runs `async def` functions that wait for nothing, without a task for each.

Many handlers are `async def` and await nothing. Such a coroutine cannot be suspended, so nobody
can cancel it or let it time out; a task of its own would only cost, and more than the handler does.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
from asyncio import AbstractEventLoop, current_task
from asyncio.tasks import _enter_task, _leave_task
from collections.abc import Callable, Coroutine, Generator
from contextvars import copy_context
from opcode import opmap
from types import CodeType, coroutine
from typing import Any, Final, NamedTuple

from wigwag.runtime.tasks import start_task

__all__ = ["begin_turn", "end_turn", "run_at_once", "waits_for_nothing"]

# All that can suspend a coroutine is compiled to it: `await`, `async with` and `async for`. Before
# there are eager tasks, there is nothing to gain, and no task that is done already.
_SEND: Final = opmap.get("SEND") if sys.version_info >= (3, 12) else None


def waits_for_nothing(function: Any) -> bool:
    """Tell whether calling a function makes a coroutine that runs to its end at once."""
    code = getattr(function, "__code__", None)
    if _SEND is None or not isinstance(code, CodeType) or not code.co_flags & inspect.CO_COROUTINE:
        return False
    return _SEND not in code.co_code[::2]


class _Runner(NamedTuple):
    """What runs coroutines of one event loop, one after the other.

    Attributes:
        loop: The event loop.
        stand_in: The task that they see, as libraries ask for it to find out whether they run on
            asyncio. It is done already: nobody can cancel it or wait for it.
        send: Runs a coroutine and returns what it returns. What it raises ends the runner.
    """

    loop: AbstractEventLoop
    stand_in: asyncio.Task[None]
    send: Callable[[Coroutine[Any, Any, Any]], Any]


# The one that was last used; while it runs something it is not here.
_idle: _Runner | None = None


def run_at_once(work: Coroutine[Any, Any, Any], loop: AbstractEventLoop) -> Any:
    """Run a coroutine of a function that `waits_for_nothing`, on the event loop.

    What it does to context variables stays its own, as in a task.

    Returns:
        What it returns; what it raises comes through.
    """
    global _idle
    runner, _idle = _idle, None
    if runner is None or runner[0] is not loop:
        runner = _make_runner(loop)
    if current_task(loop) is None:
        _enter_task(loop, runner[1])
        try:
            value = copy_context().run(runner[2], work)
        finally:
            _leave_task(loop, runner[1])
    else:
        value = copy_context().run(runner[2], work)
    _idle = runner
    return value


def begin_turn(loop: AbstractEventLoop) -> asyncio.Task[None] | None:
    """Let all that is run at once until `end_turn` see the same task, which is quicker.

    For a callback of the event loop that serves many requests; it must not wait for anything.

    Returns:
        What `end_turn` must be given; `None` where nothing has begun.
    """
    runner = _idle  # which other threads change
    if runner is None or runner[0] is not loop or current_task(loop) is not None:
        return None
    _enter_task(loop, runner[1])
    return runner[1]


def end_turn(loop: AbstractEventLoop, turn: asyncio.Task[None]) -> None:
    """End what `begin_turn` has begun."""
    _leave_task(loop, turn)


def _make_runner(loop: AbstractEventLoop) -> _Runner:
    async def nothing() -> None:
        pass

    running: Any = _run_one_by_one()  # which `coroutine` hides to be a generator
    next(running)
    return _Runner(loop, start_task(nothing(), loop), running.send)


@coroutine
def _run_one_by_one() -> Generator[Any, Coroutine[Any, Any, Any], None]:
    """Yield the value of each coroutine that is sent.

    A coroutine that is sent to by itself tells its value by an exception, at four times the cost.
    """
    value = None
    while True:
        work = yield value
        value = yield from work  # as an `await`, which is for coroutines
