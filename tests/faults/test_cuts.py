"""A stream of events over HTTP is cut: that of an answer, that of the server, that of who listens.

In the legacy era a stream whose events have ids goes on from the last of them; in the modern one
what was cut is lost, and asked for again only where that does no harm.
"""

import asyncio
from typing import Any

import pytest

from tests.faults.ways import (
    LEGACY_JSON,
    LEGACY_SSE,
    MODERN_JSON,
    MODERN_SSE,
    OLD,
    PATIENCE,
    Bench,
    Way,
    ids_of,
    wait_for,
)
from wigwag import Client
from wigwag.client.healing import Healing
from wigwag.errors import ConnectionClosed, HttpStatusError, RequestFailed
from wigwag.schema import NOTIFICATIONS_TOOLS_LIST_CHANGED

pytestmark = [pytest.mark.anyio, pytest.mark.broken_messages("server", sometimes=True)]

UNKNOWN = {"code": -32601, "message": "Method not found: subscriptions/listen"}
MODERN = [MODERN_JSON, MODERN_SSE]
CUTS = [
    {"is": "stream cut", "where": where, "properly": properly}
    for where in ("before", "inside")
    for properly in (True, False)
]


def name_of(fault: Any) -> str:
    return f"{'ended' if fault['properly'] else 'cut'} {fault['where']}"


async def echo(client: Client, text: str = "well") -> None:
    assert (await client.call_tool("echo", {"text": text})).text == text


# --- the stream of an answer


@pytest.mark.parametrize("fault", CUTS, ids=name_of)
async def test_a_legacy_answer_is_had_by_going_on_behind_the_last_event(
    bench: Bench, fault: Any
) -> None:
    async with bench.connected(LEGACY_SSE, {"tools/call": fault}, ids=True) as (client, orders):
        assert (await client.call_tool("odd")).text == "done"
        await echo(client)
        assert len(ids_of(orders, "tools/call")) == 1
        (resumed,) = orders.received("resume")
        assert resumed["last-event-id"].endswith(".0")
        assert resumed["mcp-session-id"]
    assert len(orders.received("DELETE")) == 1


async def test_a_legacy_answer_that_came_before_the_cut_is_not_asked_for_again(
    bench: Bench,
) -> None:
    fault: Any = {"is": "stream cut", "where": "behind"}
    async with bench.connected(LEGACY_SSE, {"tools/call": fault}, ids=True) as (client, orders):
        assert (await client.call_tool("odd")).text == "done"
        await echo(client)
        assert orders.received("resume") == []


@pytest.mark.parametrize(
    ("again", "words"),
    [
        ({"is": "status", "status": 404}, "answered 404 Not Found"),
        (
            {"is": "status", "status": 400, "body": "no such event"},
            "400 Bad Request: no such event",
        ),
        ({"is": "status", "status": 500}, "answered 500 Internal Server Error"),
        ({"is": "cut"}, "closed the connection before it answered"),
    ],
    ids=str,
)
async def test_a_legacy_answer_that_cannot_be_had_is_lost_and_told_so(
    bench: Bench, again: Any, words: str
) -> None:
    faults: Any = {"tools/call": {"is": "stream cut", "where": "before"}, "resume": again}
    async with bench.connected(LEGACY_SSE, faults, ids=True) as (client, orders):
        what = (
            rf"the stream of tools/call was cut before the answer, and cannot be resumed: .*{words}"
        )
        with pytest.raises(ConnectionClosed, match=what):
            await client.call_tool("odd")
        await echo(client)
        assert len(ids_of(orders, "tools/call")) == 1
        assert 1 <= len(orders.received("resume")) <= 6  # the library, too, tries each GET twice


async def test_a_legacy_answer_is_had_after_a_burst_of_failures(bench: Bench) -> None:
    burst = {"is": "status", "status": 503, "times": 2}
    faults: Any = {"tools/call": {"is": "stream cut", "where": "inside"}, "resume": burst}
    async with bench.connected(LEGACY_SSE, faults, ids=True) as (client, orders):
        assert (await client.call_tool("odd")).text == "done"
        assert len(orders.received("resume")) == 3
        assert len(ids_of(orders, "tools/call")) == 1


async def test_who_does_not_want_it_resumes_nothing(bench: Bench) -> None:
    faults: Any = {"tools/call": CUTS[0]}
    async with bench.connected(LEGACY_SSE, faults, ids=True, heal=False) as (client, orders):
        with pytest.raises(ConnectionClosed, match=r"was cut before the answer$"):
            await client.call_tool("odd")
        await echo(client)
        assert orders.received("resume") == []


@pytest.mark.parametrize("way", [*MODERN, LEGACY_JSON, LEGACY_SSE], ids=str)
@pytest.mark.parametrize("where", ["before", "inside"])
async def test_what_only_looks_is_asked_again_under_a_new_id(
    bench: Bench, way: Way, where: str
) -> None:
    cut: Any = {"tools/call": {"is": "stream cut", "where": where, "times": 1}}
    seen: list[Any] = []
    async with bench.connected(way, cut, on_event=seen.append) as (client, orders):
        await client.list_tools()
        assert (await client.call_tool("look")).text == "done"
        first, second = ids_of(orders, "tools/call")
        assert first != second
        await echo(client)
    assert [(event.kind, event.method) for event in seen] == [("request_resent", "tools/call")]


