from typing import Any

import pytest

from wigwag.doctor.content_checks.json_schemas import check_schema, problem_in_2020_12, subschemas

DRAFT_07 = "http://json-schema.org/draft-07/schema#"


def codes_of(schema: Any, *, is_object: bool = False) -> list[str]:
    findings = check_schema(schema, "find", "inputSchema", is_object=is_object)
    return [finding.code for finding in findings]


def test_each_schema_within_one_is_found_once() -> None:
    schema = {
        "properties": {"a": {"items": {"$ref": "#"}}, "b": True},
        "anyOf": [{"not": {}}, 3],
        "$defs": {"c": {"prefixItems": [{}]}},
        "enum": [{"items": {}}],
    }
    places = [place for place, _ in subschemas(schema)]
    assert sorted(places) == [
        "",
        "$defs.c",
        "$defs.c.prefixItems[0]",
        "anyOf[0]",
        "anyOf[0].not",
        "properties.a",
        "properties.a.items",
    ]


def test_a_schema_of_too_many_does_not_keep_us_busy() -> None:
    wide: dict[str, Any] = {"anyOf": [{"anyOf": [{} for _ in range(400)]} for _ in range(400)]}
    assert sum(1 for _ in subschemas(wide)) < 30_000


@pytest.mark.parametrize(
    "reference",
    [
        "#",
        "#/$defs/Book",
        "#/$defs/a~1b",
        "#/$defs/Book/anyOf/1",
        "#shelf",
        "https://example.com/shelf.json",
        "https://example.com/shelf.json#/items",
        "shelf.json",
    ],
)
def test_a_reference_within_the_schema_is_sound(reference: str) -> None:
    schema = {
        "$defs": {
            "Book": {"anyOf": [{}, {}]},
            "a/b": {},
            "Anchored": {"$anchor": "shelf"},
            "Named": {"$id": "https://example.com/shelf.json", "items": {}},
        },
        "properties": {"word": {"$ref": reference}},
    }
    codes = codes_of(schema)
    assert "schema-reference-outside" not in codes
    assert "schema-reference-dangling" not in codes


@pytest.mark.parametrize(
    ("reference", "code"),
    [
        ("#/$defs/Book", "schema-reference-dangling"),
        ("#/properties/word/anyOf/7", "schema-reference-dangling"),
        ("#shelf", "schema-reference-dangling"),
        ("https://example.com/book.json", "schema-reference-outside"),
        ("book.json#/$defs/a", "schema-reference-outside"),
    ],
)
def test_a_reference_that_leads_nowhere_is_told_with_its_place(reference: str, code: str) -> None:
    schema = {"properties": {"word": {"anyOf": [{"$ref": reference}]}}}
    [finding] = check_schema(schema, "find", "inputSchema", is_object=False)
    assert finding.code == code
    assert finding.evidence == f"$ref {reference!r} in inputSchema.properties.word.anyOf[0]"


@pytest.mark.parametrize(
    ("schema", "codes"),
    [
        ({"type": "object"}, []),
        ({}, ["schema-root-not-object"]),
        ({"type": ["object", "null"]}, ["schema-root-not-object"]),
        ({"type": "object", "properties": {"a": {"type": "text"}}}, ["schema-invalid"]),
        ({"type": "object", "required": "a"}, ["schema-invalid"]),
        ({"type": "object", "$schema": DRAFT_07}, []),
        ({"type": "object", "$schema": "https://json-schema.org/draft/2020-12/schema"}, []),
        ({"type": "object", "$schema": "https://example.com/"}, ["schema-dialect-unknown"]),
        (None, []),
    ],
)
def test_each_fault_of_an_input_schema_is_found(schema: Any, codes: list[str]) -> None:
    assert codes_of(schema, is_object=True) == codes


def test_output_may_be_anything_where_the_revision_allows_it() -> None:
    assert codes_of({"type": "array"}) == []


def test_what_an_older_draft_alone_allows_is_told_as_such() -> None:
    tuple_ = {"$schema": DRAFT_07, "items": [{"type": "string"}]}
    assert problem_in_2020_12(tuple_) is not None
    assert problem_in_2020_12({"$schema": DRAFT_07, "items": {}}) is None
    assert problem_in_2020_12({"items": [{}]}) is None  # it is no schema at all
