"""What functions return, as results of the protocol."""

import json
from collections import UserDict, deque
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Optional, TypedDict

import attrs
import msgspec
import pytest
from msgspec import UNSET, Raw
from pydantic import BaseModel, Field, computed_field

from wigwag.schema import (
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    Tool,
    project,
)
from wigwag.schema.json_schema import make_check
from wigwag.server.asking.input_required import InputRequired
from wigwag.server.results.media import Image
from wigwag.server.results.tool_results import (
    InvalidOutput,
    ToolOutput,
    ToolResult,
    failed_result,
    to_blocks,
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
    of: Any = None


class Pair(NamedTuple):
    a: int
    b: str


@attrs.define
class Crate:
    n: int


class Node(msgspec.Struct):
    next: "Node | None" = None


class Cat(msgspec.Struct, tag=True):
    lives: int


class Dog(msgspec.Struct, tag=True):
    name: str


class Word(str):
    __slots__ = ()


class Share(float):
    __slots__ = ()


class Count(int):
    pass


def output(annotation: Any, value: Any) -> Any:
    """Return content and structured content of a result, decoded."""
    result = ToolOutput(annotation).to_result(value)
    if isinstance(result, tuple):
        members = json.loads(b"{%b}" % b"".join(result))
        return [block["text"] for block in members["content"]], UNSET
    structured = result.structured_content
    if structured is not UNSET:
        structured = json.loads(bytes(structured))
    assert result.is_error is False
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


def test_a_failure_by_hand_is_passed_as_it_is_whatever_was_declared() -> None:
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
        (Model, Model(n=1), {"n": 1, "of": None}),
        (Model | None, Model(n=1), {"n": 1, "of": None}),
        (Model | None, None, None),
        (Pair, Pair(1, "a"), [1, "a"]),
        (Crate, Crate(1), {"n": 1}),
        (Node, Node(Node()), {"next": {"next": None}}),
        (Cat | Dog, Dog("Rex"), {"type": "Dog", "name": "Rex"}),
        (
            dict[str, Any],
            {"w": Word("x"), "s": Share(0.5), "c": Count(3)},
            {"w": "x", "s": 0.5, "c": 3},
        ),
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
    assert output(Model, {"n": 1}) == (['{"n":1,"of":null}'], {"n": 1, "of": None})


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
    with pytest.raises(InvalidOutput, match="JSON has no form for Socket"):
        ToolOutput(Socket).to_result(Socket())


@pytest.mark.parametrize(
    ("annotation", "value", "structured"),
    [
        (int, 3, {"result": 3}),
        (list[int], [1], {"result": [1]}),
        (Model | None, None, {"result": None}),
        (Model | None, Model(n=1), {"result": {"n": 1, "of": None}}),
        (int | dict[str, int], {"a": 1}, {"result": {"a": 1}}),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (Node, Node(), {"next": None}),
        (Cat | Dog, Cat(9), {"type": "Cat", "lives": 9}),
    ],
)
@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
def test_what_is_not_always_an_object_is_put_into_one_for_revisions_that_want_that(
    annotation: Any, value: Any, structured: Any, revision: str
) -> None:
    output = ToolOutput(annotation)
    result = output.to_result(value, revision)
    assert isinstance(result, CallToolResult)
    found = project(result, revision).structured_content
    assert json.loads(msgspec.json.encode(found)) == structured
    tool = Tool(name="t", input_schema={"type": "object"}, output_schema=output.schema or UNSET)
    schema = project(tool, revision).output_schema
    assert isinstance(schema, dict)
    assert schema["type"] == "object"
    assert make_check(schema)(structured) is None


class Area(BaseModel, extra="forbid"):
    width: int
    unit: str = Field("m", serialization_alias="in")

    @computed_field
    def size(self) -> int:
        return self.width**2


def test_a_model_is_described_and_sent_as_it_is_written() -> None:
    schema = ToolOutput(Area).schema
    assert schema is not None
    assert set(schema["properties"]) == {"width", "in", "size"}
    for value in (Area(width=2, unit="m"), {"width": 2}):
        (text,), found = output(Area, value)
        assert found == {"width": 2, "in": "m", "size": 4}
        assert json.loads(text) == found
        assert make_check(schema)(found) is None


def test_a_model_in_a_result_by_hand_is_sent_as_it_is_written() -> None:
    for value in (Area(width=2, unit="m"), {"width": 2}):
        made = by_hand(Annotated[ToolResult, Area], ToolResult("x", value))
        assert made.structured_content == Raw(b'{"width":2,"in":"m","size":4}')


def test_a_model_of_a_derived_type_keeps_what_it_adds() -> None:
    class Better(Model):
        more: int = 1

    assert output(Model, Better(n=1))[1] == {"n": 1, "of": None, "more": 1}


# --- schemas by hand, and structure on demand

NAMED = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def test_a_schema_by_hand_is_published_and_held_to() -> None:
    output = ToolOutput(UNSET, NAMED)
    assert output.schema is NAMED
    assert output.to_result({"name": "x"}) == CallToolResult(
        content=[TextContent(text='{"name":"x"}')], structured_content=Raw(b'{"name":"x"}')
    )
    with pytest.raises(InvalidOutput, match=r'declares to return: .*"name" is a'):
        output.to_result({"title": "x"})
    with pytest.raises(InvalidOutput, match="`name`: 1 is not of type"):
        ToolOutput(dict[str, int], NAMED).to_result({"name": 1})


def test_a_schema_by_hand_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="the output schema is none"):
        ToolOutput(dict, {"type": "objekt"})
    with pytest.raises(TypeError, match="leave one of them out"):
        ToolOutput(dict, NAMED, structured=False)


