"""Giving up: on either side, at any time, and with whatever a careless peer says about it."""

import asyncio
from typing import Any

import pytest

from tests.interaction.bazaar import bazaar
from tests.interaction.connecting import PATIENCE, SOCKETS, TIMEOUTS, listening, text_of
from tests.interaction.peers import PeerClient, PeerServer, cancelled, client_of
from tests.pair import notification, request
from wigwag import Client, ConnectionClosed, Context, Server
from wigwag.schema import (
    LATEST_LEGACY,
    LATEST_MODERN,
    CreateMessageRequestParams,
    CreateMessageResult,
)

pytestmark = pytest.mark.anyio


# --- a client that gives up


async def test_cancelling_a_call_stops_its_handler(client: Client) -> None:
    calling = asyncio.create_task(client.call_tool("hang", {"name": "x"}))
    await text_of(client, "wait_for", entry="x began")
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    # Its `finally` runs, and the connection lives.
    assert await text_of(client, "wait_for", entry="x was stopped") == "x was stopped"


async def test_a_timeout_around_a_call_is_an_ordinary_one(client: Client) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await client.call_tool("hang", {"name": "x"})
    assert await text_of(client, "wait_for", entry="x was stopped") == "x was stopped"


async def test_cancelling_one_call_leaves_the_others_alone(client: Client) -> None:
    given_up = asyncio.create_task(client.call_tool("hang", {"name": "x"}))
    waiting = asyncio.create_task(text_of(client, "wait_for", entry="news"))
    await text_of(client, "wait_for", entry="x began")
    given_up.cancel()
    await client.call_tool("write", {"entry": "news"})
    assert await waiting == "news"


async def test_a_plain_function_goes_on_in_its_thread_and_nobody_hears_of_it(
    client: Client,
) -> None:
    calling = asyncio.create_task(client.call_tool("block", {"name": "gate"}))
    await client.ping()
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    await client.call_tool("unblock", {"name": "gate"})
    assert await text_of(client, "echo", text="alive") == "alive"


# --- what a server does about it


@pytest.mark.parametrize("id_", [0, 7, -1, "", "0", "x"])
async def test_nothing_is_said_about_a_request_once_it_is_cancelled(
    revision: str, id_: int | str
) -> None:
    async with PeerClient(bazaar(), revision) as peer:
        peer.send(peer.call("hang", {"name": "x"}, id_=id_))
        await peer.ask(peer.call("wait_for", {"entry": "x began"}))
        peer.send(cancelled(id_))
        await peer.ask(peer.call("wait_for", {"entry": "x was stopped"}))
        await peer.settle()
        assert peer.unread == []
        assert id_ not in [message.get("id") for message in peer.seen]


async def test_what_a_handler_does_after_its_cancellation_is_not_told(revision: str) -> None:
    server = Server("s")
    stopped = asyncio.Event()

    @server.tool
    async def stubborn(ctx: Context) -> str:
        await ctx.report_progress(1)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await ctx.report_progress(2)
            await ctx.error("too late")
            stopped.set()
            return "late"
        return "never"

    async with PeerClient(server, revision) as peer:
        meta: Any = {"progressToken": "p"}
        if peer.is_modern:
            meta["io.modelcontextprotocol/logLevel"] = "debug"
        peer.send(peer.call("stubborn", id_="s", meta=meta))
        assert (await peer.next("notifications/progress"))["params"]["progress"] == 1
        peer.send(cancelled("s"))
        async with asyncio.timeout(PATIENCE):
            await stopped.wait()
        await peer.settle()
        assert peer.unread == []


@pytest.mark.parametrize("id_", [0, "x"])
async def test_a_cancelled_id_that_comes_again_in_the_modern_era_is_served_anew(
    id_: int | str,
) -> None:
    async with PeerClient(bazaar(), "2026-07-28") as peer:
        peer.send(peer.call("hang", {"name": "x"}, id_=id_))
        await peer.ask(peer.call("wait_for", {"entry": "x began"}))
        peer.send(cancelled(id_))
        answer = await peer.ask(peer.call("echo", {"text": "again"}, id_=id_))
        assert answer["result"]["content"][0]["text"] == "again"


async def test_a_cancellation_of_what_is_not_in_flight_is_ignored(revision: str) -> None:
    async with PeerClient(bazaar(), revision) as peer:
        await peer.ask(peer.call("echo", {"text": "done"}, id_="done"))
        peer.send(cancelled("done"), cancelled("never"), cancelled(0), cancelled(-5))
        await peer.ask(peer.call("echo", {"text": "alive"}))


