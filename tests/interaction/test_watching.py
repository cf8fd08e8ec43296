"""Callbacks for what changes on a server, in both eras."""

import asyncio
import queue
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from tests.interaction.connecting import PATIENCE, TIMEOUTS, serving_http
from tests.interaction.peers import PeerServer, client_of
from tests.pair import Message
from wigwag import Client, Context, RequestFailed, Server, SyncClient
from wigwag.errors import LocalProtocolError
from wigwag.schema import LATEST_LEGACY, LATEST_MODERN, LEGACY_REVISIONS, Tool

pytestmark = pytest.mark.anyio

ERAS = (LATEST_LEGACY, LATEST_MODERN)
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
TOOLS = "notifications/tools/list_changed"
UPDATED = "notifications/resources/updated"


def market() -> Server:
    """Return a server whose features may change."""
    server = Server("market")

    @server.tool
    def open_stall(name: str) -> None:
        server.tool(name=name)(lambda: "sold")

    @server.tool
    def close_stall(name: str) -> None:
        server.remove_tool(name)

    @server.tool
    def post(uri: str) -> None:
        server.resource(uri, name="poster")(lambda: "text")

    @server.tool
    def rehearse(name: str) -> None:
        server.prompt(name=name)(lambda: "hello")

    @server.tool
    async def update(uri: str, ctx: Context) -> None:
        await ctx.resource_updated(uri)

    server.resource("market://board", name="board")(lambda: "text")
    server.resource("market://till", name="till")(lambda: "text")
    server.prompt(name="greet")(lambda: "hello")
    return server


async def next_of(told: "asyncio.Queue[Any]") -> Any:
    async with asyncio.timeout(PATIENCE):
        return await told.get()


async def ready(client: Client) -> None:
    """Wait until changes are being reported."""
    opening = client._watching._opening
    if opening is not None:
        async with asyncio.timeout(PATIENCE):
            await asyncio.wait([opening])


def names(features: list[Any]) -> list[str]:
    return [feature.name for feature in features]


# --- lists


async def test_whoever_watches_a_list_is_given_it_anew(revision: str) -> None:
    tools: asyncio.Queue[list[Any]] = asyncio.Queue()
    prompts: asyncio.Queue[list[Any]] = asyncio.Queue()
    resources: asyncio.Queue[list[Any]] = asyncio.Queue()

    async def note_prompts(found: list[Any]) -> None:
        await prompts.put(found)

    async with Client(
        market(),
        mode=revision,
        on_tools_changed=tools.put_nowait,
        on_prompts_changed=note_prompts,
        on_resources_changed=resources.put_nowait,
    ) as client:
        await ready(client)
        await client.call_tool("open_stall", {"name": "tea"})
        assert names(await next_of(tools))[-1] == "tea"
        await client.call_tool("rehearse", {"name": "bow"})
        assert names(await next_of(prompts)) == ["greet", "bow"]
        await client.call_tool("post", {"uri": "market://poster"})
        assert names(await next_of(resources)) == ["board", "till", "poster"]
        assert (tools.qsize(), prompts.qsize(), resources.qsize()) == (0, 0, 0)


@pytest.mark.parametrize("mode", ERAS)
async def test_lists_are_watched_over_http(mode: str) -> None:
    tools: asyncio.Queue[list[Any]] = asyncio.Queue()
    async with (
        serving_http(market()) as origin,
        Client(f"{origin}/mcp", mode=mode, on_tools_changed=tools.put_nowait) as client,
    ):
        await ready(client)
        found: list[str] = []
        async with asyncio.timeout(PATIENCE):
            while "rugs" not in found:  # a legacy session may have no stream for it yet
                await client.call_tool("open_stall", {"name": "rugs"})
                with suppress(TimeoutError):
                    async with asyncio.timeout(1):
                        found = names(await tools.get())
                await client.call_tool("close_stall", {"name": "rugs"})


