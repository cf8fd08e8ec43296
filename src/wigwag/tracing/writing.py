"""Writes to descriptors that others share."""

from __future__ import annotations

import os
import select

__all__ = ["write_all"]


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of it, and wait where whoever shares the descriptor has made it non-blocking.

    Raises:
        OSError: It cannot be written; a `BrokenPipeError` if nobody reads it any more.
    """
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            select.select([], [descriptor], [])
