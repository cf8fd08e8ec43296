"""Progress that comes faster than anybody wants to hear of it."""

import asyncio
from typing import Any

import pytest

from tests.interaction.connecting import PATIENCE, serving_http
from tests.interaction.peers import PeerClient, cancelled
from wigwag import Client, Context, Server, ToolError
from wigwag.runtime import progress_pace
from wigwag.runtime.progress_pace import BURST
from wigwag.schema import LATEST_LEGACY, LATEST_MODERN, ProgressNotificationParams

pytestmark = pytest.mark.anyio


@pytest.fixture
def server() -> Server:
    server = Server("counter")

    @server.tool
    async def count(ctx: Context, to: int, total: int | None = None) -> str:
        for number in range(1, to + 1):
            await ctx.report_progress(number, total, f"at {number}")
        return "counted"

    @server.tool
    def count_in_thread(ctx: Context, to: int) -> str:
        for number in range(1, to + 1):
            ctx.report_progress(number)
        return "counted"

    @server.tool
    async def fail(ctx: Context, to: int) -> str:
        for number in range(1, to + 1):
            await ctx.report_progress(number)
        raise ToolError("enough")

    return server


class Heard(list[float]):
    def __call__(self, params: ProgressNotificationParams) -> None:
        self.append(params.progress)


@pytest.mark.parametrize("tool", ["count", "count_in_thread", "fail"])
async def test_of_a_flood_the_beginning_and_the_end_arrive_before_the_result(
    server: Server, revision: str, tool: str
) -> None:
    heard = Heard()
    async with Client(server, mode=revision) as client:
        await client.call_tool(tool, {"to": 5000}, on_progress=heard)
    assert heard[:BURST] == list(range(1, BURST + 1))
    assert heard[-1] == 5000
    assert heard == sorted(heard)
    assert len(heard) < 500


@pytest.mark.parametrize("revision", [LATEST_LEGACY, LATEST_MODERN])
async def test_over_http_as_well(server: Server, revision: str) -> None:
    heard = Heard()
    async with (
        serving_http(server) as origin,
        Client(f"{origin}/mcp", mode=revision) as client,
    ):
        result = await client.call_tool("count", {"to": 3000}, on_progress=heard)
    assert result.text == "counted"
    assert heard[:BURST] == list(range(1, BURST + 1))
    assert heard[-1] == 3000
    assert len(heard) < 300


async def test_what_reaches_the_total_goes_at_once_but_nothing_beyond(
    server: Server, revision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_pace, "RATE", 0.001)  # so that nothing else goes meanwhile
    gate = asyncio.Event()

    @server.tool
    async def finish(ctx: Context) -> str:
        for number in range(1, 101):
            await ctx.report_progress(number, 100)
        await gate.wait()
        for number in range(101, 200):
            await ctx.report_progress(number, 100)
        return "finished"

    async with PeerClient(server, revision) as peer:
        peer.send(peer.call("finish", meta={"progressToken": 1}))
        told: list[float] = []
        while not told or told[-1] < 100:
            told.append((await peer.next("notifications/progress"))["params"]["progress"])
        assert told == [*range(1, BURST + 1), 100]
        gate.set()
        rest: list[Any] = []
        while not rest or "method" in rest[-1]:
            rest.append(await peer.next())
        assert [each["params"]["progress"] for each in rest[-2:-1]] == [199]
        assert len(rest) < 50


async def test_the_newest_is_told_after_a_while_although_nothing_follows(
    server: Server, revision: str
) -> None:
    gate = asyncio.Event()

    @server.tool
    async def pause(ctx: Context) -> str:
        for number in range(1, 1001):
            await ctx.report_progress(number)
        await gate.wait()
        return "went on"

    async with PeerClient(server, revision) as peer:
        peer.send(peer.call("pause", meta={"progressToken": "p"}))
        last = 0
        while last < 1000:
            last = (await peer.next("notifications/progress"))["params"]["progress"]
        gate.set()
        assert "result" in await peer.next()


async def test_after_a_cancellation_nothing_that_was_held_back_is_told(
    server: Server, revision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_pace, "RATE", 0.001)  # so that nothing more goes meanwhile
    began = asyncio.Event()

    @server.tool
    async def pause(ctx: Context) -> str:
        for number in range(1, 1001):
            await ctx.report_progress(number)
        began.set()
        await asyncio.Event().wait()
        return "never"

    async with PeerClient(server, revision) as peer:
        call = peer.call("pause", meta={"progressToken": "p"})
        peer.send(call)
        async with asyncio.timeout(PATIENCE):
            await began.wait()
        peer.send(cancelled(call["id"]), peer.call("count", {"to": 1}))
        while "result" not in await peer.next():
            pass
        told = [each for each in peer.seen if each.get("method") == "notifications/progress"]
        assert [each["params"]["progress"] for each in told] == list(range(1, BURST + 1))
