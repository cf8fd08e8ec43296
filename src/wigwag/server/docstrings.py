"""Reads descriptions out of docstrings in the Google style."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, Final

# Sections that speak of the Python function, not of what it is for.
_SECTION: Final = re.compile(
    r"^(Args|Arguments|Parameters|Returns|Return|Yields|Raises|Example|Examples|Attributes):\s*$"
)
_ARGUMENTS: Final = ("Args", "Arguments", "Parameters")
_ARGUMENT: Final = re.compile(r"^(?P<name>\*{0,2}\w+)\s*(\([^)]*\))?:\s*(?P<text>.*)$")


def describe(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Return the description of a function and of each of its parameters, as far as it has them."""
    lines = (inspect.getdoc(function) or "").splitlines()
    summary: list[str] = []
    section: str | None = None
    arguments: dict[str, list[str]] = {}
    current: list[str] = []
    for line in lines:
        heading = _SECTION.match(line)
        if heading is not None:
            section = heading.group(1)
        elif section is None:
            summary.append(line)
        elif line and not line[0].isspace():  # back at the margin: ordinary text again
            section = None
            summary.append(line)
        elif section in _ARGUMENTS:
            entry = _ARGUMENT.match(line.strip()) if _indent(line) <= _ENTRY_INDENT else None
            if entry is not None:
                current = arguments.setdefault(entry["name"].lstrip("*"), [])
                current.append(entry["text"])
            else:
                current.append(line.strip())
    texts = {name: " ".join(filter(None, parts)) for name, parts in arguments.items()}
    return "\n".join(summary).strip(), texts


_ENTRY_INDENT: Final = 4


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