@pytest.mark.parametrize("way", [*MODERN, LEGACY_JSON, LEGACY_SSE, *OLD], ids=str)
async def test_what_does_more_is_never_asked_again(bench: Bench, way: Way) -> None:
    cut: Any = {"tools/call": {"is": "stream cut", "where": "before"}}
    async with bench.connected(way, cut) as (client, orders):
        await client.list_tools()
        with pytest.raises(ConnectionClosed):
            await client.call_tool("odd")
        assert len(ids_of(orders, "tools/call")) == 1
        await echo(client)


@pytest.mark.parametrize("way", [*MODERN, LEGACY_JSON, LEGACY_SSE, *OLD], ids=str)
async def test_what_is_cut_each_time_is_given_up(bench: Bench, way: Way) -> None:
    cut: Any = {"tools/list": {"is": "stream cut", "where": "inside"}}
    async with bench.connected(way, cut) as (client, orders):
        with pytest.raises(ConnectionClosed):
            await client.list_tools()
        ids = ids_of(orders, "tools/list")
        assert 1 < len(ids) < 10
        assert way in OLD or len(set(ids)) == len(ids)
        await echo(client)


# --- the stream of the server


@pytest.mark.parametrize("ids", [True, False], ids=["with ids", "without ids"])
async def test_the_stream_of_the_server_is_opened_again(bench: Bench, ids: bool) -> None:  # noqa: FBT001
    ended: Any = {"GET": {"is": "it ends", "times": 1}}
    async with bench.connected(LEGACY_SSE, ended, ids=ids) as (client, orders):
        await wait_for(
            lambda: len(orders.said("own_stream")) + len(orders.received("resume")) > 1, ""
        )
        await echo(client)
        gets = orders.received("GET") + orders.received("resume")
        assert len(gets) == 2
        assert [("last-event-id" in headers) for headers in gets] == [False, ids]


@pytest.mark.parametrize("way", [LEGACY_JSON, LEGACY_SSE], ids=str)
@pytest.mark.parametrize(
    "fault",
    [
        {"is": "status", "status": 405},
        {"is": "status", "status": 404},
        {"is": "status", "status": 401},
        {"is": "silent"},
        {"is": "silent", "begins": True},
        {"is": "cut", "times": 2},
        {"is": "status", "status": 503, "times": 2},
    ],
    ids=str,
)
async def test_without_the_stream_of_the_server_all_else_works(
    bench: Bench, way: Way, fault: Any
) -> None:
    async with bench.connected(way, {"GET": fault}) as (client, orders):
        await wait_for(lambda: orders.received("GET"), "it is asked for")
        await echo(client)
        assert (await client.call_tool("odd")).text == "done"
    assert len(orders.received("initialize")) == 1
    assert len(orders.received("DELETE")) == 1


# --- the stream of who listens


@pytest.mark.parametrize("way", MODERN, ids=str)
@pytest.mark.parametrize("fault", ["stream cut", "stream ended"])
async def test_who_listens_hears_on_a_new_stream_what_the_old_one_may_have_missed(
    bench: Bench, way: Way, fault: str
) -> None:
    cut: Any = {"subscriptions/listen": {"is": fault, "times": 1}}
    seen: list[Any] = []
    async with bench.connected(way, cut, on_event=seen.append) as (client, orders):
        async with client.listen(tools=True) as changes, asyncio.timeout(PATIENCE):
            assert (await anext(changes)).method == NOTIFICATIONS_TOOLS_LIST_CHANGED
            first, second = ids_of(orders, "subscriptions/listen")
            assert first != second
            await client.call_tool("tell")
            assert (await anext(changes)).method == NOTIFICATIONS_TOOLS_LIST_CHANGED
            await echo(client)
        await wait_for(lambda: "subscriptions/listen" in orders.said("left"), "it is left")
    assert [event.kind for event in seen] == ["listen_reopened"]


@pytest.mark.parametrize("way", MODERN, ids=str)
async def test_who_does_not_want_it_learns_that_the_stream_is_cut(bench: Bench, way: Way) -> None:
    cut: Any = {"subscriptions/listen": {"is": "stream cut"}}
    async with (
        bench.connected(way, cut, heal=False) as (client, orders),
        client.listen(tools=True) as changes,
    ):
        with pytest.raises(ConnectionClosed, match="stream of subscriptions/listen was cut"):
            await asyncio.wait_for(anext(changes), PATIENCE)
        await echo(client)
        assert len(ids_of(orders, "subscriptions/listen")) == 1


@pytest.mark.parametrize("way", MODERN, ids=str)
@pytest.mark.parametrize(
    ("fault", "error", "words"),
    [
        ({"is": "status", "status": 403, "body": "no"}, HttpStatusError, "answered 403 .*: no"),
        ({"is": "status", "status": 404, "error": UNKNOWN}, RequestFailed, "Method not found"),
        ({"is": "nothing"}, ConnectionClosed, "was cut before the answer"),
    ],
    ids=str,
)
async def test_who_cannot_listen_learns_why(
    bench: Bench, way: Way, fault: Any, error: type[Exception], words: str
) -> None:
    # Each try has its pause, and there are several.
    heal = Healing(listen=False)
    async with bench.connected(way, {"subscriptions/listen": fault}, heal=heal) as (client, _):
        with pytest.raises(error, match=words):
            async with client.listen(tools=True):
                raise AssertionError("it listens")
        await echo(client)
