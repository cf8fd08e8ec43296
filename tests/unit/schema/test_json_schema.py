"""Values held to JSON Schemas that somebody has written."""

import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from wigwag.schema import json_schema
from wigwag.schema.json_schema import MAX_PROBLEM_CHARACTERS, follow, make_check

PERSON: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "home": {"$ref": "#/$defs/address"},
        "mail": {"type": "string", "format": "email"},
    },
    "required": ["name"],
    "additionalProperties": False,
    "$defs": {"address": {"type": "object", "properties": {"street": {"type": "string"}}}},
}


@pytest.fixture
def without_jsonschema_rs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    json_schema._jsonschema_rs.cache_clear()
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    yield
    json_schema._jsonschema_rs.cache_clear()


def test_nothing_is_wrong_with_what_the_schema_allows() -> None:
    assert make_check(PERSON)({"name": "Ann", "home": {"street": "Elm"}}) is None


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({}, '"name" is a required property'),
        ({"name": 3}, '`name`: 3 is not of type "string"'),
        ({"name": "Ann", "home": {"street": 3}}, '`home.street`: 3 is not of type "string"'),
        ({"name": "Ann", "mail": "elm"}, '`mail`: "elm" is not a "email"'),
        (
            {"name": "Ann", "age": 3},
            "Additional properties are not allowed ('age' was unexpected)",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(value: Any, problem: str) -> None:
    assert make_check(PERSON)(value) == problem


def test_only_the_first_problems_are_told() -> None:
    problem = make_check({"items": {"type": "string"}})([1, 2, 3, 4, 5, 6, 7])
    assert problem is not None
    assert problem.count("is not of type") == 5
    assert problem.endswith('`4`: 5 is not of type "string"; and more')


def test_a_long_value_is_not_repeated_in_full() -> None:
    problem = make_check({"type": "integer"})("x" * 10_000)
    assert problem is not None
    assert len(problem) == MAX_PROBLEM_CHARACTERS + len(" … ")
    assert problem.endswith('xxx" is not of type "integer"')


def test_a_value_that_is_nested_too_deep_is_refused() -> None:
    value: Any = []
    for _ in range(400):
        value = [value]
    assert make_check({"enum": [[1]]})(value) == "Recursion limit reached"


def test_earlier_drafts_have_their_own_meaning() -> None:
    draft_7 = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "items": [{"type": "string"}],  # a tuple there, an error in 2020-12
    }
    assert make_check(draft_7)([3]) == '`0`: 3 is not of type "string"'


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "strin"}, '"strin" is not valid'),
        ({"pattern": "("}, '"(" is not a "regex"'),
        ({"$ref": "#/$defs/none"}, "Pointer '/$defs/none' does not exist"),
        ({"$schema": "https://example.com/mine"}, "Unknown meta-schema"),
    ],
)
def test_what_is_no_schema_is_refused(schema: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match="^" + reason.replace("(", r"\(").replace("$", r"\$")):
        make_check(schema)


@pytest.mark.parametrize("scheme", ["http", "https", "file"])
def test_no_other_document_is_ever_fetched(scheme: str) -> None:
    with pytest.raises(ValueError, match="Retrieval is disabled"):
        make_check({"$ref": f"{scheme}://localhost:1/schema.json"})


@pytest.mark.usefixtures("without_jsonschema_rs")
def test_without_the_library_nothing_is_checked_and_the_log_says_so_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "wigwag.schema"):
        checks = [make_check(PERSON), make_check(PERSON)]
    assert [check({"name": 3}) for check in checks] == [None, None]
    (record,) = caplog.records
    assert "install wigwag[schema]" in record.getMessage()


@pytest.mark.parametrize(
    "steps", [["b"], ["a", "2"], ["a", "-1"], ["a", "²"], ["a", "9" * 5000], ["a", "0", "x"]]
)
def test_a_pointer_that_leads_nowhere_is_told(steps: list[str]) -> None:
    with pytest.raises(LookupError):
        follow(steps, {"a": ["one", "two"]})


def test_a_pointer_leads_through_objects_and_lists() -> None:
    assert follow(["a", "1"], {"a": ["one", "two"]}) == "two"
    assert follow(["~01", "~1"], {"~1": {"/": 3}}) == 3
    assert follow([], "all") == "all"
