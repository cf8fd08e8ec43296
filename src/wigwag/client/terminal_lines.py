"""Lines to a person at a terminal and from one, who can be given up on at any time.

Meanwhile Ctrl+C is a key like others, which ends the line: it breaks off the question rather than
the program.
"""

from __future__ import annotations

import os
import select
import sys
import threading
import unicodedata
from contextlib import suppress
from typing import Any, Final, TextIO

from wigwag.errors import McpError

_CTRL_C: Final = b"\x03"

# There is one person, who reads one question at a time.
one_question: Final = threading.Lock()


# Between the parts of one emoji, and of words in some scripts; terminals make nothing of them.
_JOINERS: Final = "\u200c\u200d"


def visible(text: str) -> str:
    r"""Return text without what would move the cursor, or the direction of reading.

    >>> visible("safe\x1b[2J\n")
    'safe\\x1b[2J\\n'
    """
    if text.isprintable():
        return text
    return "".join(
        each if _is_harmless(each) else each.encode("unicode_escape").decode() for each in text
    )


def visible_lines(text: str) -> str:
    r"""Do as `visible` does, but let lines end and tabs be.

    >>> visible_lines("one\r\n\ttwo\b")
    'one\n\ttwo\\x08'
    """
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join("\t".join(map(visible, line.split("\t"))) for line in lines)


def _is_harmless(each: str) -> bool:
    return each.isprintable() or each in _JOINERS or unicodedata.category(each) == "Zs"


class NoTerminal(McpError):
    """There is no person to ask: the input is no terminal."""


class BrokenOff(Exception):
    """The person has pressed Ctrl+C or Ctrl+D, or has closed the terminal."""


class GivenUp(Exception):
    """The program does not want to know any more."""


class TerminalLines:
    """Reads lines from a terminal and writes to it.

    Args:
        source: What is read: a terminal.
        sink: What is written to.

    Raises:
        NoTerminal: The source is none.
    """

    def __init__(self, source: TextIO | None, sink: TextIO | None) -> None:
        if source is None or sink is None or source.closed or not source.isatty():
            raise NoTerminal(
                "there is nobody to ask: the standard input of this program is no terminal"
            )
        self._source = source
        self._sink = sink
        self._lock = threading.Lock()
        self._is_given_up = False
        self._saved: list[Any] | None = None
        self._to_wake, self._wake = os.pipe()

    def take_over(self) -> None:
        """Make Ctrl+C a key, before anything is asked.

        Raises:
            GivenUp: `give_up` was called.
        """
        if sys.platform == "win32":
            return
        import termios  # noqa: PLC0415 - it is not everywhere

        with self._lock:
            if self._is_given_up:
                raise GivenUp
            terminal = self._source.fileno()
            self._saved = termios.tcgetattr(terminal)
            changed = termios.tcgetattr(terminal)
            changed[3] |= termios.ICANON | termios.ECHO
            changed[6][termios.VINTR] = b"\0"  # no key
            changed[6][termios.VEOL] = _CTRL_C
            termios.tcsetattr(terminal, termios.TCSADRAIN, changed)

    def restore(self) -> None:
        """Make the terminal what it was before."""
        with self._lock:
            saved, self._saved = self._saved, None
            if saved is None:
                return
            import termios  # noqa: PLC0415 - it is not everywhere

            with suppress(termios.error, OSError):  # the terminal is gone
                termios.tcsetattr(self._source.fileno(), termios.TCSANOW, saved)

    def write(self, text: str) -> None:
        """Write text as it is."""
        self._sink.write(text)
        self._sink.flush()

    def read_line(self) -> str:
        """Wait for a line, and return it without its end.

        Raises:
            BrokenOff: The person breaks off.
            GivenUp: `give_up` was called.
        """
        if sys.platform == "win32":
            line = self._source.readline()
            if not line:
                raise BrokenOff
            return line.rstrip("\r\n")
        return self._read()

    def give_up(self) -> None:
        """Let whoever reads stop; may be called from any thread."""
        with self._lock:
            if not self._is_given_up:
                self._is_given_up = True
                os.close(self._wake)
        self.restore()

    @property
    def is_given_up(self) -> bool:
        """Whether nobody wants to know any more."""
        return self._is_given_up

    def close(self) -> None:
        """Let go of what it took; the terminal stays open."""
        self.give_up()
        os.close(self._to_wake)

    def _read(self) -> str:
        terminal = self._source.fileno()
        line = b""
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([terminal, self._to_wake], [], [])
            if self._to_wake in ready:
                raise GivenUp
            data = b""
            with suppress(OSError):  # the terminal is gone
                data = os.read(terminal, 4096)
            if not data or data.endswith(_CTRL_C):
                with suppress(OSError):
                    self.write("\n")
                raise BrokenOff
            line += data
        return line.decode(errors="replace").rstrip("\r\n")
