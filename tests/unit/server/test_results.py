"""What functions return, as results of the protocol."""

import json
from collections import UserDict, deque
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, Optional, TypedDict

import msgspec
import pytest
from msgspec import UNSET
from pydantic import BaseModel

from wigwag.errors import ToolError
from wigwag.schema import (
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from wigwag.server.input_required import InputRequired
from wigwag.server.results import (
    InvalidOutput,
    ToolOutput,
    failed_result,
    text_of_tool_error,
)

IMAGE = ImageContent(data="AAAA", mime_type="image/png")
LINK = ResourceLink(uri="a://x", name="x")
EMBEDDED = EmbeddedResource(resource=TextResourceContents(uri="a://x", text="t"))


class Colour(Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    y: float = 0.0


class Box(msgspec.Struct):
    at: Point


class Movie(TypedDict):
    title: str


class Model(BaseModel):
    n: int


def output(annotation: Any, value: Any) -> Any:
    """Return content and structured content of a result, decoded."""
    result = ToolOutput(annotation).to_result(value)
    if isinstance(result, tuple):
        members = json.loads(b"{%b}" % b"".join(result))
        return [block["text"] for block in members["content"]], UNSET
    structured = result.structured_content
    if structured is not UNSET:
        structured = json.loads(bytes(structured))
    assert result.is_error is UNSET
    return [getattr(block, "text", block) for block in result.content], structured


# --- tools without structure


@pytest.mark.parametrize("annotation", [str, Any, UNSET, str | None, Optional[str]])  # noqa: UP045 - as some write it
def test_text_is_text_and_has_no_schema(annotation: Any) -> None:
    assert ToolOutput(annotation).schema is None
    assert output(annotation, 'a "text" é\n') == (['a "text" é\n'], UNSET)


@pytest.mark.parametrize("annotation", [type(None), str | None, Any, UNSET])
def test_nothing_is_no_content(annotation: Any) -> None:
    assert output(annotation, None) == ([], UNSET)


@pytest.mark.parametrize("block", [TextContent(text="t"), IMAGE, LINK, EMBEDDED])
@pytest.mark.parametrize("annotation", [ContentBlock, list[ContentBlock], UNSET, Any])
def test_content_blocks_are_content(block: Any, annotation: Any) -> None:
    assert ToolOutput(annotation).schema is None
    result = ToolOutput(annotation).to_result(block)
    assert result == CallToolResult(content=[block])
    assert ToolOutput(annotation).to_result([block, block]) == CallToolResult(content=[block] * 2)


def test_a_list_of_blocks_may_have_text_and_values_among_them() -> None:
    assert output(list, ["one", IMAGE, {"a": 1}, 2]) == (["one", IMAGE, '{"a":1}', "2"], UNSET)
    assert output(tuple, ("one", IMAGE)) == (["one", IMAGE], UNSET)


@pytest.mark.parametrize(
    "annotation",
    [
        TextContent,
        ImageContent | str,
        list[ImageContent | str],
        tuple[TextContent, ImageContent],
        CallToolResult,
        ContentBlock | None,
        list,
        tuple,
        list[Any],
    ],
)
def test_a_type_with_content_in_it_has_no_schema(annotation: Any) -> None:
    assert ToolOutput(annotation).schema is None


def test_a_result_is_passed_as_it_is_whatever_was_declared() -> None:
    result = CallToolResult(content=[], is_error=True)
    for annotation in (CallToolResult, int, str, UNSET):
        assert ToolOutput(annotation).to_result(result) is result


def test_a_value_that_was_not_declared_is_json_in_a_text() -> None:
    assert output(UNSET, {"a": [1, None]}) == (['{"a":[1,null]}'], UNSET)
    assert output(Any, [1, 2]) == (["[1,2]"], UNSET)
    assert output(UNSET, Point(1)) == (['{"x":1,"y":0.0}'], UNSET)


# --- tools with structure


@pytest.mark.parametrize(
    ("annotation", "value", "structured"),
    [
        (int, 3, 3),
        (bool, True, True),
        (float, 0.5, 0.5),
        (dict, {"a": 1}, {"a": 1}),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (list[int], [1, 2], [1, 2]),
        (list[str], ["a"], ["a"]),
        (tuple[int, str], (1, "a"), [1, "a"]),
        (set[int], {1}, [1]),
        (int | None, None, None),
        (int | None, 7, 7),
        (Point, Point(1), {"x": 1, "y": 0.0}),
        (Box, Box(Point(1)), {"at": {"x": 1, "y": 0.0}}),
        (Movie, {"title": "M"}, {"title": "M"}),
        (Model, Model(n=1), {"n": 1}),
        (list[Point], [Point(1)], [{"x": 1, "y": 0.0}]),
        (Colour, Colour.RED, "red"),
        (Path, Path("a/b"), "a/b"),
        (datetime, datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00Z"),
        (Decimal, Decimal("1.50"), "1.50"),
        (bytes | int, 1, 1),
    ],
)
def test_a_declared_value_is_structured_and_json_in_a_text_as_well(
    annotation: Any, value: Any, structured: Any
) -> None:
    assert ToolOutput(annotation).schema is not None
    (text,), found = output(annotation, value)
    assert found == structured
    assert text == (value if type(value) is str else json.dumps(structured, separators=(",", ":")))


def test_text_that_is_structured_by_its_type_is_plain_in_the_text() -> None:
    assert output(int | str, "x") == (["x"], "x")


def test_an_object_may_be_returned_in_another_form_that_fits() -> None:
    assert output(Point, {"x": 1}) == (['{"x":1}'], {"x": 1})
    assert output(list[int], (1, 2)) == (["[1,2]"], [1, 2])
    assert output(Model, {"n": 1}) == (['{"n":1}'], {"n": 1})


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (int, "x"),
        (int, None),
        (int, 1.5),
        (int, True),
        (list[int], [1, "a"]),
        (dict[str, int], {"a": "b"}),
        (dict, [1]),
        (Point, {"y": 1}),
        (Point, Point("a")),  # type: ignore[arg-type]  # the point
        (Box, Box(None)),  # type: ignore[arg-type]  # the point
        (Movie, {}),
        (Model, {"n": "x"}),
        (Colour, "blue"),
        (list[Point], [Point("a")]),  # type: ignore[arg-type]  # the point
        (int, TextContent(text="1")),
    ],
)
def test_what_was_not_declared_is_refused(annotation: Any, value: Any) -> None:
    with pytest.raises(InvalidOutput, match="it is not what the tool declares to return"):
        ToolOutput(annotation).to_result(value)


def test_a_type_that_json_has_no_form_for_promises_nothing() -> None:
    class Socket:
        pass

    assert ToolOutput(Socket).schema is None
    assert output(Socket, {"a": 1}) == (['{"a":1}'], UNSET)
    with pytest.raises(InvalidOutput, match="JSON has no form for it: Socket"):
        ToolOutput(Socket).to_result(Socket())


# --- what JSON has no form for


@pytest.mark.parametrize("annotation", [float, Any, UNSET, dict, list[float], dict[str, Any]])
@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_none_is_refused_and_not_made_null(annotation: Any, number: float) -> None:
    values: list[Any] = [number, [number], {"a": [None, {"b": number}]}, Point(1, number)]
    for value in values:
        with pytest.raises(InvalidOutput, match="NaN and infinity have no form in JSON"):
            ToolOutput(annotation).to_result(value)


def test_null_and_the_word_null_are_fine() -> None:
    assert output(dict, {"null": [None, "null"]})[1] == {"null": [None, "null"]}


@pytest.mark.parametrize("annotation", [str, Any, UNSET, dict, list[str], int | str])
def test_a_lone_surrogate_is_refused(annotation: Any) -> None:
    values: list[Any] = ["\ud800", ["\udfff"], {"a": "\ud800"}]
    for value in values:
        with pytest.raises(InvalidOutput, match="lone surrogate"):
            ToolOutput(annotation).to_result(value)


def test_a_lone_surrogate_in_a_key_is_refused() -> None:
    with pytest.raises(InvalidOutput, match="lone surrogate"):
        ToolOutput(dict).to_result({"\ud800": 1})


def test_a_value_that_contains_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    for annotation in (UNSET, list[Any], list[list[Any]]):
        with pytest.raises(InvalidOutput, match="JSON has no form for it"):
            ToolOutput(annotation).to_result(endless)


@pytest.mark.parametrize("value", [object(), deque([1]), UserDict(a=1), 1j, lambda: 1])
def test_objects_that_json_does_not_have_are_refused(value: Any) -> None:
    with pytest.raises(InvalidOutput, match="JSON has no form for it"):
        ToolOutput(UNSET).to_result({"a": value})


# --- failures


def test_a_failure_is_an_error_for_the_model_to_read() -> None:
    assert failed_result("broken") == CallToolResult(
        content=[TextContent(text="broken")], is_error=True
    )


def test_the_text_of_a_failure_can_always_be_sent() -> None:
    (block,) = failed_result("a\ud800b").content
    assert isinstance(block, TextContent)
    assert block.text == "a?b"


def test_a_tool_error_without_text_is_known_by_its_name() -> None:
    class NoSuchArticle(ToolError):
        pass

    assert text_of_tool_error(NoSuchArticle("none of 7")) == "none of 7"
    assert text_of_tool_error(NoSuchArticle()) == "NoSuchArticle"


def test_a_tool_without_a_context_cannot_ask() -> None:
    with pytest.raises(InvalidOutput, match="without a Context it cannot get answers"):
        ToolOutput(str | InputRequired).to_result(InputRequired(state=1))


def test_that_a_tool_may_ask_is_no_part_of_its_output() -> None:
    assert ToolOutput(int | InputRequired).schema == ToolOutput(int).schema
    assert ToolOutput(InputRequired | str).schema is None
    assert ToolOutput(InputRequired).schema is None
