"""Options of commands that serve over HTTP themselves."""

from typing import Final

import click

__all__ = ["allowed_hosts_option", "allowed_origins_option"]

allowed_hosts_option: Final = click.option(
    "--allowed-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="A name it is reached by.",
)
allowed_origins_option: Final = click.option(
    "--allowed-origin",
    "allowed_origins",
    multiple=True,
    metavar="URL",
    help="Web pages from elsewhere that may use it.",
)
