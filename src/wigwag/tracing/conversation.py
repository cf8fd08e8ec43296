"""Follows a recorded conversation: which answer is to which request, in what era and revision.

Unlike the protocol's own state machines it never objects: whatever was said gets its place.
"""

from __future__ import annotations

import json
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from wigwag.schema import (
    CLIENT_CAPABILITIES_KEY,
    CLIENT_INFO_KEY,
    PROTOCOL_VERSION_KEY,
)
from wigwag.tracing.records import MessageRecord, Sender

__all__ = ["Conversation", "Entry", "EntryKind", "Era"]

Era: TypeAlias = Literal["", "legacy", "modern"]
EntryKind: TypeAlias = Literal["request", "notification", "result", "error", "invalid"]

_MODERN_KEYS: Final = (PROTOCOL_VERSION_KEY, CLIENT_CAPABILITIES_KEY, CLIENT_INFO_KEY)

# What a method is about, in the order in which it is looked for.
_SUBJECTS: Final = ("name", "uri", "taskId", "requestId", "level", "progressToken")


class Entry(Struct, kw_only=True, eq=False):
    """One message, with what the messages before it tell about it.

    Attributes:
        at: Seconds since the start.
        sender: Who sent it.
        kind: What it is; `invalid` if it is no message of JSON-RPC.
        message: The message, decoded.
        id: Its id; `None` where it has none.
        method: Its own, or that of the request it answers; `""` where there is none.
        subject: What the method is about: the name of a tool, a URI; `""` where there is none.
        era: That of the message; `""` as long as nothing tells.
        revision: The protocol revision; `""` as long as nothing tells.
        connection: Which HTTP request it belongs to; 0 over stdio.
        session: Which HTTP session it belongs to; 0 where there is none.
        request: Of an answer, what it answers; `None` if nothing is known of that.
        answer: Of a request, its answer, once there is one.
        is_cancelled: Of a request, whether its sender has taken it back.
        record: The line of the recording; of a batch it is that of all its messages.
    """

    at: float
    sender: Sender
    kind: EntryKind
    message: Any
    record: MessageRecord
    id: int | str | float | None = None
    method: str = ""
    subject: str = ""
    era: Era = ""
    revision: str = ""
    connection: int = 0
    session: int = 0
    request: Entry | None = None
    answer: Entry | None = None
    is_cancelled: bool = False

    @property
    def latency(self) -> float | None:
        """Of an answer, the seconds since its request; `None` for anything else."""
        return None if self.request is None else self.at - self.request.at

    @property
    def is_answer(self) -> bool:
        """Whether it is a result or an error."""
        return self.kind in ("result", "error")

    @property
    def is_failure(self) -> bool:
        """Whether it says that something failed: an error, or a result with `isError`."""
        if self.kind != "result":
            return self.kind == "error"
        result = self.message.get("result")
        return isinstance(result, dict) and result.get("isError") is True


