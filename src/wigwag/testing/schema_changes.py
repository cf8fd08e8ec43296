"""Tells whether a JSON Schema that has changed still takes, or still gives, what it did.

What callers send must go on being accepted: a schema of arguments may only become wider. What they
receive must go on being what they expect: a schema of results may only become narrower, and keeps
its members. Where two schemas cannot be compared, the change counts as one that breaks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from wigwag.testing.schema_values import (
    TYPES,
    Alternative,
    accepts,
    alternatives,
    relevant,
    shown,
    types_of,
    without_notes,
)

Direction: TypeAlias = Literal["input", "output"]

_UPPER: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_LOWER: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_FROM_NOTHING: Final = ("minLength", "minItems", "minProperties")
_STRICTER: Final = {"maximum": "exclusiveMaximum", "minimum": "exclusiveMinimum"}
_COMPARED: Final = frozenset(
    {
        *(*_UPPER, *_LOWER),
        *("type", "enum", "const", "properties", "required", "additionalProperties", "items"),
        *("multipleOf", "$defs", "definitions"),
    }
)


class Break(NamedTuple):
    """A change that breaks something.

    Attributes:
        pointer: Where in the schema it is.
        text: What it is, in a sentence that begins with the place.
    """

    pointer: tuple[str, ...]
    text: str


def breaks_between(old: Any, new: Any, direction: Direction) -> list[Break]:
    """Return what the change of a schema breaks, in the order of the schema.

    >>> old = {"type": "object", "properties": {"n": {"type": "integer"}}}
    >>> new = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    >>> [found.text for found in breaks_between(old, new, "input")]
    ['`n` is required now']
    """
    return list(dict.fromkeys(_Comparison(old, new, direction).compare(old, new, _ROOT)))


class _Place(NamedTuple):
    """Where in a schema something is: for programs, and for people."""

    pointer: tuple[str, ...]
    name: str

    def member(self, name: str) -> _Place:
        """The place of a property."""
        inner = f"{self.name}.{name}" if self.name else name
        return _Place((*self.pointer, "properties", name), inner)

    def under(self, keyword: str, mark: str) -> _Place:
        return _Place((*self.pointer, keyword), f"{self.name}{mark}")

    def found(self, text: str) -> Break:
        return Break(self.pointer, f"{f'`{self.name}`' if self.name else 'the whole'} {text}")


_ROOT: Final = _Place((), "")


class _Comparison:
    """Compares an old and a new schema, each with the definitions that it refers to.

    Of the two, one is to be the wider: the new one for arguments, the old one for results. Each
    step takes them as `narrow` and `wide`, and tells what the narrow one allows and the wide one
    does not.
    """

    def __init__(self, old: Any, new: Any, direction: Direction) -> None:
        self._roots = (old, new) if direction == "input" else (new, old)
        self._is_input = direction == "input"
        self._under_way: set[tuple[str, str]] = set()

    def compare(self, old: Any, new: Any, place: _Place) -> Iterator[Break]:
        narrow, wide = (old, new) if self._is_input else (new, old)
        yield from self._compare(narrow, wide, place)

    def _say(self, narrowed: str, widened: str) -> str:
        """Return what has happened, in terms of what callers send or receive."""
        return narrowed if self._is_input else widened

    def _compare(self, narrow: Any, wide: Any, place: _Place) -> Iterator[Break]:
        key = (repr(narrow), repr(wide))
        if key in self._under_way:  # a recursive schema: what is being found out holds
            return
        self._under_way.add(key)
        try:
            try:
                ours = alternatives(narrow, self._roots[0])
                theirs = alternatives(wide, self._roots[1])
            except ValueError as error:
                if without_notes(narrow) != without_notes(wide) or self._roots[0] != self._roots[1]:
                    yield place.found(f"has changed, and cannot be compared ({error})")
                return
            yield from self._compare_alternatives(ours, theirs, place)
        finally:
            self._under_way.discard(key)

    def _compare_alternatives(
        self, ours: list[Alternative], theirs: list[Alternative], place: _Place
    ) -> Iterator[Break]:
        lost: list[str] = []
        for one in ours:
            found = [self._breaks(one, other, place) for other in theirs]
            if not all(found):
                continue
            values, types = _values(one), types_of(one)
            if values is not None:
                refused = [v for v in values if not any(accepts(t, v) for t in theirs)]
                if refused:
                    yield self._values_lost(refused, place)
            elif len(types) == 1:
                # Of those of its type, the one that fits best is the one that was meant.
                near = [
                    breaks
                    for breaks, other in zip(found, theirs, strict=True)
                    if _covers([other], types[0])
                ]
                if near:
                    yield from min(near, key=len)
                else:
                    lost += types
            else:
                left = [name for name in types if not _covers(theirs, name)]
                lost += left
                apart = [{**one, "type": name} for name in types if name not in left]
                yield from self._compare_alternatives(apart, theirs, place)
        if lost:
            yield self._types_lost(list(dict.fromkeys(lost)), place)

    def _values_lost(self, values: list[Any], place: _Place) -> Break:
        listed = ", ".join(map(shown, values))
        return place.found(self._say(f"does not take {listed} any more", f"may be {listed} now"))

    def _types_lost(self, names: list[str], place: _Place) -> Break:
        if len(names) == len(TYPES):
            return place.found(self._say("does not take just anything any more", "may be anything"))
        listed = " or ".join(names)
        return place.found(self._say(f"does not take {listed} any more", f"may be {listed} now"))

    def _breaks(self, narrow: Alternative, wide: Alternative, place: _Place) -> list[Break]:
        """Compare two alternatives without alternatives of their own."""
        values = _values(narrow)
        if values is not None:
            refused = [value for value in values if not accepts(wide, value)]
            return [self._values_lost(refused, place)] if refused else []
        lost = [name for name in types_of(narrow) if not _covers([wide], name)]
        if lost:
            return [self._types_lost(lost, place)]
        allowed = _values(wide)
        if allowed is not None:
            listed = ", ".join(map(shown, allowed))
            text = self._say(f"takes only {listed} now", f"may be other than {listed} now")
            return [place.found(text)]
        wide = relevant(wide, types_of(narrow))
        found = [*self._bounds(narrow, wide, place), *self._others(narrow, wide, place)]
        if "object" in types_of(narrow):
            found += self._members(narrow, wide, place)
        if "array" in types_of(narrow) and "items" in wide:
            within = place.under("items", "[]")
            found += self._compare(narrow.get("items", True), wide["items"], within)
        return found

    def _bounds(self, narrow: Alternative, wide: Alternative, place: _Place) -> Iterator[Break]:
        for keyword in (*_UPPER, *_LOWER):
            bound = wide.get(keyword)
            had = narrow.get(keyword, narrow.get(_STRICTER.get(keyword, "")))
            if bound is None or (bound == 0 and keyword in _FROM_NOTHING):
                continue
            if had is None or (had > bound if keyword in _UPPER else had < bound):
                yield self._keyword(keyword, narrow, wide, place)
        step = wide.get("multipleOf")
        if step is not None and (narrow.get("multipleOf") is None or narrow["multipleOf"] % step):
            yield self._keyword("multipleOf", narrow, wide, place)

    def _others(self, narrow: Alternative, wide: Alternative, place: _Place) -> Iterator[Break]:
        """Whatever else a schema says must be the same, or not be there."""
        for keyword, value in without_notes(wide).items():
            if keyword in _COMPARED or value == without_notes(narrow.get(keyword)):
                continue
            yield self._keyword(keyword, narrow, wide, place)

    def _keyword(
        self, keyword: str, narrow: Alternative, wide: Alternative, place: _Place
    ) -> Break:
        old, new = (narrow, wide) if self._is_input else (wide, narrow)
        if keyword not in new:
            text = f"has no `{keyword}` any more (it was {shown(old[keyword])})"
        elif keyword not in old:
            text = f"has `{keyword}` {shown(new[keyword])} now"
        else:
            text = f"has `{keyword}` {shown(new[keyword])} now (it was {shown(old[keyword])})"
        return place.found(text)

    # --- objects

    def _members(self, narrow: Alternative, wide: Alternative, place: _Place) -> Iterator[Break]:
        old, new = (narrow, wide) if self._is_input else (wide, narrow)
        had, has = old.get("properties", {}), new.get("properties", {})
        gone = [name for name in had if name not in has]
        for name in gone:
            yield place.member(name).found("is gone")
        for name, schema in had.items():
            if name in has:
                yield from self.compare(schema, has[name], place.member(name))
        required = narrow.get("required", ())
        for name in wide.get("required", ()):
            if name not in required and name not in gone:
                where = place.member(name)
                yield where.found(self._say("is required now", "may be missing now"))
        yield from self._other_members(narrow, wide, place)

    def _other_members(
        self, narrow: Alternative, wide: Alternative, place: _Place
    ) -> Iterator[Break]:
        """Compare what is said of members without a name."""
        ours, theirs = (each.get("additionalProperties", True) for each in (narrow, wide))
        # Who receives a member that it does not know passes over it.
        if theirs is True or ours is False or (theirs is False and not self._is_input):
            return
        if theirs is False:
            yield place.found("does not take other members any more")
        else:
            yield from self._compare(ours, theirs, place.under("additionalProperties", ".*"))


def _values(schema: Alternative) -> list[Any] | None:
    """Return the values that a schema enumerates, if it does."""
    values: list[Any] | None = schema.get("enum")
    return values


def _covers(schemas: Iterable[Mapping[str, Any]], name: str) -> bool:
    """Tell whether any of several schemas allows values of a type."""
    wanted = {name, "number"} if name == "integer" else {name}
    return any(wanted & set(types_of(schema)) for schema in schemas)
