"""Finds the variables of this terminal that a server needs, and that no host passes on."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Final

from wigwag.doctor.findings import Finding
from wigwag.doctor.patience import Patience
from wigwag.doctor.process_checks.conversation import Conversation
from wigwag.doctor.process_checks.start import Start
from wigwag.doctor.process_checks.watched_process import WatchedProcess
from wigwag.errors import ServerStartFailed

__all__ = ["find_needed_variables"]

# They are about the terminal itself, and nothing that a server needs.
_OF_THE_SHELL: Final = ("PWD", "OLDPWD", "SHLVL", "_")


async def find_needed_variables(
    start: Start, explained: Finding, patience: Patience
) -> Finding | None:
    """Tell whether a server that ends at start works with the variables of this terminal.

    If it does, it is started some more times, with fewer and fewer of them.

    Args:
        start: How it is started.
        explained: What was found so far, which shows how it ends.
        patience: How long to wait.
    """
    names = [name for name in os.environ if name not in (*start.environment, *_OF_THE_SHELL)]
    if not names or not await _answers(start, names, patience):
        return None
    while len(names) > 1:
        middle = len(names) // 2
        for half in (names[:middle], names[middle:]):
            if await _answers(start, half, patience):
                names = half
                break
        else:  # it needs some of both
            break
    told = names[0] if len(names) == 1 else f"several of {', '.join(names)}"
    return Finding(
        "environment-variable-absent",
        "error",
        "the server starts with the variables of this terminal, and not with those that hosts "
        f"pass on: it needs {told}",
        explained.evidence,
        f'give it in `env`, beside `command`: "env": {{"{names[0]}": "..."}}',
    )


async def _answers(start: Start, names: Sequence[str], patience: Patience) -> bool:
    """Tell whether the server answers when it has these variables, too."""
    also: Mapping[str, str] = {name: os.environ[name] for name in names}
    try:
        process = await WatchedProcess.start(
            start.program or "", start.args, env={**also, **start.environment}, cwd=start.cwd
        )
    except (OSError, ServerStartFailed):
        return False
    try:
        return await Conversation(process, patience).initialize() is not None
    finally:
        await process.end()
