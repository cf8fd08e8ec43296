"""What commands print: the result on standard output, everything else on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

__all__ = ["json_option", "print_json"]

F = TypeVar("F", bound=Callable[..., Any])

json_option: Final = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON, for programs."
)
"""The option `--json`; the command gets it as `as_json`."""


def print_json(value: Any) -> None:
    """Print a value as JSON: indented for people at a terminal, one line for programs."""
    indent = 2 if sys.stdout.isatty() else None
    click.echo(json.dumps(value, ensure_ascii=False, indent=indent))
