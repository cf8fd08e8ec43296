"""What `wigwag trace` shows and records, without anything to stand between."""

import io
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from wigwag.cli.trace_output import STDERR, STDOUT, Shown, outlets_of
from wigwag.tracing.records import StderrRecord, read_recording

STARTED = datetime(2026, 11, 30, 20, 0, 0, tzinfo=UTC)
LINE = StderrRecord(at=1.5, text="→ ready")


def shown(**options: Any) -> Shown:
    given: dict[str, Any] = {
        "out": None,
        "quiet": False,
        "as_json": False,
        "pretty": False,
        "methods": (),
        "ids": (),
        "redact": (),
    }
    return Shown(**{**given, **options})


def hand_out(wanted: Shown, descriptor: int = STDERR) -> None:
    with outlets_of(wanted, "http", "https://a.example", STARTED, descriptor) as outlets:
        for outlet in outlets:
            outlet(LINE)


def test_text_goes_where_it_should_with_the_time_of_the_day(
    capfd: pytest.CaptureFixture[str],
) -> None:
    hand_out(shown())
    hand_out(shown(), STDOUT)
    assert capfd.readouterr() == ("20:00:01.500 │ → ready\n", "20:00:01.500 │ → ready\n")


def test_json_begins_with_the_header(capfd: pytest.CaptureFixture[str]) -> None:
    hand_out(shown(as_json=True), STDOUT)
    header, line = [json.loads(each) for each in capfd.readouterr().out.splitlines()]
    assert (header["kind"], header["target"]) == ("trace", "https://a.example")
    assert line == {"kind": "stderr", "at": 1.5, "text": "→ ready"}


def test_quiet_only_records(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    hand_out(shown(quiet=True, out=str(tmp_path / "trace.jsonl")))
    assert capfd.readouterr() == ("", "")
    assert read_recording(tmp_path / "trace.jsonl").records == [LINE]


def test_an_output_that_knows_no_arrows_gets_none(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    hand_out(shown())
    assert capfd.readouterr().err == "20:00:01.500 | \\u2192 ready\n"


def test_json_at_a_terminal_cannot_control_it(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdout", terminal)
    with outlets_of(shown(as_json=True), "stdio", ["x"], STARTED, STDOUT) as outlets:
        outlets[0](StderrRecord(at=1.5, text="\x9b31mred\u202e"))
    line = capfd.readouterr().out.splitlines()[1]
    assert line.isprintable()
    assert json.loads(line)["text"] == "\x9b31mred\u202e"
