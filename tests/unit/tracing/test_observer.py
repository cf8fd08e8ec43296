"""The thread that looks at what has passed."""

import threading
from collections.abc import Iterator

import pytest

from tests.e2e.host import PATIENCE
from wigwag.tracing import observer
from wigwag.tracing.observer import Observer
from wigwag.tracing.records import Record, StderrRecord


def as_line(text: str) -> Iterator[Record]:
    yield StderrRecord(at=0.0, text=text)


def texts(records: list[Record]) -> list[str]:
    return [each.text for each in records if isinstance(each, StderrRecord)]


def test_each_outlet_gets_all_in_order_and_nothing_is_left_at_the_end() -> None:
    one: list[Record] = []
    other: list[Record] = []
    watching = Observer(as_line, [one.append, other.append])
    said = [str(number) for number in range(1000)]
    for each in said:
        watching.passed(each)
    watching.close()
    assert texts(one) == texts(other) == said


def test_what_cannot_be_read_does_not_end_it(caplog: pytest.LogCaptureFixture) -> None:
    def fails(text: str) -> Iterator[Record]:
        if text == "bad":
            raise RuntimeError("a bug")
        return as_line(text)

    records: list[Record] = []
    watching = Observer(fails, [records.append])
    for each in ("a", "bad", "b"):
        watching.passed(each)
    watching.close()
    assert texts(records) == ["a", "b"]
    assert "it has passed all the same" in caplog.text


def test_an_outlet_with_a_bug_gets_nothing_more(caplog: pytest.LogCaptureFixture) -> None:
    calls: list[Record] = []

    def fails(record: Record) -> None:
        calls.append(record)
        raise RuntimeError("a bug")

    records: list[Record] = []
    watching = Observer(as_line, [fails, records.append])
    watching.passed("a")
    watching.passed("b")
    watching.close()
    assert (texts(calls), texts(records)) == (["a"], ["a", "b"])
    assert "an outlet failed, and gets nothing more" in caplog.text


def test_far_too_much_holds_up_what_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observer, "_MAX_WAITING", 10)
    may_read = threading.Event()

    def slow(text: str) -> Iterator[Record]:
        may_read.wait(PATIENCE)
        return as_line(text)

    records: list[Record] = []
    watching = Observer(slow, [records.append])
    for number in range(12):
        watching.passed(str(number))
    passing = threading.Thread(target=watching.make_room)
    passing.start()
    passing.join(0.05)
    assert passing.is_alive()
    may_read.set()
    passing.join(PATIENCE)
    assert not passing.is_alive()
    watching.close()
    assert len(records) == 12


def test_time_is_counted_from_its_start_in_microseconds() -> None:
    watching = Observer(as_line)
    first, second = watching.now(), watching.now()
    watching.close()
    assert 0 <= first <= second < PATIENCE
    assert first == round(first, 6)
