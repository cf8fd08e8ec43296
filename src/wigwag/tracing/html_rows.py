"""Turns a recording into the rows of the page that shows it."""

from __future__ import annotations

import json
import shlex
from typing import Any, Final

from msgspec import Raw, Struct, field

from wigwag.schema import CLIENT_INFO_KEY, SERVER_INFO_KEY
from wigwag.tracing.conversation import Conversation, Entry
from wigwag.tracing.json_text import encode_json
from wigwag.tracing.records import (
    ClosedRecord,
    EndRecord,
    HttpPart,
    HttpRecord,
    JunkRecord,
    MessageRecord,
    Record,
    Recording,
    StderrRecord,
)
from wigwag.tracing.summaries import MAX_CHARACTERS, summary_of

__all__ = ["PageFacts", "Row", "failures_of", "rows_of"]


class Row(Struct, kw_only=True, omit_defaults=True):
    """One row of the diagram; what does not apply is left out.

    Attributes:
        at: Seconds since the start.
        kind: That of the message, or of the record where that is none.
        sender: Who sent it; `from` on the page.
        label: What is written above the arrow.
        about: The same at more length.
        method: Of a message, or of what it answers.
        id: Of a message, as it is written in JSON.
        pair: The row of its answer, or of its request.
        took: Of an answer, the seconds since its request.
        bad: Whether it says that something failed.
        unanswered: Of a request without an answer, what is to be said of that.
        session: Which HTTP session it belongs to.
        status: That of the HTTP response, where it says that something failed.
        http: The head of the HTTP request or response, line by line.
        note: What else there is to say.
        raw: The message, or the text where it is none.
    """

    at: float
    kind: str
    label: str
    sender: str = field(name="from", default="")
    about: str = ""
    method: str = ""
    id: str | None = None
    pair: int | None = None
    took: float | None = None
    bad: bool = False
    unanswered: str = ""
    session: int = 0
    status: int = 0
    http: list[tuple[str, str]] | None = None
    note: str = ""
    raw: Raw | str | None = None

    @property
    def is_failure(self) -> bool:
        """Whether something is wrong with it."""
        return self.bad or bool(self.unanswered) or self.kind in ("junk", "invalid")


class PageFacts(Struct, kw_only=True, omit_defaults=True):
    """What the page says of the conversation as a whole.

    Attributes:
        target: The server's command, or its URL.
        started: When it began.
        transport: How the two talk.
        client: What the client calls itself.
        server: What the server calls itself.
        revisions: The eras and revisions that were spoken.
        messages: How many messages there are.
        end: How it ended, if that is recorded.
        ended_badly: Whether the server failed in the end.
    """

    target: str
    started: str
    transport: str
    client: str = ""
    server: str = ""
    revisions: list[str] = []
    messages: int = 0
    end: str = ""
    ended_badly: bool = field(name="endedBadly", default=False)


def rows_of(recording: Recording) -> tuple[list[Row], PageFacts]:
    """Return the rows of a recording, oldest first, and what there is to say of the whole."""
    return _Rows(recording).all()


def failures_of(recording: Recording) -> set[int]:
    """Return where in a recording something is wrong: the places of those records.

    That is what failed, what was never answered, and what is no message.
    """
    rows = _Rows(recording)
    found, _ = rows.all()
    return {place for place, row in zip(rows.places, found, strict=True) if row.is_failure}


_FAILED_STATUS: Final = 400
_CLOSED: Final = {
    "client": "the client closed the server's input",
    "server": "the server closed its output",
}


