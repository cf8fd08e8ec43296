"""What a client can be pointed at."""

import asyncio
import re
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from wigwag.client.targets import Opener, Servable, opener_for
from wigwag.errors import ServerStartFailed, TransportError
from wigwag.server.server import Server
from wigwag.transports.contract import Connection
from wigwag.transports.memory import memory_pair
from wigwag.transports.stdio_client import StdioServerParameters

pytestmark = pytest.mark.anyio


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "my server.py"
    file.write_text("", encoding="utf-8")
    return file


# --- processes


@pytest.mark.parametrize(
    "target",
    [
        ["python", "-m", "kitebase"],
        ("python", "-m", "kitebase"),
        StdioServerParameters("python", ["-m", "kitebase"]),
    ],
)
def test_a_command_is_a_process(target: Any) -> None:
    opener = opener_for(target)
    assert opener.is_process
    assert opener.name == "the server `python -m kitebase`"


def test_a_command_may_have_paths_in_it(program: Path) -> None:
    opener = opener_for([Path(sys.executable), program])
    assert opener.name == f"the server `{sys.executable} '{program}'`"


def test_a_python_file_is_a_process_of_this_python(program: Path) -> None:
    for target in (program, str(program)):
        opener = opener_for(target)
        assert opener.is_process
        assert opener.name == f"the server `{sys.executable} '{program}'`"


def test_a_file_that_is_not_there_is_missed_at_once(tmp_path: Path) -> None:
    for target in (tmp_path / "none.py", str(tmp_path / "none.py")):
        with pytest.raises(ValueError, match=r"there is no file '.*none\.py'"):
            opener_for(target)


def test_a_command_line_in_place_of_a_file_is_told_to_be_a_list() -> None:
    with pytest.raises(ValueError, match=r"a command is a list, as \['python', 'server\.py'\]"):
        opener_for("python server.py")


def test_an_empty_list_is_no_command() -> None:
    with pytest.raises(ValueError, match="an empty list is no command"):
        opener_for([])


def test_a_command_of_other_things_than_text_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        opener_for(["python", 7])


async def test_environment_and_folder_reach_the_process(tmp_path: Path) -> None:
    # The program is looked for on the PATH given here, and the folder is looked at, before
    # anything is started.
    server = StdioServerParameters("kitebase", env={"PATH": "/theirs", "A": "1"})
    with pytest.raises(ServerStartFailed, match=r"no program 'kitebase' on PATH \(/theirs\)"):
        await opener_for(server, env={"B": "2"}).open()
    with pytest.raises(ServerStartFailed, match=r"no program 'kitebase' on PATH \(/ours\)"):
        await opener_for(server, env={"PATH": "/ours"}).open()
    gone = tmp_path / "gone"
    with pytest.raises(ServerStartFailed, match=re.escape(f"there is no folder {gone}")):
        await opener_for(["kitebase"], cwd=gone).open()


def test_the_parameters_that_were_given_stay_as_they_are() -> None:
    server = StdioServerParameters("kitebase", env={"A": "1"})
    opener_for(server, env={"B": "2"}, cwd="/")
    assert server == StdioServerParameters("kitebase", env={"A": "1"})


# --- sockets


@pytest.mark.parametrize(
    "address", ["tcp://localhost:8000", "tcp://[::1]:8000", "unix:/run/x.sock", "unix:x.sock",
                "unix:///run/x.sock"],
)  # fmt: skip
def test_an_address_is_a_socket(address: str) -> None:
    opener = opener_for(address)
    assert not opener.is_process
    assert opener.name == f"the server at {address}"


async def test_nobody_at_an_address_is_a_transport_error(tmp_path: Path) -> None:
    with pytest.raises(TransportError, match=r"none\.sock"):
        await opener_for(f"unix:{tmp_path}/none.sock").open()


