"""Pictures in terminals."""

import base64
import re

import pytest

from wigwag.client.inline_pictures import inline_picture

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00\x00\x00\rIHDR" + (20).to_bytes(4, "big") + b"rest" * 2000
JPEG = b"\xff\xd8\xffrest"
ITERM = {"TERM_PROGRAM": "iTerm.app"}
KITTY = {"TERM": "xterm-kitty"}


@pytest.mark.parametrize(
    "environment", [KITTY, {"KITTY_WINDOW_ID": "1"}, {"TERM_PROGRAM": "ghostty"}], ids=str
)
def test_kitty_gets_a_png_in_pieces(environment: dict[str, str]) -> None:
    shown = inline_picture(PNG, environment)
    assert shown is not None
    pieces = re.findall("\x1b_G([^;]*);([^\x1b]*)\x1b\\\\", shown)
    assert pieces[0][0] == "a=T,f=100,q=2,m=1"
    assert [control for control, _ in pieces[1:]] == ["m=1", "m=0"]
    assert all(len(data) <= 4096 for _, data in pieces)
    assert base64.b64decode("".join(data for _, data in pieces)) == PNG


def test_a_wide_picture_is_made_to_fit() -> None:
    wide = PNG[:16] + (5000).to_bytes(4, "big") + PNG[20:]
    shown = inline_picture(wide, KITTY)
    assert shown is not None
    assert shown.startswith("\x1b_Ga=T,f=100,q=2,c=80,m=1;")


@pytest.mark.parametrize("environment", [ITERM, {"LC_TERMINAL": "iTerm2"}], ids=str)
@pytest.mark.parametrize("picture", [PNG, JPEG], ids=["png", "jpeg"])
def test_iterm_gets_any_picture(picture: bytes, environment: dict[str, str]) -> None:
    shown = inline_picture(picture, environment)
    assert shown == (
        f"\x1b]1337;File=inline=1;size={len(picture)};preserveAspectRatio=1:"
        f"{base64.b64encode(picture).decode()}\x07\n"
    )


@pytest.mark.parametrize(
    ("picture", "environment"),
    [
        (JPEG, KITTY),
        (PNG, {}),
        (PNG, {"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}),
        (PNG, {**KITTY, "TMUX": "/tmp/tmux"}),
        (PNG, {**ITERM, "TERM": "screen-256color"}),
        (b"no picture", ITERM),
        (b"no picture", KITTY),
    ],
)
def test_nothing_is_written_where_it_would_not_be_shown(
    picture: bytes, environment: dict[str, str]
) -> None:
    assert inline_picture(picture, environment) is None
