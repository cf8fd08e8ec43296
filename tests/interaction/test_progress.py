"""Progress: who hears of it, and what it does to the limits on waiting."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.interaction.bazaar import bazaar
from tests.interaction.connecting import PATIENCE, Connect, text_of
from tests.interaction.peers import PeerClient, PeerServer, client_of
from wigwag import Client, RequestTimedOut, Timeouts
from wigwag.schema import LATEST_LEGACY, LATEST_MODERN, ProgressNotificationParams

pytestmark = pytest.mark.anyio


def noted(into: list[tuple[float, Any, Any]]) -> Callable[[ProgressNotificationParams], None]:
    def note(params: ProgressNotificationParams) -> None:
        into.append((params.progress, params.total or None, params.message or None))

    return note


@pytest.mark.parametrize("tool", ["count", "count_in_thread"])
async def test_progress_arrives_before_the_result_and_in_order(client: Client, tool: str) -> None:
    heard: list[tuple[float, Any, Any]] = []
    result = await client.call_tool(tool, {"to": 3}, on_progress=noted(heard))
    has_message = client.protocol_version != "2024-11-05" and tool == "count"
    expected = [(n, 3, f"at {n}" if has_message else None) for n in (1, 2, 3)]
    assert heard == expected
    assert result.text == "counted"


async def test_progress_of_a_plain_function_arrives_while_it_runs(client: Client) -> None:
    heard = asyncio.Event()
    calling = asyncio.create_task(
        client.call_tool("count_and_block", {"name": "gate"}, on_progress=lambda _: heard.set())
    )
    async with asyncio.timeout(PATIENCE):
        await heard.wait()
    assert not calling.done()
    await client.call_tool("unblock", {"name": "gate"})
    assert (await calling).text == "counted"


async def test_progress_that_does_not_grow_or_is_no_number_is_not_sent(
    local_client: Client,
) -> None:
    heard: list[tuple[float, Any, Any]] = []
    await local_client.call_tool("count_badly", on_progress=noted(heard))
    assert heard == [(1.0, None, None), (2.0, None, None)]


async def test_every_call_hears_of_its_own_progress(client: Client) -> None:
    heard: dict[int, list[tuple[float, Any, Any]]] = {to: [] for to in range(1, 6)}
    await asyncio.gather(
        *(
            client.call_tool("count", {"to": to}, on_progress=noted(into))
            for to, into in heard.items()
        )
    )
    assert {to: [p for p, *_ in into] for to, into in heard.items()} == {
        to: list(range(1, to + 1)) for to in heard
    }


async def test_a_callback_that_fails_harms_nobody(
    client: Client, log_text: Callable[[], str]
) -> None:
    def fail(_: ProgressNotificationParams) -> None:
        raise ValueError("clumsy")

    result = await client.call_tool("count", {"to": 2}, on_progress=fail)
    assert result.text == "counted"
    assert "ValueError: clumsy" in log_text()


async def test_a_callback_may_be_asynchronous(local_client: Client) -> None:
    heard: list[float] = []

    async def note(params: ProgressNotificationParams) -> None:
        heard.append(params.progress)

    await local_client.call_tool("count", {"to": 2}, on_progress=note)
    await text_of(local_client, "echo", text="whatever was to be called back has been")
    assert heard == [1, 2]


async def test_whoever_asks_for_no_progress_is_sent_none(revision: str) -> None:
    async with PeerClient(bazaar(), revision) as peer:
        answer = await peer.ask(peer.call("count", {"to": 3}))  # the next message is the answer
        assert answer["result"]["content"][0]["text"] == "counted"


@pytest.mark.parametrize("token", ["text", "", 0, -1, 2**53])
async def test_a_progress_token_comes_back_as_it_went(revision: str, token: str | int) -> None:
    async with PeerClient(bazaar(), revision) as peer:
        peer.send(peer.call("count", {"to": 1}, meta={"progressToken": token}))
        told = await peer.next("notifications/progress")
        assert told["params"]["progressToken"] == token
        assert type(told["params"]["progressToken"]) is type(token)
        await peer.next()


@pytest.mark.broken_messages("server")
async def test_progress_for_what_is_not_in_flight_is_ignored(revision: str) -> None:
    peer = PeerServer(revision)
    heard: list[tuple[float, Any, Any]] = []
    async with client_of(peer) as client:
        for token in ("unknown", 999, 2.5, None):
            peer.tell("notifications/progress", {"progressToken": token, "progress": 1})
        calling = asyncio.create_task(client.call_tool("slow", on_progress=noted(heard)))
        call = await peer.next("tools/call")
        token = call["params"]["_meta"]["progressToken"]
        peer.tell("notifications/progress", {"progressToken": str(token), "progress": 1})
        peer.tell("notifications/progress", {"progressToken": token, "progress": 2})
        peer.reply(call, content=[])
        await calling
        peer.tell("notifications/progress", {"progressToken": token, "progress": 3})
        await peer.settle()
    assert heard == [(2, None, None)]


# --- limits on waiting

QUICK = Timeouts(request=0.6, ceiling=1.8, connect=10, probe=10)


async def report_until_cancelled(peer: PeerServer, call: Any, every: float) -> float:
    """Report progress until the client gives up; return for how long that was."""
    loop = asyncio.get_running_loop()
    began, progress = loop.time(), 0
    while not peer.unread:
        progress += 1
        token = call["params"]["_meta"]["progressToken"]
        peer.tell("notifications/progress", {"progressToken": token, "progress": progress})
        passed = asyncio.Event()
        loop.call_later(every, passed.set)
        await passed.wait()
    return loop.time() - began


@pytest.mark.parametrize("revision", [LATEST_LEGACY, LATEST_MODERN])
async def test_without_a_sign_of_life_a_request_times_out_and_is_cancelled(revision: str) -> None:
    peer = PeerServer(revision)
    async with client_of(peer, timeouts=QUICK) as client:
        with pytest.raises(RequestTimedOut) as caught:
            await client.call_tool("slow")
        call = await peer.next("tools/call")
        cancel = await peer.next("notifications/cancelled")
        assert cancel["params"]["requestId"] == call["id"]
        assert caught.value.method == "tools/call"
        assert "0.6 s without a sign" in str(caught.value)
        # Its answer comes too late, and harms nobody.
        peer.reply(call, content=[])
        other = asyncio.create_task(client.call_tool("quick"))
        peer.reply(await peer.next("tools/call"), content=[{"type": "text", "text": "ok"}])
        assert (await other).text == "ok"


@pytest.mark.parametrize("revision", [LATEST_LEGACY, LATEST_MODERN])
async def test_progress_starts_the_limit_anew_and_the_ceiling_holds_all_the_same(
    revision: str,
) -> None:
    peer = PeerServer(revision)
    async with client_of(peer, timeouts=QUICK) as client:
        calling = asyncio.create_task(client.call_tool("slow"))
        call = await peer.next("tools/call")
        # Progress is asked for though nobody listens to it: it keeps the request alive.
        lasted = await report_until_cancelled(peer, call, every=0.05)
        with pytest.raises(RequestTimedOut, match=r"the ceiling of 1\.8 s was reached"):
            await calling
        cancel = await peer.next("notifications/cancelled")
        assert cancel["params"]["requestId"] == call["id"]
        assert lasted > 1.2


async def test_the_limit_can_be_given_with_the_request(connect: Connect) -> None:
    async with connect() as client:
        with pytest.raises(RequestTimedOut, match=r"0\.05 s without a sign"):
            await client.call_tool("hang", {"name": "x"}, timeout=0.05)
        # The server was told to stop, and did.
        assert await text_of(client, "wait_for", entry="x was stopped") == "x was stopped"
