"""A tool is called, and what comes back is wrong, or nothing.

Each way to answer wrongly meets each way to reach a server. The caller learns what it was at once,
or when the time is up; then the same connection serves the next call.
"""

import asyncio
import logging
from typing import Any

import pytest

from tests.faults.outcomes import CELL, FINE, SILENT, Outcome, Row, cells, row
from tests.faults.ways import (
    EVENTS,
    HTTP,
    JSON,
    LEGACY_JSON,
    LEGACY_SSE,
    MODERN_JSON,
    MODERN_SSE,
    OLD,
    PATIENCE,
    SILENCE,
    STDIO,
    WAYS,
    Bench,
    Way,
    cancelled,
    ids_of,
    wait_for,
)
from wigwag import RequestTimedOut, Timeouts
from wigwag.errors import (
    ConnectionClosed,
    HttpStatusError,
    InvalidResult,
    NotMcp,
    RemoteProtocolError,
    RequestFailed,
)

pytestmark = [pytest.mark.anyio, pytest.mark.broken_messages("server", sometimes=True)]

# What all that is said has in common with what was asked is the channel.
ONE_CHANNEL = [*STDIO, *OLD]
URL = r"^http://127\.0\.0\.1:\d+/\S+"

TIMED_OUT = Outcome(RequestTimedOut, rf"^no answer to tools/call after \d+\.\d s {SILENT}$")
NO_ANSWER = Outcome(
    NotMcp, rf"{URL} answered tools/call with something that is no answer to it: {{"
)
NO_JSON = Outcome(NotMcp, rf"{URL} answered tools/call with something that is no JSON: Traceback")
NO_PAGE = Outcome(NotMcp, rf"{URL} answered tools/call with something that is no JSON: <!doctype")
EMPTY = Outcome(NotMcp, rf"{URL} answered tools/call with something that is empty \(status 20\d\)")
ENDED = Outcome(ConnectionClosed, rf"{URL}: the stream of tools/call was cut before the answer$")
CUT_OFF = Outcome(ConnectionClosed, r"^the answer of http://\S+ was cut off before its end$")
HUNG_UP = Outcome(ConnectionClosed, rf"{URL} closed the connection before it answered$")
WENT_WRONG = Outcome(RequestFailed, r"^it went wrong \(error -32000\)$")


def malformed(what: str) -> Outcome:
    return Outcome(RemoteProtocolError, rf"^(Invalid Request|Parse error): {what}")


def invalid(what: str) -> Outcome:
    return Outcome(
        InvalidResult, rf"^the result of tools/call is not what the protocol says: {what}"
    )


WHAT_IS_JUNK = "skipped what the server sent, which is not JSON-RPC: 'Starting up...'"

ROWS: list[Row] = [
    row("silent", WAYS, TIMED_OUT),
    row("silent", HTTP, TIMED_OUT, begins=True),
    row("garbage", ONE_CHANNEL, TIMED_OUT),
    row("garbage", JSON, NO_JSON),
    row("garbage", EVENTS, ENDED),
    row("garbage before", [*ONE_CHANNEL, *EVENTS], FINE),
    row("page", JSON, NO_PAGE, kind="text/html"),
    row("nothing", ONE_CHANNEL, TIMED_OUT),
    row("nothing", JSON, EMPTY),
    row("nothing", EVENTS, ENDED),
    row("truncated", WAYS, malformed("Input data was truncated")),
    row("twice", [*ONE_CHANNEL, *EVENTS], FINE),
    row("unasked before", [*ONE_CHANNEL, *EVENTS], FINE),
    row("wrong id", ONE_CHANNEL, TIMED_OUT),
    row("wrong id", JSON, NO_ANSWER),
    row("wrong id", EVENTS, ENDED),
    row("null id", ONE_CHANNEL, TIMED_OUT),
    row("null id", JSON, NO_ANSWER),
    row("null id", EVENTS, ENDED),
    row("no version", WAYS, malformed('`jsonrpc` must be "2.0"')),
    row("result and error", WAYS, malformed("it has both `result` and `error`")),
    row("error", WAYS, WENT_WRONG),
    row("error without code", WAYS, malformed("`error` must have an integer `code`")),
    row("error is text", WAYS, malformed("`error` must have an integer `code`")),
    row("result is text", WAYS, invalid("Expected `object`, got `str`")),
    row("another result", WAYS, invalid("Object missing required field `content`")),
    # Over HTTP alone: what stands around the answer.
    row("as it should be", JSON, FINE, kind="text/plain"),
    row("as it should be", JSON, FINE, kind="application/json; charset=utf-8"),
    row("status", [MODERN_JSON, MODERN_SSE], EMPTY, status=202),
    row("status", HTTP, EMPTY, status=204),
    row("cut", [*HTTP, *OLD], HUNG_UP),
    row("stream cut", JSON, CUT_OFF, where="before"),
    row("stream cut", JSON, CUT_OFF, where="inside"),
    row("stream cut", EVENTS, ENDED, where="before"),
    row("stream cut", EVENTS, ENDED, where="inside"),
    row("stream cut", EVENTS, ENDED, where="before", properly=True),
    row("stream cut", EVENTS, ENDED, where="inside", properly=True),
    row("stream cut", EVENTS, FINE, where="behind"),
    row("stream cut", EVENTS, FINE, where="behind", properly=True),
]


