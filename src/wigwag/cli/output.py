"""What commands print: the result on standard output, everything else on standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any, Final, TextIO, TypeVar

import click

__all__ = ["has_colours", "json_option", "print_json", "styled", "without_controls"]

F = TypeVar("F", bound=Callable[..., Any])

json_option: Final = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON, for programs."
)
"""The option `--json`; the command gets it as `as_json`."""


def print_json(value: Any) -> None:
    """Print a value as JSON: indented for people at a terminal, one line for programs."""
    if not sys.stdout.isatty():
        click.echo(json.dumps(value, ensure_ascii=False))
        return
    lines = json.dumps(value, ensure_ascii=False, indent=2).split("\n")
    click.echo("\n".join(map(without_controls, lines)))


def without_controls(line: str) -> str:
    """Return a line of JSON that means the same, and does not control a terminal."""
    if line.isprintable():
        return line
    return "".join(each if each.isprintable() else _escaped(each) for each in line)


def _escaped(each: str) -> str:
    return f"\\u{ord(each):04x}" if ord(each) <= 0xFFFF else json.dumps(each)[1:-1]


def has_colours(stream: TextIO) -> bool:
    """Tell whether colours are wanted on a stream: it is a terminal, and nobody has said no."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def styled(text: str, stream: TextIO, **style: Any) -> str:
    """Return text as `click.style` has it where there are colours, or else as it is."""
    return click.style(text, **style) if has_colours(stream) else text
