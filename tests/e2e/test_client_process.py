"""A client's server process: how it is started, heard, and ended, with all that it started."""

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.host import (
    PATIENCE,
    SERVERS,
    SOON,
    TOOLS,
    is_running,
    python_command,
    wait_until,
)
from wigwag import Client, ServerStartFailed, StdioServerParameters
from wigwag.client.link import Timeouts
from wigwag.schema import TextContent

pytestmark = pytest.mark.anyio

BY_HAND = SERVERS / "by_hand.py"
TIMEOUTS = Timeouts(request=PATIENCE, connect=PATIENCE, probe=PATIENCE)


def tools_command(*args: str) -> list[str]:
    return python_command(TOOLS, *args)


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with Client(tools_command(), timeouts=TIMEOUTS) as client:
        yield client


async def call(client: Client, tool: str, **arguments: Any) -> str:
    """Call a tool and return the text that it returned."""
    result = await client.call_tool(tool, arguments)
    (block,) = result.content
    assert isinstance(block, TextContent)
    assert not result.is_error, block.text
    return block.text


# --- starting


async def test_variables_are_laid_over_a_safe_part_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("API_TOKEN", "secret")
    async with Client(tools_command(), env={"GIVEN": "é"}, timeouts=TIMEOUTS) as client:
        found = json.loads(await call(client, "environment"))
    assert found["GIVEN"] == "é"
    assert found["PATH"] == os.environ["PATH"]
    assert found["HOME"] == os.environ["HOME"]
    assert "API_TOKEN" not in found


async def test_a_server_starts_in_the_folder_it_is_given(tmp_path: Path) -> None:
    folder = tmp_path / "a folder, ü"
    folder.mkdir()
    async with Client(tools_command(), cwd=folder, timeouts=TIMEOUTS) as client:
        assert await call(client, "folder") == str(folder)


async def test_a_program_that_is_not_there_is_named_with_the_path_that_was_searched() -> None:
    with pytest.raises(ServerStartFailed) as caught:
        await Client(["no-such-program", "--flag"], env={"PATH": "/nowhere"}).connect()
    assert "no-such-program --flag" in str(caught.value)
    assert "/nowhere" in str(caught.value)


async def test_a_file_that_is_no_program_is_named(tmp_path: Path) -> None:
    file = tmp_path / "no program"
    file.write_text("hello")
    with pytest.raises(ServerStartFailed, match="no program"):
        await Client([str(file)]).connect()


async def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ServerStartFailed, match="nowhere"):
        await Client(tools_command(), cwd=tmp_path / "nowhere").connect()


async def test_a_server_that_ends_at_once_fails_with_its_exit_code_and_last_words() -> None:
    program = "import sys; print('line 1', file=sys.stderr); sys.exit('no configuration ✓')"
    command = [sys.executable, "-c", program]
    with pytest.raises(ServerStartFailed) as caught:
        await Client(command, timeouts=TIMEOUTS).connect()
    assert caught.value.exit_code == 1
    assert caught.value.stderr == "line 1\nno configuration ✓"
    for part in (sys.executable, "exited with code 1", "line 1", "no configuration ✓"):
        assert part in str(caught.value)


