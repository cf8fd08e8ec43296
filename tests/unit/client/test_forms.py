"""The fields of forms, and what people type into them."""

from typing import Any

import pytest
from msgspec import UNSET

from wigwag.client.forms import FormField, fields_of


def field(*, required: bool = False, **schema: Any) -> FormField:
    form = {"type": "object", "properties": {"it": schema}, "required": ["it"] if required else []}
    (only,) = fields_of(form)
    return only


FLAVOURS: dict[str, Any] = {"type": "string", "enum": ["v", "l"], "enumNames": ["Vanilla", "Lemon"]}
TOPPINGS: dict[str, Any] = {
    "type": "array",
    "minItems": 1,
    "maxItems": 2,
    "items": {"anyOf": [{"const": c, "title": c.upper()} for c in "abc"]},
}


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "string"}, "42", "42"),
        ({"type": "string", "minLength": 2, "maxLength": 3}, "abc", "abc"),
        ({"type": "string", "format": "email"}, "ada@example.com", "ada@example.com"),
        ({"type": "string", "format": "uri"}, "https://example.com/x", "https://example.com/x"),
        ({"type": "string", "format": "date"}, "2026-01-31", "2026-01-31"),
        ({"type": "string", "format": "date-time"}, "2026-01-31T14:30:00Z", "2026-01-31T14:30:00Z"),
        ({"type": "integer", "minimum": 1, "maximum": 3}, "3", 3),
        ({"type": "integer"}, "-7", -7),
        ({"type": "number"}, "1.5", 1.5),
        ({"type": "number"}, "2", 2),
        ({"type": "boolean"}, "Yes", True),
        ({"type": "boolean"}, "n", False),
        (FLAVOURS, "2", "l"),
        (FLAVOURS, "Vanilla", "v"),
        (FLAVOURS, "l", "l"),
        (TOPPINGS, "1, 3", ["a", "c"]),
        (TOPPINGS, "2 2", ["b"]),
        ({"type": "array", "items": {"enum": ["x"]}}, "none", []),
    ],
)
def test_what_is_typed_becomes_a_value(schema: dict[str, Any], text: str, value: Any) -> None:
    found = field(**schema).read(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("schema", "text", "reason"),
    [
        ({"type": "string", "minLength": 2}, "a", "at least 2 characters, not 1"),
        ({"type": "string", "maxLength": 2}, "abc", "at most 2 characters, not 3"),
        ({"type": "string", "format": "email"}, "ada", "an email address"),
        ({"type": "string", "format": "uri"}, "not one", "an address"),
        ({"type": "string", "format": "uri"}, "http://[", "an address"),
        ({"type": "string", "format": "date"}, "31.1.2026", "a date"),
        ({"type": "string", "format": "date"}, "20260131", "a date"),
        ({"type": "string", "format": "date-time"}, "2026-01-31T14:30:00", "time and zone"),
        ({"type": "integer"}, "1.0", "a whole number"),
        ({"type": "integer"}, "1_000", "a whole number"),
        ({"type": "integer"}, "9" * 5000, "a whole number"),
        ({"type": "integer", "minimum": 1}, "0", "at least 1"),
        ({"type": "number", "maximum": 2.5}, "3", r"at most 2\.5"),
        ({"type": "number"}, "nan", "a number"),
        ({"type": "number"}, "1e999", "a smaller number"),
        ({"type": "boolean"}, "maybe", "yes or no"),
        (FLAVOURS, "3", "a number from 1 to 2"),
        (FLAVOURS, "0", "a number from 1 to 2"),
        (FLAVOURS, "chocolate", "a number from 1 to 2"),
        (TOPPINGS, "none", "choose at least 1"),
        (TOPPINGS, "1,2,3", "choose at most 2"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_reason(
    schema: dict[str, Any], text: str, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        field(**schema).read(text)


def test_a_number_chooses_by_place_even_among_values_that_are_numbers() -> None:
    assert field(type="string", enum=["3", "1", "2"]).read("1") == "3"


def test_values_are_shown_as_people_read_them() -> None:
    assert field(**FLAVOURS).show("l") == "Lemon"
    assert field(**TOPPINGS).show(["a", "c"]) == "A, C"
    assert field(**TOPPINGS).show([]) == "none"
    assert field(type="boolean").show(value=True) == "yes"
    assert field(type="number").show(1.5) == "1.5"


def test_a_field_has_the_words_of_its_schema() -> None:
    named = field(
        required=True, type="string", title="Name", description="Of yours.", default="Ada"
    )
    assert (named.title, named.description, named.is_required) == ("Name", "Of yours.", True)
    assert named.default == "Ada"
    plain = field(type="string")
    assert (plain.title, plain.description, plain.is_required) == ("it", "", False)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "default": 1},
        {"type": "integer", "default": 1.5},
        {"type": "number", "default": True},
        {"type": "boolean", "default": "yes"},
        {**FLAVOURS, "default": "Lemon"},
        {**TOPPINGS, "default": ["d"]},
    ],
)
def test_a_default_that_nobody_could_have_typed_is_none(schema: dict[str, Any]) -> None:
    assert field(**schema).default is UNSET


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        {"type": "object"},
        {"type": "string", "enum": []},
        {"type": "string", "oneOf": [{"title": "no value"}]},
        {"type": "array"},
        {"type": "array", "items": {"type": "string"}},
    ],
)
def test_a_field_of_no_known_kind_is_refused_by_name(schema: Any) -> None:
    with pytest.raises(ValueError, match="'it'"):
        fields_of({"properties": {"it": schema}})
