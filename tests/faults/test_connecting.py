"""Something is wrong while a client finds out what a server speaks, and greets it.

A server of either era that can be spoken to is spoken to, whatever it makes of the question which
era it is of. Otherwise the failure says why, and leaves nothing behind; once the server is sound,
the same client connects.
"""

import asyncio
import signal
from typing import Any

import pytest

from tests.faults.outcomes import CELL, FINE, Outcome, Row, cells, row
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
    TIMEOUTS,
    WAYS,
    Bench,
    Way,
    ids_of,
    wait_for,
)
from wigwag import Client, ServerStartFailed, StdioServerParameters, Timeouts
from wigwag.errors import (
    ConnectionClosed,
    HttpStatusError,
    InvalidResult,
    McpError,
    NotMcp,
    RequestFailed,
    ServerUnreachable,
)

pytestmark = [pytest.mark.anyio, pytest.mark.broken_messages("server", sometimes=True)]

STDIO_LEGACY, STDIO_MODERN = STDIO
LEGACY = [way for way in WAYS if not way.is_modern and way not in OLD]
MODERN = [way for way in WAYS if way.is_modern]
NOT_STREAMED = [way for way in LEGACY if way not in EVENTS]
URL = r"^http://127\.0\.0\.1:\d+/\S+"
COMMAND = r"^the server `\S*python\S* -S -E -m tests\.faults\.fault_server stdio \S+`"

# What is no answer where there is but one channel.
NO_ANSWERS = ("silent", "slow", "die later", "garbage", "page", "nothing", "wrong id", "text id")
IMPATIENT = Timeouts(request=PATIENCE, connect=PATIENCE, probe=SILENCE)


def status(number: int) -> Outcome:
    return Outcome(HttpStatusError, rf"{URL} answered {number} [A-Z].*: <h1>No</h1>$")


def broken(what: str) -> Outcome:
    return Outcome(InvalidResult, f"^the server's answer is broken: {what}")


def refused(*numbers: int) -> list[Row]:
    page = {"body": "<h1>No</h1>", "kind": "text/html"}
    return [row("status", HTTP, status(number), status=number, **page) for number in numbers]


async def use(client: Client, way: Way) -> None:
    assert client.protocol_version == way.revision
    assert (await client.call_tool("odd")).text == "done"


# --- the question which era it is

ASKED: list[Row] = [
    row("silent", LEGACY, FINE),
    row("garbage", NOT_STREAMED, FINE),
    row("garbage before", [STDIO_LEGACY, LEGACY_SSE], FINE),
    row("page", NOT_STREAMED, FINE),
    row("nothing", NOT_STREAMED, FINE),
    row("wrong id", NOT_STREAMED, FINE),
    row("text id", NOT_STREAMED, FINE),
    row("null id", LEGACY, FINE),
    row("no id", LEGACY, FINE),
    row("twice", [STDIO_LEGACY, LEGACY_SSE], FINE),
    row("error", LEGACY, FINE),
    row("error without code", LEGACY, FINE),
    row("error is text", LEGACY, FINE),
    row("result is text", LEGACY, FINE),
    row("another result", LEGACY, FINE),
    row("die", [STDIO_LEGACY], FINE, code=3),
    row("die", [STDIO_LEGACY], FINE, half=True),
    row("die", [STDIO_LEGACY], FINE, signal=signal.SIGKILL),
    row("close output", [STDIO_LEGACY], FINE),
    row("die later", [STDIO_LEGACY], FINE),
    *(
        row("status", [LEGACY_JSON], FINE, status=number, body="<h1>No</h1>")
        for number in (400, 404, 405, 406, 410, 415)
    ),
    row("status", [LEGACY_JSON], FINE, status=400, error={"code": -32600, "message": "no"}),
    row("status", [LEGACY_JSON], FINE, status=202),
    row("truncated", [*STDIO, *HTTP], broken("Parse error: Input data was truncated")),
    row("cut", HTTP, Outcome(ConnectionClosed, "closed the connection before it answered")),
    row(
        "stream cut", JSON, Outcome(ConnectionClosed, "was cut off before its end"), where="inside"
    ),
    row(
        "stream cut", EVENTS, Outcome(ConnectionClosed, "was cut before the answer"), where="inside"
    ),
    *refused(401, 403, 429, 500, 502, 503),
    # A server that is modern, slow to start, and knows of no handshake.
    row("silent", [STDIO_MODERN, MODERN_JSON, MODERN_SSE], FINE, times=1),
    row("slow", [STDIO_MODERN, MODERN_JSON, MODERN_SSE], FINE, seconds=2 * SILENCE),
]


