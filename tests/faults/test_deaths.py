"""Servers that die, are started anew, or are deaf: processes over stdio, and one behind a port.

What the ends of a process look like in words, and how one that does not want to end is ended, is in
`tests/e2e/test_client_process.py`; here it is what becomes of the calls.
"""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.e2e.host import is_running
from tests.faults.orders import Orders
from tests.faults.ways import (
    HTTP,
    LEGACY_JSON,
    LEGACY_SSE,
    MODERN_JSON,
    MODERN_SSE,
    OLD,
    PATIENCE,
    SILENCE,
    STDIO,
    Bench,
    Way,
    ids_of,
    serving_http,
    wait_for,
)
from wigwag import Client, ConnectionClosed, RequestTimedOut
from wigwag.client.healing import Healing
from wigwag.errors import ConnectionRefused

pytestmark = [pytest.mark.anyio, pytest.mark.broken_messages("server", sometimes=True)]

BIG_TEXT = "x" * 2_000_000
ENDS: Any = [
    ({"is": "die", "code": 3, "words": "first\nno memory\n"}, "exited with code 3; the last lines"),
    ({"is": "die", "code": 3, "half": True}, "exited with code 3$"),
    ({"is": "die", "signal": 9}, "was killed by SIGKILL$"),
    ({"is": "close output"}, "closed its output$"),
]


async def echo(client: Client, text: str = "well") -> None:
    assert (await client.call_tool("echo", {"text": text})).text == text


def pids(orders: Orders) -> list[int]:
    """Return the processes of a server over stdio, the first first."""
    return [int(pid) for pid in orders.said("pid")]


# --- processes


@pytest.mark.parametrize(("fault", "words"), ENDS, ids=str)
@pytest.mark.parametrize("way", STDIO, ids=str)
async def test_a_call_that_its_process_dies_of_is_told_and_not_made_again(
    bench: Bench, way: Way, fault: Any, words: str
) -> None:
    async with bench.connected(way, {"tools/call": fault}) as (client, orders):
        await client.list_tools()
        with pytest.raises(ConnectionClosed, match=rf"^the server `.*` {words}") as caught:
            await client.call_tool("odd")
        if fault["is"] == "die":
            assert caught.value.exit_code == -fault.get("signal", -fault.get("code", 0))
        assert caught.value.stderr == fault.get("words", "").strip()
        assert len(ids_of(orders, "tools/call")) == 1
        await echo(client)
        assert len(set(pids(orders))) == 2
        assert not is_running(pids(orders)[0])


@pytest.mark.parametrize(("fault", "words"), ENDS, ids=str)
@pytest.mark.parametrize("way", STDIO, ids=str)
async def test_what_only_looks_is_asked_of_the_next_process(
    bench: Bench, way: Way, fault: Any, words: str
) -> None:
    seen: list[Any] = []
    dies: Any = {"tools/call": {**fault, "times": 1}}
    async with bench.connected(way, dies, on_event=seen.append) as (client, orders):
        await client.list_tools()
        assert (await client.call_tool("look")).text == "done"
        assert len(ids_of(orders, "tools/call")) == 2
        assert len(orders.received("start")) == 2
    assert [event.kind for event in seen] == ["server_restarted", "request_resent"]


@pytest.mark.parametrize("way", STDIO, ids=str)
async def test_without_healing_all_that_waits_and_all_that_follows_fails(
    bench: Bench, way: Way
) -> None:
    faults: Any = {"tools/call": {"is": "silent"}, "tell": {"is": "die", "code": 3}}
    async with bench.connected(way, faults, heal=False) as (client, orders):
        calls = [asyncio.create_task(client.call_tool("odd")) for _ in range(5)]
        await wait_for(lambda: len(ids_of(orders, "tools/call")) == 5, "all have arrived")
        for call in (client.call_tool("tell"), *calls, client.call_tool("echo")):
            with pytest.raises(ConnectionClosed, match=r"exited with code 3$"):
                await call
        assert not client.is_connected
        assert len(orders.received("start")) == 1
        await client.connect()
        await echo(client)


@pytest.mark.parametrize("way", STDIO, ids=str)
async def test_a_process_that_dies_while_nobody_asks_is_started_for_the_next_call(
    bench: Bench, way: Way
) -> None:
    async with bench.connected(way) as (client, orders):
        await client.list_tools()
        os.kill(pids(orders)[0], signal.SIGKILL)
        await wait_for(lambda: not client.is_connected, "it is noticed")
        assert (await client.call_tool("odd")).text == "done"
        os.kill(pids(orders)[1], signal.SIGKILL)  # this time it is not
        await echo(client)
        assert len(orders.received("start")) == 3