@pytest.mark.parametrize("annotation", [int, Point, Model, list[str]])
def test_structure_can_be_declined(annotation: Any) -> None:
    output = ToolOutput(annotation, structured=False)
    assert output.schema is None
    assert output.to_result([1]) == CallToolResult(content=[TextContent(text="[1]")])


@pytest.mark.parametrize(
    ("annotation", "schema", "value"),
    [
        (str, {"type": "string"}, "a"),
        (list, {"type": "array", "items": {}}, ["a"]),
        (str | None, {"anyOf": [{"type": "string"}, {"type": "null"}]}, None),
        (None, {"type": "null"}, None),
    ],
)
def test_structure_can_be_demanded(annotation: Any, schema: Any, value: Any) -> None:
    output = ToolOutput(annotation, structured=True)
    assert output.schema == schema
    result = output.to_result(value)
    assert isinstance(result, CallToolResult)
    assert result.structured_content == Raw(json.dumps(value).encode())


@pytest.mark.parametrize(
    "annotation", [Any, UNSET, object, CallToolResult, ToolResult, TextContent, list[TextContent]]
)
def test_structure_that_nothing_describes_cannot_be_demanded(annotation: Any) -> None:
    with pytest.raises(TypeError, match="structured content needs a return type that describes it"):
        ToolOutput(annotation, structured=True)


# --- results by hand


def by_hand(annotation: Any, result: Any) -> CallToolResult:
    made = ToolOutput(annotation).to_result(result)
    assert isinstance(made, CallToolResult)
    return made


@pytest.mark.parametrize(
    ("content", "blocks"),
    [
        ("text", [TextContent(text="text")]),
        (None, []),
        ([], [TextContent(text="[]")]),
        (IMAGE, [IMAGE]),
        (["text", IMAGE, {"a": [1]}, [2]], [
            TextContent(text="text"), IMAGE, TextContent(text='{"a":[1]}'), TextContent(text="[2]"),
        ]),
        ({"a": 1}, [TextContent(text='{"a":1}')]),
        (Image(data=b"x", format="png"), [ImageContent(data="eA==", mime_type="image/png")]),
    ],
)  # fmt: skip
def test_the_content_of_a_result_by_hand_may_be_anything(content: Any, blocks: Any) -> None:
    assert by_hand(UNSET, ToolResult(content)) == CallToolResult(content=blocks)
    assert to_blocks(content) == blocks


def test_a_result_by_hand_has_what_it_was_given() -> None:
    result = ToolResult("x", {"at": Point(1)}, is_error=True, meta={"example.com/a": 1})
    assert by_hand(UNSET, result) == CallToolResult(
        content=[TextContent(text="x")],
        structured_content=Raw(b'{"at":{"x":1,"y":0.0}}'),
        is_error=True,
        meta={"example.com/a": 1},
    )
    assert by_hand(UNSET, ToolResult()) == CallToolResult(content=[])


def test_structured_content_by_hand_is_text_as_well_unless_there_is_another() -> None:
    assert by_hand(UNSET, ToolResult(structured_content=None)) == CallToolResult(
        content=[TextContent(text="null")], structured_content=Raw(b"null")
    )
    assert by_hand(UNSET, ToolResult(structured_content="a")).content == [TextContent(text="a")]


