"""What commands print: the result on standard output, everything else on standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any, Final, TextIO, TypeVar

import click

__all__ = ["has_colours", "json_option", "print_json", "styled"]

F = TypeVar("F", bound=Callable[..., Any])

json_option: Final = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON, for programs."
)
"""The option `--json`; the command gets it as `as_json`."""


def print_json(value: Any) -> None:
    """Print a value as JSON: indented for people at a terminal, one line for programs."""
    indent = 2 if sys.stdout.isatty() else None
    click.echo(json.dumps(value, ensure_ascii=False, indent=indent))


def has_colours(stream: TextIO) -> bool:
    """Tell whether colours are wanted on a stream: it is a terminal, and nobody has said no."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def styled(text: str, stream: TextIO, **style: Any) -> str:
    """Return text as `click.style` has it where there are colours, or else as it is."""
    return click.style(text, **style) if has_colours(stream) else text
