"""Finds the values of a template's variables in a URI, in time that grows as the URI does.

A template is taken apart once. Slashes are what everything hangs on: no variable but one of those
that stand for several segments has any, so segments of the template and of the URI go together one
by one, from the left up to such a variable and from the right down to it. Within a segment,
the text between variables is looked for from the right. What follows `?` and `#` is cut off first
where the template has expressions for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from wigwag.server.uris.layout import Field, Kind, Layout, Piece, Segment
from wigwag.server.uris.parts import ParsedTemplate, encode_literal

Values: TypeAlias = dict[str, Any]  # text, or a list of texts


class _Unfit(Exception):
    """The URI is none of the template's."""


class UriMatcher:
    """A template, ready to be matched.

    Args:
        template: The template.
        kinds: Whether the value of a variable is text or a list; by default it is a list where
            the variable is exploded. A `{name*}` that is text takes slashes too.

    Attributes:
        names: The names of the variables, in order.
        segments: The names of those that stand for a single segment of the path.

    Raises:
        ValueError: Values cannot be told apart in what the template expands to.
    """

    def __init__(self, template: ParsedTemplate, kinds: Mapping[str, Kind] | None = None) -> None:
        self.names = template.names
        # Most templates are not meant, and this much is the same however a URI is written.
        first = template.parts[0] if template.parts else ""
        begins = encode_literal(first) if isinstance(first, str) else ""
        self._beginning = begins.partition("%")[0].partition("?")[0]
        layout = Layout(template, kinds or {})
        self._query = {field.variable.name: field for field in layout.query}
        self._has_query = layout.has_query
        self._fixed = layout.fixed
        self._fragment = layout.fragment
        self._segments = layout.segments
        self._wide = layout.wide
        self.segments = {
            piece.variable.name
            for segment in layout.segments
            for piece in segment.pieces
            if isinstance(piece, Field) and not piece.is_wide
        }

    def match(self, uri: str) -> Values | None:
        """Return the values of the variables, decoded once, or `None` when the URI does not fit.

        What the query has besides stands among the values with a `?` before its name.
        """
        if not uri.startswith(self._beginning):
            return None
        values: Values = {}
        try:
            path = encode_literal(uri)
            if self._fragment is not None:
                path, _, fragment = path.partition("#")
                if fragment:
                    _take(self._fragment, fragment, values)
            if self._has_query:
                path, _, query = path.partition("?")
                self._match_query(query, values)
            self._match_path(path.split("/"), values)
        except (_Unfit, UnicodeError):
            return None
        return {name: values[name] for name in (*self.names, *values) if name in values}

    def _match_query(self, query: str, values: Values) -> None:
        if "#" in query:
            raise _Unfit
        pairs = [pair for pair in query.split("&") if pair]
        for pair in self._fixed:
            if pair not in pairs:
                raise _Unfit
            pairs.remove(pair)
        for name in _take_pairs(pairs, self._query, values):
            values["?" + name] = ""

    def _match_path(self, found: list[str], values: Values) -> None:
        segments, wide = self._segments, self._wide
        if wide is None:
            if len(found) != len(segments):
                raise _Unfit
            for segment, text in zip(segments, found, strict=True):
                _match_segment(segment, text, values)
            return
        behind = len(segments) - wide - 1
        end = len(found) - behind
        if end - wide < (0 if segments[wide].is_whole else 1):
            raise _Unfit
        for segment, text in zip(segments[:wide], found[:wide], strict=True):
            _match_segment(segment, text, values)
        _match_wide(segments[wide], found[wide:end], values)
        for segment, text in zip(segments[wide + 1 :], found[end:], strict=True):
            _match_segment(segment, text, values)


def _match_segment(segment: Segment, text: str, values: Values) -> None:
    if segment.literal is not None:
        if text != segment.literal:
            raise _Unfit
        return
    text = _cut_matrix(segment, text, values)
    pieces, start = segment.pieces, 0
    if pieces and isinstance(pieces[0], str):
        if not text.startswith(pieces[0]):
            raise _Unfit
        start = len(pieces[0])
        pieces = pieces[1:]
    if _match_from_right(pieces, text, start, len(text), values) != start:
        raise _Unfit


