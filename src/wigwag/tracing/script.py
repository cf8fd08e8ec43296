"""A recording as a script: what the server said, each line with what the client had said before.

Notifications and questions have their place: those about a request stand between it and its
answer; those of the server's own accord follow what the client had sent last.
"""

from __future__ import annotations

import json
from typing import Any

from msgspec import Struct

from wigwag.schema import (
    INITIALIZE,
    MODERN_REVISIONS,
    NOTIFICATIONS_PROGRESS,
    SERVER_INFO_KEY,
    SUBSCRIPTION_ID_KEY,
    SUBSCRIPTIONS_LISTEN,
    Implementation,
)
from wigwag.tracing.conversation import Conversation, Entry
from wigwag.tracing.records import EndRecord, JunkRecord, MessageRecord, Recording

__all__ = ["Cue", "Junk", "Line", "Script", "meta_of", "params_of", "read_script"]


class Line(Struct, kw_only=True, eq=False):
    """A message of the server.

    Attributes:
        entry: The message.
        request: The request on whose way it goes, in the recording; `None` where the server spoke
            of its own accord.
        after: What the server had asked, and was answered, before it said this.
    """

    entry: Entry
    request: Entry | None
    after: list[Entry] = []


class Junk(Struct, frozen=True, kw_only=True):
    """What the server sent that is no message.

    Attributes:
        at: When, in seconds since the start.
        text: What it was.
    """

    at: float
    text: str


class Cue(Struct, kw_only=True, eq=False):
    """A request or notification of the client, and what the server said because of it.

    Attributes:
        entry: The message.
        lines: What followed, in order.
    """

    entry: Entry
    lines: list[Line | Junk] = []

    @property
    def is_answered(self) -> bool:
        """Whether its answer is among the lines."""
        return any(
            isinstance(line, Line) and line.entry.request is self.entry for line in self.lines
        )

    @property
    def is_modern(self) -> bool:
        """Whether it is of the modern era."""
        return self.entry.era == "modern"


class Script(Struct, kw_only=True):
    """All that a recorded server can say.

    Attributes:
        requests: What it was asked, in order.
        notifications: What else it was told, in order.
        questions: What it asked the client, in order.
        opening: What it sent before it was asked anything, and is no message.
        info: What it called itself.
        is_http: Whether it was reached over HTTP.
        has_sessions: Whether legacy clients had sessions with it, over HTTP.
        exit_code: What its process ended with; `None` if that is not known.
    """

    requests: list[Cue]
    notifications: list[Cue]
    questions: list[Entry]
    opening: list[Junk]
    info: Implementation
    is_http: bool = False
    has_sessions: bool = False
    exit_code: int | None = None

    @property
    def cues(self) -> list[Cue]:
        """All that the client said of its own accord, in order."""
        return sorted([*self.requests, *self.notifications], key=lambda cue: cue.entry.at)

    @property
    def modern(self) -> list[str]:
        """The modern revisions that were spoken."""
        spoken = {cue.entry.revision for cue in self.requests if cue.is_modern}
        return sorted(spoken & set(MODERN_REVISIONS))

    @property
    def is_legacy(self) -> bool:
        """Whether there was a handshake that succeeded, or whatever else only legacy clients do."""
        return any(_is_greeted(cue) for cue in self.requests) or not self.modern


def read_script(recording: Recording) -> Script:
    """Return the script of a recording."""
    return _Reader(recording).read()


