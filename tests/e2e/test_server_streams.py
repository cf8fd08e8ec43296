"""What a stdio server's standard streams may be: pipes, sockets, files, a terminal, or nothing."""

import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Launch
from tests.e2e.host import (
    SOON,
    TOOLS,
    Host,
    Streams,
    encode,
    modern_call,
    python_command,
    text_of,
    wait_until,
)

# Starts a program with descriptors closed that every program expects to be open.
WITHOUT = (
    "import os, sys; [os.close(int(fd)) for fd in sys.argv[1].split(',')]; "
    "os.execv(sys.executable, [sys.executable, *sys.argv[2:]])"
)


@pytest.mark.parametrize("streams", ["two sockets", "one socket"])
@pytest.mark.parametrize("tool", ["echo", "block_event_loop"])
def test_the_streams_may_be_sockets(launch: Launch, streams: Streams, tool: str) -> None:
    host = launch(TOOLS, streams=streams)
    assert text_of(host.ask(modern_call(1, "echo", text="hello"))) == "hello"
    if tool == "echo":
        host.close_input()
        assert host.rest() == []
    else:
        host.send(modern_call(2, tool, seconds=60))
        host.wait_for_stderr("block_event_loop begins")
        host.close_input()
        host.close_output()
    assert host.exit_code(within=SOON) == 0


def test_half_a_socket_closed_still_lets_the_answers_through(launch: Launch) -> None:
    host = launch(TOOLS, streams="one socket")
    host.send(*(modern_call(number, "echo", text="x" * 50_000) for number in range(20)))
    host.close_input()
    assert sorted(message["id"] for message in host.rest()) == list(range(20))
    assert host.exit_code(within=SOON) == 0


def test_the_input_may_be_a_file_and_all_of_it_is_answered(launch: Launch, tmp_path: Path) -> None:
    requests = tmp_path / "requests"
    # More than is read ahead, and the last line without its end.
    lines = [encode(modern_call(number, "echo", text="x" * 5_000)) for number in range(200)]
    requests.write_bytes(b"".join(lines)[:-1])
    host = launch(TOOLS, stdin=requests)
    for line in lines:
        host.conversation.saw("client", line)
    assert sorted(message["id"] for message in host.rest()) == list(range(200))
    assert host.exit_code(within=SOON) == 0


def test_a_file_is_read_no_faster_than_the_answers_are(launch: Launch, tmp_path: Path) -> None:
    requests = tmp_path / "requests"
    lines = [encode(modern_call(number, "echo", text="x" * 100_000)) for number in range(100)]
    requests.write_bytes(b"".join(lines))
    host = launch(TOOLS, stdin=requests)
    for line in lines:
        host.conversation.saw("client", line)
    wait_until(lambda: host.waiting_bytes() > 500_000, "a full pipe")
    assert sorted(message["id"] for message in host.rest()) == list(range(100))
    assert host.exit_code(within=SOON) == 0


def test_the_input_may_be_empty(launch: Launch) -> None:
    host = launch(TOOLS, stdin=Path(os.devnull))
    assert host.rest() == []
    assert host.exit_code(within=SOON) == 0
    assert host.stderr == ""


@pytest.mark.parametrize("source", ["file", "pipe"])
def test_the_output_may_be_a_file(launch: Launch, tmp_path: Path, source: str) -> None:
    requests, answers = tmp_path / "requests", tmp_path / "answers"
    requests.write_bytes(encode(modern_call(1, "echo", text="to a file")))
    host = launch(TOOLS, stdin=requests if source == "file" else None, stdout=answers)
    if source == "pipe":
        host.write(requests.read_bytes())
        host.close_input()
    assert host.exit_code() == 0
    host.conversation.saw("client", requests.read_bytes())
    (line,) = answers.read_bytes().splitlines()
    host.conversation.saw("server", line)
    assert b"to a file" in line


def test_the_standard_error_may_be_closed(launch: Launch) -> None:
    host = launch("-c", WITHOUT, "2", TOOLS)
    assert text_of(host.ask(modern_call(1, "echo", text="hello"))) == "hello"
    for number, tool in enumerate(
        [
            "print_text",
            "write_to_descriptor_1",
            "print_in_c",
            "print_in_child",
            "log_text",
            "complain",
        ]
    ):
        result = host.ask(modern_call(number, tool, text="to nobody"))["result"]
        assert result.get("isError", False) is False, result
    host.ask(modern_call("fails", "fail", text="to nobody"))
    assert text_of(host.ask(modern_call(3, "echo", text="alive"))) == "alive"
    host.close_input()
    assert host.rest() == []
    assert host.exit_code(within=SOON) == 0


@pytest.mark.parametrize("closed", ["0", "1", "0,1"])
def test_without_an_input_or_an_output_a_server_says_what_is_missing(
    launch: Launch, closed: str
) -> None:
    host = launch("-c", WITHOUT, closed, TOOLS)
    assert host.exit_code() != 0
    (line,) = host.stderr.splitlines()
    assert "standard input or output is closed" in line


# --- a terminal

# Makes the terminal on its input its own, so that Ctrl+C is for it.
IN_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Host]:
    """Start a server as a person would, at a terminal."""
    ours, theirs = pty.openpty()
    stderr = tmp_path / "stderr"
    with stderr.open("wb") as errors:
        process = subprocess.Popen(
            python_command("-c", IN_TERMINAL, TOOLS),
            stdin=theirs,
            stdout=theirs,
            stderr=errors,
            start_new_session=True,
        )
    os.close(theirs)
    host = Host(process, ours, ours, stderr)
    host.wait_for_stderr("Ctrl+D ends it")
    yield host
    host.kill()


def test_at_a_terminal_a_server_says_what_it_is_and_how_it_is_used(terminal: Host) -> None:
    assert "tools 1.0.0 is an MCP server" in terminal.stderr
    assert str(TOOLS) in terminal.stderr


def test_at_a_terminal_one_can_talk_to_a_server_until_ctrl_d(terminal: Host) -> None:
    terminal.write(encode(modern_call(1, "echo", text="typed by hand")))
    echoed, answer = terminal.read_line(), terminal.read_line()
    assert b'"method"' in echoed
    assert b'"result"' in answer
    assert b"typed by hand" in answer
    terminal.write(b"\x04")
    assert terminal.exit_code(within=SOON) == 0


def test_a_terminal_that_is_closed_takes_the_server_with_it(terminal: Host) -> None:
    terminal.write(encode(modern_call(1, "block", seconds=600)))
    terminal.wait_for_stderr("block begins")
    terminal.close_terminal()
    assert terminal.exit_code(within=SOON) in (0, -signal.SIGHUP)


def test_at_a_terminal_ctrl_c_ends_a_server(terminal: Host) -> None:
    terminal.write(encode(modern_call(1, "echo", text="hello")))
    terminal.read_line()
    terminal.read_line()
    terminal.write(b"\x03")
    assert terminal.exit_code(within=SOON) == 130
    assert "Traceback" not in terminal.stderr