@pytest.mark.parametrize("way", STDIO, ids=str)
async def test_a_process_that_dies_each_time_is_given_up(bench: Bench, way: Way) -> None:
    async with bench.connected(way, {"tools/list": {"is": "die", "code": 3}}) as (client, orders):
        with pytest.raises(ConnectionClosed, match=r"exited with code 3$"):
            await client.list_tools()
        assert len(orders.received("start")) == len(ids_of(orders, "tools/list")) == 3
        await echo(client)


@pytest.mark.parametrize("way", STDIO, ids=str)
async def test_what_a_dead_process_left_behind_is_ended_before_the_next_one_starts(
    bench: Bench, way: Way
) -> None:
    faults: Any = {
        "start": {"is": "children", "children": 2},
        "tools/call": {"is": "die", "code": 3, "times": 1},
    }
    async with bench.connected(way, faults) as (client, orders):
        children = [int(pid) for pid in await wait_for(lambda: orders.said("child"), "children")]
        assert all(map(is_running, children))
        with pytest.raises(ConnectionClosed, match=r"exited with code 3$"):
            await client.call_tool("odd")
        await echo(client)
        await wait_for(lambda: not any(map(is_running, children[:2])), "those of the first")
    assert not any(is_running(int(pid)) for pid in orders.said("child"))


@pytest.mark.parametrize("way", STDIO, ids=str)
async def test_a_process_that_reads_nothing_more_holds_up_nobody_and_is_ended(
    bench: Bench, way: Way
) -> None:
    faults: Any = {"tools/call": {"is": "stop reading"}}
    async with bench.connected(way, faults, exit_timeout=SILENCE) as (client, orders):
        deaf = client.call_tool("odd", timeout=SILENCE)
        big = [client.call_tool("odd", {"text": BIG_TEXT}, timeout=SILENCE) for _ in range(4)]
        for failure in await asyncio.gather(deaf, *big, return_exceptions=True):
            assert isinstance(failure, RequestTimedOut), failure
        assert client.is_connected
    assert not is_running(pids(orders)[0])


@pytest.mark.parametrize("way", STDIO, ids=str)
async def test_a_process_that_is_deaf_to_its_end_is_killed_with_its_children(
    bench: Bench, way: Way
) -> None:
    deaf: Any = {"start": {"is": "deaf", "children": 2}}
    async with bench.connected(way, deaf, exit_timeout=SILENCE) as (client, orders):
        await echo(client)
    found = [*pids(orders), *map(int, orders.said("child"))]
    assert len(found) == 3
    assert not any(map(is_running, found))


@pytest.mark.parametrize("way", [*HTTP, *OLD], ids=str)
async def test_a_server_that_does_not_read_a_body_holds_up_nobody(bench: Bench, way: Way) -> None:
    async with bench.connected(way, {"body": {"is": "stop reading"}}) as (client, orders):
        with pytest.raises(RequestTimedOut, match="no answer to tools/call"):
            await client.call_tool("odd", {"text": BIG_TEXT}, timeout=SILENCE)
        await echo(client)
        assert orders.received("body") is not None


# --- a server behind a port


@pytest.fixture
def places() -> Iterator[ExitStack]:
    """Servers behind ports, which end with the test."""
    with ExitStack() as stack:
        yield stack


class Place:
    """A server behind a port of its own, which can be killed and started anew."""

    def __init__(self, bench: Bench, stack: ExitStack) -> None:
        self._bench = bench
        self._stack = stack
        self.port, self._process = stack.enter_context(serving_http(bench.folder))

    def kill(self) -> None:
        """Kill it, and see it gone."""
        self._process.kill()
        self._process.wait()

    def start(self) -> None:
        """Start it anew on the same port."""
        _, self._process = self._stack.enter_context(serving_http(self._bench.folder, self.port))


@pytest.mark.parametrize("way", [*HTTP, *OLD], ids=str)
async def test_a_server_that_was_started_anew_is_used_as_if_nothing_had_happened(
    bench: Bench, places: ExitStack, way: Way
) -> None:
    place, orders = Place(bench, places), bench.orders(way)
    seen: list[Any] = []
    async with bench.client(way, orders, port=place.port, on_event=seen.append) as client:
        await client.list_tools()
        place.kill()
        place.start()
        await echo(client)
        assert (await client.call_tool("odd")).text == "done"
    kinds = {event.kind for event in seen}
    if way in OLD:
        assert "reconnected" in kinds
    else:
        assert ("session_reopened" in kinds) is not way.is_modern
    assert len(orders.received("initialize")) == (0 if way.is_modern else 2)


