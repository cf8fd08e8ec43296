"""Handlers that let the client go while they work."""

import pytest

from tests.interaction.connecting import text_of
from wigwag import Client, Context, Server

pytestmark = pytest.mark.anyio


async def test_where_nothing_can_be_closed_the_client_is_answered_as_ever(revision: str) -> None:
    server = Server("s")

    @server.tool
    async def wait(ctx: Context) -> str:
        await ctx.close_stream(retry=1.5)
        return "done"

    @server.tool
    def wait_in_a_thread(ctx: Context) -> str:
        ctx.close_stream()
        return "done"

    async with Client(server, mode=revision) as client:
        assert await text_of(client, "wait") == "done"
        assert await text_of(client, "wait_in_a_thread") == "done"
