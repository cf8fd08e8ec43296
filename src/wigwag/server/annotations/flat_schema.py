"""JSON Schemas that a library has made, in the plain form that every host and model API takes.

References are written out where they stand, titles are left out, every array says what is in it,
and a choice stands in no other choice. Only a type that contains itself keeps a `$ref`, into the
`$defs` of the same schema.
Spec: basic#json-schema-usage
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from wigwag.server.annotations.docstrings import read_docstring

PREFIX: Final = "#/$defs/"

# What hosts do not read, or read in different ways.
_NULL: Final = {"type": "null"}
_LEFT_OUT: Final = frozenset({"title", "discriminator", "uniqueItems", "writeOnly", "$defs"})


def flatten(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema in the plain form."""
    return _Flattener(schema.get("$defs", {})).flatten_root(schema)


def choice(options: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the schema of what is one of several things, none of which is a choice itself."""
    beside: dict[str, Any] = {}
    flat: list[dict[str, Any]] = []
    for option in options:
        parts = option.get("anyOf")
        if parts is not None:
            beside |= _without(option, ("anyOf",))
        flat += [part for part in parts or [option] if part not in flat]
    merged: list[dict[str, Any]] = []
    for part in flat:
        twin = next((other for other in merged if _are_values_alike(part, other)), None)
        if twin is None:
            merged.append(dict(part))
        else:
            twin["enum"] = list(dict.fromkeys([*twin["enum"], *part["enum"]]))
    merged.sort(key=lambda part: part == _NULL)
    if len(merged) == 1:
        return {**merged[0], **beside}
    if len(merged) == 2 and merged[1] == _NULL and "properties" not in merged[0]:
        # It is optional: what is said of the one thing is said of the whole.
        beside |= {key: merged[0].pop(key) for key in ("description",) if key in merged[0]}
    return {"anyOf": merged, **beside}


def _are_values_alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    is_plain = one.keys() == other.keys() == {"type", "enum"}
    return is_plain and one["type"] == other["type"]


def values(allowed: Sequence[Any]) -> dict[str, Any]:
    """Return the schema of what is one of several values.

    It says their type, because some hosts refuse it otherwise.
    """
    rest = [value for value in allowed if value is not None]
    schema: dict[str, Any] = {"enum": rest}
    for name, kind in (("string", str), ("boolean", bool), ("integer", int), ("number", float)):
        if all(type(value) is kind for value in rest):
            schema = {"type": name, "enum": rest}
    if len(rest) == len(allowed):
        return schema
    return choice([schema, _NULL]) if rest else dict(_NULL)


def fixed_items(items: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return what the schema of an array says whose items differ.

    There are hosts that read `items` alone, so it says what any of them may be.
    """
    if not items:
        return {"items": {}, "minItems": 0, "maxItems": 0}
    bare = [_without(item, ("default", "description")) for item in items]
    if all(item == items[0] for item in items):
        return {"items": items[0]}
    return {"prefixItems": list(items), "items": choice(bare)}


def tidy_description(schema: dict[str, Any]) -> None:
    """Give the members of an object what its docstring says of them."""
    text = schema.get("description")
    if not isinstance(text, str):
        return
    summary, entries = read_docstring(text)
    for name, member in schema.get("properties", {}).items():
        if entries.get(name):
            member.setdefault("description", entries[name])
    if summary:
        schema["description"] = summary
    else:
        del schema["description"]


def values_at(schema: dict[str, Any], path: str) -> list[Any]:
    """Return the values that are allowed at a place, such as `.x[0]`, if all are counted up."""
    places = [schema]
    for name, _index in re.findall(r"\.([^.\[]+)|\[([^\]]*)\]", path):
        places = [below for place in _with_options(places) for below in _below(place, name)]
    options = [option for option in _with_options(places) if option != _NULL]
    if not all("enum" in option for option in options):
        return []
    return [value for option in options for value in option["enum"]]


def _with_options(places: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [option for place in places for option in place.get("anyOf", [place])]


def _below(schema: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the schemas of a member, or of the items and the values of any name."""
    if name:
        return [schema["properties"][name]] if name in schema.get("properties", ()) else []
    return [schema[key] for key in ("items", "additionalProperties") if schema.get(key)]


def _without(schema: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key not in names}


class _Flattener:
    def __init__(self, definitions: Mapping[str, dict[str, Any]]) -> None:
        self._definitions = definitions
        self._open: list[str] = []  # what is being written out, outermost first
        self._recursive: set[str] = set()

    def flatten_root(self, root: dict[str, Any]) -> dict[str, Any]:
        schema: dict[str, Any] = self._flatten(root)
        done: dict[str, Any] = {}
        while self._recursive - done.keys():
            name = min(self._recursive - done.keys())
            self._open = [name]
            done[name] = self._flatten(self._definitions[name])
        if done:
            schema = {**schema, "$defs": dict(sorted(done.items()))}
        return schema

    def _flatten(self, schema: Any) -> Any:
        if not isinstance(schema, dict):
            return schema
        reference = schema.get("$ref")
        if reference is not None:
            return self._resolve(reference.removeprefix(PREFIX), schema)
        made = {
            key: self._member(key, value) for key, value in schema.items() if key not in _LEFT_OUT
        }
        options = made.pop("anyOf", None) or made.pop("oneOf", None)
        if options is not None:
            made = {**choice(options), **made}
        if len(made.get("allOf", ())) == 1:
            (only,) = made.pop("allOf")
            made = {**only, **made}
        if "const" in made:
            made["enum"] = [made.pop("const")]
        if "enum" in made:
            made = {**_without(made, ("enum", "type")), **values(made["enum"])}
        if made.get("additionalProperties") is True:
            del made["additionalProperties"]
        if made.get("type") == "array":
            _complete_array(made)
        tidy_description(made)
        return made

    def _member(self, key: str, value: Any) -> Any:
        match key:
            case "properties" | "patternProperties":
                return {name: self._flatten(schema) for name, schema in value.items()}
            case "anyOf" | "oneOf" | "allOf" | "prefixItems":
                return [self._flatten(schema) for schema in value]
            case "items" | "additionalProperties" | "propertyNames":
                return self._flatten(value)
            case _:
                return value  # `default`, `enum` and the like are data, not schemas

    def _resolve(self, name: str, schema: dict[str, Any]) -> dict[str, Any]:
        beside = _without(schema, ("$ref", *_LEFT_OUT))
        if name in self._open:
            self._recursive.add(name)
            return {"$ref": PREFIX + name, **beside}
        self._open.append(name)
        try:
            return {**self._flatten(self._definitions[name]), **beside}
        finally:
            self._open.pop()


def _complete_array(schema: dict[str, Any]) -> None:
    if "prefixItems" in schema:
        schema.update(fixed_items(schema.pop("prefixItems")))
    else:
        schema.setdefault("items", {})
