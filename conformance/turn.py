"""Runs a program when it is its turn: the suite starts all of its clients at once.

    python -I -S conformance/turn.py FOLDER COUNT COMMAND ...

At most COUNT that are given the same FOLDER run at the same time. A program that fails has the last
word here, as the suite does not say which one it was.
"""

import fcntl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path


@contextmanager
def turn(folder: Path, count: int) -> Iterator[None]:
    """Wait for one of so many turns, and have it while the block runs."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        files = [stack.enter_context((folder / str(n)).open("w")) for n in range(count)]
        while not any(_is_free(file.fileno()) for file in files):
            time.sleep(0.05)
        yield


def _is_free(file: int) -> bool:
    """Take a file, if nobody has it; who ends gives it back."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


if __name__ == "__main__":
    with turn(Path(sys.argv[1]), int(sys.argv[2])):
        code = subprocess.call(sys.argv[3:])
    if code:
        print(f"\nthe client exited with {code}")
    sys.exit(code)
