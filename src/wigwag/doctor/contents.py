"""Finds out what is wrong with what a server offers, once it answers."""

from __future__ import annotations

from collections.abc import AsyncIterator

from wigwag.client.client import Client
from wigwag.doctor.findings import Facts, Finding
from wigwag.doctor.patience import Patience

__all__ = ["check_contents"]


async def check_contents(
    client: Client, *, patience: Patience, facts: Facts
) -> AsyncIterator[Finding]:
    """Examine what a server offers, over an open client, and yield what is wrong.

    Args:
        client: A connected client of the server.
        patience: How long to wait.
        facts: Takes what else is found out.
    """
    none: tuple[Finding, ...] = ()
    for finding in none:
        yield finding
