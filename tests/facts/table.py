"""Reads `schema.tsv`, the facts about the published schemas, into a tree for each revision."""

import csv
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

# Two flaws of the published schemas, which the TypeScript they are made from does not have: numbers
# have become integers in unions, and nothing in a JSON value may be null.
_NUMBERS_TOO = {"string", "integer", "boolean"}
_ANY = {"JSONValue"}

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
PRIMITIVES = {"string", "integer", "number", "boolean", "null", "any"}
_FILE = Path(__file__).parent / "schema.tsv"
_LEAF = re.compile(r"([\w]+)(?:\(([-\d]*)\.\.([-\d]*)\)|\(([\w-]+)\))?")
_STEP = re.compile(r'"([^"]*)"|([^."]+)')


class Const(NamedTuple):
    """Exactly this JSON value."""

    value: Any


class Primitive(NamedTuple):
    """One of the types of JSON, or `any`."""

    name: str
    low: float | None = None
    high: float | None = None


class Ref(NamedTuple):
    """Another definition."""

    name: str


class Array(NamedTuple):
    """An array whose items have one type."""

    item: "Type"
    max_items: int | None = None


class Map(NamedTuple):
    """An object of any keys, whose values have one type."""

    value: "Type"


class Union(NamedTuple):
    """A value of one of these types."""

    options: tuple["Type", ...]


class Intersection(NamedTuple):
    """A value of all of these types."""

    parts: tuple["Type", ...]


class Object(NamedTuple):
    """An object with these members, and perhaps others."""

    members: Mapping[str, "Member"]


Type: TypeAlias = Const | Primitive | Ref | Array | Map | Union | Intersection | Object


class Member(NamedTuple):
    """A member of an object."""

    type: Type
    is_required: bool


class _Row(NamedTuple):
    path: tuple[str, ...]
    type: str
    mark: str


@cache
def definitions(revision: str) -> Mapping[str, Type]:
    """Return what a revision's schema defines, by name."""
    rows: dict[str, list[_Row]] = {}
    for name, row in _rows(revision):
        rows.setdefault(name, []).append(row)
    return {name: _definition(name, found) for name, found in rows.items()}


def _rows(revision: str) -> Iterator[tuple[str, _Row]]:
    with _FILE.open(newline="", encoding="utf-8") as file:
        lines = (line for line in file if not line.startswith("#"))
        for line in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            if line[revision] != "-":
                path = tuple(quoted or plain for quoted, plain in _STEP.findall(line["member"]))
                yield line["definition"], _Row(path, line["type"], line[revision])


def _definition(name: str, rows: list[_Row]) -> Type:
    if name in _ANY:
        return Primitive("any")
    (head,) = (row for row in rows if row.path == ())
    return _parse(head.type, (), rows)


def _parse(text: str, path: tuple[str, ...], rows: list[_Row]) -> Type:
    for separator, kind in (("|", Union), ("&", Intersection)):
        parts = _split(text, separator)
        if separator == "|" and set(parts) >= _NUMBERS_TOO:
            parts.append("number")
        if len(parts) > 1:
            return kind(tuple(_parse(part, path, rows) for part in parts))
    if text.startswith("array<"):
        inner, _, limit = text.removeprefix("array<").rpartition(">")
        items = (*path[:-1], path[-1] + "[]") if path else ("[]",)
        return Array(_parse(inner, items, rows), int(limit[3:-1]) if limit else None)
    if text.startswith("map<"):
        return Map(_parse(text[4:-1], path, rows))
    if text.startswith(('"', "-")):
        return Const(json.loads(text))
    if text == "object":
        return Object(_members(path, rows))
    return _leaf(text)


def _leaf(text: str) -> Type:
    match = _LEAF.fullmatch(text)
    assert match, text
    name, low, high, _format = match.groups()
    if name not in PRIMITIVES:
        return Ref(name)
    return Primitive(name, float(low) if low else None, float(high) if high else None)


def _members(path: tuple[str, ...], rows: list[_Row]) -> dict[str, Member]:
    return {
        row.path[-1]: Member(_parse(row.type, row.path, rows), row.mark == "R")
        for row in rows
        if row.path and row.path[:-1] == path
    }


def _split(text: str, separator: str) -> list[str]:
    parts, depth, is_quoted = [""], 0, False
    for character in text:
        is_quoted ^= character == '"'
        if not is_quoted:
            depth += (character == "<") - (character == ">")
        if character == separator and depth == 0 and not is_quoted:
            parts.append("")
        else:
            parts[-1] += character
    return parts
