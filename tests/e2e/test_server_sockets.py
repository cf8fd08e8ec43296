"""A server process that listens on a socket, and how it ends."""

import asyncio
import signal
import socket
from pathlib import Path

import pytest

from tests.e2e.conftest import Launch
from tests.e2e.host import PATIENCE, SOON, TOOLS, Host, wait_until
from wigwag import Client, ConnectionClosed
from wigwag.client.link import Timeouts

pytestmark = pytest.mark.anyio

TIMEOUTS = Timeouts(request=PATIENCE, connect=PATIENCE)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE).close()
    except ConnectionRefusedError:
        return False
    return True


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "socket"


@pytest.fixture
def host(launch: Launch, path: Path) -> Host:
    host = launch(TOOLS, "--unix", path)
    wait_until(path.exists, "the socket")
    return host


async def echo(client: Client) -> None:
    result = await client.call_tool("echo", {"text": "hello"})
    assert getattr(result.content[0], "text", None) == "hello"


async def test_several_clients_share_a_process_behind_a_unix_socket(host: Host, path: Path) -> None:
    async with (
        Client(f"unix:{path}", timeouts=TIMEOUTS) as one,
        Client(f"unix:{path}", mode="legacy", timeouts=TIMEOUTS) as other,
    ):
        await asyncio.gather(echo(one), echo(other))
    # It is nobody's own process: it stays when they have gone, and when its input ends.
    host.close_input()
    async with Client(f"unix:{path}", timeouts=TIMEOUTS) as third:
        await echo(third)


async def test_a_process_listens_on_a_tcp_port(launch: Launch) -> None:
    port = free_port()
    launch(TOOLS, "--tcp", str(port))
    wait_until(lambda: accepts(port), "the port")
    async with Client(f"tcp://127.0.0.1:{port}", timeouts=TIMEOUTS) as client:
        await echo(client)


@pytest.mark.parametrize("tool", ["wait", "wait_for_thread", "block_event_loop"])
async def test_a_signal_ends_a_server_with_clients_whatever_it_does(
    host: Host, path: Path, tool: str
) -> None:
    async with Client(f"unix:{path}", timeouts=TIMEOUTS) as client:
        waiting = asyncio.create_task(client.call_tool(tool, {"seconds": 600}))
        async with asyncio.timeout(PATIENCE):
            while f"{tool} begins" not in host.stderr:  # noqa: ASYNC110 - of another process
                await asyncio.sleep(0.01)
        host.process.send_signal(signal.SIGTERM)
        with pytest.raises(ConnectionClosed):
            await waiting
    assert host.exit_code(within=SOON) == 0
    assert "Traceback" not in host.stderr


def test_after_the_end_of_serving_the_socket_is_gone_and_the_program_goes_on(
    host: Host, path: Path
) -> None:
    host.process.send_signal(signal.SIGTERM)
    assert host.exit_code(within=SOON) == 0
    assert "run has returned" in host.stderr
    assert not path.exists()


def test_the_socket_of_a_dead_server_is_replaced_and_that_of_a_live_one_is_not(
    launch: Launch, host: Host, path: Path
) -> None:
    second = launch(TOOLS, "--unix", path)
    assert second.exit_code() != 0
    assert "another server listens there" in second.stderr
    host.process.kill()
    host.exit_code()
    assert path.exists()
    launch(TOOLS, "--unix", path)

    def can_connect() -> bool:
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(str(path)) == 0

    wait_until(can_connect, "the socket")
