"""The file that a recording goes to; one that is there already is kept."""

from __future__ import annotations

import contextlib
import os
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Literal

import msgspec
from msgspec import Raw

from wigwag._version import __version__
from wigwag.tracing.records import (
    JunkRecord,
    MessageRecord,
    Record,
    Recording,
    RecordWriter,
    TraceHeader,
)
from wigwag.tracing.redaction import Redaction

__all__ = ["keep_recording", "open_recording", "trace_header"]


def open_recording(path: str | os.PathLike[str]) -> BinaryIO:
    """Create the file for a recording, for this user only, and open it unbuffered.

    A host starts a server again and again, so the recording before is not written over: it gets a
    number, `trace.1.jsonl` for `trace.jsonl`.

    Raises:
        OSError: The file cannot be created.
    """
    if _is_special(Path(path)):  # a device or a pipe, written to as it is
        return _opened(Path(path), "wb")
    file = Path(os.path.realpath(path))  # a link stays one
    while True:
        if file.is_file():
            _put_aside(file)
        with contextlib.suppress(FileExistsError):  # another recorder was quicker
            return _opened(file, "xb")


def _is_special(file: Path) -> bool:
    try:
        return not stat.S_ISREG(file.stat().st_mode)
    except FileNotFoundError:
        return False


def _opened(file: Path, mode: Literal["wb", "xb"]) -> BinaryIO:
    return open(file, mode, buffering=0, opener=lambda name, flags: os.open(name, flags, 0o600))


def keep_recording(
    path: str | os.PathLike[str], recording: Recording, redaction: Redaction
) -> None:
    """Write a recording that was made without a file, and leave out what is secret.

    Raises:
        OSError: It cannot be written.
    """
    with open_recording(path) as file:
        writer = RecordWriter(file, recording.header)
        for record in recording.records:
            writer.write(_without_secrets(record, redaction))


def _without_secrets(record: Record, redaction: Redaction) -> Record:
    if isinstance(record, MessageRecord):
        # Over HTTP it may have several lines.
        text = bytes(record.message).decode().replace("\r", " ").replace("\n", " ")
        return msgspec.structs.replace(record, message=Raw(redaction.json(text).encode()))
    if isinstance(record, JunkRecord):
        return msgspec.structs.replace(record, text=redaction.text(record.text))
    return record


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
    aside = _reserved(file)
    try:
        file.replace(aside)
    except FileNotFoundError:  # another has put it aside
        aside.unlink()


def _reserved(file: Path) -> Path:
    """Create an empty file of a number, which is nobody else's from then on."""
    number = 1
    while True:
        aside = file.with_name(f"{file.stem}.{number}{file.suffix}")
        try:
            aside.touch(0o600, exist_ok=False)
        except FileExistsError:
            number += 1
        else:
            return aside
