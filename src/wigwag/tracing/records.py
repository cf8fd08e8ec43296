"""A recorded conversation as a file: one JSON object a line, described in docs/tracing.md.

The first line is a `TraceHeader`; each of the others is one thing that happened, in the order in
which it did. Whatever is secret was taken out before it came here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, TypeAlias

import msgspec
from msgspec import Raw, Struct

from wigwag.jsonrpc.codec import UNDECODABLE

__all__ = [
    "ClosedRecord",
    "EndRecord",
    "HttpPart",
    "HttpRecord",
    "JunkRecord",
    "MessageRecord",
    "Record",
    "RecordWriter",
    "Recording",
    "RecordingError",
    "Sender",
    "StderrRecord",
    "TraceHeader",
    "iterate_records",
    "read_recording",
]

VERSION: Final = 1

Sender: TypeAlias = Literal["client", "server"]


class RecordingError(ValueError):
    """A file is no recording, or none that this version can read; the text says where and why."""


class TraceHeader(Struct, frozen=True, kw_only=True, tag_field="kind", tag="trace"):
    """The first line of a recording.

    Attributes:
        version: Of the format.
        started: When it began, in UTC, as ISO 8601 has it.
        wigwag: The version of Wigwag that recorded it.
        transport: How the two talk.
        target: The words of the server's command, or its URL.
    """

    version: int = VERSION
    started: str
    wigwag: str
    transport: Literal["stdio", "http"]
    target: list[str] | str


class HttpPart(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What HTTP says of a request or of a response; what does not apply is left out.

    Attributes:
        method: That of the request.
        path: Path and query of the request.
        status: That of the response.
        session: Which session this belongs to, counted from 1; its id is as good as a password.
        event_id: The id of the event that carried the message.
        headers: By their names in lower case; those of the same name are joined by commas.
    """

    method: str = ""
    path: str = ""
    status: int = 0
    session: int = 0
    event_id: str = ""
    headers: dict[str, str] = {}