@pytest.mark.parametrize(
    "address", ["tcp://localhost", "tcp://:8000", "tcp:localhost:8000", "unix:", "kitebase", "",
                "python -m kitebase", "ftp://x:1", "localhost:8000"],
)  # fmt: skip
def test_what_is_no_address_is_told_what_would_be_one(address: str) -> None:
    with pytest.raises(
        ValueError, match="is no address: write a URL, tcp://host:port or unix:path"
    ):
        opener_for(address)


def test_a_command_line_in_place_of_an_address_is_told_to_be_a_list() -> None:
    with pytest.raises(ValueError, match=r"for example \['python', '-m', 'kitebase'\]"):
        opener_for("python -m kitebase")


# --- URLs


@pytest.mark.parametrize(
    "url", ["http://localhost/mcp", "https://example.com", "http://[::1]:80/mcp/", "HTTP://x/"]
)
def test_a_url_is_taken_as_it_is(url: str) -> None:
    opener = opener_for(url)
    assert not opener.is_process
    assert opener.name == f"the server at {url.replace('HTTP', 'http')}"
    assert opener.open_older is not None


def test_what_is_secret_in_a_url_is_not_in_its_name() -> None:
    opener = opener_for("https://me:secret@example.com:8443/mcp?key=secret#secret")
    assert opener.name == "the server at https://example.com:8443/mcp"
    assert opener.url == "https://example.com:8443/mcp"


@pytest.mark.parametrize("url", ["http://", "https:///mcp", "http://x:0/", "http://x:port/"])
def test_a_url_without_host_or_with_a_broken_port_is_told_to_be_none(url: str) -> None:
    with pytest.raises(ValueError, match="is no URL: write https://host/path"):
        opener_for(url)


@pytest.mark.parametrize("name", ["headers", "ssl", "http_client"])
def test_what_is_for_urls_cannot_be_given_for_anything_else(name: str) -> None:
    with pytest.raises(ValueError, match=f"`{name}` is for URLs"):
        opener_for(["kitebase"], **{name: "x"})  # type: ignore[arg-type]  # for one of them it fits


async def test_whom_a_client_of_httpx2_trusts_is_for_it_to_know() -> None:
    async with httpx2.AsyncClient() as client:
        with pytest.raises(ValueError, match="give it to your own client as `verify`"):
            opener_for("https://localhost/mcp", http_client=client, ssl="authority.pem")


def test_another_http_library_is_told_which_ones_are_known() -> None:
    with pytest.raises(TypeError, match=r"an httpx2\.AsyncClient, not int"):
        opener_for("http://localhost/mcp", http_client=7)


# --- servers and functions


async def test_a_server_in_this_process_is_served_in_memory() -> None:
    server = Server("s")
    assert isinstance(server, Servable)
    opener = opener_for(server)
    assert not opener.is_process
    assert opener.name == "the server in this process"


async def test_anything_that_serves_is_a_server_and_each_connection_is_a_new_one() -> None:
    served: list[Connection] = []
    both = asyncio.Event()

    class Echo:
        async def serve(self, connection: Connection) -> None:
            served.append(connection)
            if len(served) == 2:
                both.set()

    opener = opener_for(Echo())
    connections = [await opener.open() for _ in range(2)]
    async with asyncio.timeout(30):
        await both.wait()
        for connection in (*connections, *served):
            await connection.aclose()
    assert len({id(connection) for connection in (*connections, *served)}) == 4


async def test_a_function_opens_the_connection_itself() -> None:
    ours, theirs = memory_pair()

    async def open_it() -> Connection:
        return ours

    opener = opener_for(open_it)
    assert isinstance(opener, Opener)
    assert opener.name == "the connection"
    assert await opener.open() is ours
    await ours.aclose()
    await theirs.aclose()


@pytest.mark.parametrize("target", [7, None, b"kitebase", {"x"}, object()])
def test_anything_else_is_told_what_a_target_is(target: Any) -> None:
    kind = type(target).__name__
    with pytest.raises(TypeError, match=f"cannot connect to {kind}: give it a Server, a command"):
        opener_for(target)
