"""The file that a recording goes to; one that is there already is kept."""

from __future__ import annotations

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
    if file.is_file():
        _put_aside(file)
    # A device or a pipe is written to as it is.
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_TRUNC, 0o600)
    return os.fdopen(descriptor, "wb", buffering=0)


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
    number = 1
    while (aside := file.with_name(f"{file.stem}.{number}{file.suffix}")).exists():
        number += 1
    file.rename(aside)