@pytest.mark.parametrize(
    "annotation", [int, Annotated[ToolResult, int], Annotated[CallToolResult, int]]
)
def test_a_result_by_hand_is_held_to_what_is_declared(annotation: Any) -> None:
    assert ToolOutput(annotation).schema == {"type": "integer"}
    assert by_hand(annotation, ToolResult("x", 5)).structured_content == Raw(b"5")
    made = CallToolResult(content=[], structured_content=5)
    assert by_hand(annotation, made).structured_content == Raw(b"5")
    for wrong in (ToolResult("x", "y"), CallToolResult(content=[], structured_content=None)):
        with pytest.raises(InvalidOutput, match="not what the tool declares to return: Expected"):
            by_hand(annotation, wrong)
    for wrong in (ToolResult("x"), CallToolResult(content=[])):
        with pytest.raises(InvalidOutput, match="its result has no structured content"):
            by_hand(annotation, wrong)
    assert by_hand(annotation, ToolResult("x", is_error=True)).is_error


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (ToolResult("x", {"a": [float("nan")]}), r"NaN .* \(at `\$\.a\[0\]`\)"),
        (ToolResult("x", meta={"a/b": object()}), r"no form for object \(at `\$\['a/b'\]`\)"),
        (ToolResult(["\ud800", IMAGE]), "lone surrogate"),
        (CallToolResult(content=[], structured_content=[1, {2}, 1j]), "complex .*2"),
        (CallToolResult(content=[], meta={"a": float("inf")}), "NaN and infinity"),
    ],
)
def test_what_cannot_be_sent_of_a_result_by_hand_is_refused(result: Any, why: str) -> None:
    with pytest.raises(InvalidOutput, match=why):
        by_hand(UNSET, result)


def test_structured_content_that_is_encoded_already_is_taken_as_it_is() -> None:
    result = CallToolResult(content=[], structured_content=Raw(b'{"a":null}'))
    assert by_hand(UNSET, result).structured_content == Raw(b'{"a":null}')


# --- bytes, media and derived types


def test_bytes_are_text_if_they_are_some() -> None:
    assert output(bytes, "ä".encode()) == (["ä"], UNSET)
    assert output(UNSET, bytearray(b"a")) == (["a"], UNSET)
    assert output(UNSET, [b"a", IMAGE]) == (["a", IMAGE], UNSET)
    with pytest.raises(InvalidOutput, match=r"no UTF-8 text; return Image, Audio or File"):
        ToolOutput(bytes).to_result(b"\xff")


@pytest.mark.parametrize("annotation", [Image, list[Image | str], Image | None, UNSET, list])
def test_media_are_content(annotation: Any) -> None:
    block = ImageContent(data="eA==", mime_type="image/png")
    image = Image(data=b"x", format="png")
    assert ToolOutput(annotation).schema is None
    assert output(annotation, image) == ([block], UNSET)
    assert output(annotation, ["a", image]) == (["a", block], UNSET)


def test_media_inside_of_data_are_refused_with_a_hint() -> None:
    with pytest.raises(
        InvalidOutput, match=r"Image: return it by itself, or in a list \(at `\$\.a"
    ):
        ToolOutput(UNSET).to_result({"a": Image(data=b"x", format="png")})


def test_a_text_of_a_derived_type_is_text() -> None:
    assert output(str, Word("a")) == (["a"], UNSET)
    assert output(int | str, Word("a")) == (["a"], "a")


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
        with pytest.raises(InvalidOutput, match=r"it contains itself \(at `\$\[0\]`\)"):
            ToolOutput(annotation).to_result(endless)


@pytest.mark.parametrize("value", [object(), deque([1]), UserDict(a=1), 1j, lambda: 1])
def test_objects_that_json_does_not_have_are_refused(value: Any) -> None:
    kind = type(value).__name__
    with pytest.raises(InvalidOutput, match=rf"JSON has no form for {kind} \(at `\$\.a`\)"):
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


def test_a_tool_without_a_context_cannot_ask() -> None:
    with pytest.raises(InvalidOutput, match="without a Context it cannot get answers"):
        ToolOutput(str | InputRequired).to_result(InputRequired(state=1))


def test_that_a_tool_may_ask_is_no_part_of_its_output() -> None:
    assert ToolOutput(int | InputRequired).schema == ToolOutput(int).schema
    assert ToolOutput(InputRequired | str).schema is None
    assert ToolOutput(InputRequired).schema is None
