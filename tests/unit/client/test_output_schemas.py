"""What is held to the output schemas of tools, and what is said of those that cannot be used."""

import logging
import sys
from typing import Any

import pytest
from msgspec import UNSET

from wigwag.client.output_schemas import OutputSchemas
from wigwag.schema import Tool

NUMBER: Any = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def listed(*tools: tuple[str, Any]) -> OutputSchemas:
    schemas = OutputSchemas("the server")
    for name, schema in tools:
        schemas.remember(Tool(name=name, input_schema={}, output_schema=schema))
    return schemas


def test_the_output_of_a_tool_is_held_to_its_own_schema() -> None:
    schemas = listed(("a", NUMBER), ("b", {"type": "string"}), ("c", UNSET))
    assert schemas.problem_of("a", {"n": 3}) is None
    assert schemas.problem_of("a", {"n": "x"}) == '`n`: "x" is not of type "integer"'
    assert schemas.problem_of("b", {"n": "x"}) == '{"n":"x"} is not of type "string"'
    assert schemas.problem_of("c", {"n": "x"}) is None
    assert schemas.problem_of("never listed", {"n": "x"}) is None


def test_null_is_an_output_and_none_at_all_is_a_problem() -> None:
    schemas = listed(("a", {"type": "null"}))
    assert schemas.problem_of("a", None) is None
    assert schemas.problem_of("a", UNSET) == "there is no structured content"
    assert schemas.problem_of("a", UNSET, may_lack=True) is None


def test_what_was_listed_last_holds() -> None:
    schemas = listed(("a", NUMBER))
    assert schemas.problem_of("a", "x") is not None
    schemas.remember(Tool(name="a", input_schema={}, output_schema={"type": "string"}))
    assert schemas.problem_of("a", "x") is None
    assert schemas.problem_of("a", {"n": 3}) is not None
    schemas.remember(Tool(name="a", input_schema={}))
    assert schemas.problem_of("a", 3) is None


def test_nothing_is_held_to_a_schema_that_may_be_another_until_it_is_listed_again() -> None:
    schemas = listed(("a", NUMBER), ("b", NUMBER))
    schemas.doubt()
    assert schemas.problem_of("a", "x") is None
    schemas.remember(Tool(name="a", input_schema={}, output_schema=NUMBER))
    assert schemas.problem_of("a", "x") is not None
    assert schemas.problem_of("b", "x") is None


def test_earlier_drafts_are_understood() -> None:
    schemas = listed(("a", {"$schema": "http://json-schema.org/draft-07/schema#", **NUMBER}))
    assert schemas.problem_of("a", {"n": 3}) is None
    assert schemas.problem_of("a", {"n": "x"}) == '`n`: "x" is not of type "integer"'


def test_a_format_is_but_a_remark() -> None:
    schemas = listed(("a", {"type": "string", "format": "email"}))
    assert schemas.problem_of("a", "no address") is None


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"$schema": "https://example.com/mine", "type": "string"}, "Unknown meta-schema"),
        ({"$ref": "http://127.0.0.1:1/schema.json"}, "Retrieval is disabled"),
        ({"type": "strin"}, '"strin" is not valid'),
    ],
)
def test_a_schema_that_cannot_be_used_is_warned_about_once_and_fits_everything(
    schema: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    schemas = listed(("a", schema))
    with caplog.at_level(logging.WARNING, "wigwag.client"):
        assert [schemas.problem_of("a", value) for value in (3, UNSET)] == [None, None]
        schemas.remember(Tool(name="a", input_schema={}, output_schema=dict(schema)))
        assert schemas.problem_of("a", 3) is None
    (record,) = caplog.records
    assert "the output of the tool 'a' of the server is not checked" in record.getMessage()
    assert reason in record.getMessage()


def test_without_the_library_nothing_is_checked(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    schemas = listed(("a", NUMBER))
    assert schemas.problem_of("a", "x") is None
    assert schemas.problem_of("a", UNSET) is None
    assert caplog.records == []


WRAPPED: Any = {
    "type": "object",
    "properties": {"result": {"type": "number"}},
    "required": ["result"],
}


@pytest.mark.parametrize(
    ("schema", "is_wrapping"),
    [
        (WRAPPED, True),
        ({**WRAPPED, "title": "priceOutput", "$defs": {}}, True),
        ({"type": "object", "x-fastmcp-wrap-result": True}, True),
        ({"type": "object", "x-fastmcp-wrap-result": False}, False),
        ({**WRAPPED, "required": []}, False),
        ({**WRAPPED, "properties": {"result": {}, "more": {}}}, False),
        ({**WRAPPED, "type": ["object", "null"]}, False),
        ({**WRAPPED, "properties": ["result"]}, False),
        (NUMBER, False),
        ({}, False),
        (UNSET, False),
    ],
)
def test_a_schema_wraps_if_it_says_so_or_has_nothing_but_the_result(
    schema: Any, *, is_wrapping: bool
) -> None:
    assert listed(("a", schema)).is_wrapping("a") is is_wrapping
    assert not listed(("a", schema)).is_wrapping("b")
