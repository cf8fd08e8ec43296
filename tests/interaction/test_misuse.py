"""What cannot work: said at once where it can be, and always by one plain exception."""

import gc
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.interaction.bazaar import bazaar
from tests.interaction.connecting import (
    PROGRAM,
    SOCKETS,
    TIMEOUTS,
    text_of,
)
from tests.interaction.peers import Peer, PeerServer, client_of
from tests.pair import error, result
from wigwag import (
    Client,
    ConnectionClosed,
    McpError,
    RequestFailed,
    ServerStartFailed,
    TransportError,
)
from wigwag.errors import LocalProtocolError, RemoteProtocolError
from wigwag.schema import (
    MODERN_REVISIONS,
)
from wigwag.transports.contract import Connection
from wigwag.transports.memory import memory_pair

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "use",
    [
        lambda client: client.ping(),
        lambda client: client.list_tools(),
        lambda client: client.call_tool("t"),
        lambda client: client.request("tools/list"),
        lambda client: client.notify("notifications/roots/list_changed"),
    ],
)
async def test_a_client_that_is_not_connected_says_so(use: Callable[[Client], Any]) -> None:
    client = Client(bazaar())
    with pytest.raises(LocalProtocolError, match="not connected: use `async with client:`"):
        await use(client)
    for name in ("protocol_version", "server_info", "server_capabilities", "instructions"):
        with pytest.raises(LocalProtocolError, match="not connected"):
            getattr(client, name)
    async with client:
        pass
    with pytest.raises(LocalProtocolError, match="not connected"):
        await use(client)


@pytest.mark.parametrize(
    ("target", "error_type", "why"),
    [
        ("python server", ValueError, r"a command is a list, for example \['python', 'server'\]"),
        ("tcp://localhost", ValueError, "write a URL, tcp://host:port"),
        ("tcp://:80", ValueError, "write a URL, tcp://host:port"),
        ("unix:", ValueError, "is no address"),
        ("", ValueError, "is no address"),
        ("no/such/file.py", ValueError, "there is no file"),
        ([], ValueError, "an empty list is no command"),
        (5, TypeError, "a client cannot connect to int"),
        (None, TypeError, "a client cannot connect to NoneType"),
        (b"python", TypeError, "a client cannot connect to bytes"),
    ],
)
def test_a_target_that_is_none_is_refused_at_once(
    target: Any, error_type: type[Exception], why: str
) -> None:
    with pytest.raises(error_type, match=why):
        Client(target)


@pytest.mark.parametrize("mode", ["", "new", "2099-01-01", "Legacy"])
def test_a_mode_that_is_none_is_refused_at_once(mode: str) -> None:
    with pytest.raises(ValueError, match=r"choose one of auto, modern, legacy, 2024-11-05"):
        Client(bazaar(), mode=mode)


def test_a_revision_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match=r"no revision 'modern': choose one of 2024-11-05"):
        Client(bazaar(), revision="modern")


def test_a_mode_and_a_revision_that_differ_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match="'legacy' and `revision` is '2025-06-18': give one of"):
        Client(bazaar(), mode="legacy", revision="2025-06-18")


async def test_nobody_who_listens_is_named_with_the_address(tmp_path: Any) -> None:
    unix = [f"unix:{tmp_path}/none"] if "unix" in SOCKETS else []
    for address in ("tcp://127.0.0.1:1", *unix):
        with pytest.raises(TransportError) as caught:
            await Client(address).connect()
        assert address.rpartition(":")[2] in str(caught.value)
        assert not isinstance(caught.value, ConnectionClosed)


async def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(ServerStartFailed, match="no-such-program"):
        await Client(["no-such-program", "--x"]).connect()


async def test_a_program_that_ends_at_once_is_named_with_its_last_words() -> None:
    program = "import sys; print('no licence', file=sys.stderr); sys.exit(7)"
    with pytest.raises(ServerStartFailed) as caught:
        await Client([sys.executable, "-c", program], timeouts=TIMEOUTS).connect()
    assert caught.value.exit_code == 7
    assert "no licence" in str(caught.value)


