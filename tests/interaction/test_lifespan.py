"""The lifespan of a server: once, however many clients there are."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.interaction.connecting import SOCKETS, listening
from wigwag import Client, ConnectionClosed, Context, Server

pytestmark = pytest.mark.anyio


class Shop:
    """A server that writes down when its lifespan begins and ends."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.server = Server("shop", lifespan=self._open)

        @self.server.tool
        async def till(ctx: Context) -> str:
            return f"{ctx.lifespan}"

    @asynccontextmanager
    async def _open(self, server: Server) -> AsyncIterator[str]:
        assert server is self.server
        self.events.append("open")
        try:
            yield f"till {self.events.count('open')}"
        finally:
            self.events.append("close")


async def till_of(client: Client) -> str:
    return (await client.call_tool("till")).text


async def test_handlers_see_what_the_lifespan_yields(revision: str) -> None:
    shop = Shop()
    async with Client(shop.server, mode=revision) as client:
        assert await till_of(client) == "till 1"
    assert shop.events == ["open", "close"]


async def test_twenty_clients_share_one_lifespan(revision: str) -> None:
    shop = Shop()
    clients = [Client(shop.server, mode=revision) for _ in range(20)]
    await asyncio.gather(*(client.connect() for client in clients))
    assert set(await asyncio.gather(*map(till_of, clients))) == {"till 1"}
    await asyncio.gather(*(client.close() for client in clients))
    assert shop.events == ["open", "close"]


async def test_the_lifespan_lasts_until_the_last_client_has_gone(revision: str) -> None:
    shop = Shop()
    async with Client(shop.server, mode=revision) as one:
        async with Client(shop.server, mode=revision) as other:
            assert await till_of(other) == "till 1"
        assert await till_of(one) == "till 1"
        assert shop.events == ["open"]
    assert shop.events == ["open", "close"]


@pytest.mark.parametrize("transport", SOCKETS)
async def test_a_listening_server_has_one_lifespan_however_clients_come_and_go(
    transport: str, revision: str
) -> None:
    shop = Shop()
    async with listening(shop.server, transport) as address:
        assert shop.events == ["open"]
        for _ in range(3):
            async with Client(address, mode=revision) as client:
                assert await till_of(client) == "till 1"
    assert shop.events == ["open", "close"]


async def test_a_server_that_is_used_again_begins_anew() -> None:
    shop = Shop()
    for number in (1, 2):
        async with Client(shop.server) as client:
            assert await till_of(client) == f"till {number}"
    assert shop.events == ["open", "close"] * 2


async def test_without_a_lifespan_there_is_nothing_to_see() -> None:
    server = Server("s")

    @server.tool
    async def till(ctx: Context) -> str:
        return f"{ctx.lifespan}"

    async with Client(server) as client:
        assert await till_of(client) == "None"


async def test_after_a_lifespan_that_failed_to_begin_another_may_begin() -> None:
    attempts: list[int] = []

    @asynccontextmanager
    async def shaky(server: Server) -> AsyncIterator[None]:
        attempts.append(1)
        if len(attempts) == 1:
            raise ValueError("no database yet")
        yield

    server = Server("s", lifespan=shaky)
    client = Client(server)
    with pytest.raises(ConnectionClosed, match="no database yet"):
        await client.connect()
    async with client:
        await client.ping()
    assert len(attempts) == 2
