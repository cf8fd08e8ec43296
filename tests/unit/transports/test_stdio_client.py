"""The client's end of stdio, as far as it needs no server."""

import asyncio
import os
import re
import signal
import sys
from pathlib import Path

import pytest

from tests.contract.connection_contract import Recorder
from wigwag.errors import ConnectionClosed, ServerStartFailed
from wigwag.transports.stdio_client import (
    ProcessConnection,
    StdioServerParameters,
    safe_environment,
    spawn_server,
)

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="paths and variables are those of Unix"),
]


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Start without any variable."""
    for name in safe_environment():
        monkeypatch.delenv(name)
    return monkeypatch


# --- the environment


def test_a_server_gets_what_it_needs_to_run(environment: pytest.MonkeyPatch) -> None:
    expected = {
        name: f"value of {name}"
        for name in ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM",
                     "TMPDIR", "TZ", "USER")
    }  # fmt: skip
    for name, value in expected.items():
        environment.setenv(name, value)
    assert safe_environment() == expected


@pytest.mark.parametrize(
    "name", ["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "PYTHONPATH", "LD_PRELOAD", "path", "ENV"]
)
def test_a_server_gets_no_secrets_and_nothing_that_changes_programs(
    name: str, environment: pytest.MonkeyPatch
) -> None:
    environment.setenv(name, "x")
    assert safe_environment() == {}


def test_functions_that_a_shell_exports_are_left_out(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("HOME", "() { :; }; echo vulnerable")
    environment.setenv("USER", "ada")
    assert safe_environment() == {"USER": "ada"}


def test_a_variable_that_is_empty_is_passed(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("TZ", "")
    assert safe_environment() == {"TZ": ""}


# --- how to start a server


def test_the_parameters_read_as_a_command_line() -> None:
    assert str(StdioServerParameters("kitebase")) == "kitebase"
    server = StdioServerParameters("my server", ["--name", "it's", "", "$HOME"])
    assert str(server) == "'my server' --name 'it'\"'\"'s' '' '$HOME'"


def test_parameters_are_values() -> None:
    server = StdioServerParameters("a", ["b"], {"C": "d"})
    assert server == StdioServerParameters(command="a", args=["b"], env={"C": "d"})
    assert server.cwd is None
    with pytest.raises(AttributeError):
        server.command = "b"  # type: ignore[misc]  # the point


async def failure_of(server: StdioServerParameters) -> ServerStartFailed:
    with pytest.raises(ServerStartFailed) as caught:
        await spawn_server(server)
    assert caught.value.exit_code is None
    assert caught.value.stderr == ""
    return caught.value


async def test_a_program_that_is_not_there_is_missed_with_the_path_that_was_searched(
    environment: pytest.MonkeyPatch,
) -> None:
    environment.setenv("PATH", "/one:/two")
    failure = await failure_of(StdioServerParameters("kitebase", ["--all"]))
    assert str(failure) == (
        "cannot start `kitebase --all`: no program 'kitebase' on PATH (/one:/two)"
    )
    failure = await failure_of(StdioServerParameters("kitebase", env={"PATH": "/three"}))
    assert str(failure).endswith("on PATH (/three)")


async def test_a_folder_that_is_not_there_is_missed(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    failure = await failure_of(StdioServerParameters(sys.executable, cwd=gone))
    assert str(failure) == f"cannot start `{sys.executable}`: there is no folder {gone}"


async def test_a_path_to_no_program_is_missed(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    failure = await failure_of(StdioServerParameters(str(gone)))
    assert str(failure).startswith(f"cannot start `{gone}`: ")
    assert "No such file" in str(failure)


async def test_a_file_that_is_no_program_cannot_be_started(tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_text("text", encoding="utf-8")
    failure = await failure_of(StdioServerParameters(str(file)))
    assert "Permission denied" in str(failure)
    file.chmod(0o755)
    failure = await failure_of(StdioServerParameters(str(file)))
    assert re.search("(?i)exec format error", str(failure))


# --- how a server ended, in words


class Ended(ProcessConnection):
    """A connection to a process that never was, with an exit status of one's choice."""

    code: int | None = None

    @property
    def exit_code(self) -> int | None:
        return self.code


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
async def ended(lines: list[str]) -> Ended:
    server = StdioServerParameters("kitebase", ["--all"])
    return Ended(server, lines.append, max_line_bytes=1000)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (None, "closed its output"),
        (0, "exited with code 0"),
        (3, "exited with code 3"),
        (-signal.SIGKILL, "was killed by SIGKILL"),
        (-99, "was killed by signal 99"),
    ],
)
async def test_a_loss_says_how_the_process_ended(
    code: int | None, words: str, ended: Ended
) -> None:
    ended.code = code
    loss = ended.describe_loss(None)
    assert str(loss) == f"the server `kitebase --all` {words}"
    assert loss.exit_code == code


