"""Prints lines without ever waiting for whoever reads them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final

from wigwag.tracing.writing import write_all

__all__ = ["LinePrinter"]

# A host may never read the standard error of what it has started.
_MAX_WAITING: Final = 10_000


class LinePrinter:
    """Writes lines to a descriptor, in a thread of its own.

    Where nobody reads them, most are dropped in the end, and how many is said.

    Args:
        descriptor: Where they go.
        encoding: That of the lines.
        on_gone: Called, in another thread, once nobody will ever read them.
    """

    def __init__(
        self,
        descriptor: int,
        encoding: str = "utf-8",
        on_gone: Callable[[], None] | None = None,
    ) -> None:
        self._descriptor = descriptor
        self._on_gone = on_gone
        self._encoding = encoding
        self._waiting: SimpleQueue[str | None] = SimpleQueue()
        self._dropped = 0
        self._thread = threading.Thread(target=self._run, name="wigwag-printer", daemon=True)
        self._thread.start()

    def print(self, lines: list[str]) -> None:
        """Print lines, or drop them."""
        for line in lines:
            if self._waiting.qsize() >= _MAX_WAITING:
                self._dropped += 1
                continue
            self._tell_dropped()
            self._waiting.put(line)

    def close(self, *, timeout: float = 2.0) -> None:
        """Print what is left.

        Args:
            timeout: Seconds to wait for whoever reads.
        """
        self._tell_dropped()
        self._waiting.put(None)
        self._thread.join(timeout)

    def _tell_dropped(self) -> None:
        if self._dropped:
            self._waiting.put(f"({self._dropped} lines were dropped: nobody read them)")
            self._dropped = 0

    def _run(self) -> None:
        is_read = True
        while (line := self._waiting.get()) is not None:
            if not is_read:
                continue
            try:
                data = f"{line}\n".encode(self._encoding, "backslashreplace")
                write_all(self._descriptor, data)
            except OSError:  # nobody will ever read it
                is_read = False
                if self._on_gone is not None:
                    self._on_gone()
