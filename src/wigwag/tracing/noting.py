"""Makes records of what was on the wire: messages, and the junk that stood in their place."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Raw

from wigwag.bindings.lines import LineTooLong
from wigwag.jsonrpc.codec import UNDECODABLE, decode_message
from wigwag.jsonrpc.messages import InvalidMessage
from wigwag.tracing.records import HttpPart, JunkRecord, MessageRecord, Sender, StderrRecord
from wigwag.tracing.redaction import Redaction

__all__ = ["note_message", "note_stderr", "text_of"]

# Nobody reads more of it.
_MAX_JUNK_CHARACTERS: Final = 64 * 1024

# What a message of JSON-RPC has; a server that logs to its standard output in JSON has none.
_MEMBERS = frozenset({"jsonrpc", "method", "result", "error"})


def note_message(
    data: bytes | LineTooLong,
    at: float,
    sender: Sender,
    redaction: Redaction,
    *,
    http: HttpPart | None = None,
    connection: int = 0,
) -> MessageRecord | JunkRecord:
    """Return the record of what should be a message.

    Args:
        data: The line, the body, or the data of the event.
        at: When it came, in seconds since the start.
        sender: Who has sent it.
        redaction: Takes out what is secret.
        http: What carried it, over HTTP.
        connection: Which HTTP request it belongs to.
    """
    text, reason = _read(data)
    if reason is None:
        problem = _problem_of(text.encode())
        if problem is None or _looks_like_message(text):
            one_line = text.replace("\r", " ").replace("\n", " ")
            return MessageRecord(
                at=at,
                sender=sender,
                message=Raw(redaction.json(one_line).encode()),
                problem=problem or "",
                http=http,
                connection=connection,
            )
        reason = problem.replace("Parse error: ", "no JSON: ").replace("JSON is malformed: ", "")
    return JunkRecord(
        at=at,
        sender=sender,
        text=redaction.text(_beginning(text)),
        reason=reason,
        http=http,
        connection=connection,
    )


def note_stderr(line: bytes | LineTooLong, at: float, redaction: Redaction) -> StderrRecord:
    """Return the record of a line of the standard error."""
    text = text_of(line.head) + " …" if isinstance(line, LineTooLong) else text_of(line)
    return StderrRecord(at=at, text=redaction.text(text))


def text_of(data: bytes) -> str:
    r"""Return bytes as text; what is no UTF-8 is escaped.

    >>> text_of(b"caf\xc3\xa9 \xff")
    'café \\xff'
    """
    return data.decode("utf-8", "backslashreplace")


def _beginning(text: str) -> str:
    if len(text) <= _MAX_JUNK_CHARACTERS:
        return text
    return f"{text[:_MAX_JUNK_CHARACTERS]}… ({len(text)} characters)"


def _read(data: bytes | LineTooLong) -> tuple[str, str | None]:
    """Return what came as text, and why it cannot be a message."""
    if isinstance(data, LineTooLong):
        return text_of(data.head) + " …", f"longer than {data.limit} bytes"
    try:
        return data.decode(), None
    except UnicodeDecodeError as error:
        shown = text_of(data[: _MAX_JUNK_CHARACTERS + 1])
        return shown, f"no UTF-8 at byte {error.start}"


def _problem_of(data: bytes) -> str | None:
    message = decode_message(data)
    return message.reason if isinstance(message, InvalidMessage) else None


def _looks_like_message(text: str) -> bool:
    """Tell whether something is meant as a message, though it is a broken one."""
    try:
        value: Any = msgspec.json.decode(text)
    except UNDECODABLE:
        return False
    return isinstance(value, dict) and not _MEMBERS.isdisjoint(value)