@pytest.mark.parametrize(CELL, cells(ROWS))
async def test_a_wrong_answer_is_told_and_the_next_call_works(
    bench: Bench, fault: Any, way: Way, outcome: Outcome
) -> None:
    async with bench.connected(way, {"tools/call": fault}) as (client, orders):
        timeout = SILENCE if outcome is TIMED_OUT else PATIENCE
        await outcome.of(client.call_tool("odd", timeout=timeout))
        assert (await client.call_tool("echo", {"text": "well"})).text == "well"
        assert len(ids_of(orders, "tools/call")) == 1
    assert len(orders.received("start")) <= 1
    assert len(orders.received("initialize")) == (0 if way.is_modern else 1)


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_a_call_that_took_too_long_is_cancelled_by_the_rule_of_its_era(
    bench: Bench, way: Way
) -> None:
    async with bench.connected(way, {"tools/call": {"is": "silent"}}) as (client, orders):
        with pytest.raises(RequestTimedOut):
            await client.call_tool("odd", timeout=SILENCE)
        if way.transport == "http":
            await wait_for(lambda: "tools/call" in orders.said("left"), "the response is left")
        if way in (MODERN_JSON, MODERN_SSE):
            assert cancelled(orders) == []
        else:
            await wait_for(lambda: cancelled(orders) == ids_of(orders, "tools/call"), "told")


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_a_call_whose_caller_gave_up_is_cancelled_by_the_rule_of_its_era(
    bench: Bench, way: Way
) -> None:
    async with bench.connected(way, {"tools/call": {"is": "silent"}}) as (client, orders):
        call = asyncio.create_task(client.call_tool("odd"))
        await wait_for(lambda: ids_of(orders, "tools/call"), "the call has arrived")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        if way.transport == "http":
            await wait_for(lambda: "tools/call" in orders.said("left"), "the response is left")
        if way in (MODERN_JSON, MODERN_SSE):
            assert cancelled(orders) == []
        else:
            await wait_for(lambda: cancelled(orders) == ids_of(orders, "tools/call"), "told")
        assert (await client.call_tool("echo", {"text": "well"})).text == "well"


# Over modern HTTP, and where answers are JSON, there is nothing left that it could come on.
@pytest.mark.parametrize("way", [*ONE_CHANNEL, LEGACY_JSON, LEGACY_SSE], ids=str)
@pytest.mark.parametrize("end", ["cancelled", "timed out"])
async def test_an_answer_that_comes_when_nobody_waits_any_more_is_left_alone(
    bench: Bench, way: Way, end: str
) -> None:
    late: Any = {"tools/call": {"is": "late"}}
    async with bench.connected(way, late) as (client, orders):
        if way.transport == "http":
            await wait_for(lambda: orders.said("own_stream"), "there is a stream to say it on")
        if end == "cancelled":
            call = asyncio.create_task(client.call_tool("odd"))
            await wait_for(lambda: ids_of(orders, "tools/call"), "the call has arrived")
            call.cancel()
            await asyncio.wait([call])
        else:
            with pytest.raises(RequestTimedOut):
                await client.call_tool("odd", timeout=SILENCE)
        await wait_for(lambda: orders.said("said_late"), "the answer is said all the same")
        assert (await client.call_tool("echo", {"text": "well"})).text == "well"


async def test_signs_of_progress_keep_a_call_alive(bench: Bench) -> None:
    slow: Any = {"tools/call": {"is": "slow", "seconds": 6, "steps": 24}}

    async def call(way: Way) -> None:
        steps: list[float] = []
        async with bench.connected(way, slow) as (client, _):
            result = await client.call_tool(
                "odd", timeout=5, on_progress=lambda progress: steps.append(progress.progress)
            )
            assert result.text == "done"
            assert steps == list(range(1, 25))

    await asyncio.gather(*(call(way) for way in [*ONE_CHANNEL, *EVENTS]))


