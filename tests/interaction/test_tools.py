"""Listing tools, and what comes out of them."""

import json
from typing import Any

import msgspec
import pytest

from tests.interaction.bazaar import bazaar
from tests.interaction.connecting import ALL_WAYS, Way, connected, structure, text_of, texts
from wigwag import Client
from wigwag.schema import LATEST_LEGACY, LATEST_MODERN

pytestmark = pytest.mark.anyio


HAS_STRUCTURE = ("2025-06-18", "2025-11-25", "2026-07-28")
HAS_ANY_STRUCTURE = ("2026-07-28",)


@pytest.mark.parametrize("way", ALL_WAYS, ids=str)
async def test_every_transport_speaks_every_revision(way: Way) -> None:
    async with connected(way) as client:
        assert client.protocol_version == way.revision
        assert client.server_info is not None
        assert (client.server_info.name, client.server_info.version) == ("bazaar", "1.2.3")
        assert client.instructions == "Buy something."
        assert await text_of(client, "echo", text="Đ é 中 🎉 \u2028 \x85 \n\t\"'\\") == (
            "Đ é 中 🎉 \u2028 \x85 \n\t\"'\\"
        )
        assert [tool.name for tool in (await client.list_tools()).tools][:1] == ["echo"]
        await client.ping()


# --- what is listed


async def test_tools_are_listed_as_they_were_registered(client: Client) -> None:
    tools = (await client.list_tools()).tools
    names = [tool.name for tool in tools]
    assert names == list(dict.fromkeys(names))
    assert names[:3] == ["echo", "give_text", "give_text_untyped"]
    echo = tools[0]
    assert echo.description == "Say it again."
    assert echo.input_schema == {
        "type": "object",
        "properties": {"text": {"type": "string", "description": "What to say."}},
        "required": ["text"],
        "additionalProperties": False,
    }


async def test_each_revision_is_told_what_it_knows_of_a_tool(local_client: Client) -> None:
    echo = (await local_client.list_tools()).tools[0]
    revision = local_client.protocol_version
    assert (echo.title == "Echo") == (revision in HAS_STRUCTURE)
    assert (echo.meta == {"example.com/a": 1}) == (revision in HAS_STRUCTURE)
    assert (echo.annotations is not msgspec.UNSET) == (revision != "2024-11-05")


@pytest.mark.parametrize(
    ("tool", "schema"),
    [
        ("echo", None),
        ("give_maybe_text", None),
        ("give_blocks", None),
        ("give_text_untyped", None),
        ("give_result", None),
        ("give_object", {"type": "object", "additionalProperties": True}),
        (
            "give_dataclass",
            {
                "type": "object",
                "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
                "required": ["x", "y"],
            },
        ),
    ],
)
async def test_output_schemas_are_listed_where_the_revision_has_them(
    revision: str, tool: str, schema: Any
) -> None:
    async with Client(bazaar(), mode=revision) as client:
        (found,) = [each for each in (await client.list_tools()).tools if each.name == tool]
    expected = schema if revision in HAS_STRUCTURE else None
    listed = None if found.output_schema is msgspec.UNSET else found.output_schema
    if expected is not None and listed is not None:
        listed.setdefault("additionalProperties", expected.get("additionalProperties"))
        expected.setdefault("additionalProperties", listed["additionalProperties"])
    assert listed == expected


@pytest.mark.parametrize(
    ("tool", "schema"),
    [
        ("give_number", {"type": "integer"}),
        ("give_numbers", {"type": "array", "items": {"type": "integer"}}),
        ("give_date", {"type": "string", "format": "date"}),
    ],
)
async def test_an_output_schema_of_no_object_is_put_into_one_where_it_must_be(
    revision: str, tool: str, schema: Any
) -> None:
    async with Client(bazaar(), mode=revision) as client:
        (found,) = [each for each in (await client.list_tools()).tools if each.name == tool]
    if revision in HAS_ANY_STRUCTURE:
        assert found.output_schema == schema
    elif revision in HAS_STRUCTURE:
        assert found.output_schema == {
            "type": "object",
            "properties": {"result": schema},
            "required": ["result"],
        }
    else:
        assert found.output_schema is msgspec.UNSET


