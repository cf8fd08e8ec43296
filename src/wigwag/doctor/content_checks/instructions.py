"""Looks at what a server says of itself: its name, and its instructions for the model."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator
from typing import Final

from wigwag.doctor.content_checks.hosts import CLAUDE_CODE_CHARACTERS
from wigwag.doctor.findings import Finding
from wigwag.schema import Implementation

__all__ = ["check_introduction"]

# What stands between backticks and could be the name of something.
_names_in: Final = re.compile(r"`([A-Za-z_][\w.-]{2,})(?:\(\))?`").findall

# How alike two names are of which one is most likely a misspelt or an earlier form of the other.
_ALIKE: Final = 0.8

# Instructions with more names, and servers with more things to name, are not looked through.
_MAX_WORDS: Final = 200
_MAX_NAMES: Final = 2000


def check_introduction(
    info: Implementation | None,
    instructions: str | None,
    names: Collection[str],
    arguments: Collection[str],
) -> Iterator[Finding]:
    """Yield what is wrong with the name and the instructions of a server.

    Args:
        info: What it calls itself; `None` if it does not say.
        instructions: What it wants the model to know.
        names: The names of all that it offers.
        arguments: The names of all that these take.
    """
    if info is None or not info.name.strip():
        yield Finding(
            "server-unnamed",
            "note",
            "the server does not say what it is called, so hosts show a name of their own",
            "",
            "give it a name and a version",
        )
    if instructions is None:
        return
    if len(instructions) > CLAUDE_CODE_CHARACTERS:
        yield Finding(
            "instructions-long",
            "note",
            f"Claude Code cuts instructions behind {CLAUDE_CODE_CHARACTERS} characters",
            f"{len(instructions)} characters",
            "put what matters first; what is about one tool belongs into its description",
        )
    if len(names) > _MAX_NAMES:
        return
    for word in list(dict.fromkeys(_names_in(instructions)))[:_MAX_WORDS]:
        near = difflib.get_close_matches(word, names, n=1, cutoff=_ALIKE)
        if word not in names and word not in arguments and near:
            yield Finding(
                "instructions-name-nothing",
                "warning",
                "the instructions name something that the server does not offer",
                f"`{word}`; there is {near[0]!r}",
                "use the names in the instructions under which things are listed",
                word,
            )
