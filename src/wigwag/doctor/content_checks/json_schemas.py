"""Finds out whether the JSON Schemas of tools are any, and whole in themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import unquote

from wigwag.doctor.findings import Finding
from wigwag.schema.json_schema import follow, make_check

__all__ = ["check_schema", "problem_in_2020_12", "subschemas"]

_2020_12: Final = "https://json-schema.org/draft/2020-12/schema"
_DIALECTS: Final = (
    "json-schema.org/draft-04/schema",
    "json-schema.org/draft-06/schema",
    "json-schema.org/draft-07/schema",
    "json-schema.org/draft/2019-09/schema",
    "json-schema.org/draft/2020-12/schema",
)

# Keywords that hold a schema or a list of them, and those that hold schemas by name.
_HOLD_SCHEMAS: Final = (
    "additionalItems", "additionalProperties", "allOf", "anyOf", "contains", "else", "if", "items",
    "not", "oneOf", "prefixItems", "propertyNames", "then", "unevaluatedItems",
    "unevaluatedProperties",
)  # fmt: skip
_HOLD_NAMED_SCHEMAS: Final = (
    "$defs", "definitions", "dependentSchemas", "patternProperties", "properties",
)  # fmt: skip

# Nobody writes more; who sends more means to keep us busy.
_MAX_SUBSCHEMAS: Final = 20_000


def subschemas(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a schema and all that are in it, each with where it is; the root's place is empty.

    >>> [place for place, _ in subschemas({"properties": {"a": {"items": {}}}})]
    ['', 'properties.a', 'properties.a.items']
    """
    found = [("", schema)]
    for place, each in found:  # it grows meanwhile
        yield place, each
        if len(found) < _MAX_SUBSCHEMAS:
            found.extend(_below(place, each))


def _below(place: str, schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    head = f"{place}." if place else ""
    for keyword in _HOLD_SCHEMAS:
        held = schema.get(keyword)
        if isinstance(held, dict):
            yield f"{head}{keyword}", held
        elif isinstance(held, list):
            for index, each in enumerate(held):
                if isinstance(each, dict):
                    yield f"{head}{keyword}[{index}]", each
    for keyword in _HOLD_NAMED_SCHEMAS:
        held = schema.get(keyword)
        for name, each in held.items() if isinstance(held, dict) else ():
            if isinstance(each, dict):
                yield f"{head}{keyword}.{name}", each


def check_schema(schema: Any, tool: str, member: str, *, is_object: bool) -> Iterator[Finding]:
    """Yield what is wrong with one schema of a tool.

    Args:
        schema: The schema, as the server lists it.
        tool: The name of the tool.
        member: Which of its schemas this is: `inputSchema` or `outputSchema`.
        is_object: Whether it must describe an object.
    """
    if not isinstance(schema, dict):
        return  # which is told of the whole tool
    if is_object and schema.get("type") != "object":
        yield _not_object(schema, tool, member)
    lost = list(_lost_references(schema))
    for finding in lost:
        yield _about_reference(*finding, tool, member)
    dialect = schema.get("$schema")
    if isinstance(dialect, str) and not _is_known(dialect):
        yield _unknown_dialect(dialect, tool, member)
    elif not lost and (problem := _problem_of(schema)) is not None:
        yield _invalid(problem, tool, member)


def problem_in_2020_12(schema: dict[str, Any]) -> str | None:
    """Say why a schema that is sound in its own dialect is none of draft 2020-12."""
    if "$schema" not in schema or _2020_12 in str(schema["$schema"]):
        return None  # which is told by `check_schema`
    if any(True for _ in _lost_references(schema)) or _problem_of(schema) is not None:
        return None
    return _problem_of({**schema, "$schema": _2020_12})


def _is_known(dialect: str) -> bool:
    return dialect.partition("://")[2].rstrip("#") in _DIALECTS


def _problem_of(schema: dict[str, Any]) -> str | None:
    try:
        make_check(schema, formats=False)
    except ValueError as error:
        return str(error)
    return None


def _lost_references(schema: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the references that lead nowhere in the schema, with where they are."""
    names = {""}
    for _, each in subschemas(schema):
        for keyword, mark in (("$id", ""), ("$anchor", "#"), ("$dynamicAnchor", "#")):
            if isinstance(each.get(keyword), str):
                names.add(mark + each[keyword])
    for place, each in subschemas(schema):
        reference = each.get("$ref")
        if isinstance(reference, str) and not _leads_somewhere(reference, schema, names):
            yield place, reference


def _leads_somewhere(reference: str, schema: dict[str, Any], names: set[str]) -> bool:
    if reference in names or reference == "#":
        return True
    document, _, pointer = reference.partition("#")
    if document:
        return document in names or any(name.endswith(f"/{document}") for name in names)
    if not pointer.startswith("/"):
        return False
    try:
        follow(map(unquote, pointer[1:].split("/")), schema)
    except LookupError:
        return False
    return True


def _about_reference(place: str, reference: str, tool: str, member: str) -> Finding:
    where = f"{member}{'.' if place else ''}{place}"
    if reference.startswith("#"):
        return Finding(
            "schema-reference-dangling",
            "error",
            "a schema refers to something that is not in it",
            f"$ref {reference!r} in {where}",
            "put what is referred to into the `$defs` of the same schema; or write it out in place",
            tool,
        )
    return Finding(
        "schema-reference-outside",
        "error",
        "a schema refers to another document, which no host fetches",
        f"$ref {reference!r} in {where}",
        "copy what is referred to into the `$defs` of the same schema",
        tool,
    )


def _not_object(schema: dict[str, Any], tool: str, member: str) -> Finding:
    given = repr(schema["type"]) if "type" in schema else "absent"
    return Finding(
        "schema-root-not-object",
        "error",
        f"the root of an {member} is not of type `object`; many hosts then refuse all tools",
        f"{member}: `type` is {given}",
        'write `"type": "object"` at its root'
        + ("" if member == "inputSchema" else ", and return an object (a value in one, say)"),
        tool,
    )


def _unknown_dialect(dialect: str, tool: str, member: str) -> Finding:
    return Finding(
        "schema-dialect-unknown",
        "warning",
        "a schema calls itself something that hosts do not know, and some refuse the tool",
        f"{member}: $schema {dialect!r}",
        f"leave `$schema` out, which means {_2020_12}",
        tool,
    )


def _invalid(problem: str, tool: str, member: str) -> Finding:
    return Finding(
        "schema-invalid",
        "error",
        "a schema of a tool is no JSON Schema; some hosts then refuse all tools",
        f"{member}: {problem}",
        "put it right; the specification of JSON Schema is at https://json-schema.org",
        tool,
    )