@pytest.mark.parametrize(CELL, cells(ASKED))
async def test_the_era_is_found_out_whatever_becomes_of_the_question(
    bench: Bench, fault: Any, way: Way, outcome: Outcome
) -> None:
    orders = bench.orders(way, {"server/discover": fault})
    timeouts = IMPATIENT if fault["is"] in NO_ANSWERS else TIMEOUTS
    client = bench.client(way, orders, timeouts=timeouts)

    async def connect() -> None:
        async with client:
            await use(client, way)

    await outcome.of(connect())
    assert not client.is_connected
    if outcome is not FINE:
        assert orders.received("initialize") == []
        orders.give(revision=way.revision, answers=way.answers)
        await connect()


# --- the handshake

GREETED: list[Row] = [
    row("garbage before", [STDIO_LEGACY, LEGACY_SSE, *OLD], FINE),
    row("twice", [STDIO_LEGACY, LEGACY_SSE, *OLD], FINE),
    row(
        "garbage", [LEGACY_JSON], Outcome(NotMcp, "initialize with something that is no JSON: Trac")
    ),
    row(
        "page", [LEGACY_JSON], Outcome(NotMcp, "initialize with something that is no JSON: <!doct")
    ),
    row("nothing", [LEGACY_JSON], Outcome(NotMcp, r"initialize with .* is empty \(status 200\)$")),
    row("wrong id", [LEGACY_JSON], Outcome(NotMcp, "something that is no answer to it")),
    row("truncated", [*LEGACY, *OLD], broken("Parse error: Input data was truncated")),
    row("no version", [*LEGACY, *OLD], broken('Invalid Request: `jsonrpc` must be "2.0"')),
    row("result and error", [*LEGACY, *OLD], broken("Invalid Request: it has both")),
    row("error without code", [*LEGACY, *OLD], broken("Invalid Request: `error` must have an")),
    row("error", [*LEGACY, *OLD], Outcome(RequestFailed, r"^it went wrong \(error -32000\)$")),
    row("result is text", [*LEGACY, *OLD], Outcome(InvalidResult, "Expected `object`, got `str`")),
    row("another result", [*LEGACY, *OLD], Outcome(InvalidResult, "field `protocolVersion`")),
    row(
        "die",
        [STDIO_LEGACY],
        Outcome(ServerStartFailed, rf"{COMMAND} exited with code 3 before it was ready; the last"),
        code=3,
        words="first\nno configuration\n",
    ),
    row(
        "die",
        [STDIO_LEGACY],
        Outcome(ServerStartFailed, rf"{COMMAND} exited with code 4 before it was ready$"),
        code=4,
        half=True,
    ),
    row(
        "die",
        [STDIO_LEGACY],
        Outcome(ServerStartFailed, rf"{COMMAND} was killed by SIGKILL before it was ready$"),
        signal=signal.SIGKILL,
    ),
    row(
        "close output",
        [STDIO_LEGACY],
        Outcome(ServerStartFailed, rf"{COMMAND} closed its output before it was ready$"),
    ),
    row(
        "cut", [LEGACY_JSON], Outcome(ConnectionClosed, "closed the connection before it answered")
    ),
    row(
        "stream cut",
        [LEGACY_SSE],
        Outcome(ConnectionClosed, "the stream of initialize was cut before the answer"),
        where="inside",
    ),
    row("stream cut", OLD, Outcome(ConnectionClosed, rf"{URL} cut its stream$"), where="inside"),
    row("stream cut", [LEGACY_SSE], FINE, where="behind"),
]


