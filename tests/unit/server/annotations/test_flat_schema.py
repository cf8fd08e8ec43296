"""Schemas in the plain form that every host takes."""

from typing import Any

import pytest

from wigwag.server.annotations.flat_schema import (
    choice,
    fixed_items,
    flatten,
    tidy_description,
    values,
    values_at,
)

INTEGER = {"type": "integer"}
STRING = {"type": "string"}
NULL = {"type": "null"}


def test_references_are_written_out_and_titles_left_out() -> None:
    assert flatten({
        "$defs": {"Leaf": {"type": "object", "title": "Leaf", "properties": {"title": STRING}}},
        "title": "Branch",
        "type": "object",
        "properties": {"leaf": {"$ref": "#/$defs/Leaf", "description": "One."}},
    }) == {
        "type": "object",
        "properties": {
            "leaf": {"type": "object", "properties": {"title": STRING}, "description": "One."}
        },
    }  # fmt: skip


def test_only_what_contains_itself_keeps_a_reference() -> None:
    tree = {"type": "object", "properties": {"parts": {"items": {"$ref": "#/$defs/Tree"}}}}
    assert flatten({"$ref": "#/$defs/Tree", "$defs": {"Tree": tree}}) == {
        **tree,
        "$defs": {"Tree": tree},
    }


def test_what_hosts_read_in_different_ways_is_said_in_one_way() -> None:
    assert flatten({"const": "a", "type": "string"}) == {"type": "string", "enum": ["a"]}
    assert flatten({"type": "object", "additionalProperties": True}) == {"type": "object"}
    assert flatten({"type": "array", "uniqueItems": True}) == {"type": "array", "items": {}}
    assert flatten({"allOf": [{"type": "integer", "minimum": 1}], "default": 2}) == {
        "type": "integer",
        "minimum": 1,
        "default": 2,
    }
    assert flatten({"oneOf": [INTEGER, STRING], "discriminator": {"propertyName": "a"}}) == {
        "anyOf": [INTEGER, STRING]
    }


def test_data_that_looks_like_a_schema_is_left_as_it_is() -> None:
    data = {"title": "x", "$ref": "y", "const": 1}
    assert flatten({"type": "object", "default": data, "examples": [data]}) == {
        "type": "object",
        "default": data,
        "examples": [data],
    }


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([INTEGER], INTEGER),
        ([INTEGER, INTEGER], INTEGER),
        ([NULL, INTEGER], {"anyOf": [INTEGER, NULL]}),
        ([{"anyOf": [INTEGER, NULL]}, STRING], {"anyOf": [INTEGER, STRING, NULL]}),
        (
            [{"anyOf": [INTEGER, STRING], "description": "D."}, NULL],
            {"anyOf": [INTEGER, STRING, NULL], "description": "D."},
        ),
        (
            [{"type": "integer", "description": "D."}, NULL],
            {"anyOf": [INTEGER, NULL], "description": "D."},
        ),
        (
            [{"type": "string", "enum": ["b", "a"]}, {"type": "string", "enum": ["a", "c"]}],
            {"type": "string", "enum": ["b", "a", "c"]},
        ),
        (
            [{"type": "object", "description": "D.", "properties": {}}, NULL],
            {"anyOf": [{"type": "object", "description": "D.", "properties": {}}, NULL]},
        ),
    ],
)
def test_a_choice_stands_in_no_other_choice(options: Any, expected: Any) -> None:
    assert choice(options) == expected


def test_values_say_their_type_if_they_have_one() -> None:
    assert values(["b", "a"]) == {"type": "string", "enum": ["b", "a"]}
    assert values([1, 2]) == {"type": "integer", "enum": [1, 2]}
    assert values([True]) == {"type": "boolean", "enum": [True]}
    assert values([0.5]) == {"type": "number", "enum": [0.5]}
    assert values([1, "a"]) == {"enum": [1, "a"]}
    assert values(["a", None]) == {"anyOf": [{"type": "string", "enum": ["a"]}, NULL]}
    assert values([None]) == NULL


def test_items_of_several_kinds_are_said_in_two_ways() -> None:
    assert fixed_items([INTEGER, INTEGER]) == {"items": INTEGER}
    described = {"type": "string", "default": "x", "description": "D."}
    assert fixed_items([INTEGER, described]) == {
        "prefixItems": [INTEGER, described],
        "items": {"anyOf": [INTEGER, STRING]},
    }
    assert fixed_items([]) == {"items": {}, "minItems": 0, "maxItems": 0}


def test_members_get_what_the_docstring_says_of_them() -> None:
    schema: dict[str, Any] = {
        "description": "A place.\n\nAttributes:\n    x: Right.\n    y: Up.\n    z: None.",
        "properties": {"x": {}, "y": {"description": "Said already."}},
    }
    tidy_description(schema)
    assert schema == {
        "description": "A place.",
        "properties": {"x": {"description": "Right."}, "y": {"description": "Said already."}},
    }
    tidy_description(bare := {"description": "Args:\n    x: Right.", "properties": {"x": {}}})
    assert bare == {"properties": {"x": {"description": "Right."}}}


def test_the_values_at_a_place_are_found() -> None:
    colour = {"type": "string", "enum": ["red"]}
    schema = {
        "anyOf": [
            {"type": "object", "properties": {"colours": {"type": "array", "items": colour}}},
            {"type": "object", "additionalProperties": {"properties": {"c": colour}}},
            {"type": "string", "enum": ["blue"]},
        ]
    }
    assert values_at(schema, "") == []
    assert values_at({"anyOf": [colour, NULL, {"enum": [1]}]}, "") == ["red", 1]
    assert values_at(schema, ".colours[0]") == ["red"]
    assert values_at(schema, "[...].c") == ["red"]
    assert values_at(schema, ".nowhere") == []
