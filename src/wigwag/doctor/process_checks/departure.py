"""Sees whether a server leaves when its input is closed, and what it leaves behind.

Spec: basic/lifecycle#shutdown
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

from wigwag.doctor.findings import Facts, Finding
from wigwag.doctor.patience import Patience
from wigwag.doctor.process_checks.watched_process import WatchedProcess

__all__ = ["check_departure"]

# Leaving may be slow and still be leaving: such a server is told apart from one that stays.
_MORE_TIME = 3


async def check_departure(
    process: WatchedProcess, patience: Patience, facts: Facts
) -> AsyncIterator[Finding]:
    """Close the input of a server, and yield what is wrong with how it leaves."""
    closed = time.monotonic()
    process.close_input()
    is_gone = await process.wait_for_exit(patience.exit * _MORE_TIME)
    seconds = time.monotonic() - closed
    if not is_gone:
        yield Finding(
            "does-not-exit",
            "warning",
            "the server does not leave when its input is closed",
            f"it still runs {seconds:.0f} s later",
            "end the process when reading standard input gives the end of file; if a thread or a "
            "timer keeps it alive, make that a daemon, or call exit. Hosts that crash leave such "
            "servers running for ever",
        )
        return
    facts["seconds_to_exit"] = round(seconds, 3)
    if seconds > patience.exit:
        yield Finding(
            "slow-exit",
            "warning",
            f"the server needs {seconds:.1f} s to leave when its input is closed",
            "most hosts kill a server after about 2 s, and what it does then is lost",
            "stop what is under way when reading standard input gives the end of file",
        )
    children = await process.wait_for_children(patience.leftovers)
    if children:
        yield Finding(
            "leaves-children",
            "warning",
            "the server leaves processes behind that it has started",
            "\n".join(children),
            "end them before leaving, or start them such that they end with their input",
        )
