from typing import Any

import pytest

from wigwag.testing.schema_values import (
    MAX_ALTERNATIVES,
    accepts,
    alternatives,
    type_of,
    types_of,
    without_notes,
)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (True, [{}]),
        (False, []),
        ({"title": "T", "type": "string", "x-mcp-header": "X"}, [{"type": "string"}]),
        ({"const": 3}, [{"enum": [3]}]),
        (
            {"anyOf": [{"type": "string"}, {"oneOf": [{"type": "null"}, {"const": 1}]}]},
            [{"type": "string"}, {"type": "null"}, {"enum": [1]}],
        ),
        ({"$ref": "#/$defs/a~1b", "maxLength": 2}, [{"maxLength": 2, "type": "string"}]),
        (
            {"allOf": [{"required": ["a"]}, {"required": ["b"], "properties": {"b": True}}]},
            [{"required": ["a", "b"], "properties": {"b": True}}],
        ),
        ({"type": ["integer", "null"], "allOf": [{"type": "number"}]}, [{"type": "integer"}]),
    ],
)
def test_a_schema_is_taken_apart_into_its_alternatives(schema: Any, expected: Any) -> None:
    root = {"$defs": {"a/b": {"type": "string"}}}
    assert alternatives(schema, root) == expected


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ("string", "no schema"),
        ({"$ref": "#/$defs/loop"}, "refers to itself"),
        ({"$ref": "#/$defs/missing"}, "leads nowhere"),
        ({"$ref": "https://example.com/schema"}, "is elsewhere"),
        ({"maximum": 1, "allOf": [{"maximum": 2}]}, "`maximum` is said twice"),
        (
            {"properties": {"a": {}}, "allOf": [{"properties": {"a": {"type": "null"}}}]},
            "`a` is described twice",
        ),
        ({"allOf": [{"anyOf": [{"const": n} for n in range(MAX_ALTERNATIVES + 1)]}]}, "more than"),
    ],
)
def test_what_is_not_understood_is_said(schema: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        alternatives(schema, {"$defs": {"loop": {"$ref": "#/$defs/loop"}}})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, "boolean"),
        (1, "integer"),
        (1.0, "integer"),
        (1.5, "number"),
        ("", "string"),
        (None, "null"),
        ([], "array"),
        ({}, "object"),
    ],
)
def test_each_value_has_its_type(value: Any, expected: str) -> None:
    assert type_of(value) == expected


def test_a_schema_without_a_type_has_those_of_its_values_or_all() -> None:
    assert types_of({"enum": ["a", None, "b"]}) == ("string", "null")
    assert len(types_of({})) == 6


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({}, {"a": 1}, True),
        ({"type": "number"}, 1, True),
        ({"type": "integer"}, 1.5, False),
        ({"enum": [1]}, True, False),
        ({"enum": [{"a": 1, "b": 2}]}, {"b": 2, "a": 1}, True),
        ({"type": "string", "minLength": 2, "maxLength": 3}, "ab", True),
        ({"type": "string", "minLength": 2}, "a", False),
        ({"pattern": "^a"}, "ba", False),
        ({"pattern": "^a"}, 3, True),
        ({"pattern": "("}, "a", False),
        ({"format": "email"}, "a", False),
        ({"minimum": 1, "exclusiveMaximum": 3}, 2.5, True),
        ({"exclusiveMaximum": 3}, 3, False),
        ({"exclusiveMinimum": 3}, 3, False),
        ({"multipleOf": 2}, 4, False),
        ({"maxLength": 1}, None, True),
        ({"items": {}}, [1], False),
    ],
)
def test_values_are_accepted_where_that_is_certain(
    schema: Any, value: Any, *, expected: bool
) -> None:
    assert accepts(schema, value) is expected


def test_a_property_that_is_called_like_a_note_is_none() -> None:
    schema = {
        "title": "T",
        "properties": {"title": {"type": "string", "description": "d"}},
        "anyOf": [{"default": 1}, {"type": "null"}],
    }
    assert without_notes(schema) == {
        "properties": {"title": {"type": "string"}},
        "anyOf": [{}, {"type": "null"}],
    }
