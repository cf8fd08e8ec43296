"""Finds out what is wrong with the prompts that a server lists, and gets some of them."""

from __future__ import annotations

from typing import Any, Final

from msgspec import UNSET

from wigwag.client.client import Client
from wigwag.doctor.content_checks.asking import ask_for
from wigwag.doctor.content_checks.media import check_icons
from wigwag.doctor.content_checks.shapes import fault_of
from wigwag.doctor.findings import Finding
from wigwag.errors import RequestFailed, RequestTimedOut
from wigwag.schema import PROMPTS_GET, GetPromptResult

__all__ = ["check_prompts"]

# So many are got: where these are right, the rest most likely is.
_MAX_GOT: Final = 5


async def check_prompts(client: Client, prompts: list[dict[str, Any]]) -> list[Finding]:
    """Find what is wrong with prompts; those that need no arguments are got.

    Args:
        client: A connected client of the server.
        prompts: As the server lists them.

    Raises:
        TransportError: The server has gone.
    """
    findings: list[Finding] = []
    names = []
    for prompt in prompts:
        name = prompt.get("name")
        if isinstance(name, str):
            findings += check_icons(prompt, name)
            if not _needs_arguments(prompt):
                names.append(name)
    for name in names[:_MAX_GOT]:
        try:
            finding = await _get(client, name)
        except RequestTimedOut as error:
            findings.append(_fails(name, error))
            break  # it would take as long for the others
        findings += [] if finding is None else [finding]
    return findings


def _needs_arguments(prompt: dict[str, Any]) -> bool:
    arguments = prompt.get("arguments")
    if not isinstance(arguments, list):
        return False
    return any(not isinstance(each, dict) or each.get("required") for each in arguments)


async def _get(client: Client, name: str) -> Finding | None:
    try:
        # Hosts send `arguments` without any in it, and some servers fail where it is absent.
        result = await ask_for(client, PROMPTS_GET, {"name": name, "arguments": {}})
    except RequestFailed as error:
        return _fails(name, error)
    fault = None if result is UNSET else fault_of(result, GetPromptResult)
    if fault is None:
        return None
    return Finding(
        "malformed-prompt-result",
        "error",
        "what a prompt gives is not as its schema wants it; strict hosts refuse it",
        fault,
        "give `messages`, each with a role, user or assistant, and one block of content",
        name,
    )


def _fails(name: str, error: Exception) -> Finding:
    return Finding(
        "prompt-fails",
        "error",
        "a prompt that needs no arguments cannot be got",
        str(error),
        "see why in the log of the server; arguments that it cannot do without are `required`",
        name,
    )
