"""Judges JSON values by the facts about the published schemas."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from tests.facts.table import (
    REVISIONS,
    Array,
    Const,
    Intersection,
    Map,
    Member,
    Object,
    Primitive,
    Ref,
    Type,
    Union,
    definitions,
)

Json: TypeAlias = Any

# Members that are agreed upon where the schema does not have them yet.
_AGREED = {
    ("2025-11-25", "ClientCapabilities", "extensions"),
    ("2025-11-25", "ServerCapabilities", "extensions"),
}
# They are open to every keyword.
_JSON_SCHEMAS = {"inputSchema", "outputSchema", "requestedSchema"}
_EXCERPT = 200


class Place(NamedTuple):
    """Where in a message a value is, and under which names the facts know it."""

    revision: str
    names: tuple[tuple[str, tuple[str, ...]], ...] = ()
    text: str = ""

    def member(self, name: str) -> "Place":
        names = tuple((definition, (*path, name)) for definition, path in self.names)
        return Place(self.revision, names, f"{self.text}.{name}" if self.text else name)

    def item(self, key: object) -> "Place":
        return Place(self.revision, (), f"{self.text}[{key}]")

    def called(self, definition: str) -> "Place":
        return self._replace(names=(*self.names, (definition, ())))

    def problem(self, text: str) -> str:
        return f"{self.text}: {text}" if self.text else text

    def members_elsewhere(self) -> set[str]:
        """Return the members that an object here has in some revision."""
        return {
            member
            for definition, path in self.names
            for revision in REVISIONS
            for member in _members_at(definition, path, revision)
        }


def check(value: Json, type_: Type, place: Place) -> Iterator[str]:
    """Tell everything that keeps a value from being one of a type, in the revision of its place."""
    match type_:
        case Ref(name):
            yield from check(value, definitions(place.revision)[name], place.called(name))
        case Const(expected):
            if value != expected or isinstance(value, bool) is not isinstance(expected, bool):
                yield place.problem(f"{_excerpt(value)} is not {json.dumps(expected)}")
        case Primitive():
            yield from _check_primitive(value, type_, place)
        case Union(options):
            yield from _check_union(value, options, place)
        case _:
            yield from _check_container(value, type_, place)


def _check_container(value: Json, type_: Type, place: Place) -> Iterator[str]:
    match type_:
        case Array() if not isinstance(value, list):
            yield place.problem(f"{_excerpt(value)} is no array")
        case Array(item, max_items):
            if max_items is not None and len(value) > max_items:
                yield place.problem(f"has {len(value)} items, more than {max_items}")
            for index, element in enumerate(value):
                yield from check(element, item, place.item(index))
        case _ if not isinstance(value, dict):
            yield place.problem(f"{_excerpt(value)} is no object")
        case Map(inner):
            for key, element in value.items():
                yield from check(element, inner, place.item(key))
        case _:
            yield from _check_object(value, type_, place)


def _check_object(value: dict[str, Json], type_: Type, place: Place) -> Iterator[str]:
    members = members_of(type_, place.revision)
    for name, member in members.items():
        if name in value:
            yield from check(value[name], member.type, place.member(name))
        elif member.is_required:
            yield place.problem(f"{name} is missing")
    unknown = value.keys() - members.keys()
    for name in sorted(unknown & place.members_elsewhere()) if unknown else ():
        if not _may_be_more(name, place):
            yield place.problem(f"{name} is of another revision")


def _may_be_more(name: str, place: Place) -> bool:
    # Until 2025-11-25 every message could have `_meta`, whether its definition said so or not.
    is_meta_of_params = name == "_meta" and place.text == "params"
    is_envelope = not place.text
    return (
        is_envelope
        or any((place.revision, definition, name) in _AGREED for definition, _ in place.names)
        or (is_meta_of_params and place.revision != REVISIONS[-1])
        or place.text.rpartition(".")[2] in _JSON_SCHEMAS
    )


def _check_primitive(value: Json, type_: Primitive, place: Place) -> Iterator[str]:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = {
        "any": True,
        "null": value is None,
        "boolean": isinstance(value, bool),
        "string": isinstance(value, str),
        "number": is_number,
        "integer": is_integer(value),
    }[type_.name]
    if not fits:
        yield place.problem(f"{_excerpt(value)} is no {type_.name}")
    elif is_number and type_.low is not None and value < type_.low:
        yield place.problem(f"{value} is less than {type_.low}")
    elif is_number and type_.high is not None and value > type_.high:
        yield place.problem(f"{value} is more than {type_.high}")


def _check_union(value: Json, options: tuple[Type, ...], place: Place) -> Iterator[str]:
    found = [list(check(value, option, place)) for option in options]
    if not all(found):
        return
    likely = [
        problems
        for option, problems in zip(options, found, strict=True)
        if _says_it_is(value, option, place.revision)
    ]
    if likely:
        yield from min(likely, key=len)
    else:
        names = [option.value if isinstance(option, Const) else option[0] for option in options]
        yield place.problem(f"{_excerpt(value)} is none of {names}")


def _says_it_is(value: Json, type_: Type, revision: str) -> bool:
    if isinstance(type_, Array):
        return isinstance(value, list)
    if not isinstance(value, dict):
        return False
    constants = {
        name: member.type.value
        for name, member in members_of(type_, revision).items()
        if isinstance(member.type, Const) and (member.is_required or name in value)
    }
    return all(value.get(name) == constant for name, constant in constants.items())


def _excerpt(value: Json) -> str:
    text = json.dumps(value)
    return text if len(text) <= _EXCERPT else text[:_EXCERPT] + "…"


def members_of(type_: Type, revision: str) -> dict[str, Member]:
    match type_:
        case Object(members):
            return dict(members)
        case Ref(name):
            return members_of(definitions(revision).get(name, Object({})), revision)
        case Intersection(parts):
            return {k: v for part in parts for k, v in members_of(part, revision).items()}
        case _:
            return {}


@cache
def _members_at(definition: str, path: tuple[str, ...], revision: str) -> set[str]:
    members = members_of(Ref(definition), revision)
    for step in path:
        members = members_of(members[step].type, revision) if step in members else {}
    return set(members)


def options_of(type_: Type) -> tuple[Type, ...]:
    return type_.options if isinstance(type_, Union) else (type_,)


def is_integer(value: Json) -> bool:
    """Tell whether JSON Schema counts a value as an integer, which it does for 30.0."""
    is_integral = isinstance(value, float) and value.is_integer()
    return is_integral or (isinstance(value, int) and not isinstance(value, bool))
