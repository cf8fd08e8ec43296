"""Finds out what stands between a client and a server at a URL."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from wigwag.doctor.findings import Facts, Finding
from wigwag.doctor.patience import Patience

__all__ = ["check_url"]


async def check_url(
    url: str, *, headers: Mapping[str, str] | None = None, patience: Patience, facts: Facts
) -> AsyncIterator[Finding]:
    """Examine the way to a server at a URL, step by step, and yield what is wrong.

    Args:
        url: The URL, as the host has it.
        headers: What each request carries besides.
        patience: How long to wait.
        facts: Takes what else is found out.
    """
    none: tuple[Finding, ...] = ()
    for finding in none:
        yield finding