class Conversation:
    """Gives each message its place. Feed it the message records in their order."""

    def __init__(self) -> None:
        # Requests without an answer so far, by their sender and id; ids may be used by several
        # sessions at once.
        self._open: dict[tuple[Sender, str], list[Entry]] = {}
        # By session, or 0 where there is none.
        self._revisions: dict[int, tuple[Era, str]] = {}

    def follow(self, record: MessageRecord) -> list[Entry]:
        """Return the messages of a record, oldest first: one, or those of a batch."""
        decoded = record.decode()
        messages = decoded if isinstance(decoded, list) else [decoded]
        return [self._place(record, message) for message in messages]

    def refused(self, connection: int) -> None:
        """Take note that HTTP refused a request: there will be no answer to what it carried."""
        for key, waiting in list(self._open.items()):
            left = [each for each in waiting if each.connection != connection]
            if left:
                self._open[key] = left
            else:
                del self._open[key]

    def unanswered(self) -> list[Entry]:
        """Return the requests that have no answer so far and were not taken back, oldest first."""
        waiting = [each for entries in self._open.values() for each in entries]
        return sorted((each for each in waiting if not each.is_cancelled), key=lambda each: each.at)

    def _place(self, record: MessageRecord, message: Any) -> Entry:
        entry = Entry(
            at=record.at,
            sender=record.sender,
            kind=_kind_of(message),
            message=message,
            record=record,
            connection=record.connection,
            session=record.http.session if record.http is not None else 0,
        )
        if entry.kind == "invalid":
            return entry
        entry.id = message.get("id")
        if entry.is_answer:
            self._answers(entry)
        else:
            self._asks(entry)
        return entry

    def _asks(self, entry: Entry) -> None:
        """Take a request or a notification."""
        params = entry.message.get("params")
        if not isinstance(params, dict):
            params = {}
        entry.method = entry.message["method"]
        entry.subject = _subject_of(params)
        entry.era, entry.revision = self._era_of(entry, params)
        if entry.kind == "request":
            self._open.setdefault((entry.sender, _key(entry.id)), []).append(entry)
        elif entry.method == "notifications/cancelled":
            taken_back = self._find(entry.sender, params.get("requestId"), entry)
            if taken_back is not None:
                taken_back.is_cancelled = True

    def _answers(self, entry: Entry) -> None:
        """Take a result or an error."""
        asker: Sender = "server" if entry.sender == "client" else "client"
        request = self._find(asker, entry.id, entry)
        if request is None:
            entry.era, entry.revision = self._revisions.get(entry.session, ("", ""))
            return
        waiting = self._open[asker, _key(entry.id)]
        waiting.remove(request)
        if not waiting:
            del self._open[asker, _key(entry.id)]
        entry.request, request.answer = request, entry
        entry.method, entry.subject = request.method, request.subject
        entry.era, entry.revision = request.era, request.revision
        if request.method == "initialize" and entry.kind == "result":
            result = entry.message["result"]
            agreed = result.get("protocolVersion") if isinstance(result, dict) else None
            if isinstance(agreed, str):
                entry.revision = agreed
                # The session that it begins is named in the answer.
                self._revisions[entry.session] = ("legacy", agreed)

    def _find(self, asker: Sender, request_id: Any, entry: Entry) -> Entry | None:
        """Return the open request with an id that an entry speaks of."""
        waiting = self._open.get((asker, _key(request_id)), [])
        if not waiting:
            return None
        same = [each for each in waiting if each.connection == entry.connection]
        same = same or [each for each in waiting if each.session == entry.session]
        return (same or waiting)[0]

    def _era_of(self, entry: Entry, params: dict[str, Any]) -> tuple[Era, str]:
        meta = params.get("_meta")
        if isinstance(meta, dict) and any(key in meta for key in _MODERN_KEYS):
            version = meta.get(PROTOCOL_VERSION_KEY)
            found: tuple[Era, str] = ("modern", version if isinstance(version, str) else "")
            self._revisions.setdefault(entry.session, found)
            return found
        if entry.method == "initialize":
            version = params.get("protocolVersion")
            found = ("legacy", version if isinstance(version, str) else "")
            self._revisions[entry.session] = found
            return found
        stated = (
            entry.record.http.headers.get("mcp-protocol-version") if entry.record.http else None
        )
        era, revision = self._revisions.get(entry.session, ("", ""))
        return (era, stated or revision)


def _kind_of(message: Any) -> EntryKind:
    if not isinstance(message, dict):
        return "invalid"
    if isinstance(message.get("method"), str):
        return "request" if "id" in message else "notification"
    if "result" in message:
        return "result"
    return "error" if "error" in message else "invalid"


def _subject_of(params: dict[str, Any]) -> str:
    for name in _SUBJECTS:
        value = params.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool):
            return str(value)
    reference = params.get("ref")
    return _subject_of(reference) if isinstance(reference, dict) else ""


def _key(request_id: Any) -> str:
    """Return an id with its JSON type, so that 1 and "1" differ."""
    return json.dumps(request_id, sort_keys=True)
