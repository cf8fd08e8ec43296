import logging
from collections.abc import Iterator

import pytest

from wigwag.runtime.wire_log import WireLog, open_wire_log
from wigwag.testing.wire_record import MAX_CHARACTERS, MAX_MESSAGES, WireRecord

WIRE = logging.getLogger("wigwag.wire")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """The wire log as it is where nobody listens: not as in the other tests of this project."""
    level, filters = WIRE.level, WIRE.filters[:]
    WIRE.setLevel(logging.NOTSET)
    WIRE.filters.clear()
    yield
    WIRE.setLevel(level)
    WIRE.filters[:] = filters


def opened(side: str) -> WireLog:
    log = open_wire_log(side)
    assert log is not None
    return log


def test_it_keeps_what_clients_say_and_hear_and_nobody_else_does(
    caplog: pytest.LogCaptureFixture,
) -> None:
    record = WireRecord()
    with record.listening():
        client = opened("client")
        client.sent(b'{"a":1}')
        client.received(b'{"b":2}')
        opened("server").sent(b'{"c":3}')
    lines = [line.partition(" ")[2] for line in str(record).splitlines()]
    assert lines == ['> {"a":1}', '< {"b":2}']
    assert caplog.records == []
    assert open_wire_log("client") is None


def test_who_listened_before_goes_on_listening(caplog: pytest.LogCaptureFixture) -> None:
    WIRE.setLevel(logging.DEBUG)
    with WireRecord().listening():
        opened("client").sent(b"{}")
    assert [message.partition(" ")[2] for message in caplog.messages] == ["> {}"]
    assert WIRE.level == logging.DEBUG


def test_two_may_listen_and_leave_in_any_order() -> None:
    record = WireRecord()
    one, other = record.listening(), record.listening()
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    opened("client").sent(b"{}")
    assert str(record).endswith("> {}")
    other.__exit__(None, None, None)
    assert open_wire_log("client") is None
    assert WIRE.filters == []


def test_the_end_of_a_long_conversation_is_kept_and_the_beginning_of_a_long_message() -> None:
    record = WireRecord()
    with record.listening():
        client = opened("client")
        for number in range(MAX_MESSAGES + 2):
            client.sent(b"%d" % number)
        client.sent(b"x" * (2 * MAX_CHARACTERS))
    lines = str(record).splitlines()
    assert lines[0] == "… 3 messages before these"
    assert lines[1].endswith("> 3")
    assert lines[-1].endswith(f"x… ({2 * MAX_CHARACTERS + lines[-1].index('x')} characters)")
    record.forget()
    assert str(record) == ""
