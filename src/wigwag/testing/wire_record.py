"""Keeps what was said on the connections of a test, to be shown when it fails."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from wigwag.runtime.wire_log import is_wire_shown

# Of a longer conversation the end is kept, and of a longer message the beginning.
MAX_MESSAGES: Final = 100
MAX_CHARACTERS: Final = 1000

_wire = logging.getLogger("wigwag.wire")


class WireRecord(logging.Filter):
    """What all clients said and heard while somebody wanted it recorded.

    It listens to the wire log without making it any louder for others.
    """

    def __init__(self) -> None:
        super().__init__()
        self._wanted = 0
        self._level = logging.NOTSET
        self._was_shown = False
        self.forget()

    def forget(self) -> None:
        """Begin anew: another test begins."""
        self._messages: deque[str] = deque(maxlen=MAX_MESSAGES)
        self._count = 0

    def __str__(self) -> str:
        """The messages, one a line."""
        dropped = self._count - len(self._messages)
        head = [f"… {dropped} messages before these"] if dropped else []
        return "\n".join([*head, *self._messages])

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Record the connections that are opened from now on; may be entered again meanwhile."""
        if not self._wanted:
            self._was_shown = is_wire_shown()
            self._level = _wire.level
            _wire.addFilter(self)
            _wire.setLevel(logging.DEBUG)
        self._wanted += 1
        try:
            yield
        finally:
            self._wanted -= 1
            if not self._wanted:
                _wire.removeFilter(self)
                _wire.setLevel(self._level)

    def filter(self, record: logging.LogRecord) -> bool:
        """Note a message; it goes on to the log only if it did so without this record."""
        # A server in the same process says all of it once more.
        if str(record.__dict__.get("connection", "")).startswith("client-"):
            text = record.getMessage()
            if len(text) > MAX_CHARACTERS:
                text = f"{text[:MAX_CHARACTERS]}… ({len(text)} characters)"
            self._messages.append(text)
            self._count += 1
        return self._was_shown


RECORD: Final = WireRecord()
"""That of the test that is running."""
