"""Finds the line of a server's code that prints what should not be on its standard output.

The server is started once more, with a small program in it that notes who writes: Python and Node
take such a program by a variable of the environment, also below `uv run` and `npx`.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from wigwag.doctor.patience import Patience
from wigwag.doctor.process_checks.conversation import Conversation
from wigwag.doctor.process_checks.start import Start
from wigwag.doctor.process_checks.watched_process import WatchedProcess
from wigwag.errors import ServerStartFailed

__all__ = ["find_printing"]

_NOTES: Final = "WIGWAG_PRINTS"
_PYTHON_FOLDER: Final = "python"
_SHORTEST: Final = 4


async def find_printing(junk: Sequence[str], start: Start, patience: Patience) -> str | None:
    """Return the file and line that print something, such as `server.py, line 3`.

    Args:
        junk: Lines that were printed.
        start: How the server is started.
        patience: How long to wait.
    """
    with tempfile.TemporaryDirectory(prefix="wigwag-") as folder:
        notes = Path(folder, "notes.jsonl")
        environment = _with_listeners(start, Path(folder), notes)
        try:
            process = await WatchedProcess.start(
                start.program or "", start.args, env=environment, cwd=start.cwd
            )
        except (OSError, ServerStartFailed):
            return None
        try:
            talk = Conversation(process, patience)
            await talk.initialize()
            talk.confirm()
            await talk.listen(patience.quiet)
        finally:
            await process.end()
        found = list(_read(notes))
    return _place_of(junk, found) or _place_in_source(junk, start)


def _with_listeners(start: Start, folder: Path, notes: Path) -> dict[str, str]:
    """Return the environment of the server, with the programs that listen in it."""
    python = folder / _PYTHON_FOLDER
    python.mkdir()
    source = files("wigwag.doctor.process_checks") / "listeners"
    python_listener = (source / "python_listener.txt").read_text(encoding="utf-8")
    (python / "sitecustomize.py").write_text(python_listener, encoding="utf-8")
    node = folder / "listener.cjs"
    node.write_text((source / "node_listener.txt").read_text(encoding="utf-8"), encoding="utf-8")
    before = start.environment
    path = [str(python), *filter(None, [before.get("PYTHONPATH")])]
    options = [*filter(None, [before.get("NODE_OPTIONS")]), f'--require "{node.as_posix()}"']
    return {
        **before,
        _NOTES: str(notes),
        "PYTHONPATH": os.pathsep.join(path),
        "NODE_OPTIONS": " ".join(options),
    }


def _read(notes: Path) -> Iterator[dict[str, Any]]:
    with suppress(OSError):
        for line in notes.read_text(encoding="utf-8", errors="replace").splitlines():
            with suppress(ValueError):
                note = json.loads(line)
                if isinstance(note, dict):
                    yield note


def _place_of(junk: Sequence[str], notes: Sequence[dict[str, Any]]) -> str | None:
    """Return the place at which one of the lines was written."""
    for line in junk:
        for note in notes:
            if note.get("file") and _are_one(line.strip(), str(note.get("text", "")).strip()):
                return f"{note['file']}, line {note['line']},"
    for note in notes:
        if note.get("child") and note.get("file"):
            return f"the program {note['child']!r}, started in {note['file']}, line {note['line']},"
    return None


def _place_in_source(junk: Sequence[str], start: Start) -> str | None:
    """Return the line of the server's own file that has one of the lines in it, as it is."""
    path = start.script_path
    if path is None or not path.is_file():
        return None
    source = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for line in junk:
        for number, text in enumerate(source, 1):
            if len(line) >= _SHORTEST and line in text:
                return f"{path}, line {number},"
    return None


def _are_one(line: str, text: str) -> bool:
    """Tell whether a line is from a text that was written, or a piece of the line is."""
    return line in text or (len(text) >= _SHORTEST and text in line)