# --- what comes out

VALUES: list[tuple[str, dict[str, Any], list[str], Any]] = [
    ("give_text", {}, ["text"], None),
    ("give_text_untyped", {}, ["text"], None),
    ("give_nothing", {}, [], None),
    ("give_maybe_text", {"count": 1}, ["text"], None),
    ("give_maybe_text", {"count": 0}, [], None),
    ("give_number", {}, ["7"], 7),
    ("give_truth", {}, ["true"], True),
    ("give_numbers", {}, ["[1,2]"], [1, 2]),
    ("give_texts", {}, ['["a","b"]'], ["a", "b"]),
    ("give_object", {}, ['{"a":1,"b":[true,null]}'], {"a": 1, "b": [True, None]}),
    ("give_untyped_object", {}, ['{"a":1}'], None),
    (
        "give_struct",
        {},
        ['{"id":"T-1","open":true,"tags":["new"]}'],
        {"id": "T-1", "open": True, "tags": ["new"]},
    ),
    ("give_dataclass", {}, ['{"x":1,"y":2}'], {"x": 1, "y": 2}),
    ("give_typed_dict", {}, ['{"name":"n","count":3}'], {"name": "n", "count": 3}),
    ("give_date", {}, ['"2026-07-28"'], "2026-07-28"),
    ("give_enum", {}, ['"blue"'], "blue"),
    ("give_path", {}, ['"/a/b"'], "/a/b"),
    ("give_block", {}, ["block"], None),
    ("give_mixture", {}, ["text", "block", '{"a":1}'], None),
    ("give_result", {}, ["by hand"], {"by": "hand"}),
]


@pytest.mark.parametrize(("tool", "arguments", "content", "structured"), VALUES)
async def test_what_a_tool_returns_becomes_text_and_structured_content(
    revision: str, tool: str, arguments: dict[str, Any], content: list[str], structured: Any
) -> None:
    async with Client(bazaar(), mode=revision) as client:
        result = await client.call_tool(tool, arguments)
    assert not result.is_error
    assert texts(result) == content
    is_wrapped = structured is not None and not isinstance(structured, dict)
    if revision not in HAS_STRUCTURE:
        assert structure(result) is None
    elif is_wrapped and revision not in HAS_ANY_STRUCTURE:
        assert structure(result) == {"result": structured}
    else:
        assert structure(result) == structured
    if structure(result) is not None and tool != "give_result":
        # For clients that look at the text alone, the same is there.
        assert json.loads(content[0]) == structured


async def test_blocks_that_a_revision_lacks_become_text(revision: str) -> None:
    async with Client(bazaar(), mode=revision) as client:
        blocks = (await client.call_tool("give_blocks")).content
        (embedded,) = (await client.call_tool("give_embedded")).content
    audio = "text" if revision == "2024-11-05" else "audio"
    link = "resource_link" if revision in HAS_STRUCTURE else "text"
    assert [block.type for block in blocks] == ["text", "image", audio, link]
    assert embedded.type == "resource"


async def test_a_result_made_by_hand_keeps_its_meta(client: Client) -> None:
    result = await client.call_tool("give_result")
    assert isinstance(result.meta, dict)
    assert result.meta["example.com/hand"] == "left"


# --- threads


async def test_plain_functions_run_in_threads_unless_they_are_told_otherwise(
    client: Client,
) -> None:
    assert (await text_of(client, "thread_of_thread")).startswith("wigwag-worker")
    assert await text_of(client, "thread_of_loop") == "MainThread"


async def test_annotations_and_calls_are_the_same_in_both_eras() -> None:
    listed = []
    for revision in (LATEST_LEGACY, LATEST_MODERN):
        async with Client(bazaar(), mode=revision) as client:
            tools = (await client.list_tools()).tools
            listed.append([(tool.name, tool.input_schema, tool.annotations) for tool in tools])
    assert listed[0] == listed[1]
