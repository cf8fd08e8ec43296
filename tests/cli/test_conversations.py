"""Clients, and the people who use them."""

import asyncio
import logging
from pathlib import Path

import pytest

from tests.cli.in_process import ask
from tests.cli.kiosk import kiosk
from tests.interaction.peers import PeerServer
from wigwag import Context, Server
from wigwag.cli.conversations import Talk, open_conversation
from wigwag.cli.targets import Reach

pytestmark = pytest.mark.anyio


async def test_a_server_is_told_of_the_roots(tmp_path: Path) -> None:
    server = Server("rooted")

    @server.tool
    async def roots(ctx: Context) -> list[str]:
        return [root.uri for root in await ctx.list_roots()]

    talk = Talk(roots=(str(tmp_path),))
    async with open_conversation(Reach(target=server), talk) as conversation:
        result = await conversation.client.call_tool("roots")
    assert result.data == [tmp_path.as_uri()]


@pytest.mark.parametrize(
    ("level", "told"),
    [("info", "[info oven] step 1\n[info oven] step 2\n"), ("error", ""), ("off", "")],
)
async def test_log_messages_of_the_wanted_level_are_told(
    level: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    talk = Talk(log_level=level)
    async with open_conversation(Reach(target=kiosk), talk) as conversation:
        await conversation.client.call_tool("bake")
    assert capsys.readouterr().err == told


async def test_a_server_without_a_log_is_not_asked_for_a_level() -> None:
    peer = PeerServer("2025-11-25", capabilities={})
    async with open_conversation(Reach(target=peer.open, mode="legacy"), Talk()):
        await peer.settle()
        assert peer.unread == []


async def test_a_server_that_sets_no_level_is_used_all_the_same(
    capsys: pytest.CaptureFixture[str],
) -> None:
    peer = PeerServer("2025-11-25", capabilities={"logging": {}, "tools": {}})
    asking = asyncio.create_task(ask(Reach(target=peer.open, mode="legacy"), "list tools"))
    peer.refuse(await peer.next("logging/setLevel"), -32601, "no such\x1b[2J method")
    peer.reply(
        await peer.next("tools/list"), tools=[{"name": "t", "inputSchema": {"type": "object"}}]
    )
    await asking
    captured = capsys.readouterr()
    assert "sets no level: no such\\x1b[2J method" in captured.err
    assert "  t\n" in captured.out


async def test_what_the_library_warns_of_is_told_while_it_lasts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = logging.getLogger("wigwag")
    before = list(log.handlers)
    async with open_conversation(Reach(target=kiosk), Talk()):
        logging.getLogger("wigwag.client").warning("careful")
    assert capsys.readouterr().err == "wigwag: careful\n"
    assert log.handlers == before


async def test_nothing_is_kept_of_what_a_server_said_before(
    capsys: pytest.CaptureFixture[str],
) -> None:
    server = Server("growing")
    server.tool(name="old")(lambda: "x")
    async with open_conversation(Reach(target=server), Talk()) as conversation:
        await conversation.client.list_tools()
        server.tool(name="new")(lambda: "x")
        assert len((await conversation.client.list_tools()).tools) == 2
    await ask(server, "list")
    assert "new" in capsys.readouterr().out
