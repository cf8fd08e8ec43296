"""A server process that dies while it is used: who waits learns why, and it can be started anew."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.e2e.host import PATIENCE, SOON, TOOLS, python_command
from wigwag import (
    Client,
    ClientEvent,
    ConnectionClosed,
    ServerStartFailed,
    SyncClient,
    ToolsListChanged,
)
from wigwag.client.link import Timeouts
from wigwag.schema import TextContent

pytestmark = pytest.mark.anyio

TIMEOUTS = Timeouts(request=PATIENCE, connect=PATIENCE, probe=PATIENCE)


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with Client(python_command(TOOLS), timeouts=TIMEOUTS, restart=False) as client:
        yield client


@pytest.fixture
async def restarting() -> AsyncIterator[Client]:
    async with Client(python_command(TOOLS), timeouts=TIMEOUTS) as client:
        yield client


async def process_id(client: Client) -> int:
    (block,) = (await client.call_tool("process_id")).content
    assert isinstance(block, TextContent)
    return int(block.text)


async def kill(client: Client) -> None:
    """Kill the server in the middle of a call: so the client has noticed, too."""
    pid = await process_id(client)
    waiting = asyncio.create_task(client.call_tool("wait", {"seconds": 600}))
    await client.call_tool("echo", {"text": "the call before has arrived"})
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(ConnectionClosed):
        await waiting


async def test_a_server_that_dies_in_a_call_fails_all_that_wait_at_once(client: Client) -> None:
    waiting = [asyncio.create_task(client.call_tool("wait", {"seconds": 600})) for _ in range(3)]
    await client.call_tool("echo", {"text": "the calls before have arrived"})
    began = time.monotonic()
    with pytest.raises(ConnectionClosed) as caught:
        await client.call_tool("die", {"code": 7, "words": "out of memory ✓"})
    for error in [caught.value, *(await asyncio.gather(*waiting, return_exceptions=True))]:
        assert isinstance(error, ConnectionClosed)
        assert error.exit_code == 7
        assert error.stderr.splitlines()[-1] == "out of memory ✓"
        assert "exited with code 7" in str(error)
        assert "out of memory ✓" in str(error)
    assert time.monotonic() - began < SOON


async def test_a_call_after_the_death_fails_with_the_reason(client: Client) -> None:
    await kill(client)
    with pytest.raises(ConnectionClosed, match="killed by SIGKILL") as caught:
        await client.call_tool("echo", {"text": "hello"})
    assert caught.value.exit_code == -signal.SIGKILL
    with pytest.raises(ConnectionClosed):
        await client.list_tools()


async def test_a_death_with_a_child_that_keeps_the_pipes_open_is_noticed_all_the_same(
    client: Client,
) -> None:
    await client.call_tool("start_child")
    began = time.monotonic()
    with pytest.raises(ConnectionClosed):
        await client.call_tool("die", {"code": 7, "words": ""})
    assert time.monotonic() - began < SOON


async def test_a_client_whose_server_died_can_be_connected_anew(client: Client) -> None:
    await kill(client)
    await client.connect()
    assert await process_id(client) > 0


async def test_by_default_the_next_call_works(restarting: Client) -> None:
    first = await process_id(restarting)
    await kill(restarting)
    assert await process_id(restarting) != first


async def test_by_default_the_next_call_works_in_the_very_moment_of_the_death(
    restarting: Client,
) -> None:
    first = await process_id(restarting)
    os.kill(first, signal.SIGKILL)
    # Nobody has noticed yet; a list can be asked for twice.
    assert (await restarting.list_tools()).tools
    assert await process_id(restarting) != first


async def test_by_default_a_read_only_tool_in_flight_is_called_again(
    restarting: Client, tmp_path: Path
) -> None:
    await restarting.list_tools()
    file = str(tmp_path / "calls")
    result = await restarting.call_tool("read_and_die_of_first_call", {"file": file})
    assert getattr(result.content[0], "text", None) == "call 2"


async def test_by_default_any_other_tool_in_flight_is_not(
    restarting: Client, tmp_path: Path
) -> None:
    await restarting.list_tools()
    file = tmp_path / "calls"
    with pytest.raises(ConnectionClosed, match="SIGKILL"):
        await restarting.call_tool("die_of_first_call", {"file": str(file)})
    # The next call is a new one, and the server is there for it.
    assert (await restarting.call_tool("echo", {"text": "alive"})).content
    assert file.read_bytes() == b"x"


async def test_by_default_many_calls_at_once_start_one_server(restarting: Client) -> None:
    await kill(restarting)
    pids = await asyncio.gather(*(process_id(restarting) for _ in range(10)))
    assert len(set(pids)) == 1


async def test_by_default_a_closed_client_stays_closed(restarting: Client) -> None:
    await restarting.close()
    with pytest.raises(Exception, match="not connected"):
        await restarting.call_tool("echo", {"text": "hello"})


# --- what it says of that, and where it ends


async def test_what_was_put_right_is_told_once_each(tmp_path: Path) -> None:
    events: list[ClientEvent] = []
    command = python_command(TOOLS)
    async with Client(command, timeouts=TIMEOUTS, on_event=events.append) as client:
        await client.list_tools()
        file = str(tmp_path / "calls")
        await client.call_tool("read_and_die_of_first_call", {"file": file})
    restarted, resent = events
    assert (restarted.kind, resent.kind) == ("server_restarted", "request_resent")
    assert (resent.method, resent.attempt) == ("tools/call", 2)
    for event in events:
        assert isinstance(event.reason, ConnectionClosed)
        assert event.reason.exit_code == -signal.SIGKILL
        assert TOOLS.name in event.server


async def test_a_call_that_kills_its_server_each_time_is_made_three_times(
    restarting: Client, tmp_path: Path
) -> None:
    await restarting.list_tools()
    file = tmp_path / "calls"
    with pytest.raises(ConnectionClosed, match="SIGKILL"):
        await restarting.call_tool("read_and_die", {"file": str(file)})
    assert file.read_bytes() == b"xxx"
    assert (await restarting.call_tool("echo", {"text": "alive"})).text == "alive"


async def test_a_server_that_cannot_start_again_is_an_error_at_once(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    events: list[ClientEvent] = []
    command = python_command(TOOLS, "--starts", starts)
    async with Client(command, timeouts=TIMEOUTS, on_event=events.append) as client:
        await client.list_tools()
        await kill(client)
        for count in (3, 5):  # it might have died of the question that the newest era begins with
            with pytest.raises(ServerStartFailed, match="exited with code 3") as caught:
                await client.call_tool("echo", {"text": "hello"})
            assert caught.value.stderr == "this is the end"
            assert starts.read_bytes() == b"x" * count
    assert events == []


async def test_a_client_that_is_closed_while_the_server_starts_again_fails_the_calls(
    tmp_path: Path,
) -> None:
    starts = tmp_path / "starts"
    command = python_command(TOOLS, "--starts", starts, "--hang")
    hangs = asyncio.Event()

    def hear(line: str) -> None:
        if line == "this is the end":
            hangs.set()

    async with Client(command, timeouts=TIMEOUTS, on_stderr=hear) as client:
        await kill(client)
        calling = asyncio.create_task(client.call_tool("echo", {"text": "hello"}))
        await asyncio.wait_for(hangs.wait(), PATIENCE)
        await client.close()
        with pytest.raises(ConnectionClosed, match="the client was closed"):
            await calling


async def test_listening_to_a_server_outlives_it(restarting: Client) -> None:
    async with restarting.listen(tools=True) as changes:
        os.kill(await process_id(restarting), signal.SIGKILL)
        async with asyncio.timeout(PATIENCE):
            assert await anext(changes) == ToolsListChanged()
    assert restarting.is_connected


def test_a_blocking_client_tells_it_in_the_thread_of_its_callbacks(tmp_path: Path) -> None:
    told = threading.Event()
    threads: list[str] = []

    def note(event: ClientEvent) -> None:
        threads.append(threading.current_thread().name)
        told.set()

    with SyncClient(python_command(TOOLS), timeouts=TIMEOUTS, on_event=note) as client:
        client.list_tools()
        file = str(tmp_path / "calls")
        assert client.call_tool("read_and_die_of_first_call", {"file": file}).text == "call 2"
        assert told.wait(PATIENCE)
    assert threads[0] == "wigwag-callbacks"
