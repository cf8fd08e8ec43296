"""The file that a recording goes to; one that is there already is kept."""

from __future__ import annotations

import contextlib
import itertools
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Literal

from wigwag._version import __version__
from wigwag.tracing.records import TraceHeader

__all__ = ["open_recording", "trace_header"]


def open_recording(path: str | os.PathLike[str]) -> BinaryIO:
    """Create the file for a recording, for this user only, and open it unbuffered.

    A host starts a server again and again, so the recording before is not written over: it gets a
    number, `trace.1.jsonl` for `trace.jsonl`.

    Raises:
        OSError: The file cannot be created.
    """
    file = Path(path)
    if os.path.lexists(file) and not file.is_file():  # a device or a pipe, written to as it is
        return _opened(file, "wb")
    while True:
        if file.is_file():
            _put_aside(file)
        with contextlib.suppress(FileExistsError):  # another recorder was quicker
            return _opened(file, "xb")


def _opened(file: Path, mode: Literal["wb", "xb"]) -> BinaryIO:
    return open(file, mode, buffering=0, opener=lambda name, flags: os.open(name, flags, 0o600))


def trace_header(
    transport: Literal["stdio", "http"], target: list[str] | str, started: datetime
) -> TraceHeader:
    """Return the first line of a recording that is made by this version.

    Args:
        transport: How the two talk.
        target: The server, without what is secret.
        started: When it began.
    """
    utc = started.astimezone(UTC).isoformat(timespec="milliseconds")
    return TraceHeader(
        started=utc.replace("+00:00", "Z"), wigwag=__version__, transport=transport, target=target
    )


def _put_aside(file: Path) -> None:
    """Give a file the first number that is free, though others may look for one, too."""
    for number in itertools.count(1):
        aside = file.with_name(f"{file.stem}.{number}{file.suffix}")
        with contextlib.suppress(FileExistsError):
            aside.touch(0o600, exist_ok=False)  # from here on it is nobody else's
            break
    try:
        file.replace(aside)
    except FileNotFoundError:  # another has put it aside
        aside.unlink()
