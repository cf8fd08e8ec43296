"""Log messages to the client: each era has its own way to ask for them."""

import asyncio
from typing import Any

import pytest

from tests.interaction.bazaar import bazaar
from tests.interaction.connecting import Connect, text_of
from tests.interaction.peers import PeerClient, PeerServer, client_of
from wigwag import Client, Context, Server
from wigwag.errors import LocalProtocolError
from wigwag.schema import MODERN_REVISIONS, LoggingMessageNotificationParams

pytestmark = pytest.mark.anyio

ALL = [
    ("debug", "d", None),
    ("info", {"i": 1}, "till"),
    ("warning", ["w"], None),
    ("error", None, None),
    ("emergency", "fire", None),
]


class Heard(list[tuple[str, Any, Any]]):
    def __call__(self, params: LoggingMessageNotificationParams) -> None:
        self.append((params.level, params.data, params.logger or None))


@pytest.mark.parametrize(
    ("level", "count"), [("debug", 5), ("info", 4), ("notice", 3), ("error", 2), ("alert", 1)]
)
async def test_messages_of_the_level_asked_for_and_above_arrive(
    revision: str, level: Any, count: int
) -> None:
    heard = Heard()
    async with Client(bazaar(), mode=revision, on_log=heard) as client:
        await client.set_logging_level(level)
        assert await text_of(client, "log") == "logged"
    assert heard == ALL[-count:]


async def test_without_a_word_legacy_clients_hear_everything_and_modern_ones_nothing(
    connect: Connect,
) -> None:
    heard = Heard()
    async with connect(on_log=heard) as client:
        await client.call_tool("log")
        is_modern = client.protocol_version in MODERN_REVISIONS
    assert heard == ([] if is_modern else ALL)


async def test_plain_functions_can_log_as_well(connect: Connect) -> None:
    heard = Heard()
    async with connect(on_log=heard) as client:
        await client.set_logging_level("info")
        await client.call_tool("log_in_thread")
    assert heard == [("info", "from a thread", None)]


async def test_the_level_is_told_once_to_a_session_and_with_every_modern_request(
    revision: str,
) -> None:
    peer = PeerServer(revision)
    async with client_of(peer) as client:
        for number in range(2):
            if number == 1:
                setting = asyncio.create_task(client.set_logging_level("error"))
                if not peer.is_modern:
                    asked = await peer.next("logging/setLevel")
                    assert asked["params"]["level"] == "error"
                    peer.reply(asked)
                await setting
            calling = asyncio.create_task(client.call_tool("x"))
            call = await peer.next("tools/call")
            peer.reply(call, content=[])
            await calling
            told = call["params"]["_meta"].get("io.modelcontextprotocol/logLevel")
            assert told == ("error" if number == 1 and peer.is_modern else None)


async def test_a_modern_request_is_heard_of_at_its_own_level() -> None:
    key = "io.modelcontextprotocol/logLevel"
    async with PeerClient(bazaar(), "2026-07-28") as peer:
        peer.send(peer.call("log", id_="quiet"), peer.call("log", id_="loud", meta={key: "error"}))
        messages = [await peer.next() for _ in range(4)]
    levels = [m["params"]["level"] for m in messages if "method" in m]
    assert levels == ["error", "emergency"]


@pytest.mark.parametrize("level", ["loud", "", "DEBUG", None])
async def test_a_level_that_does_not_exist_is_not_sent(local_client: Client, level: Any) -> None:
    with pytest.raises(LocalProtocolError, match="there is no level"):
        await local_client.set_logging_level(level)


@pytest.mark.broken_messages("client")
async def test_a_level_that_does_not_exist_is_refused(revision: str) -> None:
    async with PeerClient(bazaar(), revision) as peer:
        if peer.is_modern:
            asked = peer.call("log", meta={"io.modelcontextprotocol/logLevel": "loud"})
        else:
            asked = peer.request("logging/setLevel", {"level": "loud"})
        answer = await peer.ask(asked)
        assert answer["error"]["code"] == -32602


@pytest.mark.parametrize(
    ("level", "data", "complaint"),
    [
        ("error", object(), "cannot be sent as JSON"),
        ("error", "\ud800", "lone surrogate"),
        ("loud", "x", "there is no level 'loud'"),
    ],
)
async def test_what_cannot_be_sent_fails_in_the_tool_that_logs_it(
    revision: str, level: Any, data: Any, complaint: str
) -> None:
    server = Server("s")

    @server.tool
    async def log_it(ctx: Context) -> str:
        with pytest.raises(LocalProtocolError) as caught:
            await ctx.log(level, data)
        return str(caught.value)

    @server.tool
    def log_it_in_thread(ctx: Context) -> str:
        with pytest.raises(LocalProtocolError) as caught:
            ctx.log(level, data)
        return str(caught.value)

    heard = Heard()
    async with Client(server, mode=revision, on_log=heard) as client:
        await client.set_logging_level("debug")
        assert complaint in await text_of(client, "log_it")
        assert complaint in await text_of(client, "log_it_in_thread")
    assert heard == []
