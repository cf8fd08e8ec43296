"""Streams and connections that break: how they go on, and what whoever listens is told."""

import asyncio
from typing import Any

import pytest

from tests.interaction.connecting import PATIENCE, TIMEOUTS
from tests.interaction.http_server import HttpRequest, HttpServer, McpUrl
from tests.interaction.peers import PeerServer, client_of
from tests.pair import notification, result
from wigwag import (
    Client,
    ClientEvent,
    Healing,
    PromptsListChanged,
    RequestFailed,
    ResourceUpdated,
    ToolsListChanged,
)
from wigwag.client.listeners import MAX_LISTEN_TRIES
from wigwag.client.listening import Changes
from wigwag.errors import ConnectionClosed, ConnectionRefused, HttpStatusError
from wigwag.protocol.subscriptions import Change
from wigwag.schema import LATEST_LEGACY, LATEST_MODERN

pytestmark = pytest.mark.anyio

LEGACY, MODERN = LATEST_LEGACY, LATEST_MODERN
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
REPORTS = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
}
TOOLS = "notifications/tools/list_changed"


class Told:
    """What a client tells of what it has put right."""

    def __init__(self) -> None:
        self.events: list[ClientEvent] = []

    def __call__(self, event: ClientEvent) -> None:
        self.events.append(event)

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]


def url_client(server: HttpServer, told: Told, **options: Any) -> Client:
    options = {"timeouts": TIMEOUTS, "era_cache": {}, "on_event": told, **options}
    return Client(server.url, **options)


async def next_of(changes: Changes) -> Change:
    async with asyncio.timeout(PATIENCE):
        return await anext(changes)


def answer(message: HttpRequest) -> Any:
    return result(message.message["id"], {"content": [{"type": "text", "text": "done"}]})


async def tell(message: HttpRequest, method: str, **params: Any) -> None:
    """Report something on the stream of a subscription."""
    meta = {SUBSCRIPTION: message.message["id"]}
    await message.event(notification(method, {**params, "_meta": meta}))


async def agree(message: HttpRequest) -> None:
    """Begin the stream of a subscription, and agree to all of it."""
    await message.stream()
    wanted = message.message["params"]["notifications"]
    await tell(message, "notifications/subscriptions/acknowledged", notifications=wanted)


# --- streams of the legacy era


async def test_a_stream_that_goes_on_is_an_event() -> None:
    async with McpUrl(LEGACY, session="s") as server:
        told = Told()
        asked: list[HttpRequest] = []

        async def call(message: HttpRequest) -> None:
            asked.append(message)
            await message.stream(b"id: 7\nretry: 1\ndata:\n\n")
            message.cut()

        async def resume(message: HttpRequest) -> None:
            if "last-event-id" in message.headers:
                await message.stream()
                await message.event(answer(asked[0]))
            else:
                await message.answer(405)

        server.replies["tools/call"] = call
        server.replies["GET"] = resume
        async with url_client(server, told) as client:
            assert (await client.call_tool("tool")).text == "done"
        (event,) = told.events
        assert (event.kind, event.method) == ("stream_resumed", "tools/call")
        assert event.reason  # whether a cut looks like an end depends on the moment
        assert len(asked) == 1


async def test_a_stream_is_not_gone_on_with_where_that_is_turned_off() -> None:
    async with McpUrl(LEGACY, session="s") as server:
        told = Told()

        async def tell_and_cut(message: HttpRequest) -> None:
            await message.stream(b"id: 7\nretry: 1\ndata:\n\n")
            message.cut()

        server.replies["tools/call"] = server.replies["GET"] = tell_and_cut
        async with url_client(server, told, heal=Healing(resume=False)) as client:
            await server.wait_asked("GET")
            with pytest.raises(ConnectionClosed, match=r"was cut before the answer$"):
                await client.call_tool("tool")
            listening = [t for t in asyncio.all_tasks() if "_listen" in repr(t.get_coro())]
            if listening:
                await asyncio.wait(listening, timeout=PATIENCE)
            assert len(server.asked("GET")) == 1
        assert told.events == []


@pytest.mark.parametrize("is_whole", [True, False])
async def test_of_the_stream_of_the_server_nothing_is_missed_if_its_events_have_ids(
    is_whole: bool,  # noqa: FBT001
) -> None:
    async with McpUrl(LEGACY, session="s", capabilities=REPORTS) as server:
        told = Told()
        goes_on = asyncio.Event()

        async def listen(message: HttpRequest) -> None:
            head = b"id: 7\n" if is_whole else b""
            await message.stream(head + b"retry: 1\ndata:\n\n")
            if len(server.asked("GET")) == 1:
                await goes_on.wait()
                message.cut()
                return
            await message.event(notification("notifications/prompts/list_changed"))
            await message.wait_gone()

        server.replies["GET"] = listen
        async with (
            url_client(server, told) as client,
            client.listen(tools=True, prompts=True) as changes,
        ):
            await server.wait_asked("GET")
            goes_on.set()
            if not is_whole:
                assert await next_of(changes) == ToolsListChanged()
            assert await next_of(changes) == PromptsListChanged()
        (event,) = told.events
        assert (event.kind, event.method) == ("stream_resumed", None)


