"""Messages over the limit: whose fault it is, who is told, and that the conversation goes on."""

import asyncio

import pytest

from tests.interaction.bazaar import bazaar
from tests.interaction.connecting import TIMEOUTS, listening, text_of
from wigwag import Client, Limits, RequestFailed, Server
from wigwag.errors import RemoteProtocolError

pytestmark = pytest.mark.anyio

LIMIT = 10_000


def careful() -> Server:
    """Return a server that takes short messages only."""
    server = Server("careful", limits=Limits(max_message_bytes=LIMIT))

    @server.tool
    async def length(text: str) -> int:
        return len(text)

    @server.tool
    async def repeat(text: str, times: int) -> str:
        return text * times

    return server


# The watch sees an answer only: what was thrown away is not in the log.
@pytest.mark.broken_messages("server")
async def test_a_request_that_is_too_long_is_refused_under_its_id(revision: str) -> None:
    async with (
        listening(careful(), "tcp") as address,
        Client(address, mode=revision, timeouts=TIMEOUTS) as client,
    ):
        short, long, other = (
            asyncio.create_task(client.call_tool("length", {"text": "x" * size}))
            for size in (10, LIMIT, 9_000)
        )
        assert (await short).text == "10"
        with pytest.raises(RequestFailed, match=f"longer than {LIMIT} bytes") as caught:
            await long
        assert caught.value.code == -32600
        assert (await other).text == "9000"


async def test_an_answer_that_is_too_long_fails_the_request_it_answers(revision: str) -> None:
    async with (
        listening(careful(), "tcp") as address,
        Client(address, mode=revision, timeouts=TIMEOUTS, max_message_bytes=LIMIT) as client,
    ):
        short, long, other = (
            asyncio.create_task(client.call_tool("repeat", {"text": "x", "times": times}))
            for times in (10, LIMIT, 9_000)
        )
        assert (await short).text == "x" * 10
        with pytest.raises(RemoteProtocolError, match=f"longer than {LIMIT} bytes"):
            await long
        assert (await other).text == "x" * 9_000


async def test_ten_megabytes_pass_by_default() -> None:
    text = "x" * 10_000_000
    async with (
        listening(bazaar(), "tcp") as address,
        Client(address, timeouts=TIMEOUTS) as client,
    ):
        assert await text_of(client, "echo", text=text) == text


async def test_an_answer_whose_id_is_lost_fails_all_that_wait() -> None:
    # The id stands behind the result, and is thrown away with it.
    long = b'{"result":{"content":[{"type":"text","text":"%b"}]},"id":3,"jsonrpc":"2.0"}\n'
    dialogue = [
        (1, b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}\n'),
        (
            1,
            b'{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-06-18",'
            b'"capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}\n',
        ),
        (3, long % (b"x" * LIMIT)),
        (1, b'{"jsonrpc":"2.0","id":5,"result":{"content":[]}}\n'),
    ]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for lines, answer in dialogue:
            for _ in range(lines):
                await reader.readline()
            writer.write(answer)
        await reader.read()
        writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    address = f"tcp://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    async with Client(address, timeouts=TIMEOUTS, max_message_bytes=LIMIT) as client:
        calls = [asyncio.create_task(client.call_tool("t")) for _ in range(2)]
        for call in calls:
            with pytest.raises(RemoteProtocolError, match="longer than"):
                await call
        # And the conversation goes on.
        assert (await client.call_tool("t")).content == []
    listener.close()