@pytest.mark.parametrize("way", [*HTTP, *OLD], ids=str)
async def test_a_call_that_only_looks_outlives_its_server(
    bench: Bench, places: ExitStack, way: Way
) -> None:
    place = Place(bench, places)
    orders = bench.orders(way, {"tools/call": {"is": "silent", "times": 3}})
    async with bench.client(way, orders, port=place.port) as client:
        await client.list_tools()
        calls = [asyncio.create_task(client.call_tool("look")) for _ in range(3)]
        await wait_for(lambda: len(ids_of(orders, "tools/call")) == 3, "all have arrived")
        place.kill()
        place.start()
        assert [result.text for result in await asyncio.gather(*calls)] == ["done"] * 3
        assert len(ids_of(orders, "tools/call")) >= 6


@pytest.mark.parametrize("way", [*HTTP, *OLD], ids=str)
async def test_a_call_that_does_more_is_lost_with_its_server(
    bench: Bench, places: ExitStack, way: Way
) -> None:
    place = Place(bench, places)
    orders = bench.orders(way, {"tools/call": {"is": "silent", "times": 1}})
    async with bench.client(way, orders, port=place.port) as client:
        await client.list_tools()
        call = asyncio.create_task(client.call_tool("odd"))
        await wait_for(lambda: ids_of(orders, "tools/call"), "it has arrived")
        place.kill()
        place.start()
        with pytest.raises(ConnectionClosed, match=r"^http://127\.0\.0\.1:\d+/\S+ "):
            await call
        await echo(client)
        assert len(ids_of(orders, "tools/call")) == 1


@pytest.mark.parametrize("way", HTTP, ids=str)
async def test_a_server_that_dies_in_the_middle_of_an_answer_and_stays_away_is_missed(
    bench: Bench, places: ExitStack, way: Way
) -> None:
    place = Place(bench, places)
    orders = bench.orders(way, {"tools/call": {"is": "die", "half": True}})
    heal = Healing(resend=False)
    async with bench.client(way, orders, port=place.port, heal=heal) as client:
        with pytest.raises(ConnectionClosed, match=f":{place.port}/"):
            await client.call_tool("odd")
        place.kill()
        # What the client had open may end only now.
        with pytest.raises((ConnectionRefused, ConnectionClosed)):
            await client.call_tool("echo")
        with pytest.raises(ConnectionRefused, match="nobody listens there"):
            await client.call_tool("echo")
        place.start()
        await client.close()
        await client.connect()
        await echo(client)


# --- sessions


@pytest.mark.parametrize("way", [LEGACY_JSON, LEGACY_SSE], ids=str)
async def test_a_session_that_was_forgotten_is_opened_anew_and_the_call_made_again(
    bench: Bench, way: Way
) -> None:
    seen: list[Any] = []
    lost: Any = {"tools/call": {"is": "forget", "times": 1}}
    async with bench.connected(way, lost, on_event=seen.append) as (client, orders):
        assert (await client.call_tool("odd")).text == "done"
        await wait_for(lambda: len(orders.said("own_stream")) >= 2, "its stream is opened, too")
        assert len(orders.received("initialize")) == 2
    assert "session_reopened" in [event.kind for event in seen]
    assert len(orders.received("DELETE")) == 1  # what is forgotten need not be ended


@pytest.mark.parametrize("way", [LEGACY_JSON, LEGACY_SSE], ids=str)
async def test_many_calls_in_a_forgotten_session_open_one_new_one(bench: Bench, way: Way) -> None:
    async with bench.connected(way, {"tools/call": {"is": "forget", "times": 1}}) as (
        client,
        orders,
    ):
        calls = [client.call_tool("odd", {"text": str(n)}) for n in range(16)]
        results = await asyncio.wait_for(asyncio.gather(*calls), PATIENCE)
        assert [result.text for result in results] == [str(n) for n in range(16)]
        assert len(orders.received("initialize")) == 2


@pytest.mark.parametrize("way", [MODERN_JSON, MODERN_SSE], ids=str)
async def test_a_modern_server_that_says_404_has_forgotten_nothing(bench: Bench, way: Way) -> None:
    page = {"is": "status", "status": 404, "body": "no such page", "times": 1}
    async with bench.connected(way, {"tools/call": page}) as (client, orders):
        with pytest.raises(Exception, match="answered 404 Not Found: no such page"):
            await client.call_tool("odd")
        await echo(client)
        assert orders.received("initialize") == []
