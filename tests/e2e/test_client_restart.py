"""A server process that dies while it is used: who waits learns why, and it can be started anew."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.e2e.host import PATIENCE, SOON, TOOLS, python_command
from wigwag import Client, ConnectionClosed
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
