"""Tables for people: as wide as the terminal, or a row a line in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from wigwag.client.terminal_lines import visible

__all__ = ["print_table"]

Row = Sequence[str]


def print_table(title: str, rows: Sequence[Row]) -> None:
    """Print rows below a title, their columns one below the other.

    Args:
        title: What the rows are.
        rows: Texts, as many in each; the first is a name, which is never cut.
    """
    shown = [[visible(" ".join(text.split())) for text in row] for row in rows]
    if sys.stdout.isatty():
        _print_at_terminal(title, shown)
    else:
        _print_lines(title, shown)


def _print_lines(title: str, rows: Sequence[Row]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    click.echo(title)
    for row in rows:
        cells = (text.ljust(width) for text, width in zip(row, widths, strict=True))
        click.echo("  " + "  ".join(cells).rstrip())


def _print_at_terminal(title: str, rows: Sequence[Row]) -> None:
    from rich.console import Console  # noqa: PLC0415 - a pipe needs none of it
    from rich.table import Table  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(no_wrap=True, overflow="fold")
    for _ in rows[0][1:]:
        table.add_column(overflow="fold")
    for first, *others in rows:
        # As texts: what looks like markup in them is none.
        table.add_row(Text(f"  {first}", style="bold"), *map(Text, others))
    console = Console(highlight=False, soft_wrap=False)
    console.print(Text(title, style="bold underline"))
    console.print(table)
