"""What a client returns for the call of a tool."""

import copy
import json
from dataclasses import dataclass
from datetime import date
from typing import Any, TypedDict

import msgspec
import pydantic
import pytest
from msgspec import UNSET, Raw

from wigwag.client.tool_results import ToolCallResult, data_of, read_as
from wigwag.schema import CallToolResult, TextContent
from wigwag.schema.projection import project


class Struct(msgspec.Struct):
    day: date
    count: int = 1


@dataclass
class Data:
    day: date
    count: int = 1


class Typed(TypedDict):
    day: date


class Model(pydantic.BaseModel):
    day: date
    count: int = 1


class Wrapper(msgspec.Struct):
    result: float


DAY = date(2026, 7, 28)
DAYS: Any = {"day": "2026-07-28"}


def returned(structured: Any = UNSET, text: str = "") -> CallToolResult:
    content = [TextContent(text=text)] if text else []
    return CallToolResult(content=list(content), structured_content=structured)


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (Struct, Struct(DAY)),
        (Data, Data(DAY)),
        (Typed, {"day": DAY}),
        (Model, Model(day=DAY)),
        (dict[str, date], {"day": DAY}),
        (dict, DAYS),
    ],
)
def test_a_value_is_read_as_what_is_asked_for(type_: Any, value: Any) -> None:
    found = read_as(DAYS, type_)
    assert found == value
    assert type(found) is type(value)


def test_models_are_found_within_other_types() -> None:
    assert read_as([DAYS], list[Model]) == [Model(day=DAY)]
    assert read_as({"a": None}, dict[str, Model | None]) == {"a": None}


@pytest.mark.parametrize(
    ("type_", "reason"),
    [
        (Struct, r"Invalid RFC3339 encoded date - at `\$\.day`"),
        (list[Struct], "Expected `array`, got `object`"),
        (Model, r"^Input should be a valid date .* - at `\$\.day`$"),
        (list[Model], r"^Input should be a valid array - at `\$`$"),
    ],
)
def test_what_does_not_fit_is_said_with_its_place(type_: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_as({"day": "never"}, type_)


def test_plain_values_are_taken_out_of_what_a_schema_wraps_them_in() -> None:
    assert data_of(returned({"result": [1]}), is_wrapped=True) == [1]
    assert data_of(returned({"result": [1]})) == {"result": [1]}
    assert data_of(returned({"other": 1}), is_wrapped=True) == {"other": 1}
    assert data_of(returned(4.5)) == 4.5
    assert data_of(returned(None)) is None
    assert data_of(returned(text="4.5")) is None


@pytest.mark.parametrize("is_wrapped", [True, False])
def test_a_type_is_looked_for_in_the_wrapping_and_as_the_wrapping(*, is_wrapped: bool) -> None:
    wrapped = returned({"result": 4.5})
    assert data_of(wrapped, float, is_wrapped=is_wrapped) == 4.5
    assert data_of(wrapped, Wrapper, is_wrapped=is_wrapped) == Wrapper(4.5)
    assert data_of(returned(4.5), float, is_wrapped=is_wrapped) == 4.5


def test_what_fits_neither_way_is_told_of_the_likelier_one() -> None:
    wrapped = returned({"result": "x"})
    with pytest.raises(ValueError, match="Expected `float`, got `str`"):
        data_of(wrapped, float, is_wrapped=True)
    with pytest.raises(ValueError, match="Expected `float`, got `object`"):
        data_of(wrapped, float)
    with pytest.raises(ValueError, match="Expected `float`, got `object`"):
        data_of(returned({"result": 4.5, "more": 1}), float)


def test_without_structured_content_a_type_is_read_from_the_text() -> None:
    assert data_of(returned(text='{"day": "2026-07-28"}'), Struct) == Struct(DAY)
    assert data_of(returned(text="4.5"), float) == 4.5
    assert data_of(returned(text="4.5"), str) == "4.5"
    assert data_of(returned("structured", text="text"), str) == "structured"
    with pytest.raises(ValueError, match="no structured content, and the text is no JSON"):
        data_of(returned(text="cheap"), float)
    with pytest.raises(ValueError, match="no structured content, and the text is no JSON"):
        data_of(returned(text="[" * 100_000), float)


def test_a_result_is_a_result_of_the_protocol_in_every_respect() -> None:
    plain = CallToolResult(
        content=[TextContent(text="a")], structured_content={"b": 1}, meta={"c": 2}, is_error=True
    )
    result = ToolCallResult.of(plain, "data", Raw(b'{"content": [], "more": 1}'))
    assert result == plain
    assert plain == result
    assert result != CallToolResult(content=[])
    assert result != 3
    assert isinstance(result, CallToolResult)
    assert result.text == "a"
    assert msgspec.json.encode(result) == msgspec.json.encode(plain)
    assert project(result, "2024-11-05") == project(plain, "2024-11-05")


def test_what_was_sent_and_what_was_made_of_it_are_beside_the_result() -> None:
    sent = {"content": [], "more": {"a": None}}
    result = ToolCallResult.of(returned({"b": 1}), DAY, Raw(json.dumps(sent).encode()))
    assert result.data == DAY
    assert result.raw == sent


def test_a_copy_has_what_can_be_told_of_the_result_itself() -> None:
    result = ToolCallResult.of(returned({"b": 1}), DAY, Raw(b'{"more": 1}'))
    for again in (copy.copy(result), msgspec.structs.replace(result, is_error=False)):
        assert again == result
        assert again.data == {"b": 1}
        assert again.raw == {"content": [], "structuredContent": {"b": 1}}
    assert ToolCallResult(content=[]).data is None
