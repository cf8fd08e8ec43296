"""Opening, using and closing clients: from any task, in any order, as often as one likes."""

import asyncio
import gc
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.interaction.bazaar import bazaar
from tests.interaction.connecting import (
    PATIENCE,
    PROGRAM,
    SOCKETS,
    TIMEOUTS,
    Connect,
    listening,
    text_of,
)
from tests.interaction.peers import Peer, PeerServer, client_of
from tests.pair import error, result
from wigwag import (
    Client,
    ConnectionClosed,
    McpError,
    RequestFailed,
    Server,
    ServerStartFailed,
    Timeouts,
    TransportError,
)
from wigwag.errors import LocalProtocolError, RemoteProtocolError
from wigwag.schema import (
    LATEST_LEGACY,
    LATEST_MODERN,
    LEGACY_REVISIONS,
    MODERN_REVISIONS,
    REVISIONS,
)
from wigwag.transports.contract import Connection
from wigwag.transports.memory import memory_pair

pytestmark = pytest.mark.anyio


# --- which revision is spoken


@pytest.mark.parametrize(
    "served", [REVISIONS, MODERN_REVISIONS, *[(r,) for r in REVISIONS]], ids=str
)
async def test_without_a_mode_the_newest_revision_of_both_is_spoken(served: Any) -> None:
    async with Client(Server("s", revisions=served)) as client:
        assert client.protocol_version == served[-1]


@pytest.mark.parametrize(
    ("mode", "spoken"),
    [("auto", LATEST_MODERN), ("modern", LATEST_MODERN), ("legacy", LATEST_LEGACY)]
    + [(revision, revision) for revision in REVISIONS],
)
async def test_a_mode_insists(mode: str, spoken: str) -> None:
    async with Client(Server("s"), mode=mode) as client:
        assert client.protocol_version == spoken


@pytest.mark.parametrize(
    ("mode", "served"),
    [
        ("modern", LEGACY_REVISIONS),
        ("legacy", MODERN_REVISIONS),
        ("2024-11-05", ("2025-11-25",)),
        ("2025-11-25", ("2024-11-05",)),
    ],
)
async def test_a_mode_that_the_server_does_not_serve_fails(mode: str, served: Any) -> None:
    with pytest.raises((RemoteProtocolError, RequestFailed)) as caught:
        await Client(Server("s", revisions=served), mode=mode).connect()
    assert str(caught.value)


async def test_the_era_is_remembered_for_the_next_connection() -> None:
    peer = PeerServer("2025-06-18")
    client = Client(peer.open, timeouts=TIMEOUTS)
    for _ in range(2):
        await client.connect()
        await client.close()
    methods = [message["method"] for message in peer.seen]
    handshake = ["initialize", "notifications/initialized"]
    assert methods == ["server/discover", *handshake, *handshake]


async def test_silence_means_legacy() -> None:
    class Silent(PeerServer):
        def answers(self, message: Any) -> bool:
            return message.get("method") == "server/discover" or super().answers(message)

    peer = Silent("2025-06-18")
    async with Client(peer.open, timeouts=Timeouts(probe=0.05)) as client:
        assert client.protocol_version == "2025-06-18"


async def test_a_server_that_never_answers_is_given_up() -> None:
    class Deaf(PeerServer):
        def answers(self, message: Any) -> bool:
            return True

    peer = Deaf("2025-06-18")
    with pytest.raises(TransportError, match=r"was not ready within 0\.1 s"):
        await Client(peer.open, timeouts=Timeouts(connect=0.1, probe=0.05)).connect()
    await peer.wait_ended()
    # A handshake is never cancelled: there would be nothing left.
    assert [message["method"] for message in peer.seen] == ["server/discover", "initialize"]


# --- from several tasks


async def test_one_task_opens_another_uses_and_a_third_closes(connect: Connect, way: Any) -> None:
    async with connect() as opened:
        client = opened

        async def in_task(action: Any) -> Any:
            return await asyncio.create_task(action)

        assert await in_task(text_of(client, "echo", text="a")) == "a"
        await in_task(client.close())
        await in_task(client.close())
        with pytest.raises(LocalProtocolError, match="not connected"):
            await in_task(client.ping())
        if way.transport in ("memory", "stdio"):
            await in_task(client.connect())
            await in_task(client.connect())
            assert await in_task(text_of(client, "echo", text="b")) == "b"


async def test_many_tasks_that_connect_share_one_connection(revision: str) -> None:
    peer = PeerServer(revision)
    client = Client(peer.open, mode=revision, timeouts=TIMEOUTS)
    await asyncio.gather(*(client.connect() for _ in range(10)))
    await asyncio.gather(*(client.close() for _ in range(10)))
    assert peer.opened == 1


async def test_whoever_is_cancelled_while_connecting_does_not_take_it_from_the_others() -> None:
    open_now = asyncio.Event()
    peer = PeerServer(LATEST_MODERN)

    async def open_slowly() -> Connection:
        await open_now.wait()
        return await peer.open()

    client = Client(open_slowly, timeouts=TIMEOUTS)
    one, other = (asyncio.create_task(client.connect()) for _ in range(2))
    await peer.settle()
    one.cancel()
    open_now.set()
    assert await other is client
    with pytest.raises(asyncio.CancelledError):
        await one
    await client.close()
    assert peer.opened == 1


