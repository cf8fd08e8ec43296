"""Renders a recording as one HTML page that needs nothing else: no network, no other file."""

from __future__ import annotations

import base64
import hashlib
import html
from importlib.resources import files
from string import Template
from typing import Any, Final

import msgspec

from wigwag.tracing.html_rows import rows_of
from wigwag.tracing.records import Recording

__all__ = ["recording_page"]

# In this order they are one program.
_SCRIPTS: Final = (
    "text.js",
    "tree.js",
    "rows.js",
    "list.js",
    "overview.js",
    "search.js",
    "page.js",
)
_encode: Final = msgspec.json.Encoder().encode


def recording_page(recording: Recording) -> str:
    """Return an HTML page that shows a recording: the conversation as a sequence diagram.

    Messages fold and can be searched, the time of each answer is shown, errors are marked; it has
    a light and a dark look, and keys for all that it does. It loads nothing from anywhere, and
    nothing that is in the recording can run in it or change how the page reads.

    Args:
        recording: As `read_recording` returns it.
    """
    rows, facts = rows_of(recording)
    script = "\n".join(['(() => {\n"use strict";\n', *map(_part, _SCRIPTS), "})();\n"])
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Template(_part("page.html")).substitute(
        title=html.escape(f"{facts.target} · Wigwag"),
        script_hash=f"sha256-{digest}",
        style=_part("page.css"),
        about=_embedded(facts),
        rows="\n".join(map(_embedded, rows)),
        script=script,
    )


def _part(name: str) -> str:
    return (files("wigwag.tracing") / "page" / name).read_text(encoding="utf-8")


def _embedded(value: Any) -> str:
    """Return a value as one line of JSON that an HTML parser takes for text, and leaves as it is.

    A `<` can stand in strings of JSON alone, and line ends between its tokens alone.
    """
    data = _encode(value).replace(b"<", b"\\u003c").replace(b"\r", b" ").replace(b"\n", b" ")
    return data.decode("utf-8", "replace")
