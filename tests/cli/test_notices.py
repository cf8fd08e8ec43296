"""What is told beside the result."""

import io
import logging

import pytest
from msgspec import UNSET

from wigwag.cli.notices import Notices
from wigwag.client.events import ClientEvent
from wigwag.schema import LoggingMessageNotificationParams, ProgressNotificationParams


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    return Terminal()


def step(
    progress: float, total: float | None = None, message: str | None = None
) -> ProgressNotificationParams:
    return ProgressNotificationParams(
        progress_token=1,
        progress=progress,
        total=UNSET if total is None else total,
        message=UNSET if message is None else message,
    )


@pytest.mark.parametrize(
    ("sign", "line"),
    [
        (step(1, 2, "half"), "[============            ]  50%  half"),
        (step(5, 2), "[========================] 100%"),
        (step(0, 2), "[                        ]   0%"),
        (step(3), "3"),
        (step(3, 0), "3"),
        (
            step(1, 2, "\x1b[2J" + "long " * 20),
            "[============            ]  50%  \\x1b[2Jlong lon…",
        ),
    ],
)
def test_progress_stays_in_one_line(
    sign: ProgressNotificationParams, line: str, terminal: Terminal
) -> None:
    Notices(terminal).progress(sign)
    assert terminal.getvalue() == f"\r\x1b[K{line}"


def test_what_is_told_takes_the_place_of_progress(terminal: Terminal) -> None:
    notices = Notices(terminal)
    notices.progress(step(1, 2))
    notices.say("hello")
    notices.clear()
    assert terminal.getvalue().endswith("\r\x1b[Khello\n")


def test_only_a_terminal_shows_progress() -> None:
    stream = io.StringIO()
    Notices(stream).progress(step(1, 2))
    assert stream.getvalue() == ""


def test_a_terminal_that_can_do_nothing_shows_no_progress(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    Notices(terminal).progress(step(1, 2))
    assert terminal.getvalue() == ""


def test_while_somebody_is_asked_nothing_is_told_but_later(terminal: Terminal) -> None:
    notices = Notices(terminal)
    with notices.held():
        notices.say("one")
        notices.progress(step(1, 2))
        with notices.held():
            notices.say("two")
        notices.say("three")
        assert terminal.getvalue() == ""
    assert terminal.getvalue() == "one\ntwo\nthree\n"


def test_words_of_the_server_cannot_move_the_cursor(terminal: Terminal) -> None:
    notices = Notices(terminal)
    notices.stderr_line("\x1b[32mgreen\x1b[0m\tand\x1b[2J")
    notices.log(
        LoggingMessageNotificationParams(level="error", data={"a": "\x1b"}, logger="db\x07")
    )
    notices.log(LoggingMessageNotificationParams(level="info", data="x\ny"))
    notices.event(ClientEvent(kind="server_restarted", server="it", reason="gone\x1b[2J"))
    assert terminal.getvalue() == (
        "green\tand\\x1b[2J\n"
        '[error db\\x07] {"a": "\\u001b"}\n'
        "[info] x\\ny\n"
        "wigwag: server restarted: gone\\x1b[2J\n"
    )


def test_what_the_library_logs_is_told_with_what_was_raised() -> None:
    stream = io.StringIO()
    log = logging.getLogger("wigwag.test_notices")
    notices = Notices(stream)
    log.addHandler(notices)
    log.propagate = False
    try:
        log.info("not this")
        log.warning("skipped %r", "junk")
        try:
            raise ValueError("no terminal")
        except ValueError:
            log.exception("a callback failed")
    finally:
        log.removeHandler(notices)
    assert stream.getvalue() == "wigwag: skipped 'junk'\nwigwag: a callback failed: no terminal\n"
