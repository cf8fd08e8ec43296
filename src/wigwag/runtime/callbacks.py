"""Calls what users have registered: plain functions and `async def` ones, and survives both."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from typing import Any

_logger = logging.getLogger("wigwag.client")


class Callbacks:
    """Calls back; what is to be awaited is, in a task of its own, in the order of the calls."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def call(self, callback: Callable[..., object], *args: Any) -> None:
        """Call a function; what it raises goes to the log."""
        try:
            outcome = callback(*args)
        except Exception:
            _logger.exception("a callback of the client failed")
            return
        if inspect.isawaitable(outcome):
            task = asyncio.get_running_loop().create_task(_await(outcome))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)


async def _await(outcome: Any) -> None:
    try:
        await outcome
    except Exception:
        _logger.exception("a callback of the client failed")