class _Reader:
    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._conversation = Conversation()
        self._cues: dict[int, Cue] = {}  # by what `id()` says of their entries
        self._open: list[Cue] = []  # requests without an answer so far
        self._latest: dict[int, Cue] = {}  # by session
        self._questions: list[Entry] = []
        self._opening: list[Any] = []
        self._answered: set[int] = set()  # questions of the server, as above
        self._info = Implementation(name="recorded-server", version="")

    def read(self) -> Script:
        is_http = self._recording.header.transport == "http"
        exit_code = None
        has_sessions = False
        for record in self._recording.records:
            if isinstance(record, MessageRecord):
                for entry in self._conversation.follow(record):
                    has_sessions = has_sessions or entry.session > 0
                    self._take(entry)
            elif isinstance(record, JunkRecord) and record.sender == "server" and not is_http:
                self._add_junk(Junk(at=record.at, text=record.text))
            elif isinstance(record, EndRecord):
                exit_code = record.exit_code
        cues = list(self._cues.values())
        return Script(
            requests=[cue for cue in cues if cue.entry.kind == "request"],
            notifications=[cue for cue in cues if cue.entry.kind == "notification"],
            questions=self._questions,
            opening=self._opening,
            info=self._info,
            is_http=is_http,
            has_sessions=has_sessions or not is_http,
            exit_code=exit_code,
        )

    def _take(self, entry: Entry) -> None:
        if entry.sender == "client":
            self._take_client(entry)
        else:
            self._take_server(entry)

    def _add_junk(self, junk: Junk) -> None:
        latest = next(reversed(self._latest.values()), None)
        (self._opening if latest is None else latest.lines).append(junk)

    def _take_client(self, entry: Entry) -> None:
        if entry.is_answer:
            if entry.request is not None:
                self._answered.add(id(entry.request))
            return
        if entry.kind == "invalid":
            return
        cue = self._cues[id(entry)] = Cue(entry=entry, lines=[])
        self._latest[entry.session] = cue
        if entry.kind == "request":
            self._open.append(cue)

    def _take_server(self, entry: Entry) -> None:
        if entry.kind == "invalid":
            return
        self._note_info(entry)
        if entry.is_answer:
            if entry.request is not None:
                cue = self._cues[id(entry.request)]
                self._add(cue, entry, entry.request)
                self._open.remove(cue)
            return
        if entry.kind == "request":
            self._questions.append(entry)
        about = self._request_of(entry)
        if about is not None and about.entry.method == SUBSCRIPTIONS_LISTEN:
            # It is told there, but something else has caused it.
            cue = self._latest_for(entry) or about
            self._add(cue, entry, about.entry)
        elif about is not None:
            self._add(about, entry, about.entry)
        else:
            latest = self._latest_for(entry)
            if latest is not None:
                self._add(latest, entry, None)

    def _latest_for(self, entry: Entry) -> Cue | None:
        """Return what the client said last; that of another session did not cause it."""
        latest = self._latest.get(entry.session) or self._latest.get(0)
        return latest or next(reversed(self._latest.values()), None)

    def _add(self, cue: Cue, entry: Entry, request: Entry | None) -> None:
        said = [line.entry for line in cue.lines if isinstance(line, Line)]
        own = [each for each in said if each.kind == "request"]
        after = [question for question in own if id(question) in self._answered]
        cue.lines.append(Line(entry=entry, request=request, after=after))

    def _request_of(self, entry: Entry) -> Cue | None:
        """Return the request in flight that a notification or question belongs to."""
        params = params_of(entry)
        named = meta_of(params).get(SUBSCRIPTION_ID_KEY)
        if named is not None:
            return self._find(lambda cue: _key(cue.entry.id) == _key(named))
        if entry.method == NOTIFICATIONS_PROGRESS:
            token = _key(params.get("progressToken"))
            return self._find(lambda cue: _token_of(cue.entry) == token)
        if entry.connection:
            return self._find(lambda cue: cue.entry.connection == entry.connection)
        return self._find(lambda cue: cue.entry.method != SUBSCRIPTIONS_LISTEN)

    def _find(self, fits: Any) -> Cue | None:
        """Return the latest request in flight that fits."""
        return next((cue for cue in reversed(self._open) if fits(cue)), None)

    def _note_info(self, entry: Entry) -> None:
        result = entry.message.get("result")
        if not isinstance(result, dict):
            return
        info = result.get("serverInfo") or meta_of(result).get(SERVER_INFO_KEY)
        if isinstance(info, dict) and isinstance(info.get("name"), str):
            version = info.get("version")
            self._info = Implementation(
                name=info["name"], version=version if isinstance(version, str) else ""
            )


def _is_greeted(cue: Cue) -> bool:
    answer = cue.entry.answer
    return cue.entry.method == INITIALIZE and answer is not None and answer.kind == "result"


def _token_of(entry: Entry) -> str:
    return _key(meta_of(params_of(entry)).get("progressToken"))


def params_of(entry: Entry) -> dict[str, Any]:
    """Return the params of a message; none where they are no object."""
    params = entry.message.get("params")
    return params if isinstance(params, dict) else {}


def meta_of(part: dict[str, Any]) -> dict[str, Any]:
    """Return the `_meta` of params or of a result; nothing where it is no object."""
    meta = part.get("_meta")
    return meta if isinstance(meta, dict) else {}


def _key(value: Any) -> str:
    """Return a value with its JSON type, so that 1 and "1" differ."""
    return json.dumps(value, sort_keys=True)