async def test_a_loss_has_the_last_lines_of_the_standard_error(
    ended: Ended, lines: list[str]
) -> None:
    for number in range(30):
        ended.stderr_received(f"line {number}\n".encode())
    ended.stderr_received(b"Error: \xff and no line")
    assert lines == [f"line {number}" for number in range(30)]
    ended.stderr_received(b" end")
    ended.stderr_ended()
    assert lines[-1] == "Error: \ufffd and no line end"
    last = [*(f"line {number}" for number in range(11, 30)), "Error: \ufffd and no line end"]
    assert ended.describe_loss(None).stderr.splitlines() == last


async def test_a_line_of_the_standard_error_that_is_too_long_is_cut(
    ended: Ended, lines: list[str]
) -> None:
    ended.stderr_received(b"x" * 1_000_000 + b"\nnext\n")
    long, short = lines
    assert short == "next"
    assert 0 < len(long) <= 64 * 1024
    assert set(long) == {"x"}


async def test_what_takes_the_standard_error_may_fail(
    lines: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    def fail(line: str) -> None:
        raise ValueError("broken callback")

    connection = Ended(StdioServerParameters("x"), fail, max_line_bytes=1000)
    connection.stderr_received(b"one\ntwo\n")
    assert caplog.text.count("ValueError: broken callback") == 2
    assert connection.describe_loss(None).stderr == "one\ntwo"


async def test_by_default_the_standard_error_is_passed_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    connection = Ended(StdioServerParameters("x"), None, max_line_bytes=1000)
    connection.stderr_received("é one\r\n\ntwo".encode())
    connection.stderr_ended()
    assert capsys.readouterr().err == "é one\ntwo\n"


# --- a process that ends sooner than it can be listened to


async def test_a_process_that_ends_before_its_pipes_are_open_is_heard_to_the_end(
    lines: list[str], tmp_path: Path
) -> None:
    held = tmp_path / "held"  # open for as long as the process lives
    os.mkfifo(held)
    script = 'exec 9>"$0"; echo 1; echo 2; echo bye >&2; exit 3'
    command = StdioServerParameters("sh", ["-c", script, str(held)])
    # It is started in the next turn of the event loop, which then stands still until it has ended.
    loop = asyncio.get_running_loop()
    loop.call_soon(loop.call_soon, held.read_bytes)
    connection = await spawn_server(command, on_stderr=lines.append)
    recorder = Recorder()
    connection.start(recorder)
    loss = await recorder.wait_lost()
    assert recorder.messages == [b"1", b"2"]
    assert recorder.is_ended
    assert isinstance(loss, ConnectionClosed)
    assert (loss.exit_code, loss.stderr, lines) == (3, "bye", ["bye"])
    await connection.aclose()


@pytest.mark.parametrize(
    ("last", "delivered"),
    [
        ('{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"te', []),
        ('{"jsonrpc":"2.0","id":1,"error":{"code":-32', []),
        ('{"jsonrpc":"2.0","id":1,"result":{}}', [b'{"jsonrpc":"2.0","id":1,"result":{}}']),
        ("Segmentation fault", [b"Segmentation fault"]),
    ],
)
async def test_an_answer_that_was_not_written_to_its_end_is_lost_with_the_process(
    last: str, delivered: list[bytes]
) -> None:
    command = StdioServerParameters("printf", ["%s", last])
    connection = await spawn_server(command)
    recorder = Recorder()
    connection.start(recorder)
    loss = await recorder.wait_lost()
    assert recorder.messages == delivered
    assert str(loss).endswith("exited with code 0")
    await connection.aclose()


@pytest.mark.parametrize("turns", range(6))
async def test_a_start_that_is_cancelled_in_the_middle_ends_and_leaves_nothing(turns: int) -> None:
    sleeper = StdioServerParameters(sys.executable, ["-c", "import time; time.sleep(3600)"])
    starting = asyncio.create_task(spawn_server(sleeper))
    for _ in range(turns):
        await asyncio.sleep(0)
    starting.cancel()
    await asyncio.wait([starting], timeout=60)
    assert starting.cancelled()
