"""Lists of several pages, from servers that do it right and from others."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from tests.interaction.peers import PeerClient, PeerServer, client_of
from wigwag import Client, RequestFailed, Server
from wigwag.client.pages import MAX_PAGES
from wigwag.errors import RemoteProtocolError

pytestmark = pytest.mark.anyio


def shop(page_size: int | None = 2) -> Server:
    """Return a server with five of each feature."""
    server = Server("shop", page_size=page_size)
    for number in range(5):
        server.tool(name=f"tool_{number}")(lambda: "x")
        server.prompt(name=f"prompt_{number}")(lambda: "x")
        server.resource(f"shop://r/{number}", name=f"resource_{number}")(lambda: "x")
        server.resource(f"shop://t{number}/{{v}}", name=f"template_{number}")(lambda v: "x")
    return server


LISTS: list[tuple[str, str, Callable[..., Awaitable[Any]]]] = [
    ("tool", "tools", Client.list_tools),
    ("prompt", "prompts", Client.list_prompts),
    ("resource", "resources", Client.list_resources),
    ("template", "resource_templates", Client.list_resource_templates),
]


@pytest.mark.parametrize(("kind", "member", "list_"), LISTS, ids=[kind for kind, *_ in LISTS])
@pytest.mark.parametrize("page_size", [1, 2, 5, 6, None])
async def test_all_pages_are_one_list(
    revision: str,
    page_size: int | None,
    kind: str,
    member: str,
    list_: Callable[..., Awaitable[Any]],
) -> None:
    async with Client(shop(page_size), mode=revision) as client:
        whole = await list_(client)
    assert [item.name for item in getattr(whole, member)] == [f"{kind}_{n}" for n in range(5)]
    assert not whole.next_cursor


@pytest.mark.parametrize(("kind", "member", "list_"), LISTS, ids=[kind for kind, *_ in LISTS])
async def test_pages_can_be_had_one_by_one(
    revision: str, kind: str, member: str, list_: Callable[..., Awaitable[Any]]
) -> None:
    method = {
        "tool": "tools/list",
        "prompt": "prompts/list",
        "resource": "resources/list",
        "template": "resources/templates/list",
    }[kind]
    wire_name = "resourceTemplates" if kind == "template" else member
    async with PeerClient(shop(), revision) as peer:
        first = (await peer.ask(peer.request(method)))["result"]
        again = (await peer.ask(peer.request(method)))["result"]
    assert len(first[wire_name]) == 2
    assert again == first  # cursors are stable
    cursor = first["nextCursor"]
    async with Client(shop(), mode=revision) as client:
        # They are good for any connection.
        second = await list_(client, cursor=cursor)
        assert [item.name for item in getattr(second, member)] == [f"{kind}_2", f"{kind}_3"]
        third = await list_(client, cursor=second.next_cursor)
        assert [item.name for item in getattr(third, member)] == [f"{kind}_4"]
        assert not third.next_cursor


@pytest.mark.parametrize("cursor", ["", "bogus", "Ym9ndXM=", "é"])
@pytest.mark.parametrize(("kind", "member", "list_"), LISTS, ids=[kind for kind, *_ in LISTS])
async def test_a_cursor_that_was_never_given_out_is_invalid_params(
    revision: str,
    cursor: str,
    kind: str,
    member: str,
    list_: Callable[..., Awaitable[Any]],
) -> None:
    async with Client(shop(), mode=revision) as client:
        with pytest.raises(RequestFailed) as caught:
            await list_(client, cursor=cursor)
        assert caught.value.code == -32602
        assert "begin again without one" in caught.value.message


async def test_a_cursor_outlives_what_was_registered_meanwhile(revision: str) -> None:
    server = shop()
    async with PeerClient(server, revision) as peer:
        cursor = (await peer.ask(peer.request("tools/list")))["result"]["nextCursor"]
        server.tool(name="late")(lambda: "x")
        if not peer.is_modern:
            await peer.next("notifications/tools/list_changed")
        names = []
        while cursor:
            answer = await peer.ask(peer.request("tools/list", {"cursor": cursor}))
            names += [tool["name"] for tool in answer["result"]["tools"]]
            cursor = answer["result"].get("nextCursor")
    assert names == ["tool_2", "tool_3", "tool_4", "late"]


# --- servers that are less careful


async def give_pages(peer: PeerServer, pages: list[tuple[str, str | None]]) -> list[Any]:
    """Answer requests for lists of tools with pages of one tool; return the cursors asked for."""
    asked_for = []
    for name, cursor in pages:
        asked = await peer.next("tools/list")
        asked_for.append(asked["params"].get("cursor"))
        tool = {"name": name, "inputSchema": {"type": "object"}}
        more = {} if cursor is None else {"nextCursor": cursor}
        peer.reply(asked, tools=[tool], **more)
    return asked_for


async def list_from(revision: str, pages: list[tuple[str, str | None]]) -> tuple[list[str], Any]:
    """List all tools of a server with these pages; return their names and the cursors asked for."""
    peer = PeerServer(revision)
    async with client_of(peer) as client:
        giving = asyncio.create_task(give_pages(peer, pages))
        tools = (await client.list_tools()).tools
        return [tool.name for tool in tools], await giving


async def test_an_empty_cursor_is_a_cursor(revision: str) -> None:
    names, asked_for = await list_from(revision, [("a", ""), ("b", None)])
    assert names == ["a", "b"]
    assert asked_for == [None, ""]


async def test_a_cursor_that_comes_back_ends_the_list_with_a_warning(
    revision: str, log_text: Callable[[], str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "wigwag.client")
    names, asked_for = await list_from(revision, [("a", "x"), ("b", "y"), ("c", "x")])
    assert names == ["a", "b", "c"]
    assert asked_for == [None, "x", "y"]
    assert "gave the cursor 'x' twice: tools/list ends here" in log_text()


@pytest.mark.parametrize("cursor", ["x", ""])
async def test_a_server_that_takes_no_notice_of_cursors_gives_nothing_twice(
    revision: str, cursor: str, caplog: pytest.LogCaptureFixture, log_text: Callable[[], str]
) -> None:
    caplog.set_level(logging.WARNING, "wigwag.client")
    names, asked_for = await list_from(revision, [("a", cursor), ("a", cursor)])
    assert names == ["a"]
    assert asked_for == [None, cursor]
    assert f"gave the cursor {cursor!r} twice: tools/list ends here" in log_text()


# --- page by page


PAGES: list[tuple[str, str, Callable[[Client], AsyncIterator[Any]]]] = [
    ("tool", "tools", Client.tool_pages),
    ("prompt", "prompts", Client.prompt_pages),
    ("resource", "resources", Client.resource_pages),
    ("template", "resource_templates", Client.resource_template_pages),
]


@pytest.mark.parametrize(("kind", "member", "pages_of"), PAGES, ids=[kind for kind, *_ in PAGES])
async def test_pages_come_one_after_the_other(
    revision: str, kind: str, member: str, pages_of: Callable[[Client], AsyncIterator[Any]]
) -> None:
    async with Client(shop(), mode=revision) as client:
        pages = [[item.name for item in getattr(page, member)] async for page in pages_of(client)]
    assert pages == [
        [f"{kind}_0", f"{kind}_1"],
        [f"{kind}_2", f"{kind}_3"],
        [f"{kind}_4"],
    ]


@pytest.mark.parametrize(("kind", "member", "pages_of"), PAGES, ids=[kind for kind, *_ in PAGES])
async def test_a_server_that_has_no_such_list_has_no_pages_of_it(
    revision: str, kind: str, member: str, pages_of: Callable[[Client], AsyncIterator[Any]]
) -> None:
    async with Client(Server("empty"), mode=revision) as client:
        names = [[item.name for item in getattr(page, member)] async for page in pages_of(client)]
    assert [name for page in names for name in page] == [], kind


async def test_a_page_is_asked_for_when_it_is_wanted(revision: str) -> None:
    peer = PeerServer(revision)
    async with client_of(peer) as client:
        pages = client.tool_pages()
        giving = asyncio.create_task(give_pages(peer, [("a", "x")]))
        assert [tool.name for tool in (await anext(pages)).tools] == ["a"]
        await giving
        await peer.settle()
        assert peer.unread == []
        giving = asyncio.create_task(give_pages(peer, [("b", "x")]))
        last = await anext(pages)
        assert [tool.name for tool in last.tools] == ["b"]
        assert not last.next_cursor  # the server gave it twice
        assert await giving == ["x"]
        with pytest.raises(StopAsyncIteration):
            await anext(pages)
        assert peer.unread == []


async def test_a_list_without_an_end_is_given_up(
    revision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wigwag.client.pages.MAX_PAGES", 3)
    assert MAX_PAGES > 3
    with pytest.raises(RemoteProtocolError, match="tools/list has more than 3 pages"):
        await list_from(revision, [(f"t{n}", f"c{n}") for n in range(4)])
