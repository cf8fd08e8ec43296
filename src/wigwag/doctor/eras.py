"""Finds out which eras and revisions of the protocol a server speaks, by trying each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from wigwag.client.client import Client
from wigwag.doctor.findings import Facts, Finding
from wigwag.doctor.patience import Patience

__all__ = ["Connect", "check_eras"]

Connect = Callable[[str], Client]
"""Makes a client of the server that is examined, not connected yet, given a `mode`."""


async def check_eras(
    connect: Connect, *, patience: Patience, facts: Facts
) -> AsyncIterator[Finding]:
    """Try eras and revisions, each with a client of its own, and yield what is wrong.

    Args:
        connect: Makes the clients.
        patience: How long to wait.
        facts: Takes what else is found out.
    """
    none: tuple[Finding, ...] = ()
    for finding in none:
        yield finding
