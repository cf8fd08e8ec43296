"""What is told beside the result, on standard error: progress, log messages, the server's words."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, TextIO

from msgspec import UNSET

from wigwag.cli.output import styled
from wigwag.client.events import ClientEvent
from wigwag.client.terminal_lines import visible, visible_lines
from wigwag.schema import LoggingMessageNotificationParams, ProgressNotificationParams

__all__ = ["Notices", "cut_to"]

_BAR_CELLS: Final = 24
_TO_LINE_START: Final = "\r\x1b[K"
# Colours in the log of a server are no harm, but would be shown as codes.
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_SERIOUS: Final = ("error", "critical", "alert", "emergency")


class Notices(logging.Handler):
    """Tells a person what happens while they wait.

    As a handler of a log it tells what the library has to say, too.

    Args:
        stream: Where to; by default the standard error.
        has_progress: Whether progress is shown, where the stream is a terminal.
    """

    def __init__(self, stream: TextIO | None = None, *, has_progress: bool = True) -> None:
        super().__init__(logging.WARNING)
        self._stream = stream or sys.stderr
        is_terminal = self._stream.isatty() and os.environ.get("TERM") != "dumb"
        self._has_progress = has_progress and is_terminal
        self._is_bar_shown = False
        self._held: list[str] = []
        self._questions = 0  # that somebody is being asked

    def say(self, text: str) -> None:
        """Tell something, in a line of its own."""
        if self._questions:
            self._held.append(text)
            return
        self.clear()
        print(text, file=self._stream, flush=True)

    def progress(self, step: ProgressNotificationParams) -> None:
        """Show how far a request is, in place of how far it was."""
        if not self._has_progress or self._questions:
            return
        columns = shutil.get_terminal_size().columns
        message = "" if step.message is UNSET else f"  {visible(step.message)}"
        line = cut_to(f"{_how_far(step)}{message}", columns - 1)
        self._stream.write(f"{_TO_LINE_START}{line}")
        self._stream.flush()
        self._is_bar_shown = True

    def log(self, message: LoggingMessageNotificationParams) -> None:
        """Tell a log message of the server."""
        data: Any = message.data
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        logger = "" if message.logger is UNSET else f" {visible(message.logger)}"
        colour = "red" if message.level in _SERIOUS else "yellow"
        level = styled(f"[{message.level}{logger}]", self._stream, fg=colour)
        self.say(f"{level} {visible(text)}")

    def stderr_line(self, line: str) -> None:
        """Tell what a server process has written to its standard error."""
        self.say(styled(visible_lines(_COLOUR.sub("", line)), self._stream, dim=True))

    def event(self, event: ClientEvent) -> None:
        """Tell what the client has put right by itself."""
        reason = "" if event.reason is None else f": {visible_lines(str(event.reason))}"
        self.say(f"wigwag: {event.kind.replace('_', ' ')}{reason}")

    def emit(self, record: logging.LogRecord) -> None:
        """Tell what the library has logged."""
        text = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            text += f": {record.exc_info[1]}"
        self.say(f"wigwag: {visible_lines(text)}")

    def clear(self) -> None:
        """Take the progress away."""
        if self._is_bar_shown:
            self._stream.write(_TO_LINE_START)
            self._stream.flush()
            self._is_bar_shown = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """Tell nothing while a person is asked something; it is told afterwards."""
        self.clear()
        self._questions += 1
        try:
            yield
        finally:
            self._questions -= 1
            kept, self._held = self._held, []
            for text in kept:  # it is held again while somebody is asked something else
                self.say(text)


def _how_far(step: ProgressNotificationParams) -> str:
    if step.total is UNSET or step.total <= 0:
        return f"{step.progress:g}"
    part = min(1.0, max(0.0, step.progress / step.total))
    done = round(part * _BAR_CELLS)
    return f"[{'=' * done}{' ' * (_BAR_CELLS - done)}] {part:4.0%}"


def cut_to(text: str, cells: int) -> str:
    """Return as much of a text as a terminal shows in so many cells.

    >>> cut_to("kite", 4), cut_to("kitebase", 5), cut_to("日本語", 5)
    ('kite', 'kite…', '日本…')
    """
    widths = [_width(each) for each in text]
    if sum(widths) <= cells:
        return text
    room, kept = cells - 1, 0
    for width in widths:
        if width > room:
            break
        room -= width
        kept += 1
    return f"{text[:kept]}…" if cells > 0 else ""


def _width(each: str) -> int:
    if unicodedata.combining(each):
        return 0
    return 2 if unicodedata.east_asian_width(each) in "WF" else 1