# --- subscriptions of the modern era


async def test_a_subscription_that_is_opened_again_reports_all_that_was_listened_for_once() -> None:
    async with McpUrl(MODERN, capabilities=REPORTS) as server:
        told = Told()
        goes_on = asyncio.Event()

        async def listen(message: HttpRequest) -> None:
            await agree(message)
            if len(server.asked("subscriptions/listen")) == 1:
                await goes_on.wait()
                message.cut()
            else:
                await message.wait_gone()

        server.replies["subscriptions/listen"] = listen
        async with (
            url_client(server, told) as client,
            client.listen(tools=True, uris=["s://a"]) as changes,
        ):
            goes_on.set()
            assert [await next_of(changes), await next_of(changes)] == [
                ToolsListChanged(),
                ResourceUpdated(uri="s://a"),
            ]
            (event,) = told.events
            assert (event.kind, event.method) == ("listen_reopened", "subscriptions/listen")
            assert isinstance(event.reason, ConnectionClosed)
            first, second = (r.message["params"] for r in server.asked("subscriptions/listen"))
            assert first["notifications"] == second["notifications"]
            # Nothing more is said of it.
            waiting = asyncio.create_task(next_of(changes))
            await asyncio.sleep(0)
            assert not waiting.done()
            waiting.cancel()


@pytest.mark.parametrize(
    "options", [{"heal": False}, {"heal": Healing(listen=False)}], ids=["nothing", "no-listen"]
)
async def test_opening_again_can_be_turned_off(options: Any) -> None:
    async with McpUrl(MODERN, capabilities=REPORTS) as server:
        told = Told()
        server.replies["subscriptions/listen"] = agree
        async with (
            url_client(server, told, **options) as client,
            client.listen(tools=True) as changes,
        ):
            with pytest.raises(ConnectionClosed, match="was cut before the answer"):
                await next_of(changes)
        assert len(server.asked("subscriptions/listen")) == 1
        assert told.events == []


async def test_a_subscription_that_is_refused_later_ends_with_the_reason() -> None:
    async with McpUrl(MODERN, capabilities=REPORTS) as server:
        told = Told()

        async def listen(message: HttpRequest) -> None:
            if len(server.asked("subscriptions/listen")) == 1:
                await agree(message)
            else:
                await message.answer(401, b"who are you?")

        server.replies["subscriptions/listen"] = listen
        async with url_client(server, told) as client, client.listen(tools=True) as changes:
            with pytest.raises(HttpStatusError, match="401"):
                await next_of(changes)
        assert len(server.asked("subscriptions/listen")) == 2
        assert told.events == []


async def test_leaving_ends_the_waiting_for_the_next_try() -> None:
    async with McpUrl(MODERN, capabilities=REPORTS) as server:

        async def listen(message: HttpRequest) -> None:
            if len(server.asked("subscriptions/listen")) == 1:
                await agree(message)
            else:
                await message.answer(503)

        server.replies["subscriptions/listen"] = listen
        async with url_client(server, Told()) as client, client.listen(tools=True):
            await server.wait_asked("subscriptions/listen", 2)
        # That no task is left is seen to by the fixture of all tests.


async def test_closing_the_client_ends_the_waiting_for_the_next_try() -> None:
    async with McpUrl(MODERN, capabilities=REPORTS) as server:

        async def listen(message: HttpRequest) -> None:
            if len(server.asked("subscriptions/listen")) == 1:
                await agree(message)
            else:
                await message.answer(503)

        server.replies["subscriptions/listen"] = listen
        async with url_client(server, Told()) as client, client.listen(tools=True) as changes:
            await server.wait_asked("subscriptions/listen", 3)
            await client.close()
            with pytest.raises(ConnectionClosed, match="the client was closed"):
                await next_of(changes)


# --- connections that are opened anew


async def test_a_connection_that_is_opened_anew_is_one_event(revision: str) -> None:
    peer = PeerServer(revision)
    told = Told()
    async with client_of(peer, on_event=told) as client:
        listing = [asyncio.create_task(client.list_tools(refresh=True)) for _ in range(3)]
        first = await peer.next("tools/list")
        assert first
        peer.connection.abort()
        await peer.wait_opened(2)
        while not all(task.done() for task in listing):
            peer.reply(await peer.next("tools/list"), tools=[])
            await peer.settle()
    assert told.kinds.count("reconnected") == 1
    assert told.kinds[0] == "reconnected"
    assert isinstance(told.events[0].reason, ConnectionClosed)
    assert set(told.kinds) == {"reconnected", "request_resent"}


