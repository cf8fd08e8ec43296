"""Starts tasks, at once where Python can."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["start_task"]

T = TypeVar("T")

if sys.version_info >= (3, 12):

    def start_task(
        work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop
    ) -> asyncio.Task[T]:
        """Start a task, and run it up to its first suspension at once: most are done then."""
        return asyncio.Task(work, loop=loop, eager_start=True)

else:

    def start_task(
        work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop
    ) -> asyncio.Task[T]:
        """Start a task; this Python cannot run it before the next turn of the event loop."""
        return asyncio.Task(work, loop=loop)
