"""What commands print."""

import io
import json
from contextlib import redirect_stdout

import pytest

from wigwag.cli.output import print_json, styled


def test_json_for_programs_is_one_line_with_letters_as_they_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_json({"name": "Đ"})
    assert capsys.readouterr().out == '{"name": "Đ"}\n'


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_json_at_a_terminal_is_indented_and_cannot_control_it() -> None:
    value = {"name": "Đ\x1b[2J\x9b2J\x7f\u202e\U000e0041", "list": [1]}
    screen = Terminal()
    with redirect_stdout(screen):
        print_json(value)
    shown = screen.getvalue()
    assert json.loads(shown) == value
    assert all(line.isprintable() for line in shown.splitlines())
    assert '\n  "name": "Đ\\u001b[2J' in shown


def test_only_a_terminal_has_colours_and_only_if_nobody_says_no(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert styled("x", Terminal(), bold=True) == "\x1b[1mx\x1b[0m"
    assert styled("x", io.StringIO(), bold=True) == "x"
    monkeypatch.setenv("NO_COLOR", "1")
    assert styled("x", Terminal(), bold=True) == "x"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert styled("x", Terminal(), bold=True) == "x"
