"""What people write in place of a TARGET, and what they are told to write instead."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

__all__ = ["advice_on", "command_without_dashes", "hint_to_run"]

_has_scheme: Final = re.compile(r"https?://|tcp://|unix:", re.IGNORECASE)
_server_at_top: Final = re.compile(r"^(\w+)\s*(?::[^=\n]*)?=\s*(?:wigwag\.)?Server\(", re.MULTILINE)


def advice_on(target: str, command: str) -> str | None:
    """Return what is wrong with a target, and what to write; `None` where it may be one.

    Args:
        target: The word.
        command: The command of `wigwag` that it was given to.
    """
    if _is_named_as_file(target) and os.path.isfile(target):
        return None  # there may be spaces in its name
    advice = command_without_dashes(target, command)
    if advice is None and not _has_scheme.match(target) and not _is_named_as_file(target):
        advice = _about_file(target, command) or _about_address(target)
    return advice


def _is_named_as_file(target: str) -> bool:
    return target.endswith((".py", ".json"))


def _about_file(target: str, command: str) -> str | None:
    """Return what is wrong with something that is a file or a module, or looks like one."""
    place, colon, _ = target.rpartition(":")
    if colon and place.endswith(".py"):
        return f"{target!r} names no server: write {place}:name, with its name in the file"
    if os.path.isdir(target):
        return f"{target} is a folder: name the Python file in it, or the JSON file"
    if os.path.isfile(f"{target}.py"):
        return f"there is no server {target!r}; did you mean {target}.py?"
    if os.path.exists(f"{target.replace('.', os.sep)}.py"):
        return f"a module needs the name of the server in it, as in {target}:server"
    if os.path.exists(target) or target.startswith((".", "/", "~")):
        return (
            f"{target} is no Python file and no JSON file: a command follows `--`, as in "
            f"`wigwag {command} -- {target}`"
        )
    return None


def _about_address(target: str) -> str:
    from wigwag.doctor.url_checks.lookalikes import misspelt_scheme  # noqa: PLC0415 - few need it

    advice = misspelt_scheme(target) if re.search(r"[.:/]", target) else None
    if advice is not None:
        return f"{target!r} is no address: {advice}"
    return (
        f"there is no server {target!r}: name a URL, a Python file, the JSON file of a "
        "configuration, tcp://host:port or unix:path; or a command, which follows `--`"
    )


def command_without_dashes(text: str, command: str) -> str | None:
    """Return what to write instead of the command that starts a server; `None` if it is none."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    if not words or not _is_program(words[0]):
        return None
    rest = " …" if len(words) == 1 else ""
    return (
        f"{words[0]} is a program: the command that starts a server follows `--`, as in "
        f"`wigwag {command} -- {shlex.join(words)}{rest}`"
    )


def hint_to_run(target: object, exit_code: int | None) -> str:
    """Return what to write where a file ends by itself, as it does not run the server in it."""
    if exit_code != 0 or not isinstance(target, str) or not target.endswith(".py"):
        return ""
    return f"; if nothing in it calls run(), {target}:{_name_in(target)} lets wigwag run its server"


def _is_program(word: str) -> bool:
    return bool(word) and os.path.basename(word) == word and shutil.which(word) is not None


def _name_in(file: str) -> str:
    """Return how the server in a file seems to be called."""
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError):
        text = ""
    found: Sequence[str] = _server_at_top.findall(text)
    return found[0] if len(found) == 1 else "server"