@pytest.mark.parametrize("way", [*ONE_CHANNEL, *EVENTS], ids=str)
async def test_no_sign_of_progress_keeps_a_call_alive_beyond_the_ceiling(
    bench: Bench, way: Way
) -> None:
    slow: Any = {"tools/call": {"is": "slow", "seconds": 60, "steps": 600}}
    timeouts = Timeouts(request=PATIENCE, ceiling=0.6, connect=PATIENCE, probe=PATIENCE)
    async with bench.connected(way, slow, timeouts=timeouts) as (client, orders):
        with pytest.raises(RequestTimedOut, match=r"the ceiling of 0\.6 s was reached"):
            await client.call_tool("odd", timeout=0.6)
        if way in EVENTS and way.is_modern:
            assert cancelled(orders) == []


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_a_slow_answer_without_a_sign_of_progress_is_waited_for(
    bench: Bench, way: Way
) -> None:
    slow: Any = {"tools/call": {"is": "slow", "seconds": 0.3}}
    async with bench.connected(way, slow) as (client, _):
        calls = [client.call_tool("odd") for _ in range(8)]
        assert [result.text for result in await asyncio.gather(*calls)] == ["done"] * 8


@pytest.mark.parametrize("way", [*ONE_CHANNEL, *EVENTS], ids=str)
async def test_what_is_no_message_is_logged(
    bench: Bench, way: Way, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "wigwag.client")
    async with bench.connected(way, {"tools/call": {"is": "garbage before"}}) as (client, _):
        await client.call_tool("odd")
    found = [record.message for record in caplog.records if record.name == "wigwag.client"]
    assert any(line.startswith(WHAT_IS_JUNK) for line in found)


@pytest.mark.parametrize("way", [*HTTP, *OLD], ids=str)
@pytest.mark.parametrize("status", [400, 401, 429, 503])
async def test_a_status_is_told_with_its_headers_and_the_beginning_of_its_body(
    bench: Bench, way: Way, status: int
) -> None:
    headers = {"Retry-After": "7", "WWW-Authenticate": 'Bearer scope="tools"'}
    refused: Any = {
        "is": "status",
        "status": status,
        "headers": headers,
        "body": "<html>\n<h1>Not now</h1>" + "x" * 10_000,
        "kind": "text/html",
        "times": 2,
    }
    async with bench.connected(way, {"tools/call": refused}) as (client, orders):
        for _ in range(2):
            with pytest.raises(HttpStatusError) as caught:
                await client.call_tool("odd")
            error = caught.value
            assert error.status == status
            assert error.headers["retry-after"] == "7"
            assert error.headers["www-authenticate"] == 'Bearer scope="tools"'
            where = f"http://127.0.0.1:{bench.port}/{orders.name}"
            assert str(error).startswith(f"{where} answered {status} ")
            assert ": <html> <h1>Not now</h1>xxx" in str(error)
            assert len(str(error)) < 500
        # The burst is over.
        assert (await client.call_tool("odd")).text == "done"
        assert len(ids_of(orders, "tools/call")) == 3


@pytest.mark.parametrize("way", [*HTTP, *OLD], ids=str)
@pytest.mark.parametrize("status", [400, 500])
async def test_an_error_of_the_protocol_counts_whatever_its_status(
    bench: Bench, way: Way, status: int
) -> None:
    error = {"code": -32000, "message": "it went wrong", "data": {"why": "rain"}}
    refused: Any = {"tools/call": {"is": "status", "status": status, "error": error}}
    async with bench.connected(way, refused) as (client, _):
        with pytest.raises(RequestFailed, match=WENT_WRONG.words) as caught:
            await client.call_tool("odd")
        assert caught.value.data == {"why": "rain"}
        assert (await client.call_tool("echo", {"text": "well"})).text == "well"


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_a_call_without_an_answer_ends_with_the_client(bench: Bench, way: Way) -> None:
    silent: Any = {"tools/call": {"is": "silent"}}
    async with bench.connected(way, silent) as (client, orders):
        calls = [asyncio.create_task(client.call_tool("odd")) for _ in range(3)]
        await wait_for(lambda: len(ids_of(orders, "tools/call")) == 3, "all have arrived")
    for call in calls:
        with pytest.raises(ConnectionClosed, match=r"^the client was closed$"):
            await call
