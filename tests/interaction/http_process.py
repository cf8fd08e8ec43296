"""Processes that serve HTTP."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.interaction.connecting import PATIENCE


@contextmanager
def serving(program: Path, *arguments: str) -> Iterator[str]:
    """Run a program that serves HTTP on a free port and says where; yields the origin."""
    command = [sys.executable, str(program), "http", *arguments]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        try:
            for line in iter(process.stderr.readline, b""):
                _, is_it, place = line.decode().partition(" listens on ")
                if is_it:
                    yield place.strip().removesuffix("/mcp")
                    break
            else:
                raise AssertionError(f"{program} has ended with {process.wait()}")
        finally:
            process.terminate()
            process.wait(PATIENCE)
        assert b"Traceback" not in process.stderr.read()
