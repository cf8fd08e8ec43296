"""Writes a recording as text, one message a line, for people at a terminal and for `grep`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Raw, Struct

from wigwag.client.terminal_lines import visible, visible_lines
from wigwag.tracing.html_rows import PageFacts, Row

__all__ = ["TextLine", "facts_line", "text_lines"]

# Who speaks to whom, as an arrow.
_ARROWS: Final = {"client": "→", "server": "←"}
_ASIDE: Final = "·"


class TextLine(Struct, frozen=True, kw_only=True):
    """One line, in parts that may be coloured.

    Attributes:
        head: Time, direction and id.
        label: What it is: a method, or what kind of answer.
        about: What it says, as far as there is room.
        took: Of an answer, how long it took; of a request without one, that there is none.
        whole: The message, to be shown below; empty where that is not wanted.
        row: What it shows.
    """

    head: str
    label: str
    about: str
    took: str
    whole: str
    row: Row

    def __str__(self) -> str:
        """All of it."""
        line = " ".join(part for part in (self.head, self.label, self.about, self.took) if part)
        return f"{line}\n{self.whole}" if self.whole else line


def facts_line(facts: PageFacts) -> str:
    """Return what there is to say of the whole conversation, in one line."""
    parts = [facts.transport, *facts.revisions, f"recorded {facts.started}"]
    parts.append(f"{facts.messages} message{'' if facts.messages == 1 else 's'}")
    if facts.end:
        parts.append(facts.end)
    return visible(f"{facts.target} ({', '.join(parts)})")


def text_lines(
    rows: Iterable[Row], *, whole: bool = False, width: int | None = None
) -> Iterator[TextLine]:
    """Return the lines of rows, without what would move the cursor.

    Args:
        rows: As `rows_of` returns them, or some of them.
        whole: Whether each message is to be shown below its line.
        width: How many characters a line may have; `None` for any number.
    """
    for row in rows:
        head, label, about = _head(row), visible(_label(row)), visible(row.about)
        took = row.unanswered and f"({row.unanswered})"
        if row.took is not None:
            took = f"({_duration(row.took)})"
        if width is not None:
            room = max(0, width - 1 - sum(len(part) + 1 for part in (head, label, took) if part))
            about = about if len(about) <= room else f"{about[: max(0, room - 1)]}…"
        below = _indented(row.raw) if whole and row.raw is not None else ""
        yield TextLine(head=head, label=label, about=about, took=took, whole=below, row=row)


def _head(row: Row) -> str:
    arrow = _ARROWS[row.sender] if row.kind not in ("stderr", "closed", "end") else _ASIDE
    parts = [f"{row.at:10.4f}", arrow]
    if row.session:
        parts.append(f"[{row.session}]")
    if row.id is not None:
        parts.append(visible(f"#{row.id}"))
    return " ".join(parts)


def _label(row: Row) -> str:
    status = f" (HTTP {row.status})" if row.status else ""
    answers = f"{row.method} " if row.kind in ("result", "error") and row.method else ""
    return f"{answers}{row.label}{status}"


def _duration(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1000:.3g} ms"


def _indented(raw: Raw | str) -> str:
    text = raw
    if not isinstance(raw, str):
        text = json.dumps(json.loads(bytes(raw)), ensure_ascii=False, indent=2)
    return "\n".join(f"             {line}" for line in visible_lines(str(text)).split("\n"))
