"""What tools, resources and prompts return, for people."""

import base64
import io
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from tests.cli.kiosk import PNG
from wigwag.cli.contents import Printer, print_text
from wigwag.schema import (
    AudioContent,
    EmbeddedResource,
    ImageContent,
    ResourceContents,
    ResourceLink,
    TextContent,
    UnknownContent,
)

DATA = base64.b64encode(PNG).decode()
PICTURE = ImageContent(data=DATA, mime_type="image/png")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    screen = Terminal()
    for name in ("TMUX", "KITTY_WINDOW_ID", "TERM_PROGRAM", "LC_TERMINAL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    return screen


@pytest.mark.parametrize(
    ("block", "line"),
    [
        (TextContent(text="a\tb"), "a\tb"),
        (TextContent(text="ends\n"), "ends"),
        (PICTURE, "[picture: image/png, 24 bytes; --save FOLDER writes it to a file]"),
        (
            AudioContent(data=DATA, mime_type="audio/wav"),
            "[sound: audio/wav, 24 bytes; --save FOLDER writes it to a file]",
        ),
        (
            ResourceLink(uri="a:b\x1b", name="b", title="The B", mime_type="t/x", size=12345),
            "[link: The B] a:b\\x1b (t/x, 12 kB)",
        ),
        (ResourceLink(uri="a:b", name="b"), "[link: b] a:b"),
        (EmbeddedResource(resource=ResourceContents(uri="a:b", text="in it")), "in it"),
        (
            ResourceContents(uri="a:b", blob=DATA),
            "[data: application/octet-stream, 24 bytes; --save FOLDER writes it to a file]",
        ),
        (UnknownContent(type="smell\x07", raw=b"{}"), "[smell\\x07]"),  # type: ignore[arg-type]
    ],
)
def test_each_kind_of_content_has_its_words(
    block: Any, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Printer(None).print([block])
    assert capsys.readouterr().out == f"{line}\n"


def test_a_pipe_gets_text_as_it_is_and_a_terminal_what_can_be_shown(
    capsys: pytest.CaptureFixture[str], terminal: Terminal
) -> None:
    with redirect_stdout(terminal):
        print_text("\x1b[2Jtext")
    assert terminal.getvalue() == "\\x1b[2Jtext\n"
    print_text("\x1b[2Jtext")
    assert sys.stdout.isatty() is False
    Printer(None).print([TextContent(text='{"a":1}')])
    assert capsys.readouterr().out.endswith('text\n{"a":1}\n')


def test_json_is_shown_in_lines_at_a_terminal(terminal: Terminal) -> None:
    with redirect_stdout(terminal):
        Printer(None).print([TextContent(text='{"a":"é"}'), TextContent(text="{no json")])
    assert terminal.getvalue() == '{\n  "a": "é"\n}\n{no json\n'


def test_a_terminal_that_can_shows_pictures(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM_PROGRAM", "iTerm.app")
    blob = ResourceContents(uri="a:b", blob=DATA, mime_type="image/png")
    with redirect_stdout(terminal):
        Printer(None).print([PICTURE, blob])
    assert terminal.getvalue().count("\x1b]1337;File=inline=1") == 2


def test_what_is_no_text_is_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Printer(str(tmp_path), "chart").print([TextContent(text="see"), PICTURE])
    assert capsys.readouterr().out == f"see\n{tmp_path / 'chart.png'}\n"
    Printer(str(tmp_path), "chart").save([TextContent(text="see"), PICTURE])
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"wigwag: wrote {tmp_path / 'chart-2.png'}\n"
    Printer(None).save([PICTURE])
    assert capsys.readouterr().err == ""