class Teller:
    """Speaks for a server that is watched."""

    def __init__(self, peer: PeerServer) -> None:
        self.peer = peer
        self.streams: list[Any] = []
        self.lists = 0

    async def acknowledge(self, honored: dict[str, Any] | None = None) -> Message | None:
        """Agree to what a modern client listens for; a legacy one asks for nothing."""
        if not self.peer.is_modern:
            return None
        asked = await self.peer.next("subscriptions/listen")
        self.streams.append(asked["id"])
        wanted = asked["params"]["notifications"] if honored is None else honored
        self.tell("notifications/subscriptions/acknowledged", notifications=wanted)
        return asked

    async def subscribe(self, client: Client, uri: str) -> None:
        """Let a client subscribe to a resource."""
        subscribing = asyncio.create_task(client.subscribe_resource(uri))
        if self.peer.is_modern:
            await self.acknowledge()
            await self.peer.next("notifications/cancelled")
        else:
            self.peer.reply(await self.peer.next("resources/subscribe"))
        await subscribing

    async def agree_again(self, uri: str) -> None:
        """Agree to all that was agreed to before."""
        if self.peer.is_modern:
            asked = await self.acknowledge()
            assert asked is not None
            assert asked["params"]["notifications"]["resourceSubscriptions"] == [uri]
        else:
            asked = await self.peer.next("resources/subscribe")
            assert asked["params"]["uri"] == uri
            self.peer.reply(asked)

    def tell(self, method: str = TOOLS, **params: Any) -> None:
        if self.streams:
            params["_meta"] = {SUBSCRIPTION: self.streams[-1]}
        self.peer.tell(method, params or None)

    async def listed(self) -> Message:
        asked = await self.peer.next("tools/list")
        self.lists += 1
        return asked

    def list(self, asked: Message, *tools: str) -> None:
        schema = {"type": "object"}
        self.peer.reply(asked, tools=[{"name": name, "inputSchema": schema} for name in tools])


@pytest.mark.parametrize("revision", ERAS)
async def test_what_changes_together_is_told_once(revision: str) -> None:
    teller = Teller(PeerServer(revision))
    told: asyncio.Queue[list[Tool]] = asyncio.Queue()
    async with client_of(teller.peer, on_tools_changed=told.put_nowait) as client:
        await teller.acknowledge()
        await ready(client)
        for _ in range(5):
            teller.tell()
        teller.list(await teller.listed(), "a")
        assert names(await next_of(told)) == ["a"]
        teller.tell()
        teller.list(await teller.listed(), "a", "b")
        assert names(await next_of(told)) == ["a", "b"]
        assert teller.peer.unread == []
        assert told.empty()


@pytest.mark.parametrize("revision", ERAS)
async def test_a_change_while_the_list_is_on_its_way_is_told_once_more(revision: str) -> None:
    teller = Teller(PeerServer(revision))
    told: asyncio.Queue[list[Tool]] = asyncio.Queue()
    async with client_of(teller.peer, on_tools_changed=told.put_nowait) as client:
        await teller.acknowledge()
        await ready(client)
        teller.tell()
        asked = await teller.listed()
        for _ in range(3):
            teller.tell()
        await teller.peer.settle()
        teller.list(asked, "old")
        assert names(await next_of(told)) == ["old"]
        teller.list(await teller.listed(), "new")
        assert names(await next_of(told)) == ["new"]
        teller.tell()
        teller.list(await teller.listed(), "newest")
        assert names(await next_of(told)) == ["newest"]
        assert teller.lists == 3


@pytest.mark.parametrize("revision", ERAS)
async def test_a_list_that_cannot_be_had_is_told_by_the_next_change(
    revision: str, log_text: Callable[[], str]
) -> None:
    teller = Teller(PeerServer(revision))
    told: asyncio.Queue[list[Tool]] = asyncio.Queue()
    async with client_of(teller.peer, on_tools_changed=told.put_nowait) as client:
        await teller.acknowledge()
        await ready(client)
        teller.tell()
        teller.peer.refuse(await teller.listed(), -32603, "not now")
        await teller.peer.settle()
        assert "could not be listed: not now" in log_text()
        teller.tell()
        teller.list(await teller.listed(), "a")
        assert names(await next_of(told)) == ["a"]


