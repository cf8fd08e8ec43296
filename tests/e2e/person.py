"""A person at a terminal: what a program shows them, and what they type."""

import os
import pty
import select
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.e2e.host import PATIENCE

CTRL_C, CTRL_D = "\x03", "\x04"

# The program's terminal is the one it was started at, so that its keys have their meaning.
TAKE_TERMINAL = """\
import fcntl, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
"""


class Person:
    """Sits at one end of a pseudo terminal.

    Args:
        terminal: The descriptor of that end.
        program: What runs at the other.
    """

    def __init__(self, terminal: int, program: subprocess.Popen[bytes]) -> None:
        self._terminal = terminal
        self.program = program
        self.seen = ""
        """All that was shown."""
        self._read_up_to = 0

    def type(self, text: str) -> None:
        """Press these keys."""
        os.write(self._terminal, text.encode())

    def answer(self, prompt: str, text: str) -> None:
        """Wait for a prompt, and type a line."""
        self.see(prompt)
        self.type(f"{text}\n")

    def see(self, text: str) -> None:
        """Wait until something is shown."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.seen[self._read_up_to :]:
            left = max(0.0, deadline - time.monotonic())
            readable, _, _ = select.select([self._terminal], [], [], left)
            assert readable, f"waited in vain for {text!r}; there is {self.seen!r}"
            try:
                data = os.read(self._terminal, 65536)
            except OSError:  # the program is gone
                data = b""
            assert data, f"the program ended without {text!r}: {self.seen!r}"
            self.seen += data.decode(errors="replace").replace("\r\n", "\n")
        self._read_up_to = self.seen.index(text, self._read_up_to) + len(text)

    def have_seen(self, text: str) -> None:
        """Wait until something is shown, or was before."""
        if text not in self.seen:
            self.see(text)

    def see_the_end(self) -> None:
        """Read all that is still shown, until the program and its children are gone."""
        with suppress(OSError):
            while data := os.read(self._terminal, 65536):
                self.seen += data.decode(errors="replace").replace("\r\n", "\n")

    def keys(self) -> tuple[bytes, int]:
        """Return the key that interrupts programs, and the modes of the terminal."""
        settings = termios.tcgetattr(self._terminal)
        return settings[6][termios.VINTR], settings[3]

    def exit_code(self) -> int:
        """Wait for the end of the program."""
        return self.program.wait(PATIENCE)


def keep_what_is_written(terminal: int) -> None:
    """Let a terminal not drop, when Ctrl+C is pressed, what nobody has read yet."""
    settings = termios.tcgetattr(terminal)
    settings[3] |= termios.NOFLSH
    termios.tcsetattr(terminal, termios.TCSANOW, settings)


@contextmanager
def at_terminal(script: str, *args: str | Path) -> Iterator[Person]:
    """Run a Python program at a terminal."""
    ours, theirs = pty.openpty()
    keep_what_is_written(theirs)
    command = [sys.executable, "-W", "error", "-c", TAKE_TERMINAL + script, *map(str, args)]
    program = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    try:
        yield Person(ours, program)
    finally:
        if program.poll() is None:
            program.kill()
            program.wait()
        os.close(ours)
