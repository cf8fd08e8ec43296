"""Servers whose answers are sound but for a part: the part is lost, and the log names it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec import UNSET

from tests.interaction.peers import PeerServer, client_of
from wigwag import Client
from wigwag.errors import InvalidResult

pytestmark = pytest.mark.anyio

SERVER_IS_BROKEN = pytest.mark.broken_messages("server")


@pytest.fixture(autouse=True)
def warnings(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "wigwag.client")


async def answered(
    revision: str, ask: Callable[[Client], Awaitable[Any]], **members: Any
) -> tuple[Any, Client]:
    """Ask a server once that answers with these members; return what comes of it."""
    peer = PeerServer(revision)
    async with client_of(peer) as client:
        asking = asyncio.ensure_future(ask(client))
        peer.reply(await peer.next(), **members)
        return await asking, client


LISTS: list[tuple[str, Callable[[Client], Awaitable[Any]], str, Any, Any, str]] = [
    (
        "tools/list",
        Client.list_tools,
        "tools",
        {"inputSchema": {"type": "object"}},
        {},
        "tools[1] 'broken': Object missing required field `inputSchema`",
    ),
    (
        "prompts/list",
        Client.list_prompts,
        "prompts",
        {},
        {"name": 3, "title": "broken"},
        "prompts[1]: `name`: Expected `str`, got `int`",
    ),
    (
        "resources/list",
        Client.list_resources,
        "resources",
        {"uri": "a:b"},
        {},
        "resources[1] 'broken': Object missing required field `uri`",
    ),
    (
        "resources/templates/list",
        Client.list_resource_templates,
        "resourceTemplates",
        {"uriTemplate": "a:{b}"},
        {"uriTemplate": None},
        "resourceTemplates[1] 'broken': `uriTemplate`: Expected `str`, got `null`",
    ),
]


@SERVER_IS_BROKEN
@pytest.mark.parametrize(
    ("method", "ask", "member", "sound", "broken", "loss"), LISTS, ids=[row[0] for row in LISTS]
)
async def test_a_malformed_item_costs_the_list_but_itself(
    revision: str,
    method: str,
    ask: Callable[[Client], Awaitable[Any]],
    member: str,
    sound: Any,
    broken: Any,
    loss: str,
    log_text: Callable[[], str],
) -> None:
    items = [{"name": "a", **sound}, {"name": "broken", **broken}, {"name": "b", **sound}]
    result, _ = await answered(revision, ask, **{member: items})
    found = getattr(result, "resource_templates" if "templates" in method else member)
    assert [item.name for item in found] == ["a", "b"]
    assert f"answered {method} with something malformed, which is left out: {loss}" in log_text()


@SERVER_IS_BROKEN
async def test_a_malformed_block_costs_the_call_but_itself(
    revision: str, log_text: Callable[[], str]
) -> None:
    blocks = [{"type": "text"}, {"type": "text", "text": "a", "annotations": {"priority": "high"}}]
    result, _ = await answered(revision, lambda client: client.call_tool("t"), content=blocks)
    assert result.text == "a"
    assert "content[0] 'text': Object missing required field `text`" in log_text()
    assert "content[1].annotations.priority: Expected `float`, got `str`" in log_text()
    assert result.raw["content"] == blocks


@SERVER_IS_BROKEN
async def test_a_tool_that_tells_of_a_failure_in_the_wrong_way_has_failed(revision: str) -> None:
    text = [{"type": "text", "text": "no"}]
    result, _ = await answered(
        revision, lambda client: client.call_tool("t"), content=text, isError="yes"
    )
    assert (result.is_error, result.text) == (True, "no")


@SERVER_IS_BROKEN
async def test_a_message_of_a_prompt_and_contents_of_a_resource_cost_but_themselves(
    revision: str,
) -> None:
    sound = {"role": "user", "content": {"type": "text", "text": "a"}}
    messages = [{**sound, "role": "system"}, sound]
    prompt, _ = await answered(revision, lambda client: client.get_prompt("p"), messages=messages)
    assert [message.content.text for message in prompt.messages] == ["a"]
    contents = [{"uri": "a:b", "text": 3, "blob": "AA=="}, {"uri": "a:c", "text": "c"}, {}]
    read, _ = await answered(
        revision, lambda client: client.read_resource("a:b"), contents=contents
    )
    assert [part.content for part in read.contents] == [b"\0", "c"]


@SERVER_IS_BROKEN
async def test_many_losses_are_told_in_one_line(revision: str, log_text: Callable[[], str]) -> None:
    result, _ = await answered(revision, Client.list_prompts, prompts=[{}] * 100)
    assert result.prompts == []
    assert log_text().count("missing required field") == 10
    assert log_text().endswith("; and more")


@SERVER_IS_BROKEN
@pytest.mark.parametrize("members", [{}, {"tools": None}, {"tools": {"a": {}}}])
async def test_an_answer_without_a_list_is_no_list(revision: str, members: Any) -> None:
    with pytest.raises(InvalidResult, match="the result of tools/list is not what the protocol"):
        await answered(revision, Client.list_tools, **members)


async def test_a_sound_answer_is_not_warned_about(
    revision: str, log_text: Callable[[], str]
) -> None:
    await answered(revision, lambda client: client.call_tool("t"), content=[])
    assert log_text() == ""


@SERVER_IS_BROKEN
async def test_what_a_server_says_of_itself_costs_but_what_is_malformed(
    revision: str, log_text: Callable[[], str]
) -> None:
    capabilities = {"tools": {"listChanged": True}, "prompts": "yes"}
    async with client_of(PeerServer(revision, capabilities=capabilities)) as client:
        assert client.capabilities.tools is not UNSET
        assert client.capabilities.prompts is UNSET
    assert "says of itself something malformed" in log_text()
    assert "capabilities.prompts: Expected `object`, got `str`" in log_text()
