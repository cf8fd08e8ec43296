"""The trace of a client, as a server gets it."""

import asyncio
import subprocess
import sys
from typing import Any

import pytest

pytest.importorskip("opentelemetry.trace")

from opentelemetry import trace

from tests.interaction.connecting import serving_http
from wigwag import Client, Context, Server, SyncClient
from wigwag.schema import LATEST_LEGACY, LATEST_MODERN

pytestmark = pytest.mark.anyio

ERAS = (LATEST_LEGACY, LATEST_MODERN)


def traced() -> Server:
    server = Server("traced")

    @server.tool
    def who(ctx: Context) -> str:
        return ctx.trace.traceparent or "nobody"

    return server


def in_span(number: int) -> Any:
    found = trace.SpanContext(number, number, is_remote=False)
    return trace.use_span(trace.NonRecordingSpan(found))


def parent(number: int) -> str:
    return f"00-{number:032x}-{number:016x}-00"


@pytest.mark.parametrize("transport", ["memory", "http"])
@pytest.mark.parametrize("mode", ERAS)
async def test_each_request_tells_the_span_that_it_was_made_in(mode: str, transport: str) -> None:
    server = traced()

    async def call(client: Client, number: int) -> str:
        with in_span(number):
            return (await client.call_tool("who")).text

    async with serving_http(server) as origin:
        target: Any = server if transport == "memory" else f"{origin}/mcp"
        async with Client(target, mode=mode) as client:
            assert (await client.call_tool("who")).text == "nobody"
            told = await asyncio.gather(*(call(client, number) for number in (1, 2, 3)))
            assert told == [parent(1), parent(2), parent(3)]
            with in_span(4):
                result = await client.call_tool("who", meta={"traceparent": parent(5)})
            assert result.text == parent(5)


@pytest.mark.parametrize("mode", ERAS)
def test_a_blocking_client_tells_the_span_of_the_thread_that_asks(mode: str) -> None:
    with SyncClient(traced(), mode=mode) as client, in_span(7):
        assert client.call_tool("who").text == parent(7)


def test_a_program_that_does_not_trace_does_not_load_what_traces() -> None:
    program = """
import asyncio, sys
from wigwag import Client, Server
server = Server("s")
server.tool(name="t")(lambda: "x")
async def main():
    async with Client(server) as client:
        await client.call_tool("t")
asyncio.run(main())
print([name for name in sys.modules if name.startswith("opentelemetry")])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.decode().strip() == "[]"