def _match_wide(segment: Segment, found: list[str], values: Values) -> None:
    """Match what stands for several segments."""
    pieces = segment.pieces
    place = next(i for i, piece in enumerate(pieces) if isinstance(piece, Field) and piece.is_wide)
    field = pieces[place]
    assert isinstance(field, Field)
    if field.is_whole:
        _take_segments(field, found, values)
        return
    *first, last = found
    text = "/".join([*first, _cut_matrix(segment, last, values)])
    start = _match_from_left(pieces[:place], text, values)
    end = _match_from_right(pieces[place + 1 :], text, start, len(text), values)
    _take(field, text[start:end], values)


def _cut_matrix(segment: Segment, text: str, values: Values) -> str:
    """Take the parameters at the end of a segment; returns what stands before them."""
    if segment.matrix is None:
        return text
    text, semicolon, matrix = text.partition(";")
    if semicolon and _take_pairs(matrix.split(";"), segment.matrix, values):
        raise _Unfit
    return text


def _match_from_right(pieces: list[Piece], text: str, start: int, end: int, values: Values) -> int:
    """Match pieces against the end of a text; the first one may be a variable, and takes the rest.

    Returns:
        Where they begin.
    """
    waiting: Field | None = None
    for piece in reversed(pieces):
        if isinstance(piece, Field):
            waiting = piece
        elif waiting is None:
            if not text.endswith(piece, start, end):
                raise _Unfit
            end -= len(piece)
        else:
            found = text.rfind(piece, start, max(end - 1, start))
            if found < 0:
                raise _Unfit
            _take(waiting, text[found + len(piece) : end], values)
            waiting, end = None, found
    if waiting is not None:
        _take(waiting, text[start:end], values)
        end = start
    return end


def _match_from_left(pieces: list[Piece], text: str, values: Values) -> int:
    """Match pieces, the last of which is text, against the beginning; returns where they end."""
    start = 0
    waiting: Field | None = None
    for piece in pieces:
        if isinstance(piece, Field):
            waiting = piece
        elif waiting is None:
            if not text.startswith(piece, start):
                raise _Unfit
            start += len(piece)
        else:
            found = text.find(piece, start + 1)
            if found < 0:
                raise _Unfit
            _take(waiting, text[start:found], values)
            waiting, start = None, found + len(piece)
    return start


def _take(field: Field, text: str, values: Values) -> None:
    if not text or any(char in text for char in field.excluded):
        raise _Unfit
    parts = text.split(field.separator) if field.kind == "list" else None
    _store(field, _decode(text) if parts is None else [_decode(part) for part in parts], values)


def _take_segments(field: Field, segments: list[str], values: Values) -> None:
    if any(not segment or "?" in segment or "#" in segment for segment in segments):
        raise _Unfit
    if not segments:
        return
    decoded = [_decode(segment) for segment in segments]
    _store(field, decoded if field.kind == "list" else "/".join(decoded), values)


def _take_pairs(pairs: list[str], fields: Mapping[str, Field], values: Values) -> list[str]:
    """Take what is written as `name=value`, and return the names that nobody asked for."""
    unknown: list[str] = []
    for pair in pairs:
        raw_name, _, text = pair.partition("=")
        name = _decode(raw_name)
        field = fields.get(raw_name) or fields.get(name)
        if field is None:
            unknown.append(name)
            continue
        name = field.variable.name
        if field.variable.is_exploded:
            values.setdefault(name, []).append(_decode(text))
        elif name in values:
            raise _Unfit
        elif field.kind == "list":
            values[name] = [_decode(part) for part in text.split(",")]
        else:
            _store(field, _decode(text), values)
    return unknown


def _store(field: Field, value: str | list[str], values: Values) -> None:
    name, _, prefix = field.variable
    if prefix is not None and len(value) > prefix:
        raise _Unfit
    known = values.get(name)
    if known is None:
        values[name] = value
        return
    # It stands there twice, once by its first characters.
    shorter, longer = sorted((str(known), str(value)), key=len)
    if not longer.startswith(shorter):
        raise _Unfit
    values[name] = longer


def _decode(text: str) -> str:
    if "%" not in text:
        return text
    from urllib.parse import unquote  # noqa: PLC0415 - most servers start without it

    return unquote(text, errors="strict")
