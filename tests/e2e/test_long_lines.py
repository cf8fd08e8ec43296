"""Long lines through real pipes: the time grows with the length, not with its square."""

import time

import pytest

from tests.e2e.host import PATIENCE, TOOLS, python_command
from wigwag import Client
from wigwag.client.client import Timeouts
from wigwag.schema import TextContent

pytestmark = pytest.mark.anyio

MEGABYTE = 1_000_000


async def best_time(client: Client, megabytes: int) -> float:
    """Return the shortest of a few times in which a text goes to the server and comes back."""
    text = "0123456789" * (megabytes * MEGABYTE // 10)
    times = []
    for _ in range(2):
        began = time.perf_counter()
        result = await client.call_tool("echo", {"text": text})
        times.append(time.perf_counter() - began)
        (block,) = result.content
        assert isinstance(block, TextContent)
        assert block.text == text
    return min(times)


async def test_forty_megabytes_take_about_twice_as_long_as_twenty() -> None:
    timeouts = Timeouts(request=3 * PATIENCE, connect=PATIENCE)
    async with Client(python_command(TOOLS), timeouts=timeouts) as client:
        await best_time(client, 1)  # to warm up
        twenty = await best_time(client, 20)
        forty = await best_time(client, 40)
    # Squared it would be four times as long.
    assert forty < 3 * twenty
