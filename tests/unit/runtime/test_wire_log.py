"""Messages in the log."""

import logging
from collections.abc import Iterator

import pytest

from tests.watch import WIRE
from wigwag.runtime.wire_log import WireLog, open_wire_log

# What is logged here is no conversation.
pytestmark = pytest.mark.usefixtures("unwatched")


class Kept(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def unwatched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave the logger as nobody has touched it, and put it back afterwards."""
    filters, handlers = WIRE.filters[:], WIRE.handlers[:]
    level, propagate = WIRE.level, WIRE.propagate
    WIRE.filters[:], WIRE.handlers[:] = [], []
    WIRE.setLevel(logging.WARNING)
    monkeypatch.delenv("WIGWAG_WIRE", raising=False)
    yield
    WIRE.filters[:], WIRE.handlers[:] = filters, handlers
    WIRE.setLevel(level)
    WIRE.propagate = propagate


@pytest.fixture
def kept() -> Kept:
    handler = Kept()
    WIRE.addHandler(handler)
    WIRE.setLevel(logging.DEBUG)
    return handler


def test_while_nobody_listens_there_is_no_log() -> None:
    assert open_wire_log("server") is None
    WIRE.setLevel(logging.INFO)
    assert open_wire_log("server") is None


@pytest.mark.parametrize("value", ["", "0"])
def test_the_environment_variable_can_say_no(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIGWAG_WIRE", value)
    assert open_wire_log("server") is None
    assert WIRE.handlers == []


@pytest.mark.parametrize("value", ["1", "yes"])
def test_the_environment_variable_sends_messages_to_standard_error(
    value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WIGWAG_WIRE", value)
    logs = [open_wire_log("server"), open_wire_log("client")]
    for log in logs:
        assert log is not None
        log.sent(b'{"a":1}')
    out, err = capsys.readouterr()
    assert out == ""  # where a server's messages themselves go
    one, other = err.splitlines()  # each but once
    assert one.startswith("server-")
    assert one.endswith(' > {"a":1}')
    assert other.startswith("client-")


def test_a_handler_of_the_user_goes_before_the_environment_variable(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WIGWAG_WIRE", "1")
    log = open_wire_log("server")
    assert log is not None
    log.sent(b"{}")
    assert len(kept.records) == 1
    assert capsys.readouterr().err == ""


def test_a_record_says_which_connection_and_which_way_and_what(kept: Kept) -> None:
    log = open_wire_log("client")
    assert log is not None
    log.sent(b'{"a":1}')
    log.received('{"b":"é"}'.encode())
    sent, received = kept.records
    assert sent.levelno == logging.DEBUG
    assert sent.name == "wigwag.wire"
    assert sent.__dict__["direction"] == ">"
    assert sent.__dict__["payload"] == b'{"a":1}'
    assert received.__dict__["direction"] == "<"
    assert received.__dict__["payload"] == '{"b":"é"}'.encode()
    name = sent.__dict__["connection"]
    assert received.__dict__["connection"] == name
    assert [record.getMessage() for record in (sent, received)] == [
        f'{name} > {{"a":1}}',
        f'{name} < {{"b":"é"}}',
    ]


def test_each_connection_has_a_name_of_its_own(kept: Kept) -> None:
    for side in ("client", "client", "server"):
        WireLog(side).sent(b"{}")
    assert len({record.__dict__["connection"] for record in kept.records}) == 3


def test_bytes_that_are_no_text_and_percent_signs_are_shown(kept: Kept) -> None:
    WireLog("server").received(b"\xff %s %d")
    assert kept.records[0].getMessage().endswith("< \\xff %s %d")
