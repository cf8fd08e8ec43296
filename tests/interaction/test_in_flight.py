"""Many requests at the same time, and answers in whatever order they come."""

import asyncio
import random
import threading
from collections.abc import Callable

import pytest

from tests.interaction.bazaar import bazaar
from tests.interaction.connecting import ALL_WAYS, PATIENCE, Connect, Way, connected, text_of
from tests.interaction.peers import EVERYTHING, PeerClient, PeerServer, client_of
from wigwag import Client, ConnectionClosed, Limits, RequestFailed, Server
from wigwag.schema import ProgressNotificationParams

pytestmark = pytest.mark.anyio


async def test_requests_are_answered_as_they_finish(client: Client) -> None:
    first = asyncio.create_task(text_of(client, "wait_for", entry="second"))
    second = asyncio.create_task(text_of(client, "wait_for", entry="third"))
    await client.call_tool("write", {"entry": "third"})
    assert await second == "third"
    assert not first.done()
    await client.call_tool("write", {"entry": "second"})
    assert await first == "second"


async def test_no_more_are_under_way_than_are_allowed(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server("s", limits=Limits(calls=2))
    gate = asyncio.Event()
    began: list[int] = []

    @server.tool
    async def wait(number: int) -> int:
        began.append(number)
        await gate.wait()
        return number

    async with Client(server, mode=revision) as client:
        under_way = [asyncio.create_task(client.call_tool("wait", {"number": n})) for n in (1, 2)]
        while len(began) < 2:  # noqa: ASYNC110 - the server says nothing yet
            await asyncio.sleep(0)
        with pytest.raises(RequestFailed, match="2 requests are under way, and no more"):
            await client.call_tool("wait", {"number": 3})
        assert "Limits.calls" in caplog.text
        gate.set()
        assert [(await task).text for task in under_way] == ["1", "2"]
        assert (await client.call_tool("wait", {"number": 4})).text == "4"


async def test_answers_are_matched_by_id_in_any_order(revision: str) -> None:
    peer = PeerServer(revision)
    async with client_of(peer) as client:
        calling = [asyncio.create_task(client.call_tool("t", {"n": n})) for n in range(20)]
        calls = [await peer.next("tools/call") for _ in calling]
        assert [call["params"]["arguments"]["n"] for call in calls] == list(range(20))
        for call in random.Random(1).sample(calls, len(calls)):
            number = call["params"]["arguments"]["n"]
            peer.reply(call, content=[{"type": "text", "text": str(number)}])
        results = await asyncio.gather(*calling)
    assert [result.text for result in results] == [str(n) for n in range(20)]


@pytest.mark.broken_messages("server")
async def test_answers_to_nothing_and_second_answers_are_ignored(revision: str) -> None:
    peer = PeerServer(revision)
    async with client_of(peer) as client:
        calling = asyncio.create_task(client.call_tool("t"))
        call = await peer.next("tools/call")
        wrong = {**call, "id": str(call["id"])}
        peer.reply(wrong, content=[{"type": "text", "text": "wrong type of id"}])
        peer.reply({**call, "id": 999}, content=[])
        peer.refuse({**call, "id": "x"}, -32603)
        peer.reply(call, content=[{"type": "text", "text": "right"}])
        peer.reply(call, content=[{"type": "text", "text": "again"}])
        peer.refuse(call, -32603)
        assert (await calling).text == "right"
        other = asyncio.create_task(client.call_tool("t"))
        peer.reply(await peer.next("tools/call"), content=[{"type": "text", "text": "alive"}])
        assert (await other).text == "alive"


@pytest.mark.parametrize("way", ALL_WAYS[::4], ids=str)
async def test_hundreds_of_calls_at_once_are_each_answered(way: Way) -> None:
    async with connected(way) as client:
        texts = [f"text {n}" for n in range(300)]
        assert await asyncio.gather(*(text_of(client, "echo", text=t) for t in texts)) == texts


@pytest.mark.broken_messages("client")
async def test_an_id_in_flight_cannot_be_used_again(revision: str) -> None:
    async with PeerClient(bazaar(), revision) as peer:
        peer.send(peer.call("wait_for", {"entry": "news"}, id_=1))
        await peer.ask(peer.call("echo", {"text": "x"}))
        peer.send(peer.call("echo", {"text": "x"}, id_=1))
        refused = await peer.next()
        assert (refused["id"], refused["error"]["code"]) == (1, -32600)
        assert "in flight" in refused["error"]["message"]


# --- plain functions beside each other


async def test_plain_functions_run_beside_each_other_and_stop_nobody(client: Client) -> None:
    first = asyncio.create_task(text_of(client, "block", name="one"))
    second = asyncio.create_task(text_of(client, "block", name="two"))
    await client.ping()
    assert await text_of(client, "echo", text="meanwhile") == "meanwhile"
    await client.list_tools()
    assert not first.done()
    # Were they one after the other, the second could not end before the first.
    await client.call_tool("unblock", {"name": "two"})
    assert (await second).startswith("two in wigwag-worker")
    await client.call_tool("unblock", {"name": "one"})
    assert (await first).startswith("one in wigwag-worker")


async def test_more_calls_than_threads_wait_their_turn(revision: str) -> None:
    server = Server("s", limits=Limits(worker_threads=2))
    gate = threading.Event()
    running: list[int] = []
    most: list[int] = []

    @server.tool
    def work(number: int) -> int:
        running.append(number)
        most.append(len(running))
        gate.wait(PATIENCE)
        running.remove(number)
        return number

    @server.tool
    async def quick() -> str:
        return "quick"

    async with Client(server, mode=revision) as client:
        calling = [asyncio.create_task(text_of(client, "work", number=n)) for n in range(20)]
        await client.ping()
        assert await text_of(client, "quick") == "quick"
        gate.set()
        assert await asyncio.gather(*calling) == [str(n) for n in range(20)]
    assert max(most) == 2


# --- several clients


async def test_clients_of_one_server_do_not_hear_each_other(revision: str) -> None:
    server = bazaar()
    clients = [Client(server, mode=revision) for _ in range(20)]
    heard: list[list[float]] = [[] for _ in clients]

    def noting(number: int) -> Callable[[ProgressNotificationParams], None]:
        return lambda params: heard[number].append(params.progress)

    await asyncio.gather(*(client.connect() for client in clients))
    try:
        counted = await asyncio.gather(
            *(
                client.call_tool("count", {"to": number + 1}, on_progress=noting(number))
                for number, client in enumerate(clients)
            )
        )
        said = await asyncio.gather(
            *(text_of(client, "echo", text=f"{n}") for n, client in enumerate(clients))
        )
    finally:
        await asyncio.gather(*(client.close() for client in clients))
    assert {result.text for result in counted} == {"counted"}
    assert said == [f"{n}" for n in range(20)]
    assert heard == [list(range(1, number + 2)) for number in range(20)]


async def test_clients_of_different_revisions_share_a_server(connect: Connect) -> None:
    async with connect() as one, Client(bazaar(), mode="legacy") as other:
        assert other.protocol_version == "2025-11-25"
        assert await text_of(one, "echo", text="a") == "a"
        assert await text_of(other, "echo", text="b") == "b"


async def test_one_client_that_fails_does_not_disturb_another(revision: str) -> None:
    async with Client(bazaar(), mode=revision) as one:
        async with Client(bazaar(), mode=revision) as other:
            with pytest.raises(RequestFailed):
                await other.call_tool("refuse")
            hanging = asyncio.create_task(other.call_tool("hang", {"name": "y"}))
            await text_of(other, "wait_for", entry="y began")
        with pytest.raises(ConnectionClosed, match="the client was closed"):
            await hanging
        assert await text_of(one, "wait_for", entry="y was stopped") == "y was stopped"


async def test_a_pretty_printing_server_is_understood(revision: str) -> None:
    # Each message is a line; but one that a relay has formatted anew may have any white space.
    peer = PeerServer(revision, capabilities=EVERYTHING)
    async with client_of(peer) as client:
        calling = asyncio.create_task(client.call_tool("t"))
        call = await peer.next("tools/call")
        more = b'"resultType" : "complete",' if peer.is_modern else b""
        peer.send_raw(
            b' { "result" : {'
            + more
            + b' "content" : [ ] } ,\t"id" :'
            + str(call["id"]).encode()
            + b' , "jsonrpc" : "2.0" } '
        )
        assert (await calling).content == []