@pytest.mark.parametrize("revision", ERAS)
async def test_a_callback_that_fails_is_noted_in_the_log_and_called_again(
    revision: str, log_text: Callable[[], str]
) -> None:
    teller = Teller(PeerServer(revision))
    told: asyncio.Queue[str] = asyncio.Queue()

    async def fail(tools: list[Tool]) -> None:
        told.put_nowait(tools[0].name)
        raise ValueError("no room")

    async with client_of(teller.peer, on_tools_changed=fail) as client:
        await teller.acknowledge()
        await ready(client)
        for name in ("a", "b"):
            teller.tell()
            teller.list(await teller.listed(), name)
            assert await next_of(told) == name
    assert log_text().count("ValueError: no room") == 2


async def test_a_modern_server_is_listened_to_only_for_what_it_declares() -> None:
    peer = PeerServer(LATEST_MODERN, capabilities={"tools": {}, "prompts": {"listChanged": True}})
    told: list[Any] = []
    options = {f"on_{what}_changed": told.append for what in ("tools", "prompts", "resources")}
    async with client_of(peer, **options):
        asked = await Teller(peer).acknowledge()
        assert asked is not None
        assert asked["params"]["notifications"] == {"promptsListChanged": True}
    peer = PeerServer(LATEST_MODERN, capabilities={"tools": {}})
    async with client_of(peer, **options) as client:
        await ready(client)
        assert peer.unread == []


@pytest.mark.parametrize("revision", LEGACY_REVISIONS)
async def test_a_legacy_server_may_report_what_it_did_not_declare(revision: str) -> None:
    teller = Teller(PeerServer(revision, capabilities={"tools": {}}))
    told: asyncio.Queue[list[Tool]] = asyncio.Queue()
    async with client_of(teller.peer, on_tools_changed=told.put_nowait) as client:
        await ready(client)
        teller.tell()
        teller.list(await teller.listed(), "a")
        assert names(await next_of(told)) == ["a"]


@pytest.mark.parametrize("revision", ERAS)
async def test_what_may_have_changed_while_a_server_was_away_is_told(revision: str) -> None:
    teller = Teller(PeerServer(revision))
    told: asyncio.Queue[list[Tool]] = asyncio.Queue()
    updated: asyncio.Queue[str] = asyncio.Queue()
    async with client_of(
        teller.peer, on_tools_changed=told.put_nowait, on_resource_updated=updated.put_nowait
    ) as client:
        await teller.acknowledge()
        await ready(client)
        await teller.subscribe(client, "s://a")
        teller.peer.connection.abort()
        await teller.peer.wait_opened(2)
        await teller.agree_again("s://a")
        teller.list(await teller.listed(), "a")
        assert names(await next_of(told)) == ["a"]
        assert await next_of(updated) == "s://a"


@pytest.mark.parametrize("revision", ERAS)
async def test_what_may_have_changed_is_told_after_connecting_anew(
    revision: str, log_text: Callable[[], str]
) -> None:
    teller = Teller(PeerServer(revision))
    told: asyncio.Queue[list[Tool]] = asyncio.Queue()
    async with client_of(teller.peer, heal=False, on_tools_changed=told.put_nowait) as client:
        await teller.acknowledge()
        await ready(client)
        teller.peer.connection.abort()
        async with asyncio.timeout(PATIENCE):
            while "no longer watched" not in log_text():
                await teller.peer.settle()
        await client.connect()
        await teller.acknowledge()
        teller.list(await teller.listed(), "a")
        assert names(await next_of(told)) == ["a"]


@pytest.mark.parametrize("revision", LEGACY_REVISIONS)
async def test_a_resource_that_is_gone_does_not_keep_lists_from_being_watched(
    revision: str, log_text: Callable[[], str]
) -> None:
    teller = Teller(PeerServer(revision))
    told: asyncio.Queue[list[Tool]] = asyncio.Queue()
    async with client_of(teller.peer, on_tools_changed=told.put_nowait) as client:
        await ready(client)
        await teller.subscribe(client, "s://a")
        teller.peer.connection.abort()
        await teller.peer.wait_opened(2)
        for _ in range(2):
            teller.peer.refuse(await teller.peer.next("resources/subscribe"), -32002, "it is gone")
        teller.list(await teller.listed(), "a")
        assert names(await next_of(told)) == ["a"]
        assert "it is gone" in log_text()


