"""`wigwag show`."""

import json
from pathlib import Path

import pytest

from tests.cli.program import wigwag, wigwag_at_terminal
from tests.unit.tracing.recordings import Told
from wigwag.cli.exit_codes import ExitCode


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    told = Told()
    told.greets()
    told.asks(1, "tools/call", {"name": "add", "arguments": {"a": 1}})
    told.refuses(1, -32602, "Invalid params: b is missing")
    told.asks(2, "tools/list")
    told.answers(2, {"tools": [{"name": "add"}]})
    told.ends()
    return told.write(tmp_path / "trace.jsonl")


def test_it_prints_one_message_a_line(recording: Path) -> None:
    ran = wigwag("show", recording)
    assert ran.code == ExitCode.DONE, ran
    title, *lines = ran.out.splitlines()
    assert title == "python server.py (stdio), recorded at 2026-11-30T20:00:00.000Z"
    assert lines[3] == '    4.000 → tools/call #1 add  {"arguments":{"a":1}}'
    assert "← tools/call #1 add error -32602 1.0 s" in lines[4]
    assert len(lines) == 8


def test_it_can_show_what_is_wrong_alone_and_messages_whole(recording: Path) -> None:
    ran = wigwag("show", recording, "--failures", "--pretty")
    assert [line.split()[2] for line in ran.out.splitlines() if "#" in line] == ["tools/call"]
    assert '        "code": -32602,' in ran.out.splitlines()


def test_at_a_terminal_lines_end_at_its_edge_and_have_colours(
    recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    with wigwag_at_terminal("show", recording, "--failures") as person:
        person.see("\x1b[31m    5.000 ← tools/call #1 add error -32602")
        assert person.exit_code() == ExitCode.DONE


def test_it_prints_json_for_programs_one_row_a_line(recording: Path) -> None:
    ran = wigwag("show", recording, "--json", "--id", "1")
    rows = [json.loads(line) for line in ran.out.splitlines()]
    assert [(row["kind"], row["method"]) for row in rows] == [
        ("request", "tools/call"),
        ("error", "tools/call"),
    ]
    assert rows[1]["took"] == 1.0
    assert rows[0]["raw"]["params"]["arguments"] == {"a": 1}


def test_a_page_goes_into_a_pipe_or_a_file(recording: Path) -> None:
    piped = wigwag("show", recording, "--html")
    assert piped.out.startswith("<!doctype html>")
    page = recording.with_name("page.html")
    written = wigwag("show", "-", "--out", page, stdin=recording.read_text())
    assert (written.code, written.out, written.err) == (ExitCode.DONE, "", f"wrote {page}\n")
    assert page.read_text(encoding="utf-8") == piped.out


def test_at_a_terminal_the_page_is_written_beside_the_recording(recording: Path) -> None:
    with wigwag_at_terminal("show", recording, "--html") as person:
        person.see(f"wrote {recording.with_suffix('.html')}")
        assert person.exit_code() == ExitCode.DONE
    assert recording.with_suffix(".html").exists()


def test_a_misspelt_method_gets_the_nearest_match(recording: Path) -> None:
    ran = wigwag("show", recording, "--method", "tool/list")
    assert ran.code == ExitCode.USAGE
    assert "the recording has no tool/list; did you mean tools/list?" in ran.err
    assert "tools/list #2" in wigwag("show", recording, "--method", "tools/l*").out
    assert "there are: initialize, notif" in wigwag("show", recording, "--method", "zzz").err


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("missing.jsonl", None, "there is no file"),
        ("server.py", "print('x')", "is no recording of `wigwag trace`"),
        ("empty.jsonl", "", "is empty"),
    ],
)
def test_what_is_no_recording_is_told(
    tmp_path: Path, name: str, text: str | None, what: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    ran = wigwag("show", tmp_path / name)
    assert (ran.code, ran.out) == (ExitCode.USAGE, "")
    assert what in ran.err


def test_the_page_is_not_sifted(recording: Path) -> None:
    ran = wigwag("show", recording, "--html", "--failures")
    assert ran.code == ExitCode.USAGE
    assert "it is sifted there" in ran.err


def test_what_an_encoding_lacks_is_escaped(tmp_path: Path) -> None:
    told = Told(target=["python", "服.py"])
    told.asks(1, "tools/call", {"name": "🍵 \u203a"})
    recording = told.write(tmp_path / "trace.jsonl")
    ran = wigwag("show", recording, env={"PYTHONIOENCODING": "cp1252"})
    assert (ran.code, ran.err) == (ExitCode.DONE, "")
    assert ran.out.startswith("python '\\u670d.py' (stdio)")
    assert "-> tools/call #1 \\U0001f375 \\u203a" in ran.out
    for_programs = wigwag("show", recording, "--json", env={"PYTHONIOENCODING": "cp1252"})
    assert json.loads(for_programs.out)["about"] == "🍵 \u203a"


def test_json_at_a_terminal_cannot_control_it(tmp_path: Path) -> None:
    told = Told()
    told.answers(1, {"text": "\x9b31mred\u202e"})
    recording = tmp_path / "trace.jsonl"
    told.write(recording)
    recording.write_text(recording.read_text().replace("\\u009b", "\x9b"), encoding="utf-8")
    with wigwag_at_terminal("show", recording, "--json") as person:
        person.see('"text": "\\u009b31mred')
        assert person.exit_code() == ExitCode.DONE
    assert "\x9b" not in person.seen


def test_the_page_does_not_take_the_place_of_the_recording(recording: Path) -> None:
    ran = wigwag("show", recording, "--out", recording)
    assert (ran.code, ran.out) == (ExitCode.USAGE, "")
    assert "is the recording itself" in ran.err
    assert recording.read_bytes().startswith(b'{"kind":"trace"')


def test_who_wants_no_colours_gets_none(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    with wigwag_at_terminal("show", recording) as person:
        person.see("python server.py (stdio)")
        assert person.exit_code() == ExitCode.DONE
    assert "\x1b[" not in person.seen
