"""Values that people type, as schemas have them."""

from typing import Any

import pytest

from wigwag.client.argument_values import read_json, read_value, shape_of

ROOT: dict[str, Any] = {
    "$defs": {
        "Point": {"type": "object", "properties": {"x": {"type": "number"}}},
        "Level": {"enum": ["low", "high"]},
        "a/b": {"type": "integer"},
        "Loop": {"$ref": "#/$defs/Loop"},
        "Tree": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
        "Many": {"anyOf": [{"$ref": "#/$defs/Many"}] * 20 + [{"type": "integer"}]},
    }
}
NULLABLE = {"anyOf": [{"type": "integer"}, {"type": "null"}]}


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "string"}, "42", "42"),
        ({"type": "string"}, "", ""),
        ({"type": "string"}, '{"a": 1}', '{"a": 1}'),
        ({"type": "integer"}, " -7 ", -7),
        ({"type": "number"}, "1e3", 1000.0),
        ({"type": "number"}, "2", 2),
        ({"type": "boolean"}, "True", True),
        ({"type": "boolean"}, "no", False),
        ({"type": "null"}, "null", None),
        ({"type": "object"}, '{"a": [1]}', {"a": [1]}),
        ({"type": "array"}, "[1, 2]", [1, 2]),
        ({"type": "array"}, "x", ["x"]),
        ({"type": "array", "items": {"type": "string"}}, "a,b", ["a,b"]),
        ({"type": "array", "items": {"type": "integer"}}, "1,2,3", [1, 2, 3]),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, "a,b", ["a", "b"]),
        ({"enum": ["low", 3, None, True]}, "3", 3),
        ({"enum": ["low", 3, None, True]}, "true", True),
        ({"enum": ["low", "3"]}, "3", "3"),
        ({"const": 5}, "5", 5),
        # Where text fits, nothing is made of it: neither numbers, nor JSON, nor null.
        ({"type": ["string", "integer"]}, "5", "5"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "null", "null"),
        ({"anyOf": [{"type": "array"}, {"type": "string"}]}, "[1]", "[1]"),
        (NULLABLE, "5", 5),
        (NULLABLE, "null", None),
        ({"oneOf": [{"type": "boolean"}, {"type": "integer"}]}, "7", 7),
        ({"allOf": [{"$ref": "#/$defs/Level"}]}, "high", "high"),
        ({"$ref": "#/$defs/Point"}, '{"x": 1}', {"x": 1}),
        ({"$ref": "#/$defs/a~1b"}, "4", 4),
        # What is not told is text.
        ({}, "5", "5"),
        (True, "5", "5"),
        ({"$ref": "#/$defs/Nothing"}, "5", "5"),
        ({"$ref": "https://example.com/schema"}, "5", "5"),
        ({"$ref": "#/$defs/Loop"}, "5", "5"),
        ({"$ref": "#/$defs/Many"}, "5", 5),
        ({"$ref": "#/$defs/Tree"}, "[[]]", [[]]),
    ],
)
def test_a_text_becomes_what_the_schema_takes(schema: Any, text: str, value: Any) -> None:
    found = read_value(text, schema, ROOT)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("schema", "text", "reason"),
    [
        ({"type": "integer"}, "1.5", "a whole number"),
        ({"type": "integer"}, "", "a whole number"),
        ({"type": "integer"}, "9" * 400, "a whole number"),
        ({"type": "number"}, "ten", "a number"),
        ({"type": "number"}, "nan", "a number"),
        ({"type": "boolean"}, "maybe", "true or false"),
        ({"type": "object"}, "a=1", "an object, written as JSON"),
        ({"type": "object"}, "{a: 1}", "it is not JSON"),
        ({"enum": ["low", 3]}, "lwo", "one of low, 3"),
        (
            {"anyOf": [{"enum": ["auto"]}, {"type": "integer"}]},
            "x",
            "one of auto or a whole number",
        ),
        ({"type": "array", "items": {"type": "integer"}}, "1,x", "each item is a whole number"),
        (NULLABLE, "none", "a whole number or null"),
        ({"$ref": "#/$defs/Tree"}, "x", "^a list within lists, written as JSON$"),
    ],
)
def test_what_does_not_fit_is_told_with_what_would(schema: Any, text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_value(text, schema, ROOT)


@pytest.mark.parametrize("text", ["[NaN]", "[" * 100_000, "{'a': 1}"])
def test_only_json_is_read_as_json(text: str) -> None:
    with pytest.raises(ValueError, match=r"not JSON|too deep"):
        read_json(text)


def test_the_shape_of_what_may_be_null_is_that_of_what_it_is_otherwise() -> None:
    assert (
        shape_of({"anyOf": [{"type": "null"}, {"$ref": "#/$defs/Point"}]}, ROOT)
        == (ROOT["$defs"]["Point"])
    )
    assert shape_of({"type": "null"}, ROOT) == {}