@pytest.mark.parametrize("revision", ERAS)
async def test_nothing_is_told_after_the_end_and_it_begins_anew_with_the_next_connection(
    revision: str, log_text: Callable[[], str]
) -> None:
    teller = Teller(PeerServer(revision))
    told: asyncio.Queue[list[Tool]] = asyncio.Queue()
    async with client_of(teller.peer, on_tools_changed=told.put_nowait) as client:
        await teller.acknowledge()
        await ready(client)
        teller.tell()
        await teller.listed()
        await client.close()
        await client.connect()
        await teller.acknowledge()
        await ready(client)
        assert told.empty()
        teller.tell()
        teller.list(await teller.listed(), "a")
        assert names(await next_of(told)) == ["a"]
    assert log_text() == ""


async def test_a_callback_may_close_the_client(revision: str) -> None:
    closed = asyncio.Event()

    async def close(_: list[Tool]) -> None:
        await client.close()
        closed.set()

    async with Client(market(), mode=revision, on_tools_changed=close) as client:
        await ready(client)
        await client.call_tool("open_stall", {"name": "tea"})
        async with asyncio.timeout(PATIENCE):
            await closed.wait()
        assert not client.is_connected


def test_a_client_that_goes_on_with_another_event_loop_watches_there() -> None:
    told: asyncio.Queue[list[Tool]] = asyncio.Queue()
    client = Client(market(), mode="modern", on_tools_changed=told.put_nowait)

    async def begin() -> None:
        await client.connect()
        await ready(client)

    async def go_on() -> None:
        async with client:
            await ready(client)
            # Something may have been missed.
            assert names(await next_of(told))[0] == "open_stall"

    asyncio.run(begin())
    asyncio.run(go_on())


# --- resources


async def test_a_resource_is_reported_from_its_subscription_on_until_it_is_undone(
    revision: str,
) -> None:
    told: asyncio.Queue[str] = asyncio.Queue()
    async with Client(market(), mode=revision, on_resource_updated=told.put_nowait) as client:
        await client.call_tool("update", {"uri": "market://till"})
        await client.subscribe_resource("market://board")
        await client.subscribe_resource("market://board")  # once is enough
        await client.call_tool("update", {"uri": "market://till"})
        await client.call_tool("update", {"uri": "market://board"})
        assert await next_of(told) == "market://board"
        await client.subscribe_resource("market://till")
        await client.unsubscribe_resource("market://board")
        await client.call_tool("update", {"uri": "market://board"})
        await client.call_tool("update", {"uri": "market://till"})
        assert await next_of(told) == "market://till"
        await client.unsubscribe_resource("market://till")
        await client.unsubscribe_resource("market://nothing")


async def test_lists_and_resources_are_watched_side_by_side(revision: str) -> None:
    tools: asyncio.Queue[list[Tool]] = asyncio.Queue()
    told: asyncio.Queue[str] = asyncio.Queue()
    async with Client(
        market(), mode=revision, on_tools_changed=tools.put_nowait, on_resource_updated=told.put
    ) as client:
        await client.subscribe_resource("market://board")
        await client.call_tool("open_stall", {"name": "tea"})
        await client.call_tool("update", {"uri": "market://board"})
        assert await next_of(told) == "market://board"
        assert names(await next_of(tools))[-1] == "tea"


async def test_what_is_subscribed_to_is_so_after_closing_and_connecting(revision: str) -> None:
    told: asyncio.Queue[str] = asyncio.Queue()
    client = Client(market(), mode=revision, on_resource_updated=told.put_nowait)
    async with client:
        await client.subscribe_resource("market://board")
    async with client:
        await ready(client)
        await client.call_tool("update", {"uri": "market://board"})
        assert await next_of(told) == "market://board"


