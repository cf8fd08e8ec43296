from typing import Any

import pytest

from wigwag.server.asking.form_fields import as_field_has_it, checked_field, fault_of


def test_what_forms_do_not_know_is_left_out_of_a_field() -> None:
    field = {
        "type": "string",
        "title": "T",
        "pattern": "x",
        "format": "uuid",
        "default": "d",
        "examples": [],
    }
    assert checked_field("a", field) == {"type": "string", "title": "T", "default": "d"}
    kept = {"type": "string", "format": "email", "minLength": 1}
    assert checked_field("a", kept) == kept


def test_exclusive_bounds_of_integers_are_said_in_other_words() -> None:
    field = {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 10}
    assert checked_field("a", field) == {"type": "integer", "minimum": 1, "maximum": 9}
    # Of numbers there are no other words.
    assert checked_field("a", {**field, "type": "number"}) == {"type": "number"}


def test_a_constant_is_a_choice_of_one() -> None:
    assert checked_field("a", {"const": "x"}) == {"type": "string", "enum": ["x"]}


TEXTS = {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1}
TITLED = {"type": "string", "oneOf": [{"const": "a", "title": "A"}]}


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [
        ({"type": "string", "minLength": 2, "maxLength": 3}, "ab", None),
        ({"type": "string", "minLength": 2}, "a", "1 length is too few or too many"),
        ({"type": "string", "maxLength": 3}, "abcd", "4 length is too few or too many"),
        ({"type": "integer", "minimum": 2}, 1, "must be 2 or more"),
        ({"type": "number", "maximum": 2}, 2.5, "must be 2 or less"),
        ({"type": "number", "minimum": 2, "maximum": 2}, 2, None),
        ({"type": "boolean"}, 1, "expected boolean, got int"),
        ({"type": "integer"}, True, "expected integer, got bool"),
        (TEXTS, ["a", "b"], None),
        (TEXTS, [], "0 items is too few or too many"),
        (TEXTS, ["a", "c"], "must be one of 'a', 'b'"),
        (TEXTS, "a", "expected array, got str"),
        (TITLED, "a", None),
        (TITLED, "A", "must be one of 'a'"),
        ({}, object(), None),
    ],
)
def test_a_value_is_held_to_its_field(field: Any, value: Any, fault: str | None) -> None:
    assert fault_of(field, value) == fault


@pytest.mark.parametrize(
    ("kind", "value", "read"),
    [
        ("integer", 3.0, 3),
        ("integer", 3.5, 3.5),
        ("number", 3.0, 3.0),
        ("array", "a, b,", ["a", "b"]),
        ("array", ["a, b"], ["a, b"]),
        ("string", "a, b", "a, b"),
    ],
)
def test_what_means_the_same_is_read_as_the_field_has_it(kind: str, value: Any, read: Any) -> None:
    found = as_field_has_it({"type": kind}, value)
    assert (found, type(found)) == (read, type(read))
