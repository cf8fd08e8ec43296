"""Runs `wigwag` as people do: as a program, through pipes or at a terminal."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.e2e.host import PATIENCE
from tests.e2e.person import Person, at_terminal

KITEBASE = Path(__file__).parents[2] / "examples" / "kitebase" / "server.py"
KIOSK = Path(__file__).with_name("kiosk.py")


class Ran:
    """What came of a command.

    Attributes:
        code: The exit code.
        out: What is on its standard output.
        err: What is on its standard error.
    """

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.code = done.returncode
        self.out = done.stdout
        self.err = done.stderr

    def __repr__(self) -> str:
        return f"exit code {self.code}, output {self.out!r}, errors {self.err!r}"

    @property
    def json(self) -> Any:
        """What is on its standard output, which is one JSON document."""
        return json.loads(self.out)


def wigwag(
    *arguments: str | Path,
    stdin: str = "",
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Ran:
    """Run `wigwag` through pipes, to its end."""
    return Ran(
        subprocess.run(
            [sys.executable, "-m", "wigwag", *map(str, arguments)],
            check=False,
            capture_output=True,
            cwd=cwd,
            encoding="utf-8",
            env={**os.environ, **(env or {})},
            input=stdin,
            timeout=PATIENCE,
        )
    )


@contextmanager
def wigwag_at_terminal(*arguments: str | Path) -> Iterator[Person]:
    """Run `wigwag` at a terminal, where a person sits."""
    with at_terminal("from wigwag.cli import main\nmain()", *arguments) as person:
        yield person
