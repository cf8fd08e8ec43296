"""What goes into a tool: arguments that are right, nearly right, and wrong."""

from typing import Any

import pytest

from tests.interaction.bazaar import bazaar
from tests.interaction.connecting import error_of, text_of, texts
from tests.interaction.peers import PeerClient
from wigwag import Client, RequestFailed

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({}, "`items` is missing"),
        ({"items": [1], "nota": "x"}, "`nota` is not an argument; did you mean `note`?"),
        ({"items": [1], "zzz": 1}, "`zzz` is not an argument; there are `items`, `note`"),
        ({"items": 5}, "`items`: expected `array`, got `int`"),
        ({"items": ["x"]}, "`items`: expected `int`, got `str` at `[0]`"),
        ({"items": "[1,"}, "`items`: expected `array`, got `str`"),
        ({"items": [1], "note": 5}, "`note`: expected `str`, got `int`"),
        ({"items": [1], "speed": "warp"}, "`speed`: invalid enum value 'warp'"),
        ({"items": [1], "speed": "warp"}, "must be one of 'slow', 'fast'"),
        ({"items": [1], "color": "green"}, "`color`: invalid enum value 'green'"),
        ({"items": [1], "to": {"open": True}}, "`to`: object missing required field `id`"),
        ({"items": None}, "`items`: expected `array`, got `null`"),
    ],
)
async def test_wrong_arguments_are_named_in_words_that_a_model_understands(
    local_client: Client, arguments: dict[str, Any], complaint: str
) -> None:
    text = await error_of(local_client, "order", arguments)
    assert text.startswith("Invalid arguments for order: ")
    assert complaint in text
    assert len(text.splitlines()) == 1
    assert "http" not in text


async def test_every_mistake_is_named_at_once(local_client: Client) -> None:
    text = await error_of(local_client, "order", {"nota": 1, "speed": "warp"})
    assert "`nota`" in text
    assert "`items` is missing" in text
    assert "`speed`" in text


async def test_defaults_are_filled_in_and_values_are_what_is_declared(
    local_client: Client,
) -> None:
    assert await text_of(local_client, "order", items=[1]) == "[1] '' slow RED None"
    text = await text_of(
        local_client, "order", items=[1, 2], note="n", speed="fast", color="blue", to={"id": "T"}
    )
    assert text == "[1, 2] 'n' fast BLUE Ticket(id='T', open=True, tags=[])"


async def test_lists_and_objects_may_come_as_json_in_a_text(local_client: Client) -> None:
    text = await text_of(local_client, "order", items="[1, 2]", to='{"id": "T", "tags": ["a"]}')
    assert text == "[1, 2] '' slow RED Ticket(id='T', open=True, tags=['a'])"


@pytest.mark.parametrize("text", ["[1,2]", '{"a":1}', "12", "1.2", "null", "true", '"x"'])
async def test_text_that_looks_like_json_stays_text(local_client: Client, text: str) -> None:
    assert await text_of(local_client, "echo", text=text) == text


async def test_a_number_with_a_fraction_of_zero_is_an_integer(local_client: Client) -> None:
    assert await text_of(local_client, "nothing_needed", maybe=3.0) == "maybe 3"


async def test_arguments_may_be_missing_where_none_are_needed(local_client: Client) -> None:
    for tool, text in (("nothing_needed", "maybe 1"), ("no_arguments", "none")):
        for arguments in (None, dict[str, Any]()):
            assert texts(await local_client.call_tool(tool, arguments)) == [text]


@pytest.mark.broken_messages("client")
async def test_arguments_may_be_null_where_none_are_needed(revision: str) -> None:
    async with PeerClient(bazaar(), revision) as peer:
        answer = await peer.ask(
            peer.request("tools/call", {"name": "no_arguments", "arguments": None})
        )
    assert answer["result"]["content"] == [{"type": "text", "text": "none"}]


@pytest.mark.broken_messages("client")
@pytest.mark.parametrize("arguments", [[1], "x", 5])
async def test_arguments_that_are_no_object_are_invalid_params(
    revision: str, arguments: Any
) -> None:
    async with PeerClient(bazaar(), revision) as peer:
        asked = peer.request("tools/call", {"name": "echo", "arguments": arguments})
        answer = await peer.ask(asked)
    assert answer["error"]["code"] == -32602
    assert "arguments" in answer["error"]["message"]


async def test_an_unknown_tool_is_invalid_params_with_the_nearest_name(client: Client) -> None:
    with pytest.raises(RequestFailed) as caught:
        await client.call_tool("ecoh")
    assert caught.value.code == -32602
    assert "'ecoh'" in str(caught.value)
    assert "did you mean 'echo'?" in str(caught.value)


async def test_a_megabyte_comes_back_as_it_went(client: Client) -> None:
    text = "é\u2028\n\x00" * 200_000
    assert await text_of(client, "echo", text=text) == text
