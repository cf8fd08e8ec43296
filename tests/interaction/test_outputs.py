"""What tools return, in each revision, in this process and over HTTP."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypedDict

import attrs
import msgspec
import pytest
from msgspec import UNSET
from pydantic import BaseModel, Field

from tests.interaction.connecting import TIMEOUTS, error_of, serving_http, structure
from wigwag import Audio, Client, File, Image, RequestFailed, Server, ToolResult
from wigwag.schema import (
    LATEST_LEGACY,
    LATEST_MODERN,
    MODERN_REVISIONS,
    REVISIONS,
    AudioContent,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
)
from wigwag.schema.json_schema import make_check

pytestmark = pytest.mark.anyio

HAS_STRUCTURE = ("2025-06-18", "2025-11-25", "2026-07-28")
WAYS = [
    *(("memory", revision) for revision in REVISIONS),
    ("http", LATEST_LEGACY),
    ("http", LATEST_MODERN),
]


@dataclass
class Point:
    x: int
    y: int


class Row(TypedDict):
    name: str


class Pair(NamedTuple):
    a: int
    b: str


@attrs.define
class Crate:
    size: int


class Ticket(msgspec.Struct):
    id: str


class Weather(BaseModel):
    degrees: float = Field(description="Celsius.")
    sky: str = "blue"


@asynccontextmanager
async def connected(server: Server, transport: str, revision: str) -> AsyncIterator[Client]:
    options: Any = {"mode": revision, "timeouts": TIMEOUTS}
    if transport == "memory":
        async with Client(server, **options) as client:
            yield client
    else:
        async with (
            serving_http(server) as origin,
            Client(f"{origin}/mcp", **options) as client,
        ):
            yield client


def giving(server: Server, name: str, annotation: Any, value: Any, **options: Any) -> None:
    """Give a server a tool that returns a value."""

    async def give() -> Any:
        return value

    give.__annotations__["return"] = annotation
    server.tool(name, **options)(give)


VALUES: dict[str, tuple[Any, Any, Any]] = {
    "int": (int, 7, 7),
    "bool": (bool, False, False),
    "float": (float, 0.5, 0.5),
    "list": (list[int], [1, 2], [1, 2]),
    "object": (dict[str, int], {"a": 1}, {"a": 1}),
    "dataclass": (Point, Point(1, 2), {"x": 1, "y": 2}),
    "typed_dict": (Row, {"name": "n"}, {"name": "n"}),
    "named_tuple": (Pair, Pair(1, "b"), [1, "b"]),
    "attrs": (Crate, Crate(3), {"size": 3}),
    "struct": (Ticket, Ticket("T-1"), {"id": "T-1"}),
    "model": (Weather, Weather(degrees=16.5), {"degrees": 16.5, "sky": "blue"}),
    "models": (list[Weather], [Weather(degrees=1)], [{"degrees": 1.0, "sky": "blue"}]),
    "nothing_or_model": (Weather | None, None, None),
    "model_or_nothing": (Weather | None, Weather(degrees=1), {"degrees": 1.0, "sky": "blue"}),
    "object_or_list": (dict[str, int] | list[int], {"a": 1}, {"a": 1}),
}
ALWAYS_OBJECTS = ("object", "dataclass", "typed_dict", "attrs", "struct", "model")


@pytest.mark.parametrize(("transport", "revision"), WAYS)
async def test_structure_fits_the_schema_that_the_revision_lists(
    transport: str, revision: str
) -> None:
    server = Server("s")
    for name, (annotation, value, _) in VALUES.items():
        giving(server, name, annotation, value)
    async with connected(server, transport, revision) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        for name, (_, _, expected) in VALUES.items():
            result = await client.call_tool(name)
            assert not result.is_error, result.text
            assert msgspec.json.decode(result.text) == expected
            schema = tools[name].output_schema
            if revision not in HAS_STRUCTURE:
                assert (schema, result.structured_content) == (UNSET, UNSET)
                continue
            assert isinstance(schema, dict), name
            found = result.structured_content
            assert make_check(schema)(found) is None, name
            if revision in MODERN_REVISIONS or name in ALWAYS_OBJECTS:
                assert found == expected
            else:
                assert schema["type"] == "object"
                assert found == {"result": expected}


@pytest.mark.parametrize(("transport", "revision"), WAYS)
async def test_media_links_and_values_mix(transport: str, revision: str, tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text("# Notes")
    link = ResourceLink(uri="a://x", name="x")
    server = Server("s")

    @server.tool
    def chart() -> Image:
        return Image(data=b"\x89PNG\r\n\x1a\n")

    @server.tool
    def everything() -> list[Any]:
        sound = Audio(data=b"x", format="mp3", meta={"a/b": 1})
        return ["text", Image(data=b"x", format="jpg"), sound, File(path), link, {"a": 1}, 2, None]

    async with connected(server, transport, revision) as client:
        (block,) = (await client.call_tool("chart")).content
        assert isinstance(block, ImageContent)
        assert (block.mime_type, base64.b64decode(block.data)[1:4]) == ("image/png", b"PNG")
        result = await client.call_tool("everything")
    assert structure(result) is None
    text, image, sound, file, linked, value, number = result.content
    assert text == TextContent(text="text")
    assert image == ImageContent(data="eA==", mime_type="image/jpeg")
    assert isinstance(file, EmbeddedResource)
    assert (file.resource.uri, file.resource.text) == ("file:///notes.md", "# Notes")
    assert file.resource.mime_type == "text/markdown"
    assert (value, number) == (TextContent(text='{"a":1}'), TextContent(text="2"))
    if revision == "2024-11-05":  # it has no sound
        assert isinstance(sound, TextContent)
    else:
        assert isinstance(sound, AudioContent)
        assert (sound.mime_type, sound.data) == ("audio/mpeg", "eA==")
    if revision in HAS_STRUCTURE:
        assert linked == link


@pytest.mark.parametrize(("transport", "revision"), WAYS)
async def test_a_result_by_hand_says_everything(transport: str, revision: str) -> None:
    server = Server("s")

    @server.tool
    def failed() -> Annotated[ToolResult, Weather]:
        return ToolResult("no data", is_error=True)

    @server.tool
    def weather() -> Annotated[ToolResult, Weather]:
        return ToolResult(
            ["Fine.", Image(data=b"x", format="png")],
            Weather(degrees=20),
            meta={"example.com/took": 3},
        )

    @server.tool
    def wrong() -> Annotated[ToolResult, Weather]:
        return ToolResult("Fine.", {"degrees": "many"})

    async with connected(server, transport, revision) as client:
        assert await error_of(client, "failed") == "no data"
        result = await client.call_tool("weather")
        assert result.content[0] == TextContent(text="Fine.")
        assert isinstance(result.content[1], ImageContent)
        expected = {"degrees": 20.0, "sky": "blue"} if revision in HAS_STRUCTURE else None
        assert structure(result) == expected
        assert isinstance(result.meta, dict)
        assert result.meta["example.com/took"] == 3
        refused = await error_of(client, "wrong")
        assert "is not what the tool declares to return" in refused
        assert "degrees" in refused


@pytest.mark.parametrize("revision", REVISIONS)
async def test_a_schema_by_hand_is_held_to_in_each_revision(revision: str) -> None:
    schema = {"type": "array", "items": {"type": "integer"}}
    server = Server("s")
    giving(server, "right", Any, [1, 2], output_schema=schema)
    giving(server, "wrong", Any, [1, "b"], output_schema=schema)
    giving(server, "declined", int, 1, structured_output=False)
    giving(server, "demanded", str, "a", structured_output=True)
    with pytest.raises(TypeError, match="structured content needs a return type"):
        giving(server, "impossible", Any, 1, structured_output=True)
    async with connected(server, "memory", revision) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        right = structure(await client.call_tool("right"))
        assert '`1`: "b" is not of type "integer"' in await error_of(client, "wrong")
        declined = structure(await client.call_tool("declined"))
        demanded = structure(await client.call_tool("demanded"))
    assert (tools["declined"].output_schema, declined) == (UNSET, None)
    if revision in MODERN_REVISIONS:
        assert tools["right"].output_schema == schema
        assert (right, demanded) == ([1, 2], "a")
    elif revision in HAS_STRUCTURE:
        listed = tools["right"].output_schema
        assert isinstance(listed, dict)
        assert listed["properties"] == {"result": schema}
        assert (right, demanded) == ({"result": [1, 2]}, {"result": "a"})
    else:
        assert (right, demanded) == (None, None)


def endless() -> Any:
    value: dict[str, Any] = {"a": []}
    value["a"].append(value)
    return value


def deep() -> Any:
    value: Any = 1
    for _ in range(100_000):
        value = [value]
    return value


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"a": [1, float("nan")]}, "NaN and infinity have no form in JSON (at `$.a[1]`)"),
        (Weather(degrees=float("inf")), "NaN and infinity have no form in JSON (at `$.degrees`)"),
        ({"a": {"b": object()}}, "JSON has no form for object (at `$.a.b`)"),
        ({"a": "\ud800"}, "lone surrogate, which UTF-8 has no form for (at `$.a`)"),
        (["x", TextContent(text="\udfff")], "lone surrogate"),
        (b"\xff", "the bytes are no UTF-8 text"),
        ({(1, 2): 3}, "it has a key that is neither a text nor a number"),
        (endless(), "it contains itself (at `$.a[0]`)"),
        (deep(), "it is nested too deeply (at `$[0][0]"),
        ({"chart": Image(data=b"x", format="png")}, "no form for Image: return it by itself"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isascii() else "",
)
async def test_what_cannot_be_sent_is_named_with_its_place(
    revision: str, value: Any, why: str
) -> None:
    server = Server("s")
    giving(server, "untyped", Any, value)
    giving(server, "typed", dict[str, Any], value)
    async with connected(server, "memory", revision) as client:
        text = await error_of(client, "untyped")
        assert text.startswith("untyped failed: ")
        assert why in text
        assert "0x" not in text  # no repr of anything
        assert (await error_of(client, "typed")).startswith("typed failed: ")


@pytest.mark.parametrize("revision", REVISIONS)
async def test_what_cannot_be_sent_of_a_resource_or_a_prompt_is_named_as_well(
    revision: str,
) -> None:
    server = Server("s")

    @server.resource("s://x")
    def numbers() -> Any:
        return {"a": [1.0, float("nan")]}

    @server.prompt
    def talk() -> Any:
        return [7]

    async with connected(server, "memory", revision) as client:
        with pytest.raises(RequestFailed) as caught:
            await client.read_resource("s://x")
        assert caught.value.code == -32603
        assert "NaN and infinity have no form in JSON (at `$.a[1]`)" in caught.value.message
        assert caught.value.message.startswith("resources/read of 's://x' failed: ")
        with pytest.raises(RequestFailed, match="prompts/get of 'talk' failed: ") as caught:
            await client.get_prompt("talk")
        assert caught.value.code == -32603
