"""Finds out why a server that is started as a process does not work."""

from __future__ import annotations

from collections.abc import AsyncIterator

from wigwag.doctor.findings import Facts, Finding
from wigwag.doctor.patience import Patience
from wigwag.transports.stdio_client import StdioServerParameters

__all__ = ["check_process"]


async def check_process(
    server: StdioServerParameters, *, patience: Patience, facts: Facts
) -> AsyncIterator[Finding]:
    """Start a server as a host would, watch it, and yield what is wrong.

    Args:
        server: How it is started.
        patience: How long to wait.
        facts: Takes what else is found out.
    """
    none: tuple[Finding, ...] = ()
    for finding in none:
        yield finding