class _Happening(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind"):
    """What all lines but the first have.

    Attributes:
        at: Seconds since the start.
    """

    at: float


class MessageRecord(_Happening, frozen=True, kw_only=True, tag="message"):
    """A message, or a batch of them.

    Attributes:
        sender: Who sent it; `from` in the file.
        message: Its JSON as it was sent, but for what is secret.
        problem: What JSON-RPC has against it; `""` if nothing.
        http: What carried it, over HTTP.
        connection: Which HTTP request it belongs to, as its body or in the answer to it, counted
            from 1; 0 over stdio.
    """

    sender: Sender = msgspec.field(name="from")
    message: Raw
    problem: str = ""
    http: HttpPart | None = None
    connection: int = 0

    def decode(self) -> Any:
        """Return the message, or the list of messages, as plain values."""
        try:
            return msgspec.json.decode(self.message)
        except UNDECODABLE:  # what JSON of others may have, such as numbers of any size
            return json.loads(bytes(self.message), parse_int=_number)


class JunkRecord(_Happening, frozen=True, kw_only=True, tag="junk"):
    """Something that stood where a message should, and is none.

    Attributes:
        sender: Who sent it; `from` in the file.
        text: A line of it, or the body; bytes that are no UTF-8 are escaped.
        reason: What is wrong with it.
        http: What carried it, over HTTP.
        connection: As that of a message.
    """

    sender: Sender = msgspec.field(name="from")
    text: str
    reason: str = ""
    http: HttpPart | None = None
    connection: int = 0


class StderrRecord(_Happening, frozen=True, kw_only=True, tag="stderr"):
    """A line that the server wrote to its standard error.

    Attributes:
        text: The line, without its end.
    """

    text: str


class HttpRecord(_Happening, frozen=True, kw_only=True, tag="http"):
    """A request or a response that carries no message, or something about one.

    Attributes:
        sender: Whose request or response it is; `from` in the file.
        connection: Which request.
        http: Its head; `None` where only `text` says what happened.
        text: What happened, in words.
    """

    sender: Sender = msgspec.field(name="from")
    connection: int
    http: HttpPart | None = None
    text: str = ""


class ClosedRecord(_Happening, frozen=True, kw_only=True, tag="closed"):
    """One side will say nothing more: the client closed the server's input, or the server left.

    Attributes:
        sender: Which side; `from` in the file.
    """

    sender: Sender = msgspec.field(name="from")


class EndRecord(_Happening, frozen=True, kw_only=True, tag="end"):
    """The last line, unless the recording was broken off.

    Attributes:
        exit_code: That of the server process, negative for a signal; `None` over HTTP.
        reason: The same in words.
    """

    exit_code: int | None = None
    reason: str = ""


Record: TypeAlias = (
    MessageRecord | JunkRecord | StderrRecord | HttpRecord | ClosedRecord | EndRecord
)


class Recording(Struct, frozen=True):
    """A whole recording.

    Attributes:
        header: Its first line.
        records: What happened, in order.
    """

    header: TraceHeader
    records: list[Record]

    @property
    def is_complete(self) -> bool:
        """Whether it has its end; otherwise whoever recorded it was killed, or still records."""
        return bool(self.records) and isinstance(self.records[-1], EndRecord)


class RecordWriter:
    """Writes a recording, each line whole and at once, so that a crash costs none of them.

    Args:
        file: An unbuffered binary file.
        header: The first line, which is written here.

    Raises:
        OSError: It cannot be written to.
    """

    def __init__(self, file: BinaryIO, header: TraceHeader) -> None:
        self._file = file
        self._encode = msgspec.json.Encoder().encode
        self._write_line(header)

    def write(self, record: Record) -> None:
        """Add a line.

        Raises:
            OSError: It cannot be written.
        """
        self._write_line(record)

    def _write_line(self, value: TraceHeader | Record) -> None:
        line = memoryview(self._encode(value) + b"\n")
        while line:
            line = line[self._file.write(line) or 0 :]


def _number(digits: str) -> int | float:
    """Return a whole number; Python makes no integer of thousands of digits."""
    try:
        return int(digits)
    except ValueError:
        return float(digits)


_decode_header = msgspec.json.Decoder(TraceHeader).decode
_decode_record: Final = msgspec.json.Decoder(Record).decode


class _Kind(Struct):
    kind: str


_decode_kind = msgspec.json.Decoder(_Kind).decode


def read_recording(source: str | os.PathLike[str] | BinaryIO) -> Recording:
    """Read a recording.

    Args:
        source: The file, or where it is.

    Raises:
        RecordingError: It is no recording, or a line of it is broken.
        OSError: It cannot be read.
    """
    if isinstance(source, str | os.PathLike):
        with Path(source).open("rb") as file:
            return _read(file, os.fspath(source))
    return _read(source, getattr(source, "name", "the input"))


def iterate_records(lines: Iterable[bytes], name: str) -> Iterator[TraceHeader | Record]:
    """Read the lines of a recording one by one: first the header, then what happened.

    Lines of a kind that is not known are left out: later versions may have more. So is a last line
    that was not written to its end.

    Args:
        lines: With their line feeds.
        name: What the recording is called in errors.

    Raises:
        RecordingError: It is no recording, or a line of it is broken.
    """
    has_begun = False
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if not has_begun:
            yield _header(line, name)
            has_begun = True
            continue
        record = _record(line, f"{name}, line {number}")
        if record is not None:
            yield record
    if not has_begun:
        raise RecordingError(f"{name} is empty: there is no recording in it")


def _read(file: BinaryIO, name: object) -> Recording:
    read = iterate_records(file, str(name))
    header = next(read)
    assert isinstance(header, TraceHeader)
    return Recording(header, [each for each in read if not isinstance(each, TraceHeader)])


def _header(line: bytes, name: str) -> TraceHeader:
    try:
        header = _decode_header(line)
    except UNDECODABLE:
        raise RecordingError(
            f"{name} is no recording of `wigwag trace`: its first line is not"
            ' {"kind":"trace",...}'
        ) from None
    if header.version > VERSION:
        raise RecordingError(
            f"{name} is a recording of format {header.version}, made by wigwag {header.wigwag};"
            f" this version reads formats up to {VERSION}: upgrade wigwag"
        )
    return header


def _record(line: bytes, where: str) -> Record | None:
    try:
        return _decode_record(line)
    except UNDECODABLE as error:
        if not line.endswith(b"\n") or _is_foreign(line):
            return None
        raise RecordingError(f"{where}: {error}") from None


def _is_foreign(line: bytes) -> bool:
    """Tell whether a line is of a kind that is not known."""
    try:
        return _decode_kind(line).kind not in _KINDS
    except UNDECODABLE:
        return False


_KINDS: Final = ("message", "junk", "stderr", "http", "closed", "end")