async def test_what_waits_for_a_connection_is_sent_once_and_no_event() -> None:
    peer = PeerServer(MODERN)
    told = Told()
    open_it = peer.open
    refusals = 0

    async def open_later() -> Any:
        nonlocal refusals
        if peer.opened == 1 and refusals < 2:
            refusals += 1
            raise ConnectionRefused("nobody listens there")
        return await open_it()

    peer.open = open_later  # type: ignore[method-assign]
    async with client_of(peer, on_event=told) as client:
        peer.connection.abort()
        await peer.settle()
        calling = asyncio.create_task(client.call_tool("add"))
        await peer.wait_opened(2)
        peer.reply(await peer.next("tools/call"), content=[{"type": "text", "text": "done"}])
        assert (await calling).text == "done"
    assert (refusals, told.kinds) == (2, ["reconnected"])


async def test_without_restart_a_connection_stays_closed(revision: str) -> None:
    peer = PeerServer(revision)
    told = Told()
    async with client_of(peer, on_event=told, heal=Healing(restart=False)) as client:
        peer.connection.abort()
        for _ in range(2):
            with pytest.raises(ConnectionClosed):
                await client.list_tools()
        assert (peer.opened, told.events) == (1, [])
        await client.connect()
        assert told.kinds == ["reconnected"]


async def test_whoever_listens_in_a_legacy_session_is_told_what_may_have_been_missed() -> None:
    peer = PeerServer(LEGACY)
    told = Told()

    async def serve() -> None:
        while True:
            peer.reply(await peer.next())

    async with client_of(peer, on_event=told) as client:
        serving = asyncio.create_task(serve())
        async with client.listen(prompts=True, uris=["s://a"]) as changes:
            serving.cancel()
            await asyncio.wait({serving})
            peer.connection.abort()
            await peer.wait_opened(2)
            asked = await peer.next("resources/subscribe")
            assert asked["params"]["uri"] == "s://a"
            peer.reply(asked)
            assert [await next_of(changes), await next_of(changes)] == [
                PromptsListChanged(),
                ResourceUpdated(uri="s://a"),
            ]
            assert told.kinds == ["reconnected", "listen_reopened"]
            serving = asyncio.create_task(serve())
        serving.cancel()
        await asyncio.wait({serving})


async def test_a_resource_that_is_no_more_ends_only_the_listening_to_it() -> None:
    peer = PeerServer(LEGACY)

    async def serve() -> None:
        while True:
            asked = await peer.next()
            if peer.opened == 2 and asked["params"]["uri"] == "s://gone":
                peer.refuse(asked, -32002, "no such resource")
            else:
                peer.reply(asked)

    async with client_of(peer) as client:
        serving = asyncio.create_task(serve())
        async with (
            client.listen(uris=["s://gone"]) as gone,
            client.listen(tools=True, uris=["s://a"]) as going_on,
        ):
            serving.cancel()
            await asyncio.wait({serving})
            peer.connection.abort()
            await peer.wait_opened(2)
            serving = asyncio.create_task(serve())
            with pytest.raises(RequestFailed, match="no such resource"):
                await next_of(gone)
            assert await next_of(going_on) == ToolsListChanged()
            assert await next_of(going_on) == ResourceUpdated(uri="s://a")
            peer.tell(TOOLS)
            assert await next_of(going_on) == ToolsListChanged()
        serving.cancel()
        await asyncio.wait({serving})


@pytest.mark.parametrize("listen", [True, False])
async def test_a_legacy_server_that_is_gone_for_good_is_a_reason(
    listen: bool,  # noqa: FBT001
) -> None:
    peer = PeerServer(LEGACY)
    open_it = peer.open
    tries = 0

    async def open_once() -> Any:
        nonlocal tries
        tries += 1
        if tries > 1:
            raise ConnectionClosed("nobody is there")
        return await open_it()

    peer.open = open_once  # type: ignore[method-assign]
    heal = Healing(listen=listen)
    async with client_of(peer, heal=heal) as client, client.listen(tools=True) as changes:
        changes_pauses = client._pauses
        changes_pauses.wait = _no_pause  # type: ignore[method-assign]  # else it takes 15 s
        peer.connection.abort()
        with pytest.raises(ConnectionClosed):
            await next_of(changes)
    assert tries == (1 + MAX_LISTEN_TRIES if listen else 1)


async def _no_pause(seconds: float) -> None:
    assert seconds <= 8.0
