"""A client and a server over HTTP that are processes of their own, and one that is started anew."""

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from wigwag import Client, Timeouts
from wigwag.errors import ConnectionClosed, ConnectionRefused
from wigwag.schema import LATEST_LEGACY, LATEST_MODERN

pytestmark = pytest.mark.anyio

PROGRAM = Path(__file__).with_name("servers") / "over_http.py"
PATIENCE = 60.0
ERAS = (LATEST_LEGACY, LATEST_MODERN)


@pytest.fixture
def port() -> int:
    with contextlib.closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        found: int = free.getsockname()[1]
    return found


@asynccontextmanager
async def serving(port: int) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start the server, and wait until it listens."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(PROGRAM), str(port), stderr=asyncio.subprocess.PIPE
    )
    try:
        assert process.stderr is not None
        async with asyncio.timeout(PATIENCE):
            while b"listens on" not in (line := await process.stderr.readline()):
                assert line, "the server has ended"
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


def client_of(port: int, revision: str) -> Client:
    timeouts = Timeouts(request=PATIENCE, connect=PATIENCE)
    return Client(f"http://127.0.0.1:{port}/mcp", mode=revision, timeouts=timeouts)


@pytest.mark.parametrize("revision", ERAS)
async def test_a_server_that_is_started_anew_is_used_as_if_nothing_had_happened(
    port: int, revision: str
) -> None:
    client = client_of(port, revision)
    async with serving(port), client:
        assert (await client.call_tool("add", {"a": 1, "b": 2})).text == "3"
        await client.close()
    await client.close()

    async with contextlib.AsyncExitStack() as stack:
        first = await stack.enter_async_context(serving(port))
        await stack.enter_async_context(client)
        await client.call_tool("add", {"a": 1, "b": 2})
        first.kill()
        await first.wait()
        with pytest.raises(ConnectionRefused):
            await client.call_tool("add", {"a": 1, "b": 2})
        await stack.enter_async_context(serving(port))
        assert (await client.call_tool("add", {"a": 3, "b": 4})).text == "7"


@pytest.mark.parametrize("revision", ERAS)
async def test_a_call_whose_server_is_killed_fails_at_once(port: int, revision: str) -> None:
    begun = asyncio.Event()
    async with serving(port) as process, client_of(port, revision) as client:
        call = asyncio.create_task(client.call_tool("wait", on_progress=lambda _: begun.set()))
        await asyncio.wait_for(begun.wait(), PATIENCE)
        process.send_signal(signal.SIGKILL)
        with pytest.raises(ConnectionClosed, match="cut"):
            await asyncio.wait_for(call, 15)


@pytest.mark.parametrize("revision", ERAS)
async def test_a_call_whose_server_is_told_to_end_fails_and_does_not_hang(
    port: int, revision: str
) -> None:
    begun = asyncio.Event()
    async with serving(port) as process, client_of(port, revision) as client:
        call = asyncio.create_task(client.call_tool("wait", on_progress=lambda _: begun.set()))
        await asyncio.wait_for(begun.wait(), PATIENCE)
        process.terminate()
        with pytest.raises(Exception):  # noqa: B017, PT011 - whatever the server says at its end
            await asyncio.wait_for(call, 15)
        assert not isinstance(call.exception(), TimeoutError)


@pytest.mark.parametrize("revision", ERAS)
async def test_an_event_loop_that_ends_with_an_open_client_ends_without_a_word(
    port: int, revision: str
) -> None:
    program = f"""
import asyncio
from wigwag import Client

async def main():
    client = await Client("http://127.0.0.1:{port}/mcp", mode="{revision}").connect()
    begun = asyncio.Event()
    call = asyncio.create_task(client.call_tool("wait", on_progress=lambda _: begun.set()))
    await begun.wait()
    return client

client = asyncio.run(main())
asyncio.run(client.close())
print(client)
"""
    async with serving(port):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-X", "dev", "-c", program),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(), PATIENCE)
    assert b"not connected" in out
    assert [line for line in err.decode().splitlines() if "took" not in line] == []
