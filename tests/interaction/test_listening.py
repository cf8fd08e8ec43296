"""Listening for changes: on the stream of a modern request, or in a legacy session."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.interaction.connecting import PATIENCE, SOCKETS, listening
from tests.interaction.peers import PeerClient, PeerServer, cancelled, client_of
from tests.pair import result
from wigwag import (
    Client,
    ConnectionClosed,
    Context,
    RequestFailed,
    RequestTimedOut,
    Server,
    Timeouts,
)
from wigwag.client.listening import Changes
from wigwag.errors import LocalProtocolError
from wigwag.protocol.subscriptions import Change
from wigwag.runtime.server_connection import CHANGES_DELAY
from wigwag.schema import LATEST_MODERN, LEGACY_REVISIONS, MODERN_REVISIONS, SubscriptionFilter

pytestmark = pytest.mark.anyio

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
TOOLS = "notifications/tools/list_changed"
PROMPTS = "notifications/prompts/list_changed"
RESOURCES = "notifications/resources/list_changed"
UPDATED = "notifications/resources/updated"


def market() -> Server:
    """Return a server whose features may change."""
    server = Server("market")

    @server.tool
    def open_stall(name: str) -> None:
        server.tool(name=name)(lambda: "sold")

    @server.tool
    async def close_stall(name: str) -> None:
        server.remove_tool(name)

    @server.tool
    async def update(uri: str, ctx: Context) -> None:
        await ctx.resource_updated(uri)

    @server.tool
    async def post(uri: str) -> None:
        server.resource(uri, name="poster")(lambda: "text")

    server.resource("market://board", name="board")(lambda: "text")
    server.resource("market://stalls/{name}", name="stall")(lambda name: "text")
    server.prompt(name="greet")(lambda: "hello")
    return server


async def next_of(changes: Changes) -> Change:
    async with asyncio.timeout(PATIENCE):
        return await anext(changes)


# --- both ends of ours


@pytest.mark.parametrize("transport", ["memory", *SOCKETS])
async def test_changes_of_lists_are_reported_to_whoever_listens(
    revision: str, transport: str
) -> None:
    server = market()
    async with (
        connected_to(server, transport, revision) as client,
        client.listen(tools=True, resources=True) as changes,
    ):
        assert changes.honored.tools_list_changed is True
        await client.call_tool("open_stall", {"name": "tea"})
        assert await next_of(changes) == Change(TOOLS)
        assert "tea" in [tool.name for tool in (await client.list_tools()).tools]
        await client.call_tool("close_stall", {"name": "tea"})
        assert await next_of(changes) == Change(TOOLS)
        assert "tea" not in [tool.name for tool in (await client.list_tools()).tools]
        await client.call_tool("post", {"uri": "market://poster"})
        assert await next_of(changes) == Change(RESOURCES)


@asynccontextmanager
async def connected_to(server: Server, transport: str, revision: str) -> AsyncIterator[Client]:
    if transport == "memory":
        async with Client(server, mode=revision) as client:
            yield client
    else:
        async with (
            listening(server, transport) as address,
            Client(address, mode=revision) as client,
        ):
            yield client


async def test_updates_of_resources_are_reported_to_whoever_named_them(revision: str) -> None:
    async with Client(market(), mode=revision) as client:
        uris = ["market://board", "market://stalls/tea"]
        async with client.listen(uris=uris) as changes:
            for uri in ("market://stalls/rugs", "market://stalls/tea"):
                await client.call_tool("update", {"uri": uri})
            assert await next_of(changes) == Change(UPDATED, "market://stalls/tea")
            # A list that was not asked for is not reported.
            await client.call_tool("open_stall", {"name": "tea"})
            await client.call_tool("update", {"uri": "market://board"})
            assert await next_of(changes) == Change(UPDATED, "market://board")


async def test_changes_that_come_together_are_reported_once(revision: str) -> None:
    async with Client(market(), mode=revision) as client, client.listen(tools=True) as changes:
        for number in range(10):
            await client.call_tool("open_stall", {"name": f"stall_{number}"})
        assert await next_of(changes) == Change(TOOLS)
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert "stall_9" in names


async def test_two_listeners_of_one_client_each_hear_what_they_asked_for(revision: str) -> None:
    async with (
        Client(market(), mode=revision) as client,
        client.listen(tools=True) as tools,
        client.listen(resources=True) as resources,
    ):
        await client.call_tool("post", {"uri": "market://poster"})
        assert await next_of(resources) == Change(RESOURCES)
        await client.call_tool("open_stall", {"name": "tea"})
        assert await next_of(tools) == Change(TOOLS)


async def test_other_clients_hear_of_changes_as_well(revision: str) -> None:
    server = market()
    async with (
        Client(server, mode=revision) as one,
        Client(server, mode=revision) as other,
        other.listen(tools=True) as changes,
    ):
        await one.call_tool("open_stall", {"name": "tea"})
        assert await next_of(changes) == Change(TOOLS)


async def test_what_nobody_can_report_cannot_be_listened_for(revision: str) -> None:
    server = Server("s")
    server.tool(name="t")(lambda: "x")
    async with Client(server, mode=revision) as client:
        with pytest.raises(LocalProtocolError):
            async with client.listen(prompts=True):
                pass
        async with client.listen(tools=True, prompts=True) as changes:
            assert changes.honored == SubscriptionFilter(tools_list_changed=True)


async def test_closing_the_client_ends_the_listening_with_a_reason(revision: str) -> None:
    async with Client(market(), mode=revision) as client, client.listen(tools=True) as changes:
        waiting = asyncio.create_task(next_of(changes))
        await client.ping()
        await client.close()
        if revision in MODERN_REVISIONS:
            with pytest.raises(ConnectionClosed, match="the client was closed"):
                await waiting
        else:
            waiting.cancel()


async def test_after_listening_nothing_more_is_reported(revision: str) -> None:
    async with PeerClient(market(), revision) as peer:
        if not peer.is_modern:
            await peer.ask(peer.request("resources/subscribe", {"uri": "market://board"}))
            await peer.ask(peer.request("resources/unsubscribe", {"uri": "market://board"}))
            await peer.ask(peer.call("update", {"uri": "market://board"}))
        else:
            filter_ = {"resourceSubscriptions": ["market://board"]}
            peer.send(peer.request("subscriptions/listen", {"notifications": filter_}, id_="l"))
            await peer.next("notifications/subscriptions/acknowledged")
            peer.send(cancelled("l"))
            await peer.ask(peer.call("update", {"uri": "market://board"}))
        # Changes are gathered for a moment before they are reported.
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(4 * CHANGES_DELAY):
                await peer.next()


# --- hand-written servers


async def listen_to(peer: PeerServer) -> dict[str, Any]:
    """Take a listen request and acknowledge it."""
    asked = await peer.next("subscriptions/listen")
    report(
        peer,
        asked,
        "notifications/subscriptions/acknowledged",
        notifications={"toolsListChanged": True},
    )
    return asked


def report(peer: PeerServer, asked: dict[str, Any], method: str, **params: Any) -> None:
    peer.tell(method, {**params, "_meta": {SUBSCRIPTION: asked["id"]}})


async def test_a_modern_subscription_belongs_to_its_request() -> None:
    peer = PeerServer(LATEST_MODERN)
    async with client_of(peer) as client:
        serving = asyncio.create_task(listen_to(peer))
        async with client.listen(tools=True) as changes:
            asked = await serving
            assert asked["params"]["notifications"] == {"toolsListChanged": True}
            assert changes.subscription_id == asked["id"]
            # Somebody else's, none's, and that of the same id as text.
            for other in ({"id": 999}, {"id": str(asked["id"])}):
                report(peer, other, TOOLS)
            report(peer, asked, PROMPTS)
            waiting = asyncio.create_task(next_of(changes))
            await peer.settle()
            assert not waiting.done()
            report(peer, asked, TOOLS)
            assert await waiting == Change(TOOLS)
        cancel = await peer.next("notifications/cancelled")
        assert cancel["params"]["requestId"] == asked["id"]


async def test_a_server_that_ends_the_subscription_ends_the_iteration() -> None:
    peer = PeerServer(LATEST_MODERN)
    async with client_of(peer) as client:
        serving = asyncio.create_task(listen_to(peer))
        async with client.listen(tools=True) as changes:
            asked = await serving
            report(peer, asked, TOOLS)
            ended = {"resultType": "complete", "_meta": {SUBSCRIPTION: asked["id"]}}
            peer.send(result(asked["id"], ended))
            async with asyncio.timeout(PATIENCE):
                assert [change async for change in changes] == [Change(TOOLS)]


async def test_a_server_that_refuses_says_why() -> None:
    peer = PeerServer(LATEST_MODERN)
    async with client_of(peer) as client:

        async def refuse() -> None:
            peer.refuse(await peer.next("subscriptions/listen"), -32603, "not today")

        refusing = asyncio.create_task(refuse())
        with pytest.raises(RequestFailed, match="not today"):
            async with client.listen(tools=True):
                pass
        await refusing


async def test_a_server_that_never_acknowledges_is_given_up_and_told_so() -> None:
    peer = PeerServer(LATEST_MODERN)
    async with client_of(peer, timeouts=Timeouts(request=0.05)) as client:
        with pytest.raises(RequestTimedOut, match="subscriptions/listen"):
            async with client.listen(tools=True):
                pass
        asked = await peer.next("subscriptions/listen")
        cancel = await peer.next("notifications/cancelled")
        assert cancel["params"]["requestId"] == asked["id"]


async def test_without_healing_a_server_that_dies_is_a_reason() -> None:
    peer = PeerServer(LATEST_MODERN)
    async with client_of(peer, heal=False) as client:
        serving = asyncio.create_task(listen_to(peer))
        async with client.listen(tools=True) as changes:
            await serving
            peer.connection.abort()
            with pytest.raises(ConnectionClosed):
                await next_of(changes)
            with pytest.raises(ConnectionClosed):  # and it stays so
                await next_of(changes)


async def test_without_healing_a_legacy_server_that_dies_is_a_reason_too() -> None:
    peer = PeerServer(LEGACY_REVISIONS[-1])
    async with client_of(peer, heal=False) as client, client.listen(tools=True) as changes:
        peer.connection.abort()
        with pytest.raises(ConnectionClosed):
            await next_of(changes)


async def test_listening_to_a_legacy_server_outlives_it() -> None:
    peer = PeerServer(LEGACY_REVISIONS[-1])
    async with client_of(peer) as client, client.listen(tools=True) as changes:
        peer.connection.abort()
        await peer.wait_opened(2)
        # What may have been missed meanwhile.
        assert await next_of(changes) == Change(TOOLS)
        peer.tell(TOOLS)
        assert await next_of(changes) == Change(TOOLS)


async def test_a_subscription_outlives_its_server() -> None:
    peer = PeerServer(LATEST_MODERN)
    async with client_of(peer) as client:
        serving = asyncio.create_task(listen_to(peer))
        async with client.listen(tools=True) as changes:
            await serving
            peer.connection.abort()
            await peer.wait_opened(2)
            asked = await listen_to(peer)
            # What may have been missed meanwhile.
            assert await next_of(changes) == Change(TOOLS)
            report(peer, asked, TOOLS)
            assert await next_of(changes) == Change(TOOLS)


@pytest.mark.parametrize("revision", LEGACY_REVISIONS)
async def test_a_legacy_session_subscribes_to_each_resource_and_unsubscribes(
    revision: str,
) -> None:
    peer = PeerServer(revision)
    said: list[tuple[str, str]] = []

    async def serve() -> None:
        for _ in range(4):
            asked = await peer.next()
            said.append((asked["method"], asked["params"]["uri"]))
            peer.reply(asked)

    async with client_of(peer) as client:
        serving = asyncio.create_task(serve())
        async with client.listen(tools=True, uris=["s://a", "s://b"]) as changes:
            assert changes.subscription_id is None
            peer.tell(PROMPTS)
            peer.tell(UPDATED, {"uri": "s://c"})
            peer.tell(UPDATED, {"uri": "s://b/part"})
            peer.tell(TOOLS)
            assert await next_of(changes) == Change(UPDATED, "s://b/part")
            assert await next_of(changes) == Change(TOOLS)
        await serving
    assert said == [
        ("resources/subscribe", "s://a"),
        ("resources/subscribe", "s://b"),
        ("resources/unsubscribe", "s://a"),
        ("resources/unsubscribe", "s://b"),
    ]


@pytest.mark.parametrize("revision", LEGACY_REVISIONS)
async def test_a_subscription_that_is_refused_undoes_those_before_it(revision: str) -> None:
    async with Client(market(), mode=revision) as client:
        with pytest.raises(RequestFailed, match="Resource not found: market://nothing"):
            async with client.listen(uris=["market://board", "market://nothing"]):
                pass
        await client.ping()