async def test_a_modern_stream_is_open_before_the_one_that_it_replaces_ends() -> None:
    teller = Teller(PeerServer(LATEST_MODERN))
    async with client_of(teller.peer, on_tools_changed=lambda _: None) as client:
        first = await teller.acknowledge()
        await ready(client)
        subscribing = asyncio.create_task(client.subscribe_resource("s://a"))
        second = await teller.acknowledge()
        await subscribing
        assert first is not None
        assert second is not None
        wanted = {"toolsListChanged": True, "resourceSubscriptions": ["s://a"]}
        assert second["params"]["notifications"] == wanted
        ended = await teller.peer.next("notifications/cancelled")
        assert ended["params"]["requestId"] == first["id"]


async def test_a_modern_server_that_does_not_agree_to_a_resource_is_left_as_it_was() -> None:
    teller = Teller(PeerServer(LATEST_MODERN))
    told: asyncio.Queue[list[Tool]] = asyncio.Queue()
    async with client_of(teller.peer, on_tools_changed=told.put_nowait) as client:
        first = await teller.acknowledge()
        await ready(client)
        subscribing = asyncio.create_task(client.subscribe_resource("s://a"))
        second = await teller.acknowledge({"toolsListChanged": True})
        with pytest.raises(LocalProtocolError, match="does not report changes of s://a"):
            await subscribing
        ended = await teller.peer.next("notifications/cancelled")
        assert first is not None
        assert second is not None
        assert ended["params"]["requestId"] == second["id"]
        teller.streams = [first["id"]]
        teller.tell()
        teller.list(await teller.listed(), "a")
        assert names(await next_of(told)) == ["a"]


@pytest.mark.parametrize("revision", LEGACY_REVISIONS)
async def test_a_legacy_server_that_refuses_a_resource_says_why(revision: str) -> None:
    async with Client(market(), mode=revision) as client:
        with pytest.raises(RequestFailed, match="Resource not found: market://nothing"):
            await client.subscribe_resource("market://nothing")
        await client.subscribe_resource("market://board")


async def test_a_server_without_subscriptions_cannot_be_asked_for_them(revision: str) -> None:
    server = Server("s")
    server.tool(name="t")(lambda: "x")
    async with Client(server, mode=revision) as client:
        with pytest.raises(LocalProtocolError, match=r"did not declare `resources\.subscribe`"):
            await client.subscribe_resource("s://a")


@pytest.mark.parametrize("revision", LEGACY_REVISIONS)
async def test_whoever_listens_to_the_same_resource_in_a_session_does_not_end_it(
    revision: str,
) -> None:
    peer = PeerServer(revision)
    told: asyncio.Queue[str] = asyncio.Queue()
    async with client_of(peer, on_resource_updated=told.put_nowait) as client:
        subscribing = asyncio.create_task(client.subscribe_resource("s://a"))
        peer.reply(await peer.next("resources/subscribe"))
        await subscribing
        async with client.listen(uris=["s://a"]):
            pass
        peer.tell(UPDATED, {"uri": "s://a"})
        assert await next_of(told) == "s://a"
        assert peer.unread == []
        ending = asyncio.create_task(client.unsubscribe_resource("s://a"))
        peer.reply(await peer.next("resources/unsubscribe"))
        await ending


# --- without async


@pytest.mark.parametrize("mode", ERAS)
def test_callbacks_of_a_blocking_client_may_use_it(mode: str) -> None:

    told: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def note(tools: list[Tool]) -> None:
        told.put((names(tools)[-1], client.call_tool("tea").text))

    with SyncClient(
        market(),
        mode=mode,
        timeouts=TIMEOUTS,
        on_tools_changed=note,
        on_resource_updated=told.put,
    ) as client:
        client.subscribe_resource("market://board")
        client.call_tool("update", {"uri": "market://board"})
        assert told.get(timeout=PATIENCE) == "market://board"
        client.call_tool("open_stall", {"name": "tea"})
        assert told.get(timeout=PATIENCE) == ("tea", "sold")
