"""Pictures in terminals that can show them: kitty's protocol, and that of iTerm2."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from typing import Final

__all__ = ["inline_picture"]

# The beginnings of the kinds of pictures that iTerm2 shows; nothing else is handed to it.
_PICTURES: Final = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"RIFF", b"BM")
_PNG: Final = _PICTURES[0]
_KITTY_CHUNK: Final = 4096
_KITTYS: Final = ("xterm-kitty", "xterm-ghostty")
_ITERMS: Final = ("iTerm.app", "WezTerm")
# Cells that a picture may be wide, and how many of its dots are taken for one.
_MAX_CELLS: Final = 80
_DOTS_PER_CELL: Final = 10


def inline_picture(data: bytes, environment: Mapping[str, str] | None = None) -> str | None:
    """Return what shows a picture, when it is written to the terminal.

    Args:
        data: The picture, as a file has it.
        environment: What tells which terminal it is; by default that of this process.

    Returns:
        The text to write; `None` where the terminal is not known to show such a picture.
    """
    environment = os.environ if environment is None else environment
    if "TMUX" in environment or environment.get("TERM", "").startswith(("screen", "tmux")):
        return None  # it would not get through
    if _is_kitty(environment):
        return _for_kitty(data) if data.startswith(_PNG) else None
    if _is_iterm(environment) and data.startswith(_PICTURES):
        encoded = base64.b64encode(data).decode()
        size = f"size={len(data)};preserveAspectRatio=1"
        return f"\x1b]1337;File=inline=1;{size}:{encoded}\x07\n"
    return None


def _is_kitty(environment: Mapping[str, str]) -> bool:
    return (
        "KITTY_WINDOW_ID" in environment
        or environment.get("TERM") in _KITTYS
        or environment.get("TERM_PROGRAM") == "ghostty"
    )


def _is_iterm(environment: Mapping[str, str]) -> bool:
    is_known = environment.get("TERM_PROGRAM") in _ITERMS
    return is_known or environment.get("LC_TERMINAL") == "iTerm2"


def _for_kitty(data: bytes) -> str:
    encoded = base64.b64encode(data).decode()
    chunks = [encoded[at : at + _KITTY_CHUNK] for at in range(0, len(encoded), _KITTY_CHUNK)]
    # Shown at once (T), as PNG, without an answer to be read from the keyboard.
    control = f"a=T,f=100,q=2{_width_of(data)},"
    written = []
    for number, chunk in enumerate(chunks, 1):
        more = int(number < len(chunks))
        written.append(f"\x1b_G{control}m={more};{chunk}\x1b\\")
        control = ""
    return "".join(written) + "\n"


def _width_of(data: bytes) -> str:
    """Return how wide a PNG is to be shown, if it is wider than most terminals."""
    dots = int.from_bytes(data[16:20], "big")
    return f",c={_MAX_CELLS}" if dots > _MAX_CELLS * _DOTS_PER_CELL else ""