@pytest.mark.parametrize(CELL, cells(GREETED))
async def test_a_handshake_that_goes_wrong_is_told_and_can_be_tried_again(
    bench: Bench, fault: Any, way: Way, outcome: Outcome
) -> None:
    orders = bench.orders(way, {"initialize": fault})
    client = bench.client(way, orders)

    async def connect() -> None:
        async with client:
            await use(client, way)

    await outcome.of(connect())
    assert not client.is_connected
    if outcome is not FINE:
        orders.give(revision=way.revision, answers=way.answers)
        await connect()


@pytest.mark.parametrize("way", [*LEGACY, *OLD], ids=str)
async def test_a_handshake_that_is_never_answered_ends_with_the_time_to_connect(
    bench: Bench, way: Way
) -> None:
    orders = bench.orders(way, {"initialize": {"is": "silent"}})
    timeouts = Timeouts(request=PATIENCE, connect=2 * SILENCE, probe=PATIENCE)
    client = bench.client(way, orders, timeouts=timeouts, mode="legacy")
    kind = ServerStartFailed if way.is_stdio else ServerUnreachable
    # Where the machine is busy, it may not even come to asking.
    asked = "(: no answer to initialize)?"
    with pytest.raises(kind, match=rf"(`|\d) was not ready within 0\.6 s{asked}$"):
        await client.connect()
    assert not client.is_connected
    await client.close()


async def test_what_a_process_that_never_answers_has_to_say_is_told() -> None:
    wait = "echo waiting for a database >&2; exec sleep 600"
    server = StdioServerParameters("sh", ["-c", wait], exit_timeout=SILENCE)
    client = Client(server, timeouts=Timeouts(connect=3.0), mode="legacy", on_stderr=lambda _: None)
    with pytest.raises(ServerStartFailed) as caught:
        await client.connect()
    # Where the machine is busy, it may not even come to asking.
    assert str(caught.value).replace(": no answer to initialize", "") == (
        f"the server `{server}` was not ready within 3 s; "
        "the last lines of its standard error:\n    waiting for a database"
    )


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"is": "die", "code": 3, "words": "no configuration\n"}, "exited with code 3 .*no config"),
        ({"is": "die", "code": 0}, "exited with code 0 before it was ready$"),
        ({"is": "die", "signal": 9}, "was killed by SIGKILL before it was ready$"),
        ({"is": "close output"}, "closed its output before it was ready$"),
    ],
    ids=str,
)
@pytest.mark.parametrize("way", STDIO, ids=str)
async def test_a_process_that_ends_before_anything_is_started_twice_and_told(
    bench: Bench, way: Way, fault: Any, words: str
) -> None:
    orders = bench.orders(way, {"start": fault})
    with pytest.raises(ServerStartFailed, match=f"(?s){words}") as caught:
        await bench.client(way, orders).connect()
    assert caught.value.exit_code == (
        -9 if "signal" in fault else fault.get("code", caught.value.exit_code)
    )
    # It might have died of the question which era it is.
    assert len(orders.received("start")) == 2
    assert len(caught.value.stderr.splitlines()) == ("words" in fault)


@pytest.mark.parametrize("way", HTTP, ids=str)
async def test_a_burst_of_failures_is_told_and_then_the_same_client_connects(
    bench: Bench, way: Way
) -> None:
    fault = {"is": "status", "status": 503, "headers": {"Retry-After": "30"}, "times": 2}
    orders = bench.orders(way, {"server/discover": fault})
    client = bench.client(way, orders)
    for _ in range(2):
        with pytest.raises(HttpStatusError, match="answered 503 Service Unavailable") as caught:
            await client.connect()
        assert caught.value.headers["retry-after"] == "30"
    await client.connect()
    await use(client, way)
    await client.close()


