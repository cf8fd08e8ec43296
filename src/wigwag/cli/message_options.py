"""Options that say which messages of a conversation are shown, and how."""

from typing import Final

import click

__all__ = ["ids_option", "methods_option", "pretty_option"]

pretty_option: Final = click.option(
    "--pretty", is_flag=True, help="Show messages whole, indented, on many lines."
)
methods_option: Final = click.option(
    "--method",
    "-m",
    "methods",
    multiple=True,
    metavar="PATTERN",
    help="Show only messages of this method, such as tools/call or 'tools/*', and the answers.",
)
ids_option: Final = click.option(
    "--id", "ids", multiple=True, metavar="ID", help="Show only this request and its answer."
)
