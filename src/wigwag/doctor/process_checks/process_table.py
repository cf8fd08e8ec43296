"""What runs on this machine, as far as the system tells."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["RunningProcess", "all_processes"]

_PROC: Final = Path("/proc")


class RunningProcess(NamedTuple):
    """A process that has not ended.

    Attributes:
        pid: Its id.
        group: The id of its process group.
        command: Its command line.
    """

    pid: int
    group: int
    command: str


def all_processes() -> list[RunningProcess]:
    """Return all processes that can be seen; none where the system does not tell."""
    if (_PROC / "self" / "stat").is_file():
        return list(_in_proc())
    return list(_listed())


def _in_proc() -> Iterator[RunningProcess]:
    for folder in _PROC.iterdir():
        if not folder.name.isdigit():
            continue
        with suppress(OSError, ValueError, IndexError):  # it is gone meanwhile
            # The name of the program, in parentheses, may hold anything.
            fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if fields[0] not in "ZX":
                yield RunningProcess(int(folder.name), int(fields[2]), " ".join(words).strip())


def _listed() -> Iterator[RunningProcess]:
    with suppress(OSError):
        listed = subprocess.run(
            ["ps", "-A", "-o", "pid=,pgid=,stat=,args="],
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
        ).stdout.decode("utf-8", "replace")
        for line in listed.splitlines():
            with suppress(ValueError):
                pid, group, state, command = line.split(None, 3)
                if not state.startswith("Z"):
                    yield RunningProcess(int(pid), int(group), command)