# --- lists


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_a_list_that_never_comes_ends_with_the_time_of_a_request(
    bench: Bench, way: Way
) -> None:
    timeouts = Timeouts(request=SILENCE, connect=PATIENCE, probe=PATIENCE)
    silent: Any = {"tools/list": {"is": "silent"}}
    async with bench.connected(way, silent, timeouts=timeouts) as (client, _):
        with pytest.raises(McpError, match=r"^no answer to tools/list after .* sign of life\)$"):
            await client.list_tools()
        assert (await client.call_tool("echo", {"text": "hi"}, timeout=PATIENCE)).text == "hi"


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_a_list_without_an_end_is_given_up(
    bench: Bench, way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wigwag.client.pages.MAX_PAGES", 20)
    async with bench.connected(way, {"tools/list": {"is": "pages"}}) as (client, orders):
        with pytest.raises(McpError, match=r"^tools/list has more than 20 pages$"):
            await client.list_tools()
        assert len(ids_of(orders, "tools/list")) == 21
        assert (await client.call_tool("echo", {"text": "well"})).text == "well"


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_a_list_in_a_circle_ends_where_it_began(
    bench: Bench, way: Way, caplog: pytest.LogCaptureFixture
) -> None:
    async with bench.connected(way, {"tools/list": {"is": "pages", "circle": 3}}) as (client, _):
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names[:3] == ["tool0", "tool1", "tool2"]
        assert len(names) <= 4
        assert "the server gave the cursor '1' twice: tools/list ends here" in caplog.text
        assert (await client.call_tool("echo", {"text": "well"})).text == "well"


@pytest.mark.parametrize(
    ("way", "number"), [*zip(HTTP, (502, 503, 504, 503), strict=True)], ids=str
)
async def test_a_list_outlives_a_burst_of_failures(bench: Bench, way: Way, number: int) -> None:
    burst: Any = {"is": "status", "status": number, "headers": {"Retry-After": "0"}, "times": 2}
    async with bench.connected(way, {"tools/list": burst}) as (client, orders):
        assert len((await client.list_tools()).tools) == 3
        assert len(set(ids_of(orders, "tools/list"))) == 3


# --- giving up


@pytest.mark.parametrize("step", ["server/discover", "initialize"])
@pytest.mark.parametrize("way", [*LEGACY, *OLD], ids=str)
async def test_who_gives_up_connecting_leaves_nothing_behind(
    bench: Bench, way: Way, step: str
) -> None:
    if way in OLD:
        step = "initialize"
    orders = bench.orders(way, {step: {"is": "silent"}})
    client = bench.client(way, orders)
    connecting = asyncio.create_task(client.connect())
    await wait_for(lambda: orders.received(step), "it is asked")
    if step == "initialize":
        connecting.cancel()
        await asyncio.wait([connecting])
    await client.close()
    await asyncio.wait([connecting])
    assert not client.is_connected
    orders.give(revision=way.revision, answers=way.answers)
    async with client:
        await use(client, way)


@pytest.mark.parametrize("way", [LEGACY_JSON, LEGACY_SSE, *OLD], ids=str)
@pytest.mark.parametrize("number", [405, 500])
async def test_a_server_need_not_accept_the_end_of_the_handshake(
    bench: Bench, way: Way, number: int
) -> None:
    refused: Any = {"notifications/initialized": {"is": "status", "status": number}}
    async with bench.connected(way, refused) as (client, orders):
        await use(client, way)
    assert len(orders.received("initialize")) == 1


@pytest.mark.parametrize("number", [401, 403, 429, 500, 503])
async def test_where_http_sse_is_configured_its_own_refusal_is_told(
    bench: Bench, number: int
) -> None:
    refused: Any = {"GET": {"is": "status", "status": number, "body": "not now", "times": 1}}
    (way,) = OLD
    orders = bench.orders(way, refused)
    client = bench.client(way, orders)
    with pytest.raises(HttpStatusError, match=rf"{URL} answered {number} .*: not now$"):
        await client.connect()
    assert orders.received("server/discover") == []
    async with client:
        await use(client, way)
