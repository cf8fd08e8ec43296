"""Processes whose handlers raise what ends programs: they end when they are told to."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import asgi
from tests.e2e.conftest import Launch
from tests.e2e.host import SOON, modern_call, text_of
from tests.e2e.http_wire import address_of, connect
from tests.interaction.rascals import DEEDS

RASCALS = Path(__file__).parent.parent / "interaction" / "rascals.py"

# A program that serves itself, with whatever the event loop of asyncio makes of Ctrl+C.
IN_MEMORY = """
import asyncio, signal, sys, time
from wigwag import Client, Server

server = Server("s")

@server.tool
async def interrupt() -> str:
    raise KeyboardInterrupt

@server.tool(thread=False)
def be_interrupted() -> str:
    for _ in range(int(sys.argv[1])):
        signal.raise_signal(signal.SIGINT)
    return "done"

async def main():
    async with Client(server) as client:
        print((await client.call_tool("interrupt")).text.partition(" (")[0], flush=True)
        await client.call_tool("be_interrupted")
        await asyncio.sleep(60)

if sys.argv[2] == "run":
    asyncio.run(main())
else:
    asyncio.new_event_loop().run_until_complete(main())
"""


@pytest.mark.parametrize("tool", ["in_task", "in_thread", "on_loop"])
def test_a_real_interrupt_ends_a_server_that_has_outlived_all_others(
    launch: Launch, tool: str
) -> None:
    host = launch(RASCALS)
    for number, deed in enumerate(DEEDS):
        host.ask(modern_call(number, tool, deed=deed))
    assert text_of(host.ask(modern_call(100, "echo", text="alive"))) == "alive"
    host.process.send_signal(signal.SIGINT)
    assert host.exit_code(within=SOON) == 130


@pytest.mark.parametrize("deed", ["leave", "interrupt"])
def test_a_server_outlives_the_tasks_that_its_handlers_begin(launch: Launch, deed: str) -> None:
    host = launch(RASCALS)
    failed = text_of(host.ask(modern_call(1, "in_group", deed=deed)))
    assert failed.startswith("in_group failed: an internal error")
    assert text_of(host.ask(modern_call(2, "leave_behind", deed=deed))) == "left"
    assert text_of(host.ask(modern_call(3, "echo", text="alive"))) == "alive"
    host.close_input()
    assert host.exit_code(within=SOON) == 0
    assert "a task of a handler failed" in host.stderr


@pytest.mark.parametrize("deed", ["leave", "interrupt"])
def test_a_web_service_outlives_the_tasks_that_its_handlers_begin(
    launch: Launch, deed: str
) -> None:
    host = launch(RASCALS, "http")
    with connect(address_of(host)) as connection:

        def call(tool: str, **arguments: str) -> str:
            answer = connection.call(*asgi.modern_call(1, tool, arguments))
            return str(answer.json()["result"]["content"][0]["text"])

        assert call("in_group", deed=deed).startswith("in_group failed: an internal error")
        assert call("leave_behind", deed=deed) == "left"
        assert call("echo", text="alive") == "alive"
    host.process.send_signal(signal.SIGINT)
    assert host.exit_code(within=SOON) == 130
    assert "a task of a handler failed" in host.stderr


@pytest.mark.parametrize(("times", "how"), [(1, "run"), (2, "run"), (1, "loop")])
def test_a_real_interrupt_ends_a_program_with_a_server_in_it(times: int, how: str) -> None:
    found = subprocess.run(
        [sys.executable, "-c", IN_MEMORY, str(times), how],
        capture_output=True,
        check=False,
        timeout=30,
    )
    assert found.stdout == b"interrupt failed: an internal error\n"
    assert found.returncode in (-signal.SIGINT, 130)
    assert b"KeyboardInterrupt" in found.stderr
