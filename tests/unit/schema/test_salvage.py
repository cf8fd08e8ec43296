"""What is sound in results that are not, and what is said of the rest."""

import json
from typing import Any

import pytest
from msgspec import UNSET, DecodeError, ValidationError

from wigwag.schema import CallToolResult, TextContent, UnknownContent, decode_result
from wigwag.schema.salvage import salvage_result

SOUND: Any = {"name": "a", "inputSchema": {"type": "object"}}


def saved(method: str, result: Any) -> tuple[Any, list[str]]:
    """Salvage a result that is refused as a whole."""
    data = json.dumps(result).encode()
    with pytest.raises(ValidationError):
        decode_result(method, data)
    found = salvage_result(method, data)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("tool", "loss"),
    [
        ({"name": "b"}, "tools[1] 'b': Object missing required field `inputSchema`"),
        (
            {"name": "b", "inputSchema": None},
            "tools[1] 'b': `inputSchema`: Expected `object`, got `null`",
        ),
        ({"inputSchema": {}}, "tools[1]: Object missing required field `name`"),
        ({"name": 3, "inputSchema": {}}, "tools[1]: `name`: Expected `str`, got `int`"),
        ("b", "tools[1]: Expected `object`, got `str`"),
        (None, "tools[1]: Expected `object`, got `null`"),
    ],
)
def test_a_tool_that_lacks_what_it_needs_is_left_out_by_name(tool: Any, loss: str) -> None:
    result, losses = saved("tools/list", {"tools": [SOUND, tool, {**SOUND, "name": "c"}]})
    assert [tool.name for tool in result.tools] == ["a", "c"]
    assert losses == [loss]


def test_a_member_that_need_not_be_there_costs_but_itself() -> None:
    tool = {
        **SOUND,
        "title": 7,
        "description": "what it does",
        "annotations": {"readOnlyHint": "yes", "idempotentHint": True},
        "icons": [{"src": "https://a"}, {"sizes": ["any"]}],
        "outputSchema": [],
    }
    result, losses = saved("tools/list", {"tools": [tool], "ttlMs": "soon", "nextCursor": "n"})
    (found,) = result.tools
    assert found.title is UNSET
    assert found.description == "what it does"
    assert found.annotations.read_only_hint is UNSET
    assert found.annotations.idempotent_hint is True
    assert [icon.src for icon in found.icons] == ["https://a"]
    assert found.output_schema is UNSET
    assert (result.ttl_ms, result.next_cursor) == (UNSET, "n")
    assert losses == [
        "tools[0].title: Expected `str`, got `int`",
        "tools[0].outputSchema: Expected `object`, got `array`",
        "tools[0].annotations.readOnlyHint: Expected `bool`, got `str`",
        "tools[0].icons[1]: Object missing required field `src`",
        "ttlMs: Expected `int | float`, got `str`",
    ]


@pytest.mark.parametrize(
    ("method", "member", "sound", "bad", "loss"),
    [
        (
            "prompts/list",
            "prompts",
            {"name": "a", "arguments": [{"name": "x"}]},
            {"title": "b"},
            "prompts[0]: Object missing required field `name`",
        ),
        (
            "resources/list",
            "resources",
            {"uri": "a:b", "name": "a"},
            {"uri": "a:c"},
            "resources[0] 'a:c': Object missing required field `name`",
        ),
        (
            "resources/templates/list",
            "resourceTemplates",
            {"uriTemplate": "a:{b}", "name": "a"},
            {"uriTemplate": "a:{b"},
            "resourceTemplates[0] 'a:{b': Object missing required field `name`",
        ),
        (
            "resources/read",
            "contents",
            {"uri": "a:b", "text": "a"},
            {"text": "a"},
            "contents[0]: Object missing required field `uri`",
        ),
        (
            "prompts/get",
            "messages",
            {"role": "user", "content": {"type": "text", "text": "a"}},
            {"role": "user", "content": {"type": "text"}},
            "messages[0] 'user': `content`: Object missing required field `text`",
        ),
        (
            "tools/call",
            "content",
            {"type": "text", "text": "a"},
            {"type": "image", "data": "AA=="},
            "content[0] 'image': Object missing required field `mimeType`",
        ),
    ],
)
def test_one_item_of_a_list_costs_but_itself(
    method: str, member: str, sound: Any, bad: Any, loss: str
) -> None:
    expected = decode_result(method, json.dumps({member: [sound]}).encode())
    result, losses = saved(method, {member: [bad, sound]})
    assert result == expected
    assert losses == [loss]


def test_what_is_lost_within_a_lost_item_is_not_told_apart() -> None:
    _, losses = saved("prompts/list", {"prompts": [{"title": 3, "arguments": [{}]}]})
    assert losses == ["prompts[0]: Object missing required field `name`"]


def test_places_are_right_behind_what_was_lost() -> None:
    prompts = [{"name": "a", "arguments": [{}, {"name": "x"}], "title": 1}, {}, {"name": 2}]
    _, losses = saved("prompts/list", {"prompts": prompts, "_meta": []})
    assert losses == [
        "_meta: Expected `object`, got `array`",
        "prompts[0].title: Expected `str`, got `int`",
        "prompts[0].arguments[0]: Object missing required field `name`",
        "prompts[1]: Object missing required field `name`",
        "prompts[2]: `name`: Expected `str`, got `int`",
    ]


def test_blocks_of_unknown_types_are_kept_beside_malformed_ones() -> None:
    blocks = [{"type": "hologram", "depth": 3}, {"type": "text"}, {"type": "text", "text": "a"}]
    result, losses = saved("tools/call", {"content": blocks})
    assert [type(block) for block in result.content] == [UnknownContent, TextContent]
    assert losses == ["content[1] 'text': Object missing required field `text`"]


@pytest.mark.parametrize("is_error", ["no", 0, [], "true"])
def test_what_says_something_of_a_failure_in_the_wrong_way_counts_as_a_failure(
    is_error: Any,
) -> None:
    result, losses = saved("tools/call", {"content": [], "isError": is_error})
    assert result == CallToolResult(content=[], is_error=True)
    assert [loss.partition(":")[0] for loss in losses] == ["isError"]


@pytest.mark.parametrize(
    "result",
    [
        {"tools": None},
        {"tools": {}},
        {},
        [],
        None,
        {"resultType": "input_required", "inputRequests": []},
        {"resultType": 3, "tools": []},
    ],
)
def test_what_is_no_result_of_the_method_at_all_is_not_saved(result: Any) -> None:
    assert salvage_result("tools/list", json.dumps(result).encode()) is None


def test_what_is_no_json_is_an_error() -> None:
    with pytest.raises(DecodeError):
        salvage_result("tools/list", b'{"tools": [')


def test_a_long_name_is_not_told_in_full() -> None:
    _, (loss,) = saved("tools/list", {"tools": [{"name": "x" * 10_000}]})
    assert len(loss) == 200