async def test_a_path_of_a_python_file_is_a_command() -> None:
    for target in (PROGRAM, str(PROGRAM)):
        async with Client(target, timeouts=TIMEOUTS) as client:
            assert await text_of(client, "echo", text="x") == "x"


async def test_what_a_revision_does_not_have_is_not_sent(revision: str) -> None:
    peer = PeerServer(revision)
    async with client_of(peer) as client:
        is_modern = revision in MODERN_REVISIONS
        unknown = "resources/subscribe" if is_modern else "server/discover"
        with pytest.raises(LocalProtocolError, match=f"clients cannot send {unknown}"):
            await client.request(unknown, {})
        with pytest.raises(LocalProtocolError, match="clients cannot send sampling/createMessage"):
            await client.request("sampling/createMessage", {})
        with pytest.raises(LocalProtocolError, match="clients cannot tell"):
            await client.notify("notifications/message")
        assert peer.unread == []


async def test_arguments_that_json_has_no_form_for_are_not_sent(revision: str) -> None:
    peer = PeerServer(revision)
    async with client_of(peer) as client:
        for arguments in ({"x": object()}, {"x": "\ud800"}, {"x": {1, object()}}):
            with pytest.raises(LocalProtocolError):
                await client.call_tool("t", arguments)
        wrong: Any = [1]
        with pytest.raises(LocalProtocolError, match="are a mapping, not list"):
            await client.call_tool("t", wrong)
        assert peer.unread == []


async def test_a_client_that_was_never_connected_leaves_nothing_behind() -> None:
    client = Client([sys.executable, str(PROGRAM)])
    assert "not connected" in repr(client)
    await client.close()
    del client
    gc.collect()


# --- one plain exception, whatever happens


async def test_no_exception_group_crosses_the_api(revision: str) -> None:
    class Dying(PeerServer):
        def answers(self, message: Any) -> bool:
            if message.get("method") in ("server/discover", "initialize"):
                self.connection.abort()
            return True

    async def cannot_open() -> Connection:
        raise TransportError("no way")

    async def breaks_rules() -> Connection:
        ours, theirs = memory_pair()
        peer = Peer()
        peer.connection = theirs
        theirs.start(peer)
        ours.abort()
        return ours

    for target in (Dying(revision).open, cannot_open, breaks_rules):
        with pytest.raises(McpError) as caught:
            await Client(target, mode=revision, timeouts=TIMEOUTS).connect()
        assert not isinstance(caught.value, BaseExceptionGroup)
        assert str(caught.value)


@pytest.mark.parametrize("code", [-32600, -32603, -32000, 1])
async def test_a_refused_handshake_is_the_refusal(code: int) -> None:
    class Refusing(PeerServer):
        def answers(self, message: Any) -> bool:
            if message.get("method") == "initialize":
                self.send(error(message["id"], code, "go away", {"why": "closed"}))
            return message.get("method") == "initialize" or super().answers(message)

    with pytest.raises(RequestFailed) as caught:
        await Client(Refusing("2025-06-18").open, mode="legacy").connect()
    assert (caught.value.code, caught.value.message) == (code, "go away")
    assert caught.value.data == {"why": "closed"}


@pytest.mark.broken_messages("server")
async def test_a_handshake_that_makes_no_sense_is_the_servers_fault() -> None:
    for value in ({}, {"protocolVersion": 5}, {"protocolVersion": "1999-01-01"}):

        class Odd(PeerServer):
            answer: Any = value

            def answers(self, message: Any) -> bool:
                if message.get("method") == "initialize":
                    self.send(result(message["id"], self.answer))
                return True

        with pytest.raises(RemoteProtocolError):
            await Client(Odd("2025-06-18").open, mode="legacy").connect()
