"""Opening, using and closing clients: from any task, in any order, as often as one likes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.interaction.bazaar import bazaar
from tests.interaction.connecting import (
    PATIENCE,
    SOCKETS,
    TIMEOUTS,
    Connect,
    connections_of,
    listening,
    text_of,
)
from tests.interaction.peers import PeerServer, client_of
from wigwag import (
    Client,
    ConnectionClosed,
    McpError,
    RequestFailed,
    Server,
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


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("has_mode", [False, True])
async def test_a_revision_insists_too(revision: str, *, has_mode: bool) -> None:
    mode = revision if has_mode else "auto"
    async with Client(Server("s"), mode=mode, revision=revision) as client:
        assert client.protocol_version == revision


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
    with pytest.raises(TransportError, match="was not ready within 2 s"):
        await Client(peer.open, timeouts=Timeouts(connect=2, probe=0.3)).connect()
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
async def test_without_healing_calls_fail_the_moment_the_server_is_gone(
    revision: str, transport: str
) -> None:
    server = Server("s")
    began = asyncio.Event()

    @server.tool
    async def hang() -> None:
        began.set()
        await asyncio.Event().wait()

    async with (
        listening(server, transport) as address,
        Client(address, mode=revision, heal=False) as client,
    ):
        calling = [asyncio.create_task(client.call_tool("hang")) for _ in range(3)]
        async with asyncio.timeout(PATIENCE):
            await began.wait()
            for connection in connections_of(server):
                await connection.aclose()
            for task in calling:
                with pytest.raises(ConnectionClosed, match="the peer closed the connection"):
                    await task
            # It stays so until it is opened anew.
            with pytest.raises(ConnectionClosed):
                await client.ping()
            await client.connect()
            await client.ping()


async def test_the_connection_is_opened_anew_by_itself(revision: str) -> None:
    peer = PeerServer(revision)
    async with client_of(peer) as client:
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

    async with client_of(peer) as client:
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
