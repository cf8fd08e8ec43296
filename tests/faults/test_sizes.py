"""Answers of many megabytes: all of one that may be so long, and nothing of one that may not."""

from typing import Any

import pytest

from tests.faults.answers import BIG_BYTES
from tests.faults.ways import LEGACY_JSON, MODERN_SSE, OLD, STDIO, Bench, Way
from wigwag.errors import RemoteProtocolError

pytestmark = [pytest.mark.anyio, pytest.mark.broken_messages("server", sometimes=True)]

# What it takes does not depend on the era.
EACH_TRANSPORT = [STDIO[1], LEGACY_JSON, MODERN_SSE, *OLD]
BIG: Any = {"tools/call": {"is": "big"}}


@pytest.mark.parametrize("way", EACH_TRANSPORT, ids=str)
async def test_an_answer_of_forty_megabytes_comes_through(bench: Bench, way: Way) -> None:
    async with bench.connected(way, BIG) as (client, _):
        text = (await client.call_tool("odd")).text
        assert (len(text), text[0], text[-1]) == (BIG_BYTES, "x", "x")
        assert (await client.call_tool("echo", {"text": "well"})).text == "well"


@pytest.mark.parametrize("way", EACH_TRANSPORT, ids=str)
async def test_an_answer_over_the_limit_is_refused_and_the_next_one_read(
    bench: Bench, way: Way
) -> None:
    big: Any = {"tools/call": {"is": "quite big"}}
    async with bench.connected(way, big, max_message_bytes=100_000) as (client, _):
        with pytest.raises(RemoteProtocolError, match=r"is longer than 100000 bytes"):
            await client.call_tool("odd")
        assert (await client.call_tool("echo", {"text": "well"})).text == "well"
