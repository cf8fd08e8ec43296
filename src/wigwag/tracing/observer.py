"""Looks at what has passed, in a thread of its own: nothing that passes waits for it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from queue import SimpleQueue
from typing import Any, Final, TypeAlias

from wigwag.tracing.records import Record

__all__ = ["Observer", "Outlet"]

Outlet: TypeAlias = Callable[[Record], None]
"""Takes what happened, one record after the other, always in the same thread."""

# So many pieces may wait to be looked at, each of 64 KiB at most: then what passes does wait,
# for nothing may be lost and memory has an end.
_MAX_WAITING: Final = 4096

# One call and its answer pass in less; a person does not notice.
_PAUSE_SECONDS: Final = 0.002
_MAX_PAUSES: Final = 100

_logger = logging.getLogger("wigwag.tracing")


class Observer:
    """Makes records of what has passed, and hands them to the outlets.

    Args:
        read: Makes records of one piece of what has passed.
        outlets: Where they go. One that fails gets nothing more.
    """

    def __init__(
        self, read: Callable[[Any], Iterable[Record]], outlets: Sequence[Outlet] = ()
    ) -> None:
        self._read = read
        self._outlets = list(outlets)
        self._waiting: SimpleQueue[Any] = SimpleQueue()
        self._is_closing = threading.Event()
        self._begun = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="wigwag-observer", daemon=True)
        self._thread.start()

    def now(self) -> float:
        """Return the seconds since the start, to the microsecond."""
        return round(time.monotonic() - self._begun, 6)

    def passed(self, piece: Any) -> None:
        """Take note of a piece; may be called from any thread."""
        self._waiting.put(piece)

    def make_room(self) -> None:
        """Wait while far too much waits to be looked at; not for an event loop."""
        while self._waiting.qsize() > _MAX_WAITING and self._thread.is_alive():
            time.sleep(0.001)

    def close(self, *, timeout: float = 30.0) -> None:
        """Look at what is left.

        Args:
            timeout: Seconds to wait for that.
        """
        self._is_closing.set()
        self._waiting.put(None)
        self._thread.join(timeout)

    def _run(self) -> None:
        piece: Any = True
        while piece is not None:
            piece = self._waiting.get()
            self._let_pass()
            while piece is not None:
                self._look_at(piece)
                if self._waiting.empty():
                    break
                piece = self._waiting.get()

    def _let_pass(self) -> None:
        """Wait for a quiet moment: whoever passes something on needs the interpreter more."""
        for _ in range(_MAX_PAUSES):
            waiting = self._waiting.qsize()
            if self._is_closing.wait(_PAUSE_SECONDS) or self._waiting.qsize() == waiting:
                return

    def _look_at(self, piece: Any) -> None:
        try:
            for record in self._read(piece):
                self._hand_out(record)
        except Exception:
            _logger.exception("what has passed cannot be read; it has passed all the same")

    def _hand_out(self, record: Record) -> None:
        for outlet in list(self._outlets):
            try:
                outlet(record)
            except OSError as error:  # the disk is full
                self._outlets.remove(outlet)
                _logger.error("recording has ended: %s", error)  # noqa: TRY400 - says it all
            except Exception:
                self._outlets.remove(outlet)
                _logger.exception("an outlet failed, and gets nothing more")
