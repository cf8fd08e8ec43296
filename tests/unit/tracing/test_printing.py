"""Printing without waiting."""

import os

import pytest

from tests.e2e.host import PATIENCE, wait_until
from wigwag.tracing import printing
from wigwag.tracing.printing import LinePrinter


def test_lines_arrive_in_order() -> None:
    read, write = os.pipe()
    with os.fdopen(read, "rb") as reader, os.fdopen(write, "wb") as writer:
        printer = LinePrinter(writer.fileno())
        printer.print(["one", "zwei ↵"])
        printer.print(["three"])
        printer.close()
        assert [reader.readline() for _ in range(3)] == [
            b"one\n",
            "zwei ↵\n".encode(),
            b"three\n",
        ]


def test_what_an_encoding_lacks_is_escaped() -> None:
    read, write = os.pipe()
    with os.fdopen(read, "rb") as reader, os.fdopen(write, "wb") as writer:
        printer = LinePrinter(writer.fileno(), "ascii")
        printer.print(["é"])
        printer.close()
        assert reader.readline() == b"\\xe9\n"


def test_it_waits_for_nobody_and_says_what_it_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "_MAX_WAITING", 3)
    read, write = os.pipe()
    os.set_blocking(write, False)
    filled = os.write(write, b"." * 10_000_000)
    os.set_blocking(write, True)
    with os.fdopen(read, "rb") as reader, os.fdopen(write, "wb") as writer:
        printer = LinePrinter(writer.fileno())
        printer.print(["0"])
        wait_until(lambda: printer._waiting.empty(), "the first line is being written")
        printer.print([str(number) for number in range(1, 10)])
        assert reader.read(filled) == b"." * filled
        wait_until(lambda: printer._waiting.empty(), "there is room again")
        printer.print(["last"])
        printer.close(timeout=PATIENCE)
        writer.close()
        assert reader.read().decode().splitlines() == [
            *("0", "1", "2", "3"),
            "(6 lines were dropped: nobody read them)",
            "last",
        ]


def test_a_reader_that_has_gone_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    told: list[str] = []
    with os.fdopen(write, "wb") as writer:
        printer = LinePrinter(writer.fileno(), on_gone=lambda: told.append("gone"))
        printer.print(["one"])
        printer.print(["two"])
        printer.close(timeout=PATIENCE)
        assert not printer._thread.is_alive()
    assert told == ["gone"]


def test_what_was_dropped_last_is_said_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "_MAX_WAITING", 0)
    read, write = os.pipe()
    with os.fdopen(read, "rb") as reader, os.fdopen(write, "wb") as writer:
        printer = LinePrinter(writer.fileno())
        printer.print(["one", "two"])
        printer.close(timeout=PATIENCE)
        writer.close()
        assert reader.read() == b"(2 lines were dropped: nobody read them)\n"


def test_a_terminal_that_somebody_has_told_not_to_wait_is_waited_for() -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    filled = os.write(write, b"." * 10_000_000)
    told: list[str] = []
    with os.fdopen(read, "rb") as reader, os.fdopen(write, "wb") as writer:
        printer = LinePrinter(writer.fileno(), on_gone=lambda: told.append("gone"))
        printer.print(["one"])
        wait_until(lambda: printer._waiting.empty(), "the line is being written")
        assert reader.read(filled) == b"." * filled
        printer.close(timeout=PATIENCE)
        writer.close()
        assert reader.read() == b"one\n"
    assert told == []
