"""Shows what happened as lines of text, for people: live, or of a recording."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any, Final

from msgspec import Struct

from wigwag.client.terminal_lines import visible
from wigwag.tracing.conversation import Conversation, Entry
from wigwag.tracing.records import (
    ClosedRecord,
    EndRecord,
    HttpPart,
    HttpRecord,
    JunkRecord,
    MessageRecord,
    Record,
    Sender,
    StderrRecord,
)

__all__ = ["TextRenderer", "TextStyle"]

_RESET: Final = "\x1b[0m"
_COLOURS: Final = {
    "client": "\x1b[36m",
    "server": "\x1b[32m",
    "bad": "\x1b[31m",
    "odd": "\x1b[33m",
    "faint": "\x1b[2m",
}


_COUNTED: Final = (
    ("message", "messages"),
    ("failure", "failures"),
    ("piece of junk", "pieces of junk"),
)


class TextStyle(Struct, frozen=True, kw_only=True):
    """What is shown, and how.

    Attributes:
        pretty: Whether each message is shown whole, indented, on lines of its own.
        width: How many characters a line may have; `None` for as many as it takes. Without
            `pretty` what is longer is cut.
        colours: Whether for a terminal.
        ascii_only: Whether nothing but ASCII can be shown; arrows are made of it then.
        methods: Only messages of these methods are shown, if there are any; `*` and `?` stand for
            what they stand for in names of files. Answers have the method of their request.
        ids: Only requests with these ids and their answers are shown, if there are any.
        started: When it began; times of the day are shown then, otherwise seconds since.
    """

    pretty: bool = False
    width: int | None = 1000
    colours: bool = False
    ascii_only: bool = False
    methods: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    started: datetime | None = None


class TextRenderer:
    """Makes lines of records, in their order.

    Args:
        style: What is shown, and how.
    """

    def __init__(self, style: TextStyle | None = None) -> None:
        self.style = style or TextStyle()
        self.conversation = Conversation()
        self._noted: dict[int, tuple[str, str]] = {}  # era and revision by session, if shown
        self._counts: Counter[str] = Counter()

    def lines(self, record: Record) -> list[str]:
        """Return the lines of a record, without line ends; none if it is not to be shown."""
        if isinstance(record, MessageRecord):
            entries = self.conversation.follow(record)
            return [line for entry in entries for line in self._message(entry)]
        if isinstance(record, EndRecord):
            return self._end(record)
        if isinstance(record, HttpRecord) and record.http and record.http.status >= 400:
            self.conversation.refused(record.connection)
        self._counts["piece of junk"] += isinstance(record, JunkRecord)
        arrow, words, colour = self._other(record)
        connection = 0 if isinstance(record, StderrRecord | ClosedRecord) else record.connection
        return [self._coloured(f"{self._head(record.at, connection)} {arrow} {words}", colour)]

    # --- messages

    def _message(self, entry: Entry) -> list[str]:
        self._counts["message"] += 1
        self._counts["failure"] += entry.is_failure
        if not self._is_wanted(entry):
            return []
        head = f"{self._head(entry.at, entry.connection)} {self._arrow(entry.sender)}"
        colour: str = "bad" if entry.is_failure else entry.sender
        if entry.record.problem:
            colour = "odd"
        title = " ".join(filter(None, self._title(entry)))
        if self.style.pretty:
            body = json.dumps(entry.message, ensure_ascii=self.style.ascii_only, indent=2)
            return [
                self._coloured(f"{head} {title}", colour),
                *(f"    {self._safe(line)}" for line in body.split("\n")),
            ]
        line = self._cut(f"{head} {title}", self._body(entry))
        return [self._coloured(line[0], colour) + line[1]]

    def _is_wanted(self, entry: Entry) -> bool:
        style = self.style
        if style.methods and not any(fnmatchcase(entry.method, each) for each in style.methods):
            return False
        return not style.ids or (entry.id is not None and str(entry.id) in style.ids)

    def _title(self, entry: Entry) -> list[str]:
        """Return the words that tell what it is."""
        words = [entry.method or ("answer" if entry.is_answer else "")]
        if entry.id is not None:
            words.append(f"#{entry.id}")
        words.append(entry.subject)
        words.append(self._outcome(entry))
        if entry.latency is not None:
            words.append(_duration(entry.latency))
        if entry.is_answer and entry.request is None:
            words.append("(to no request seen here)")
        if entry.record.problem:
            words.append(f"({entry.record.problem})")
        words.append(_http_words(entry.record.http, entry.sender))
        words.append(self._era_words(entry))
        return [self._safe(word) for word in words]

    def _outcome(self, entry: Entry) -> str:
        if entry.kind == "error":
            error = entry.message["error"]
            code = error.get("code") if isinstance(error, dict) else None
            return "error" if code is None else f"error {code}"
        return "failed" if entry.is_failure else ""

    def _era_words(self, entry: Entry) -> str:
        """Note the era and the revision where they become known, or change."""
        found = (entry.era, entry.revision)
        if not entry.revision or self._noted.get(entry.session) == found:
            return ""
        self._noted[entry.session] = found
        return f"[{' '.join(filter(None, (entry.revision, entry.era)))}]"

    def _body(self, entry: Entry) -> str:
        """Return what a message carries, on one line."""
        body: Any = entry.message
        if entry.is_answer:
            body = body[entry.kind]
        elif entry.kind != "invalid":
            params = body.get("params")
            body = self._brief(entry, params) if isinstance(params, dict) else params
        if body in (None, {}):
            return ""
        return json.dumps(body, ensure_ascii=self.style.ascii_only, separators=(",", ":"))

    def _brief(self, entry: Entry, params: dict[str, Any]) -> dict[str, Any]:
        """Return params without what is said already, and without `_meta`, alike in each."""
        told = {name for name in ("name", "uri") if params.get(name) == entry.subject}
        return {name: value for name, value in params.items() if name not in told | {"_meta"}}

    # --- the rest

    def _other(self, record: Record) -> tuple[str, str, str]:
        """Return arrow, words and colour of what is no message."""
        if isinstance(record, JunkRecord):
            reason = f" ({self._safe(record.reason)})" if record.reason else ""
            text = self._shortened(self._safe(record.text))
            where = _http_words(record.http, record.sender)
            return self._arrow(record.sender), f"junk: {text}{reason} {where}".rstrip(), "odd"
        if isinstance(record, StderrRecord):
            return "|" if self.style.ascii_only else "│", self._safe(record.text), "faint"
        if isinstance(record, ClosedRecord):
            words = (
                "the client closed the server's input"
                if record.sender == "client"
                else "the server closed its output"
            )
            return self._arrow(record.sender), words, "faint"
        assert isinstance(record, HttpRecord)
        words = " ".join(filter(None, (_head_words(record.http), record.text)))
        is_bad = record.http is not None and record.http.status >= 400
        return (
            self._arrow(record.sender),
            self._shortened(self._safe(words)),
            "bad" if is_bad else "faint",
        )

    def _end(self, record: EndRecord) -> list[str]:
        lines = [
            self._coloured(f"{self._head(record.at, 0)}   {self._waiting(entry, record.at)}", "odd")
            for entry in self.conversation.unanswered()
            if self._is_wanted(entry)
        ]
        counts = [
            f"{count} {what}" if count == 1 else f"{count} {many}"
            for what, many in _COUNTED
            if (count := self._counts[what])
        ]
        reason = self._safe(record.reason) or "the end"
        lines.append(
            self._coloured(
                f"{self._head(record.at, 0)}   {reason}; {', '.join(counts) or 'no message'}",
                "bad" if record.exit_code else "faint",
            )
        )
        return lines

    def _waiting(self, entry: Entry, now: float) -> str:
        asked = " ".join(filter(None, (entry.method, f"#{entry.id}", entry.subject)))
        since = _duration(now - entry.at)
        return f"no answer to {self._safe(asked)} of the {entry.sender}, {since} ago"

    # --- pieces of lines

    def _head(self, at: float, connection: int) -> str:
        if self.style.started is None:
            time = f"{at:9.3f}"
        else:
            time = f"{self.style.started + timedelta(seconds=at):%H:%M:%S.%f}"[:-3]
        return f"{time} [{connection}]" if connection else time

    def _arrow(self, sender: Sender) -> str:
        if self.style.ascii_only:
            return "->" if sender == "client" else "<-"
        return "→" if sender == "client" else "←"

    def _safe(self, text: str) -> str:
        shown = visible(text)
        if self.style.ascii_only:
            return shown.encode("ascii", "backslashreplace").decode()
        return shown

    def _shortened(self, text: str) -> str:
        width = self.style.width
        if self.style.pretty or width is None or len(text) <= max(20, width - 30):
            return text
        return f"{text[: max(20, width - 30)]}{self._dots} ({len(text)} characters)"

    def _cut(self, title: str, body: str) -> tuple[str, str]:
        """Return a title and what of the body is shown behind it."""
        if not body:
            return title, ""
        width = self.style.width
        if width is None:
            return title, f"  {self._safe(body)}"
        room = width - len(title) - 2
        # Cut before it is made visible: most of a long one need not be looked at.
        shown = self._safe(body[: max(0, room)])
        if len(body) > room or len(shown) > room:
            note = f"{self._dots} ({len(body)} characters)"
            if room < len(note) + 10:
                return title, ""
            shown = shown[: room - len(note)] + note
        return title, f"  {shown}"

    @property
    def _dots(self) -> str:
        return "..." if self.style.ascii_only else "…"

    def _coloured(self, text: str, colour: str) -> str:
        return f"{_COLOURS[colour]}{text}{_RESET}" if self.style.colours else text


def _http_words(http: HttpPart | None, sender: Sender) -> str:
    """Return what of the HTTP around something is worth a word."""
    if http is None:
        return ""
    if sender == "client":
        return "" if http.method == "POST" else f"{http.method} {http.path}".strip()
    return "" if http.status in (0, 200) else f"HTTP {http.status}"


def _head_words(http: HttpPart | None) -> str:
    """Return what the head of a request or a response says."""
    if http is None:
        return ""
    if http.method:
        return f"{http.method} {http.path}"
    kind = http.headers.get("content-type", "").partition(";")[0]
    return f"HTTP {http.status} {kind}".strip()


def _duration(seconds: float) -> str:
    """Return a time as people say it.

    >>> _duration(0.0042), _duration(0.25), _duration(12.3)
    ('4.2 ms', '250 ms', '12.3 s')
    """
    if seconds < 0.01:
        return f"{seconds * 1000:.1f} ms"
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