async def test_a_server_that_is_killed_at_once_fails_with_the_signal() -> None:
    command = [sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"]
    with pytest.raises(ServerStartFailed, match="SIGKILL") as caught:
        await Client(command, timeouts=TIMEOUTS).connect()
    assert caught.value.exit_code == -signal.SIGKILL


async def test_a_server_that_never_answers_is_given_up_and_ended(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    program = (
        f"import os, time; open({str(pid_file)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    )
    client = Client(
        StdioServerParameters(command=sys.executable, args=["-c", program], exit_timeout=0.2),
        timeouts=Timeouts(connect=0.5, probe=0.2),
    )
    with pytest.raises(Exception, match=r"0\.5 s"):
        await client.connect()
    wait_until(lambda: not is_running(int(pid_file.read_text())), "the end of the server")
    await client.close()


# --- hearing


async def test_each_line_of_the_standard_error_is_handed_over() -> None:
    lines: list[str] = []
    async with Client(tools_command(), on_stderr=lines.append, timeouts=TIMEOUTS) as client:
        await client.call_tool("print_text", {"text": "one\ntwo ✓"})
    assert lines == ["one", "two ✓"]


async def test_the_standard_error_is_passed_on_by_default(
    capsys: pytest.CaptureFixture[str], client: Client
) -> None:
    await client.call_tool("print_text", {"text": "for people to read ✓"})
    await client.close()
    assert "for people to read ✓\n" in capsys.readouterr().err


async def test_a_callback_that_fails_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    def fail(line: str) -> None:
        raise ValueError(line)

    async with Client(tools_command(), on_stderr=fail, timeouts=TIMEOUTS) as client:
        await client.call_tool("print_text", {"text": "one"})
        await client.call_tool("echo", {"text": "alive"})
    assert "ValueError: one" in caplog.text


async def test_a_megabyte_on_the_standard_error_blocks_nobody() -> None:
    lines: list[str] = []
    async with Client(tools_command(), on_stderr=lines.append, timeouts=TIMEOUTS) as client:
        await client.call_tool("print_text", {"text": "x" * 99 + "\n" + "y" * 1_000_000})
        await client.call_tool("print_text", {"text": ("z" * 99 + "\n") * 10_000})
    assert sum(line == "z" * 99 for line in lines) == 10_000


@pytest.mark.broken_messages("server")
async def test_what_is_no_message_is_skipped_and_reported_with_a_hint(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.WARNING, "wigwag")
    command = python_command(BY_HAND, "noisy", tmp_path / "diary")
    async with Client(command, timeouts=TIMEOUTS) as client:
        assert await call(client, "hello") == "hello"
    assert "Server starting..." in caplog.text
    assert "a stdio server must print to standard error" in caplog.text


# --- ending


async def test_closing_ends_a_server_that_behaves_at_once(client: Client) -> None:
    pid = int(await call(client, "process_id"))
    began = time.monotonic()
    await client.close()
    assert time.monotonic() - began < SOON
    assert not is_running(pid)


async def test_a_server_that_ignores_everything_is_killed_within_the_grace_times(
    tmp_path: Path,
) -> None:
    diary = tmp_path / "diary"
    server = StdioServerParameters(
        command=sys.executable, args=[str(BY_HAND), "deaf", str(diary)], exit_timeout=0.3
    )
    before = children()
    async with Client(server, timeouts=TIMEOUTS) as client:
        await client.call_tool("hello")
        (pid,) = children() - before
        began = time.monotonic()
    # Its input was closed, it was asked to terminate, then it was killed.
    assert 0.6 <= time.monotonic() - began < 0.6 + SOON
    assert not is_running(pid)


@pytest.mark.parametrize("deaf", [False, True])
async def test_what_a_server_started_ends_with_it(client: Client, *, deaf: bool) -> None:
    child = int(await call(client, "start_child", deaf=deaf))
    assert is_running(child)
    await client.close()
    wait_until(lambda: not is_running(child), "its end", timeout=1.0)


async def test_what_a_dead_server_started_ends_when_the_client_closes(client: Client) -> None:
    child = int(await call(client, "start_child"))
    pid = int(await call(client, "process_id"))
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_running(pid), "the end of the server")
    await client.close()
    assert not is_running(child)


async def test_a_client_can_be_closed_by_another_task_and_twice(client: Client) -> None:
    pid = int(await call(client, "process_id"))
    await asyncio.create_task(client.close())
    await client.close()
    assert not is_running(pid)
    await client.close()


async def test_closing_while_it_is_being_closed_waits_for_the_same_end(client: Client) -> None:
    pid = int(await call(client, "process_id"))
    await asyncio.gather(*(client.close() for _ in range(3)))
    assert not is_running(pid)


async def test_a_client_can_be_closed_after_it_failed_to_start() -> None:
    client = Client([sys.executable, "-c", "raise SystemExit(3)"], timeouts=TIMEOUTS)
    with pytest.raises(ServerStartFailed):
        await client.connect()
    await client.close()
    await client.close()


async def test_a_client_that_was_never_connected_can_be_closed() -> None:
    await Client(tools_command()).close()


async def test_a_cancelled_close_still_ends_the_server(tmp_path: Path) -> None:
    server = StdioServerParameters(
        command=sys.executable,
        args=[str(BY_HAND), "deaf", str(tmp_path / "diary")],
        exit_timeout=0.2,
    )
    before = children()
    client = await Client(server, timeouts=TIMEOUTS).connect()
    (pid,) = children() - before
    closing = asyncio.create_task(client.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    await client.close()  # waits for the same end
    assert not is_running(pid)


async def test_a_client_can_be_opened_anew_after_it_was_closed(client: Client) -> None:
    first = int(await call(client, "process_id"))
    await client.close()
    await client.connect()
    assert int(await call(client, "process_id")) != first


def children() -> set[int]:
    """Return the ids of the processes that this one has started."""
    listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return {int(pid) for pid in listed.split() if is_running(int(pid))}


# --- when the client itself goes without a word


@pytest.mark.parametrize("then", ["closed", "used"])
def test_a_client_survives_its_event_loop(then: str) -> None:
    client = Client(tools_command(), timeouts=TIMEOUTS)

    async def use() -> int:
        await client.connect()
        return int(await call(client, "process_id"))

    first = asyncio.run(use())
    assert not is_running(first)
    if then == "used":
        second = asyncio.run(use())
        assert second != first
        assert not is_running(second)
    asyncio.run(client.close())


FORGETFUL = """
import asyncio, sys
from wigwag import Client, StdioServerParameters

async def main():
    server = StdioServerParameters(command=sys.argv[2], args=sys.argv[3:], exit_timeout=0.3)
    kept.append(await Client(server).connect())

kept = []
asyncio.run(main())
print("the event loop has ended", flush=True)
if sys.argv[1] == "stays":
    sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("then", "server"),
    [
        ("leaves", "ordinary"),
        ("leaves", "deaf"),
        ("stays", "ordinary"),
        ("stays", "deaf"),
        ("is killed", "ordinary"),
    ],
)
def test_no_server_outlives_an_event_loop_that_ended_without_closing(
    tmp_path: Path, then: str, server: str
) -> None:
    pid_file = tmp_path / "pid"
    command = python_command(BY_HAND, server, tmp_path / "diary", pid_file)
    process = subprocess.Popen(
        [sys.executable, "-c", FORGETFUL, "leaves" if then == "leaves" else "stays", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"the event loop has ended\n"
        pid = int(pid_file.read_text())
        if then == "is killed":
            process.kill()
        try:
            wait_until(lambda: not is_running(pid), "the end of the server", timeout=SOON)
        finally:
            if is_running(pid):
                os.kill(pid, signal.SIGKILL)
            _, stderr = process.communicate(timeout=PATIENCE)
    assert b"Traceback" not in stderr
