"""Reads descriptions out of docstrings in the Google style."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

_ARGUMENTS: Final = frozenset({"Args:", "Arguments:", "Parameters:"})
# Sections that speak of the Python function, not of what it is for.
_SECTIONS: Final = _ARGUMENTS | {
    "Attributes:",
    "Example:",
    "Examples:",
    "Raises:",
    "Return:",
    "Returns:",
    "Yields:",
}


def describe(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Return the description of a function and of each of its parameters, as far as it has them."""
    summary: list[str] = []
    section = ""
    entries: list[str] = []
    lines = (inspect.getdoc(function) or "").splitlines()
    if lines and lines[0].rstrip() in _SECTIONS and not any(line[:1].isspace() for line in lines):
        # The first line does not count for the indentation, so that of the rest was taken away.
        lines[1:] = [f"    {line}" for line in lines[1:]]
    for line in lines:
        if line.rstrip() in _SECTIONS:
            section = line.rstrip()
        elif not section:
            summary.append(line)
        elif line and not line[0].isspace():  # back at the margin: ordinary text again
            section = ""
            summary.append(line)
        elif section in _ARGUMENTS:
            entries.append(line)
    return "\n".join(summary).strip(), _read_entries(entries)


def _read_entries(lines: list[str]) -> dict[str, str]:
    """Read `name (type): text` entries, each of which may go on over indented lines."""
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    texts: dict[str, list[str]] = {}
    current: list[str] = []
    for line in lines:
        head, colon, text = line.strip().partition(":")
        name = head.partition("(")[0].strip().lstrip("*")
        begins = len(line) - len(line.lstrip()) <= indent
        if begins and colon and name.isidentifier():
            current = texts.setdefault(name, [])
            current.append(text.strip())
        else:
            current.append(line.strip())
    return {name: " ".join(filter(None, parts)) for name, parts in texts.items()}
