"""What a test must not leave behind: tasks, descriptors and threads."""

import asyncio
import gc
import os
import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

# What is on its way out when a test ends has this long to be gone.
GRACE = 2.0
_DESCRIPTORS = Path("/proc/self/fd")
# They wait for work as long as their server's process lives, and hold up nobody.
_WORKERS = "wigwag-worker-"


async def tasks_left(before: Collection[asyncio.Task[object]]) -> list[str]:
    """Return the tasks that were not there before, and do not end by themselves."""
    left = {task for task in asyncio.all_tasks() - set(before) if not _is_of_the_runner(task)}
    if left:
        _, left = await asyncio.wait(left, timeout=GRACE)
    return [repr(task) for task in left]


def _is_of_the_runner(task: asyncio.Task[object]) -> bool:
    """Tell whether the task is that in which the test runner waits for this very fixture."""
    return "TestRunner." in getattr(task.get_coro(), "__qualname__", "")


def descriptors() -> dict[int, str]:
    """Return the open descriptors and what they lead to; nothing where the system does not tell."""
    found = {}
    for name in os.listdir(_DESCRIPTORS) if _DESCRIPTORS.is_dir() else ():
        try:
            found[int(name)] = os.readlink(_DESCRIPTORS / name)
        except OSError:  # the one that lists the folder
            continue
    return found


def threads() -> set[threading.Thread]:
    """Return the threads that run, but for the worker threads of servers."""
    return {thread for thread in threading.enumerate() if not thread.name.startswith(_WORKERS)}


def descriptors_left(before: dict[int, str]) -> list[str]:
    """Return the descriptors that were not there before, and are not closed in a moment."""
    left = _once_gone(
        lambda: {f"{fd} -> {to}" for fd, to in descriptors().items() - before.items()}
    )
    return sorted(left)


def threads_left(before: set[threading.Thread]) -> list[str]:
    """Return the threads that were not there before, and do not end in a moment."""
    return [repr(thread) for thread in _once_gone(lambda: threads() - before)]


def _once_gone(look: Callable[[], set[T]]) -> set[T]:
    left = look()
    deadline = time.monotonic() + GRACE
    while left and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
        left = look()
    return left
