"""`wigwag shell`."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cli.kiosk import kiosk
from tests.cli.program import KIOSK, wigwag, wigwag_at_terminal
from tests.e2e.person import CTRL_C, CTRL_D, Person
from wigwag.cli.conversations import Talk, open_conversation
from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.shell import Left, Shell
from wigwag.cli.targets import Reach

pytestmark = pytest.mark.anyio


@pytest.fixture
async def shell() -> AsyncIterator[Shell]:
    async with open_conversation(Reach(target=kiosk), Talk()) as conversation:
        yield Shell(conversation)


@pytest.mark.parametrize(
    ("line", "out"),
    [
        ("call add a=1 b=2", "3\n"),
        ("add a=1", "2\n"),
        ("add '{\"a\": 4}'", "5\n"),
        ("read kiosk://shelf/3/left", "3 left"),
        ("", ""),
        ("  # nothing", ""),
    ],
)
async def test_commands_and_tools_are_done(
    line: str, out: str, shell: Shell, capfd: pytest.CaptureFixture[str]
) -> None:
    assert await shell.do(line) == ExitCode.DONE
    assert capfd.readouterr().out == out


@pytest.mark.parametrize(
    ("line", "code", "err"),
    [
        ("lst", ExitCode.USAGE, "there is no command and no tool 'lst'; did you mean 'list'?"),
        ("zzz", ExitCode.USAGE, "there is no command and no tool 'zzz'; try help"),
        ("add a=x", ExitCode.USAGE, "a is a whole number; not 'x'"),
        ("add 'a", ExitCode.USAGE, "No closing quotation: a text with spaces stands in"),
        ("ping --cuont 2", ExitCode.USAGE, "--cuont"),
        ("read kiosk://gone", ExitCode.REFUSED, "kiosk://gone"),
        ("fail", ExitCode.FAILED, "the tool 'fail' failed: no paper"),
        ("help nothing", ExitCode.USAGE, "the server has no 'nothing'"),
    ],
)
async def test_what_goes_wrong_is_told_and_it_goes_on(
    line: str, code: ExitCode, err: str, shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await shell.do(line) == code
    captured = capsys.readouterr()
    assert err in captured.err
    assert captured.err.startswith("wigwag: ")
    assert await shell.do("ping") == ExitCode.DONE


@pytest.mark.parametrize(
    ("line", "out"),
    [
        ("help", "help NAME"),
        ("?", "  ping      Ask a server for a sign of life, and time it.\n"),
        ("help call", "Usage: call [OPTIONS] TOOL [ARGUMENT]...\n"),
        ("call --help", "\n      wigwag call server.py add a=1 b=2\n"),
        ("help add", "add\n\n  Add two numbers.\n"),
    ],
)
async def test_there_is_help(
    line: str, out: str, shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await shell.do(line) == ExitCode.DONE
    assert out in capsys.readouterr().out


@pytest.mark.parametrize("word", ["exit", "quit"])
async def test_words_leave(word: str, shell: Shell) -> None:
    with pytest.raises(Left):
        await shell.do(word)


def test_a_pipe_is_done_line_by_line_up_to_what_fails() -> None:
    ran = wigwag("shell", KIOSK, stdin="add a=1\n\nfail\nadd a=5\n")
    assert (ran.code, ran.out) == (ExitCode.FAILED, "2\n")
    assert "no paper" in ran.err


def test_a_pipe_may_leave_before_its_end() -> None:
    ran = wigwag("shell", KIOSK, stdin="add a=1\nexit\nfail\n")
    assert (ran.code, ran.out) == (ExitCode.DONE, "2\n")


def test_it_takes_no_words() -> None:
    assert wigwag("shell", KIOSK, "add").code == ExitCode.USAGE


def see_prompt(person: Person) -> None:
    """Wait until a line may be typed: a line that is given up is drawn again, with its prompt."""
    person.see("\x1b[?2004h")
    person.see("kiosk>")


def test_a_person_talks_to_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("PROMPT_TOOLKIT_NO_CPR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with wigwag_at_terminal("shell", KIOSK) as person:
        person.see("kiosk 2.0, 2026-07-28, 10 tools.")
        see_prompt(person)
        person.type("inf")
        person.see("inf")
        person.type("\t")
        person.see("o")  # the rest of the only command that begins like this
        person.type("\r")
        person.see("capabilities")
        see_prompt(person)
        person.type("add a=20 b=22\r")
        person.see("42\n")
        see_prompt(person)
        # The server asks, in the middle of a call.
        person.type("order\r")
        person.answer("Number of your choice: ", "1")
        person.answer("Whole number [1]: ", "")
        person.answer("Send? yes, no, or edit: ", "yes")
        person.see("1 bread")
        see_prompt(person)
        person.type("sleep\r")
        person.see("asleep")
        person.type(CTRL_C)
        person.see("wigwag: broken off")
        see_prompt(person)
        person.type("half a line" + CTRL_C)
        see_prompt(person)
        person.type("\x1b[A")  # what was typed before
        person.see("sleep")
        person.type(CTRL_C)
        see_prompt(person)
        person.type(CTRL_D)
        assert person.exit_code() == ExitCode.DONE
        person.see_the_end()
    assert "Traceback" not in person.seen
    assert "+add a=20 b=22" in (tmp_path / "wigwag" / "shell_history").read_text()