class _Rows:
    def __init__(self, recording: Recording) -> None:
        header = recording.header
        target = header.target
        self._recording = recording
        self._rows: list[Row] = []
        self.places: list[int] = []
        """For each row the place of its record."""
        self._conversation = Conversation()
        self._requests: dict[int, int] = {}  # their rows, by what `id()` says of their entries
        self._entries: list[Entry] = []  # which must live as long as that
        self._facts = PageFacts(
            target=target if isinstance(target, str) else shlex.join(target),
            started=header.started,
            transport="HTTP" if header.transport == "http" else header.transport,
        )

    def all(self) -> tuple[list[Row], PageFacts]:
        for place, record in enumerate(self._recording.records):
            if isinstance(record, MessageRecord):
                self._add_messages(record)
            else:
                self._rows.append(_row_of(record))
            if isinstance(record, EndRecord):
                self._facts.end = self._rows[-1].label
                self._facts.ended_badly = self._rows[-1].bad
            self.places += [place] * (len(self._rows) - len(self.places))
        if not self._recording.is_complete:
            self._facts.end = "broken off"
        for entry in self._entries:
            if entry.kind == "request" and entry.answer is None:
                how = "taken back" if entry.is_cancelled else "no answer"
                self._rows[self._requests[id(entry)]].unanswered = how
        self._leave_out_the_obvious()
        return self._rows, self._facts

    def _leave_out_the_obvious(self) -> None:
        """Name no session where there is but one."""
        if len({row.session for row in self._rows} - {0}) < 2:
            for row in self._rows:
                row.session = 0

    def _add_messages(self, record: MessageRecord) -> None:
        entries = self._conversation.follow(record)
        self._entries += entries
        for entry in entries:
            # As it was sent: a number may have more digits than a decoder keeps.
            raw = record.message if len(entries) == 1 else Raw(encode_json(entry.message))
            self._add_message(entry, raw)

    def _add_message(self, entry: Entry, raw: Raw) -> None:
        row = Row(
            at=entry.at,
            kind=entry.kind,
            sender=entry.sender,
            label=entry.method if entry.kind in ("request", "notification") else entry.kind,
            about=summary_of(entry),
            method=entry.method,
            bad=entry.is_failure or entry.kind == "invalid" or bool(entry.record.problem),
            session=entry.session,
            note=entry.record.problem,
            raw=raw,
            **_http_of(entry.record.http),
        )
        if entry.id is not None:
            row.id = json.dumps(entry.id, ensure_ascii=False)
        place = len(self._rows)
        self._rows.append(row)
        if entry.kind == "request":
            self._requests[id(entry)] = place
        if entry.request is not None:
            row.pair = self._requests[id(entry.request)]
            row.took = entry.latency
            self._rows[row.pair].pair = place
        self._facts.messages += 1
        self._note_names(entry)

    def _note_names(self, entry: Entry) -> None:
        facts = self._facts
        revision = " ".join(part for part in (entry.revision, entry.era) if part)
        if entry.revision and entry.kind == "result" and revision not in facts.revisions:
            facts.revisions.append(revision)
        params, result = _part(entry, "params"), _part(entry, "result")
        if entry.sender == "client":
            facts.client = facts.client or _name_in(params, "clientInfo", CLIENT_INFO_KEY)
        else:
            facts.server = facts.server or _name_in(result, "serverInfo", SERVER_INFO_KEY)


def _name_in(part: dict[str, Any], legacy: str, modern: str) -> str:
    meta = part.get("_meta")
    info = part.get(legacy) or (meta.get(modern) if isinstance(meta, dict) else None)
    if not isinstance(info, dict):
        return ""
    name = info.get("title") or info.get("name")
    return " ".join(str(each) for each in (name, info.get("version")) if each)


def _row_of(record: Record) -> Row:
    """Return the row of what is no message."""
    match record:
        case JunkRecord():
            return Row(
                at=record.at,
                kind="junk",
                sender=record.sender,
                label="not a message",
                about=_clipped(record.text),
                note=record.reason,
                raw=record.text,
                **_http_of(record.http),
            )
        case StderrRecord():
            text = record.text
            return Row(
                at=record.at,
                kind="stderr",
                sender="server",
                label="standard error",
                about=_clipped(text),
                raw=text,
            )
        case HttpRecord():
            return _row_of_http(record)
        case ClosedRecord():
            label = _CLOSED[record.sender]
            return Row(at=record.at, kind="closed", sender=record.sender, label=label)
        case EndRecord():
            code = record.exit_code
            said = record.reason or ("the end" if code is None else f"exit code {code}")
            return Row(at=record.at, kind="end", label=said, bad=code not in (None, 0))
        case _:
            raise AssertionError("messages have been taken out")


def _row_of_http(record: HttpRecord) -> Row:
    part = record.http or HttpPart()
    label = f"{part.method} {part.path}".strip() if part.method else ""
    if part.status:
        label = f"HTTP {part.status}"
    row = Row(
        at=record.at,
        kind="http",
        sender=record.sender,
        label=label or "HTTP",
        about=_clipped(record.text),
        bad=part.status >= _FAILED_STATUS,
        session=part.session,
        **_http_of(record.http),
    )
    row.status = 0  # it is the label
    return row


def _http_of(part: HttpPart | None) -> dict[str, Any]:
    """Return what a row shows of a head."""
    if part is None:
        return {}
    lines = [(f"{part.method}", part.path)] if part.method else []
    lines += [("status", str(part.status))] if part.status else []
    lines += list(part.headers.items())
    lines += [("event id", part.event_id)] if part.event_id else []
    status = part.status if part.status >= _FAILED_STATUS else 0
    return {"http": lines or None, "status": status}


def _clipped(text: str) -> str:
    return " ".join(text[: MAX_CHARACTERS * 2].split())[:MAX_CHARACTERS]


def _part(entry: Entry, name: str) -> dict[str, Any]:
    part = entry.message.get(name) if isinstance(entry.message, dict) else None
    return part if isinstance(part, dict) else {}
