"""Clients that connect when they are first used, are entered twice, or know the server already."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.interaction.bazaar import bazaar
from tests.interaction.connecting import PROGRAM, TIMEOUTS, serving_http, text_of
from tests.interaction.http_server import HttpRequest, McpUrl
from tests.interaction.peers import PeerServer
from wigwag import Client, Context, Server, SyncClient
from wigwag.errors import LocalProtocolError, ServerStartFailed
from wigwag.schema import LATEST_LEGACY, LATEST_MODERN, DiscoverResult

pytestmark = pytest.mark.anyio


def counted() -> tuple[Server, list[str]]:
    """Return a server, and the methods that it is asked."""
    server, asked = bazaar(), list[str]()

    @server.middleware
    async def count(context: Context[Any], call_next: Any) -> Any:
        asked.append(context.method)
        return await call_next(context)

    return server, asked


async def discovered_by(target: Any) -> DiscoverResult:
    async with Client(target, timeouts=TIMEOUTS) as client:
        assert client.discovered is not None
        stored = msgspec.json.encode(client.discovered)
    return msgspec.json.decode(stored, type=DiscoverResult)


# --- lazy


async def test_a_lazy_client_connects_at_its_first_request(revision: str) -> None:
    peer = PeerServer(revision)
    client = Client(peer.open, mode=revision, lazy=True, timeouts=TIMEOUTS)
    async with client:
        assert peer.opened == 0
        with pytest.raises(LocalProtocolError, match="not connected"):
            _ = client.revision
        listing = asyncio.create_task(client.list_tools())
        peer.reply(await peer.next("tools/list"), tools=[])
        assert (await listing).tools == []
        assert client.revision == revision
    assert not client.is_connected


@pytest.mark.parametrize(
    "use",
    [
        lambda client: client.ping(),
        lambda client: client.list_tools(),
        lambda client: client.call_tool("echo", {"text": "a"}),
        lambda client: anext(client.tool_pages()),
        lambda client: client.set_logging_level("error"),
        lambda client: client.send_roots_list_changed(),
        lambda client: client.listen(tools=True).__aenter__(),
        lambda client: client.request("tools/list", {}),
    ],
)
@pytest.mark.parametrize("mode", [LATEST_LEGACY, LATEST_MODERN])
async def test_whatever_is_asked_first_connects_without_being_told_to(use: Any, mode: str) -> None:
    client = Client(bazaar(), mode=mode, lazy=True)
    try:
        await use(client)
        assert client.is_connected
    finally:
        await client.close()


async def test_many_first_requests_at_once_open_one_connection(revision: str) -> None:
    peer = PeerServer(revision)
    options: Any = {"mode": revision, "timeouts": TIMEOUTS, "cache": False}
    async with Client(peer.open, lazy=True, **options) as client:
        listing = [asyncio.create_task(client.list_tools()) for _ in range(5)]
        for _ in listing:
            peer.reply(await peer.next("tools/list"), tools=[])
        await asyncio.gather(*listing)
        assert peer.opened == 1


async def test_a_lazy_client_that_was_closed_stays_closed_until_it_is_entered_again() -> None:
    client = Client(bazaar(), lazy=True)
    await client.ping()
    await client.close()
    with pytest.raises(LocalProtocolError, match="not connected"):
        await client.ping()
    async with client:
        assert await text_of(client, "echo", text="again") == "again"


async def test_a_lazy_client_says_at_its_first_request_why_it_cannot_connect() -> None:
    async with Client([sys.executable, "-c", "raise SystemExit(3)"], lazy=True) as client:
        with pytest.raises(ServerStartFailed, match="3"):
            await client.list_tools()


def test_a_blocking_client_can_be_lazy_too() -> None:
    server, asked = counted()
    with SyncClient(server, lazy=True) as client:
        assert not client.is_connected
        assert asked == []
        client.ping()
        assert client.is_connected
    alone = SyncClient(server, lazy=True)
    alone.ping()
    alone.close()
    with pytest.raises(LocalProtocolError, match="not connected"):
        alone.ping()


# --- entered twice


async def test_a_client_that_is_entered_twice_is_closed_by_the_last_to_leave() -> None:
    client = Client(bazaar())
    async with client:
        async with client as same:
            assert same is client
        assert await text_of(client, "echo", text="still here") == "still here"
    assert not client.is_connected


async def test_tasks_that_enter_one_client_do_not_close_it_for_each_other() -> None:
    client = Client(bazaar())
    entered, left = asyncio.Event(), asyncio.Event()

    async def stay() -> str:
        async with client:
            entered.set()
            await left.wait()
            return await text_of(client, "echo", text="stayed")

    staying = asyncio.create_task(stay())
    await entered.wait()
    async with client:
        pass
    left.set()
    assert await staying == "stayed"
    assert not client.is_connected


def test_a_blocking_client_that_is_entered_twice_is_closed_by_the_last_to_leave() -> None:
    client = SyncClient(bazaar())
    with client:
        with client:
            pass
        client.ping()
    assert not client.is_connected


# --- what the server has said before


async def test_with_what_the_server_said_before_connecting_asks_nothing() -> None:
    server, asked = counted()
    async with serving_http(server) as root:
        url = f"{root}/mcp"
        before = await discovered_by(url)
        asked.clear()
        async with Client(url, prior_discover=before, timeouts=TIMEOUTS) as client:
            assert asked == []
            assert client.revision == LATEST_MODERN
            assert client.server_info is not None
            assert client.server_info.name == "bazaar"
            assert client.capabilities == before.capabilities
            assert await text_of(client, "echo", text="a") == "a"
            assert asked == ["tools/call"]
            assert client.discovered is before


async def test_with_what_a_process_said_before_it_is_asked_nothing_either() -> None:
    before = await discovered_by([sys.executable, str(PROGRAM)])
    sent: list[str] = []
    async with Client(
        [sys.executable, str(PROGRAM)], prior_discover=before, timeouts=TIMEOUTS
    ) as client:
        sent.append(await text_of(client, "echo", text="a"))
    assert sent == ["a"]


async def test_a_server_that_has_become_legacy_is_found_out_by_the_first_request() -> None:
    before = await discovered_by(bazaar())
    options: Any = {"prior_discover": before, "era_cache": {}, "timeouts": TIMEOUTS}

    async def call(request: HttpRequest) -> None:
        if "io.modelcontextprotocol/" in request.body.decode():
            await request.refuse(400, -32000, "Bad Request: No valid session ID provided")
        else:
            await server.give(request, content=[{"type": "text", "text": "done"}])

    server = McpUrl(LATEST_LEGACY, tools__call=call)
    async with server, Client(server.url, **options) as client:
        assert client.revision == LATEST_MODERN
        assert await text_of(client, "any") == "done"
        assert client.revision == LATEST_LEGACY
        assert client.discovered is None


async def test_a_process_that_has_become_legacy_is_started_anew_and_greeted() -> None:
    before = await discovered_by(bazaar())
    strict = str(Path(__file__).with_name("strict_legacy.py"))
    async with Client([sys.executable, strict], prior_discover=before) as client:
        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == ["old"]
        assert client.revision == LATEST_LEGACY


async def test_an_error_of_a_server_that_is_modern_still_is_just_that() -> None:
    server, asked = counted()
    before = await discovered_by(server)
    async with Client(server, prior_discover=before) as client:
        await client.ping()
        asked.clear()
        for _ in range(2):
            with pytest.raises(Exception, match="nothing"):
                await client.call_tool("nothing")
        assert asked == ["tools/call"] * 2


async def test_what_was_stored_must_be_decoded() -> None:
    with pytest.raises(TypeError, match=r"msgspec\.json\.decode"):
        Client(bazaar(), prior_discover={"supportedVersions": []})  # type: ignore[arg-type]


# --- the eras of commands


async def test_the_era_of_a_command_is_kept_where_that_is_asked_for(tmp_path: Path) -> None:
    strict = str(Path(__file__).with_name("strict_legacy.py"))
    log = tmp_path / "asked"
    eras: dict[str, str] = {}
    command = [sys.executable, strict, str(log)]
    for _ in range(2):
        async with Client(command, era_cache=eras, timeouts=TIMEOUTS) as client:
            assert client.revision == LATEST_LEGACY
    assert list(eras.values()) == ["legacy"]
    assert all(key.startswith("stdio:python") and "strict" not in key for key in eras)
    assert log.read_text("utf-8").split().count("server/discover") == 1
