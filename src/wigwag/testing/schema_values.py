"""Reads JSON Schemas: their alternatives, their types, and the values that they accept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from wigwag.schema.json_schema import follow

Alternative: TypeAlias = dict[str, Any]
"""A schema without `anyOf`, `oneOf`, `$ref` and `const`."""

TYPES: Final = ("string", "number", "boolean", "null", "array", "object")

# They tell people something, and accept or refuse nothing.
NOTES: Final = frozenset(
    {
        *("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"),
        *("$comment", "$schema", "$id"),
    }
)
# What each keyword is about; one that is not here is about all.
_KINDS: Final = {
    keyword: kind
    for kind, keywords in {
        "string": ("minLength", "maxLength", "pattern", "format", "contentEncoding"),
        "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"),
        "object": (
            *("properties", "required", "additionalProperties", "patternProperties"),
            *("minProperties", "maxProperties", "propertyNames", "dependentRequired"),
        ),
    }.items()
    for keyword in keywords
}
_COMBINING: Final = ("$ref", "allOf", "anyOf", "oneOf")
# No more alternatives than that are looked at.
MAX_ALTERNATIVES: Final = 64


def alternatives(schema: Any, root: Any) -> list[Alternative]:
    """Return schemas of which a value must fit one, in place of one schema.

    >>> alternatives({"type": ["string", "null"], "maxLength": 3}, {})
    [{'type': 'string', 'maxLength': 3}, {'type': 'null', 'maxLength': 3}]

    Raises:
        ValueError: It says something that nobody here understands.
    """
    found = _alternatives(schema, root, ())
    if len(found) > MAX_ALTERNATIVES:
        raise ValueError(f"it has more than {MAX_ALTERNATIVES} alternatives")
    return found


def _alternatives(schema: Any, root: Any, seen: tuple[str, ...]) -> list[Alternative]:
    if schema is True:
        return [{}]
    if schema is False:
        return []
    if not isinstance(schema, Mapping):
        raise ValueError("it is no schema")
    rest = {name: value for name, value in schema.items() if not _is_note(name)}
    found = _by_type(rest)
    for part in _parts(rest, root, seen):
        found = [merged for one in found for other in part for merged in _both(one, other)]
        if len(found) > MAX_ALTERNATIVES:
            break
    return found


def _parts(schema: Alternative, root: Any, seen: tuple[str, ...]) -> Iterator[list[Alternative]]:
    """Return the alternatives of each schema that must fit as well."""
    if "$ref" in schema:
        ref = schema["$ref"]
        if ref in seen:
            raise ValueError(f"{ref} refers to itself")
        yield _alternatives(_referred(ref, root), root, (*seen, ref))
    for part in schema.get("allOf", ()):
        yield _alternatives(part, root, seen)
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            yield [one for part in schema[keyword] for one in _alternatives(part, root, seen)]


def _by_type(schema: Alternative) -> list[Alternative]:
    """Return a schema without the schemas within it, once for each type that it names."""
    rest = {name: value for name, value in schema.items() if name not in _COMBINING}
    if "const" in rest:
        rest["enum"] = [rest.pop("const")]
    types = rest.get("type")
    return [{**rest, "type": each} for each in types] if isinstance(types, list) else [rest]


def _both(one: Alternative, other: Alternative) -> list[Alternative]:
    """Return what fits two schemas at once; nothing, if nothing can."""
    merged = dict(one)
    for keyword, value in other.items():
        mine: Any = merged.get(keyword, value)
        if keyword == "required":
            merged[keyword] = list(dict.fromkeys([*mine, *value]))
        elif keyword in ("properties", "$defs", "definitions"):
            twice = [name for name in mine if name in value and mine[name] != value[name]]
            if twice:
                raise ValueError(f"`{twice[0]}` is described twice")
            merged[keyword] = {**mine, **value}
        elif keyword == "type" and mine != value:
            if {mine, value} != {"integer", "number"}:
                return []
            merged[keyword] = "integer"
        elif mine != value:
            raise ValueError(f"`{keyword}` is said twice")
        else:
            merged[keyword] = value
    return [merged]


def _referred(ref: str, root: Any) -> Any:
    """Return the schema within the same document that a reference leads to."""
    if not ref.startswith("#"):
        raise ValueError(f"{ref} is elsewhere")
    try:
        return follow(ref.split("/")[1:], root)
    except LookupError:
        raise ValueError(f"{ref} leads nowhere") from None


def types_of(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the types of the values that an alternative accepts."""
    if "type" in schema:
        return (schema["type"],)
    if "enum" in schema:
        return tuple(dict.fromkeys(map(type_of, schema["enum"])))
    return TYPES


def type_of(value: Any) -> str:
    """Return the type of a JSON value, as JSON Schema names it."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    names = {str: "string", float: "number", type(None): "null", list: "array"}
    return names.get(type(value), "object")


def relevant(schema: Mapping[str, Any], types: tuple[str, ...]) -> Alternative:
    """Return an alternative without what it says of other types than these."""
    kinds = {"number" if name == "integer" else name for name in types}
    return {
        name: value for name, value in schema.items() if name not in _KINDS or _KINDS[name] in kinds
    }


def accepts(schema: Mapping[str, Any], value: Any) -> bool:
    """Tell whether an alternative accepts a value; what nobody here understands refuses it."""
    name = type_of(value)
    if schema.get("type", name) != name and (schema["type"], name) != ("number", "integer"):
        return False
    if "enum" in schema:
        same = json.dumps(value, sort_keys=True)
        return any(json.dumps(each, sort_keys=True) == same for each in schema["enum"])
    told = set(relevant(schema, (name,))) - {"type"}
    if name == "string":
        return _accepts_string(schema, value, told)
    if name in ("integer", "number"):
        return _accepts_number(schema, value, told)
    return not told


def _accepts_string(schema: Mapping[str, Any], value: str, told: set[str]) -> bool:
    if told - {"minLength", "maxLength", "pattern"}:
        return False
    fits = schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
    try:
        return fits and re.search(schema.get("pattern", ""), value) is not None
    except re.error:  # JavaScript's are not quite Python's
        return False


def _accepts_number(schema: Mapping[str, Any], value: float, told: set[str]) -> bool:
    if told - {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}:
        return False
    return (
        schema.get("minimum", value) <= value <= schema.get("maximum", value)
        and ("exclusiveMinimum" not in schema or value > schema["exclusiveMinimum"])
        and ("exclusiveMaximum" not in schema or value < schema["exclusiveMaximum"])
    )


def without_notes(schema: Any) -> Any:
    """Return a schema without what only people read, at every depth."""
    if isinstance(schema, list):
        return [without_notes(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        name: {each: without_notes(inner) for each, inner in value.items()}
        if name in ("properties", "$defs", "definitions") and isinstance(value, Mapping)
        else without_notes(value)
        for name, value in schema.items()
        if not _is_note(name)
    }


def _is_note(keyword: str) -> bool:
    return keyword in NOTES or keyword.startswith("x-")


def shown(value: Any) -> str:
    """Return a value as JSON, cut when it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else f"{text[:99]}…"
