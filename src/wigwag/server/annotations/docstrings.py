"""Reads descriptions out of docstrings, in the styles of Google, NumPy and Sphinx."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from msgspec import Struct

# Sections that describe parameters or members, by name.
_ENTRIES: Final = frozenset({
    "Args", "Arguments", "Attributes", "Keyword Args", "Keyword Arguments", "Other Parameters",
    "Parameters", "Params",
})  # fmt: skip
# Sections that speak of the Python function, not of what it is for.
_SECTIONS: Final = _ENTRIES | {
    "Example", "Examples", "Methods", "Raises", "Receives", "References", "Return", "Returns",
    "See Also", "Todo", "Warns", "Yields",
}  # fmt: skip

_FIELD: Final = r":(?P<field>[a-z]+)(?:\s+(?P<what>[^:]*?))?\s*:(?:\s+(?P<text>.*))?$"
# Fields of Sphinx: those that describe parameters or members, and the others.
_ENTRY_FIELDS: Final = frozenset({
    "arg", "argument", "ivar", "key", "keyword", "kwarg", "kwparam", "param", "parameter", "var",
})  # fmt: skip
_FIELDS: Final = _ENTRY_FIELDS | {
    "except", "exception", "meta", "raise", "raises", "return", "returns", "rtype", "type",
    "vartype", "yield", "yields", "ytype",
}  # fmt: skip


def describe(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Return the description of a function and of each of its parameters, as far as it has them."""
    while isinstance(function, partial):  # which has a docstring on partials
        function = function.func
    text = inspect.getdoc(function)
    call = getattr(type(function), "__call__", None)  # noqa: B004 - its docstring is wanted
    if text is None and inspect.isfunction(call):  # of an object
        text = inspect.cleandoc(call.__doc__ or "")
    return read_docstring(text or "")


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Return what a docstring says in general, and what of each parameter or member."""
    lines = text.splitlines()
    first = lines[0].rstrip() if lines else ""
    if _is_heading(first) and not any(line[:1].isspace() for line in lines):
        # The first line does not count for the indentation, so that of the rest was taken away.
        lines[1:] = [f"    {line}" for line in lines[1:]]
    summary: list[str] = []
    entries: dict[str, str] = {}
    at = 0
    while at < len(lines):
        section = _section_at(lines, at)
        if section is None:
            summary.append(lines[at])
            at += 1
            continue
        if section.describes:
            # What stands first counts: what describes arguments does so more closely.
            entries = {**section.read(section.lines), **entries}
        at = section.end
    return "\n".join(summary).strip(), entries


class _Section(Struct, frozen=True):
    lines: list[str]
    end: int
    describes: bool
    read: Callable[[list[str]], dict[str, str]]


def _is_heading(line: str) -> bool:
    return line.endswith(":") and line[:-1] in _SECTIONS


def _section_at(lines: list[str], at: int) -> _Section | None:
    """Return the section that begins at a line, in whatever style, if one does."""
    line = lines[at].rstrip()
    if _is_heading(line):
        end = _end_of_indented(lines, at + 1)
        return _Section(lines[at + 1 : end], end, line[:-1] in _ENTRIES, _read_google)
    if line in _SECTIONS and _is_underlined(lines, at):
        end = next((i for i in range(at + 2, len(lines)) if _is_underlined(lines, i)), len(lines))
        return _Section(lines[at + 2 : end], end, line in _ENTRIES, _read_numpy)
    field = re.match(_FIELD, line)
    if field is not None and field["field"] in _FIELDS:
        end = at + 1
        while end < len(lines) and lines[end].strip() and not lines[end].startswith(":"):
            end += 1
        end = max(end, _end_of_indented(lines, end))
        return _Section(lines[at:end], end, field["field"] in _ENTRY_FIELDS, _read_field)
    return None


def _is_underlined(lines: list[str], at: int) -> bool:
    below = lines[at + 1].rstrip() if at + 1 < len(lines) else ""
    return bool(lines[at].strip()) and len(below) >= 3 and not below.strip("-")


def _end_of_indented(lines: list[str], at: int) -> int:
    while at < len(lines) and (not lines[at] or lines[at][0].isspace()):
        at += 1
    return at


def _read_google(lines: list[str]) -> dict[str, str]:
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
    return {name: _joined(parts) for name, parts in texts.items()}


def _read_numpy(lines: list[str]) -> dict[str, str]:
    """Read `name, name : type` lines, each with its text in indented lines below it."""
    texts: dict[str, list[str]] = {}
    names: list[str] = []
    for line in lines:
        if line[:1].strip():
            head = line.partition(":")[0]
            names = [name.strip().lstrip("*") for name in head.split(",")]
        else:
            for name in names:
                texts.setdefault(name, []).append(line.strip())
    return {name: _joined(parts) for name, parts in texts.items()}


def _read_field(lines: list[str]) -> dict[str, str]:
    """Read one `:param type name: text`."""
    field = re.match(_FIELD, lines[0].rstrip())
    words = ((field and field["what"]) or "").split()
    if field is None or not words:
        return {}
    parts = [field["text"] or "", *(line.strip() for line in lines[1:])]
    return {words[-1].lstrip("*"): _joined(parts)}


def _joined(parts: list[str]) -> str:
    return " ".join(filter(None, parts))
