"""Shows every message that crosses a connection, in the log.

Logger `wigwag.wire`, level DEBUG: `>` marks what was sent, `<` what was received. Records carry
`connection` (which one), `direction` (`">"` or `"<"`) and `payload` (the bytes) as attributes. With
the environment variable `WIGWAG_WIRE` set, the messages go to standard error by themselves.
"""

from __future__ import annotations

import itertools
import logging
import os

_logger = logging.getLogger("wigwag.wire")
_numbers = itertools.count(1)


class WireLog:
    """Writes the messages of one connection to the log."""

    def __init__(self, side: str) -> None:
        self._name = f"{side}-{next(_numbers)}"

    def sent(self, message: bytes) -> None:
        """Note a message that is being sent."""
        self._log(">", message)

    def received(self, message: bytes) -> None:
        """Note a message that has arrived."""
        self._log("<", message)

    def _log(self, direction: str, message: bytes) -> None:
        _logger.debug(
            "%s %s %s",
            self._name,
            direction,
            message.decode("utf-8", "backslashreplace"),
            extra={"connection": self._name, "direction": direction, "payload": message},
        )


def is_wire_shown() -> bool:
    """Tell whether anybody wants to see messages."""
    if os.environ.get("WIGWAG_WIRE", "0") not in ("", "0") and not _logger.handlers:
        _logger.addHandler(logging.StreamHandler())
        _logger.setLevel(logging.DEBUG)
        _logger.propagate = False
    return _logger.isEnabledFor(logging.DEBUG)


def open_wire_log(side: str) -> WireLog | None:
    """Return a log for a new connection, or `None` while nobody listens to it."""
    return WireLog(side) if is_wire_shown() else None