@pytest.mark.broken_messages("client")
@pytest.mark.parametrize(
    "params",
    [
        {"requestId": None},
        {"requestId": 1.5},
        {"requestId": {}},
        {"requestId": True},
        [],
        "x",
        None,
    ],
    ids=str,
)
async def test_a_malformed_cancellation_is_ignored(revision: str, params: Any) -> None:
    async with PeerClient(bazaar(), revision) as peer:
        peer.send(peer.call("hang", {"name": "x"}, id_=1))
        await peer.ask(peer.call("wait_for", {"entry": "x began"}))
        peer.send(notification("notifications/cancelled", params))
        await peer.ask(peer.call("echo", {"text": "alive"}))
        await peer.settle()
        assert peer.unread == []


async def test_an_id_is_cancelled_with_its_own_type(revision: str) -> None:
    async with PeerClient(bazaar(), revision) as peer:
        peer.send(peer.call("wait_for", {"entry": "news"}, id_=1))
        peer.send(cancelled("1"))
        peer.send(peer.call("write", {"entry": "news"}, id_="w"))
        ids = {(await peer.next())["id"], (await peer.next())["id"]}
        assert ids == {1, "w"}


async def test_a_cancellation_right_behind_its_call_never_harms(revision: str) -> None:
    async with PeerClient(bazaar(), revision) as peer:
        for number in range(200):
            id_ = f"race-{number}"
            # Both arrive in one piece; the tool may well be done before.
            peer.send(peer.call("echo", {"text": "x"}, id_=id_), cancelled(id_))
        peer.send(peer.call("echo", {"text": "alive"}, id_="last"))
        answered: list[str] = []
        while "last" not in answered:
            answered.append((await peer.next())["id"])
        assert len(answered) == len(set(answered))


async def test_the_handshake_cannot_be_cancelled() -> None:
    async with PeerClient(bazaar(), "2025-11-25") as peer:
        peer.send(cancelled("init"))
        await peer.ask(peer.call("echo", {"text": "alive"}))


async def test_a_connection_that_ends_stops_the_handlers(revision: str) -> None:
    server = Server("s")
    events: list[str] = []
    began = asyncio.Event()

    @server.tool
    async def hang() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            events.append("stopped")

    async with PeerClient(server, revision) as peer:
        peer.send(peer.call("hang"))
        async with asyncio.timeout(PATIENCE):
            await began.wait()
    assert events == ["stopped"]


@pytest.mark.parametrize("revision", [LATEST_LEGACY, LATEST_MODERN])
@pytest.mark.parametrize("transport", SOCKETS)
async def test_a_client_that_leaves_does_not_leave_its_calls_running(
    revision: str, transport: str
) -> None:
    async with (
        listening(bazaar(), transport) as address,
        Client(address, mode=revision, timeouts=TIMEOUTS) as other,
    ):
        async with Client(address, mode=revision, timeouts=TIMEOUTS) as leaving:
            calling = asyncio.create_task(leaving.call_tool("hang", {"name": "x"}))
            await text_of(other, "wait_for", entry="x began")
        assert await text_of(other, "wait_for", entry="x was stopped") == "x was stopped"
        with pytest.raises(ConnectionClosed):
            await calling


# --- a server that gives up on its question


@pytest.mark.parametrize("id_", [0, "ask", ""])
async def test_a_legacy_server_can_take_its_question_back(id_: int | str) -> None:
    events: list[str] = []
    began = asyncio.Event()

    async def sample(_: CreateMessageRequestParams) -> CreateMessageResult:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            events.append("stopped")
        raise AssertionError("never")

    peer = PeerServer("2025-11-25")
    async with client_of(peer, sampling=sample) as client:
        question = {"messages": [], "maxTokens": 1}
        peer.send(request(id_, "sampling/createMessage", question))
        async with asyncio.timeout(PATIENCE):
            await began.wait()
        peer.send(cancelled(id_))
        await peer.settle()
        assert events == ["stopped"]
        assert peer.unread == []
        calling = asyncio.create_task(client.call_tool("x"))
        peer.reply(await peer.next("tools/call"), content=[])
        await calling


@pytest.mark.broken_messages("server", sometimes=True)
@pytest.mark.parametrize("params", [{"requestId": 999}, {"requestId": None}, {}, None], ids=str)
async def test_a_client_ignores_cancellations_of_what_was_not_asked(
    revision: str, params: Any
) -> None:
    peer = PeerServer(revision)
    async with client_of(peer) as client:
        peer.tell("notifications/cancelled", params)
        calling = asyncio.create_task(client.call_tool("x"))
        peer.reply(await peer.next("tools/call"), content=[])
        await calling
