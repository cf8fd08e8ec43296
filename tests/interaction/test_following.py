"""Calls of tools whose progress is followed."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.interaction.connecting import PATIENCE
from tests.interaction.peers import PeerServer, client_of
from tests.pair import Message
from wigwag import Client, Context, RequestFailed, Server, SyncClient, ToolFailed
from wigwag.client.following import MAX_UNREAD
from wigwag.errors import LocalProtocolError
from wigwag.schema import LATEST_LEGACY, LATEST_MODERN

pytestmark = pytest.mark.anyio

ERAS = (LATEST_LEGACY, LATEST_MODERN)


def kitchen() -> Server:
    server = Server("kitchen")

    @server.tool
    async def cook(ctx: Context) -> int:
        for step in range(3):
            await ctx.report_progress(step + 1, total=3)
        return 7

    @server.tool
    async def burn(ctx: Context) -> int:
        await ctx.report_progress(1)
        raise ValueError("too hot")

    return server


def progress(asked: Message, value: float) -> dict[str, Any]:
    return {"progressToken": asked["params"]["_meta"]["progressToken"], "progress": value}


async def test_progress_is_read_until_the_call_is_done(revision: str) -> None:
    async with (
        Client(kitchen(), mode=revision) as client,
        client.follow_tool("cook", result_type=int) as call,
    ):
        assert [progress.progress async for progress in call][-1] == 3
        result = await call.result()
        assert result.data == 7
        assert await call.result() is result


@pytest.mark.parametrize("revision", ERAS)
async def test_each_sign_of_progress_is_read_as_it_comes(revision: str) -> None:
    peer = PeerServer(revision)
    async with client_of(peer) as client, client.follow_tool("t", {"a": 1}) as call:
        asked = await peer.next("tools/call")
        assert asked["params"]["arguments"] == {"a": 1}
        for value in (1, 2):
            peer.tell("notifications/progress", progress(asked, value))
            assert (await anext(call)).progress == value
        peer.tell("notifications/progress", progress(asked, 3))
        peer.reply(asked, content=[])
        await call.result()  # what was not read before is still there
        assert [progress.progress async for progress in call] == [3]


async def test_of_what_nobody_reads_the_oldest_is_dropped() -> None:
    peer = PeerServer(LATEST_MODERN)
    async with client_of(peer) as client, client.follow_tool("t") as call:
        asked = await peer.next("tools/call")
        for value in range(1, MAX_UNREAD + 3):
            peer.tell("notifications/progress", progress(asked, value))
        peer.reply(asked, content=[])
        await call.result()
        values = [progress.progress async for progress in call]
        assert (values[0], values[-1], len(values)) == (3, MAX_UNREAD + 2, MAX_UNREAD)


@pytest.mark.parametrize("revision", ERAS)
async def test_leaving_the_block_before_the_end_cancels_the_call(revision: str) -> None:
    peer = PeerServer(revision)
    async with client_of(peer) as client:
        async with client.follow_tool("t") as call:
            asked = await peer.next("tools/call")
            peer.tell("notifications/progress", progress(asked, 1))
            async for _ in call:
                break
        cancelled = await peer.next("notifications/cancelled")
        assert cancelled["params"]["requestId"] == asked["id"]
        with pytest.raises(LocalProtocolError, match="'t' was cancelled"):
            await call.result()


async def test_whoever_gives_up_waiting_for_the_result_may_wait_again() -> None:
    peer = PeerServer(LATEST_MODERN)
    async with client_of(peer) as client, client.follow_tool("t") as call:
        asked = await peer.next("tools/call")
        waiting = asyncio.create_task(call.result())
        await peer.settle()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert peer.unread == []
        peer.reply(asked, content=[{"type": "text", "text": "done"}])
        assert (await call.result()).text == "done"


async def test_what_goes_wrong_ends_the_iteration_and_is_raised_with_the_result(
    revision: str, log_text: Callable[[], str]
) -> None:
    async with Client(kitchen(), mode=revision) as client:
        async with client.follow_tool("burn", raise_on_error=True) as call:
            assert [progress.progress async for progress in call] == [1]
            with pytest.raises(ToolFailed):
                await call.result()
        async with client.follow_tool("boil") as other:
            assert [progress async for progress in other] == []
            with pytest.raises(RequestFailed, match="Unknown tool"):
                await other.result()
    assert "nobody asked" not in log_text()


async def test_a_failure_that_nobody_asked_for_is_in_the_log(
    log_text: Callable[[], str],
) -> None:
    async with Client(kitchen()) as client, client.follow_tool("boil") as call:
        async for _ in call:
            pass
    assert "a call of the tool 'boil' failed, and nobody asked for its result" in log_text()


async def test_a_call_is_made_once_and_in_its_block() -> None:
    async with Client(kitchen()) as client:
        call = client.follow_tool("cook")
        with pytest.raises(LocalProtocolError, match="async with"):
            await call.result()
        async with call:
            await call.result()
        with pytest.raises(LocalProtocolError, match="made already"):
            async with call:
                pass


@pytest.mark.parametrize("mode", ERAS)
def test_a_blocking_client_follows_calls_too(mode: str) -> None:
    with SyncClient(kitchen(), mode=mode) as client:
        with client.follow_tool("cook", result_type=int) as call:
            assert [progress.progress for progress in call][-1] == 3
            assert call.result().data == 7
        with client.follow_tool("boil") as other:
            assert list(other) == []
            with pytest.raises(RequestFailed, match="Unknown tool"):
                other.result()
        assert client.call_tool("cook").text == "7"


def test_leaving_the_block_of_a_blocking_client_cancels_the_call() -> None:
    server = Server("s")
    ended: list[str] = []

    @server.tool
    async def wait(ctx: Context) -> None:
        try:
            await ctx.report_progress(1)
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    with SyncClient(server) as client:
        with client.follow_tool("wait", timeout=PATIENCE) as call:
            assert next(call).progress == 1
        client.ping()
        with pytest.raises(LocalProtocolError, match="was cancelled"):
            call.result()
    assert ended == ["cancelled"]
