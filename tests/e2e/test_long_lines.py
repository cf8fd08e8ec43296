"""Long lines through real pipes: the work grows with the length, not with its square.

What is measured is the time that the processes compute, not the time on the clock: that is other
programs' as well.
"""

import time
from pathlib import Path

import pytest

from tests.e2e.conftest import Launch
from tests.e2e.host import (
    PATIENCE,
    SERVERS,
    TOOLS,
    cpu_seconds,
    encode,
    modern_call,
    python_command,
)
from wigwag import Client
from wigwag.client.link import Timeouts
from wigwag.schema import TextContent

pytestmark = pytest.mark.anyio

MEGABYTE = 1_000_000
LONGER = 20
MUCH_MORE = 120  # between the work that grows with the length and with its square: 20 and 400


def text_of(megabytes: int) -> str:
    return "0123456789" * (megabytes * MEGABYTE // 10)


def test_a_line_that_arrives_in_small_pieces_is_read_in_linear_time(launch: Launch) -> None:
    host = launch(TOOLS)

    def work(megabytes: int) -> float:
        message = modern_call(megabytes, "measure", text=text_of(megabytes))
        line = encode(message)
        before = cpu_seconds(host.process.pid)
        for start in range(0, len(line), 4096):
            host.write(line[start : start + 4096])
        host.conversation.saw("client", line)
        assert "result" in host.response(megabytes)
        return cpu_seconds(host.process.pid) - before

    work(1)  # to warm up
    short = min([work(2) for _ in range(3)])
    long = min([work(2 * LONGER) for _ in range(2)])
    assert long < MUCH_MORE * short


async def test_the_client_reads_such_a_line_in_linear_time_too(tmp_path: Path) -> None:
    command = python_command(SERVERS / "by_hand.py", "modern", tmp_path / "diary")
    timeouts = Timeouts(request=3 * PATIENCE, connect=PATIENCE)
    async with Client(command, timeouts=timeouts) as client:

        async def work(megabytes: int) -> float:
            times = megabytes * MEGABYTE // len("hello")
            before = time.process_time()
            (block,) = (await client.call_tool("hello", {"times": times})).content
            spent = time.process_time() - before
            assert isinstance(block, TextContent)
            assert block.text == "hello" * times
            return spent

        await work(1)  # to warm up
        short = min([await work(2) for _ in range(3)])
        long = min([await work(2 * LONGER) for _ in range(2)])
    assert long < MUCH_MORE * short


async def test_forty_megabytes_go_to_the_server_and_come_back() -> None:
    timeouts = Timeouts(request=3 * PATIENCE, connect=PATIENCE)
    text = text_of(40)
    async with Client(python_command(TOOLS), timeouts=timeouts) as client:
        (block,) = (await client.call_tool("echo", {"text": text})).content
    assert isinstance(block, TextContent)
    assert block.text == text