async def test_closing_while_connecting_ends_the_attempt() -> None:
    began, events = asyncio.Event(), list[str]()

    async def open_for_ever() -> Connection:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            events.append("stopped")
        raise AssertionError("never")

    client = Client(open_for_ever, timeouts=TIMEOUTS)
    connecting = asyncio.create_task(client.connect())
    await began.wait()
    await client.close()
    with pytest.raises((asyncio.CancelledError, McpError)):
        await connecting
    assert events == ["stopped"]


async def test_entering_that_is_cancelled_leaves_nothing_open() -> None:
    class Deaf(PeerServer):
        def answers(self, message: Any) -> bool:
            return True

    peer = Deaf(LATEST_MODERN)

    async def enter() -> None:
        async with Client(peer.open, timeouts=TIMEOUTS):
            raise AssertionError("never")

    entering = asyncio.create_task(enter())
    await peer.wait_opened(1)
    await peer.settle()
    entering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await entering
    await peer.wait_ended()


async def test_closing_fails_the_calls_under_way_and_cancels_nobody(client: Client) -> None:
    calling = asyncio.create_task(client.call_tool("hang", {"name": "x"}))
    await text_of(client, "wait_for", entry="x began")
    await client.close()
    await asyncio.wait({calling})
    assert not calling.cancelled()
    with pytest.raises(ConnectionClosed, match="the client was closed"):
        await calling
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_a_client_can_be_used_again_and_again() -> None:
    client = Client(bazaar())
    for _ in range(3):
        async with client:
            assert await text_of(client, "echo", text="again") == "again"


async def test_a_client_can_be_used_in_another_event_loop(revision: str) -> None:
    # The test runner's own loop runs, so others are made in threads of their own.
    client = Client(bazaar(), mode=revision, timeouts=TIMEOUTS)

    async def use() -> str:
        async with client:
            return await text_of(client, "echo", text="x")

    for _ in range(2):
        assert await asyncio.to_thread(asyncio.run, use()) == "x"


# --- servers that go away


@pytest.mark.parametrize("transport", SOCKETS)
async def test_calls_fail_the_moment_the_server_is_gone(revision: str, transport: str) -> None:
    server = Server("s")
    began = asyncio.Event()

    @server.tool
    async def hang() -> None:
        began.set()
        await asyncio.Event().wait()

    async with listening(server, transport) as address, Client(address, mode=revision) as client:
        calling = [asyncio.create_task(client.call_tool("hang")) for _ in range(3)]
        async with asyncio.timeout(PATIENCE):
            await began.wait()
            for connection in list(server._connections):
                await connection.aclose()
            for task in calling:
                with pytest.raises(ConnectionClosed, match="the peer closed the connection"):
                    await task
            # It stays so until it is opened anew.
            with pytest.raises(ConnectionClosed):
                await client.ping()
            await client.connect()
            await client.ping()


async def test_with_restart_the_connection_is_opened_anew_by_itself(revision: str) -> None:
    peer = PeerServer(revision)
    async with client_of(peer, restart=True) as client:
        listing = asyncio.create_task(client.list_tools())
        await peer.next("tools/list")
        peer.connection.abort()
        await peer.wait_opened(2)
        peer.reply(await peer.next("tools/list"), tools=[])
        assert (await listing).tools == []
        # A call of a tool may have done something already.
        calling = asyncio.create_task(client.call_tool("t"))
        await peer.next("tools/call")
        peer.connection.abort()
        with pytest.raises(ConnectionClosed):
            await calling


async def test_the_level_of_log_messages_survives_a_restart(revision: str) -> None:
    peer = PeerServer(revision)
    levels: list[str] = []

    async def serve() -> None:
        while True:
            asked = await peer.next()
            if asked["method"] == "logging/setLevel":
                levels.append(asked["params"]["level"])
            peer.reply(asked, **({"content": []} if asked["method"] == "tools/call" else {}))

    async with client_of(peer, restart=True) as client:
        serving = asyncio.create_task(serve())
        await client.set_logging_level("error")
        peer.connection.abort()
        await peer.settle()
        serving.cancel()
        await asyncio.wait({serving})
        serving = asyncio.create_task(client.call_tool("t"))  # type: ignore[arg-type]
        await peer.wait_opened(2)
        if not peer.is_modern:
            asked = await peer.next("logging/setLevel")
            levels.append(asked["params"]["level"])
            peer.reply(asked)
        asked = await peer.next("tools/call")
        key = "io.modelcontextprotocol/logLevel"
        assert asked["params"]["_meta"].get(key) == ("error" if peer.is_modern else None)
        peer.reply(asked, content=[])
        await serving
    assert levels == ([] if peer.is_modern else ["error", "error"])


async def test_a_server_in_this_process_that_cannot_start_says_why() -> None:
    @asynccontextmanager
    async def broken(server: Server) -> AsyncIterator[None]:
        raise ValueError("no database")
        yield

    with pytest.raises(ConnectionClosed, match="the server failed: ValueError: no database"):
        await Client(Server("s", lifespan=broken)).connect()


# --- misuse, each with one plain exception


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
        ("http://localhost/mcp", ValueError, "has no HTTP transport yet"),
        ("https://example.com/mcp", ValueError, "has no HTTP transport yet"),
        ("python server", ValueError, r"a command is a list, for example \['python', 'server'\]"),
        ("tcp://localhost", ValueError, "write tcp://host:port"),
        ("tcp://:80", ValueError, "write tcp://host:port"),
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
