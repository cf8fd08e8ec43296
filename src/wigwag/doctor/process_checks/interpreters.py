"""The Pythons near a server: which of them has what it needs."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from wigwag.doctor.process_checks.start import Start

__all__ = ["find_with_module", "version_of"]

_ENVIRONMENTS: Final = (".venv", "venv", "env", ".env", "virtualenv")
_IN_ENVIRONMENT: Final = "Scripts/python.exe" if sys.platform == "win32" else "bin/python"
# A server's file is often in `src/name` of its project.
_LEVELS_UP: Final = 4
_TIME_TO_LOOK: Final = 10.0
_LOOK: Final = (
    "import importlib.util, sys; "
    "sys.exit(importlib.util.find_spec(sys.argv[1].partition('.')[0]) is None)"
)


async def find_with_module(module: str, start: Start) -> str | None:
    """Return a Python near the server that has a module which its own lacks."""
    for python in dict.fromkeys(_pythons_near(start)):
        if python != start.program and await asyncio.to_thread(_has_module, python, module):
            return python
    return None


def version_of(python: str | None) -> tuple[int, int] | None:
    """Return the version of a Python; `None` if it cannot be told."""
    if python is None:
        return None
    told = _output_of([python, "-c", "import sys; print(sys.version_info[0], sys.version_info[1])"])
    words = (told or "").split()
    return (int(words[0]), int(words[1])) if len(words) == 2 else None


def _pythons_near(start: Start) -> Iterator[str]:
    folders = [start.cwd]
    if start.script_path is not None:
        folders = [*list(start.script_path.parents)[:_LEVELS_UP], start.cwd]
    roots = [folder / name for folder in folders for name in _ENVIRONMENTS]
    active = os.environ.get("VIRTUAL_ENV") or os.environ.get("CONDA_PREFIX")
    if active:
        roots.append(Path(active))
    roots.append(Path(sys.prefix))
    for root in roots:
        python = root / _IN_ENVIRONMENT
        if python.is_file():
            yield str(python)


def _has_module(python: str, module: str) -> bool:
    return _output_of([python, "-c", _LOOK, module]) is not None


def _output_of(command: list[str]) -> str | None:
    """Run a short program, and return what it wrote if it went well."""
    try:
        return subprocess.run(
            command,
            capture_output=True,
            check=True,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=_TIME_TO_LOOK,
        ).stdout
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
