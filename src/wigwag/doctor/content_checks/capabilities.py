"""Compares what a server declares that it offers with what it answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple

from wigwag.client.client import Client
from wigwag.doctor.findings import Finding
from wigwag.errors import McpError, RequestFailed
from wigwag.jsonrpc.codes import METHOD_NOT_FOUND
from wigwag.schema import (
    COMPLETION_COMPLETE,
    LOGGING_SET_LEVEL,
    MODERN_REVISIONS,
    PROMPTS_LIST,
    RESOURCES_LIST,
    RESOURCES_SUBSCRIBE,
    RESOURCES_UNSUBSCRIBE,
    TOOLS_LIST,
)

__all__ = ["check_declared", "check_undeclared", "unanswered"]

Ask = Callable[[str], Awaitable[Mapping[str, Any]]]


class _Offer(NamedTuple):
    """What can be offered, and how it is asked for."""

    capability: str
    method: str
    member: str


_OFFERS: Final = (
    _Offer("tools", TOOLS_LIST, "tools"),
    _Offer("prompts", PROMPTS_LIST, "prompts"),
    _Offer("resources", RESOURCES_LIST, "resources"),
)


async def check_undeclared(ask: Ask, result: Mapping[str, Any]) -> list[Finding]:
    """Find what a server offers without saying so, so that no host ever asks for it.

    Args:
        ask: Asks the server.
        result: What it said of itself: its answer to `initialize` or `server/discover`.
    """
    declared = result.get("capabilities")
    if not isinstance(declared, Mapping):
        return []
    findings = []
    for offer in _OFFERS:
        if offer.capability in declared:
            continue
        try:
            items = (await ask(offer.method)).get(offer.member)
        except RequestFailed:
            continue
        except McpError:  # it does not even answer, so there is no use in going on
            break
        if isinstance(items, list) and items:
            finding = Finding(
                "capability-undeclared",
                "warning",
                f"hosts never ask for its {offer.capability}, because it does not declare them",
                f"it declares {', '.join(declared) or 'nothing'}; yet {offer.method} lists "
                f"{len(items)}",
                f"declare `{offer.capability}` among the capabilities of the server",
            )
            findings.append(finding)
    return findings


async def check_declared(client: Client, prompts: list[Any], resources: list[Any]) -> list[Finding]:
    """Find what a server says that it can do, and cannot; what it lists is looked at elsewhere.

    Args:
        client: A connected client of the server.
        prompts: What it has listed.
        resources: What it has listed.
    """
    declared = client.capabilities
    findings = []
    asked = _completion_of(prompts)
    if isinstance(declared.completions, dict) and asked is not None:
        findings += await _try(client, "completions", COMPLETION_COMPLETE, asked)
    if client.revision in MODERN_REVISIONS:
        return findings
    if isinstance(declared.logging, dict):
        findings += await _try(client, "logging", LOGGING_SET_LEVEL, {"level": "warning"})
    can_subscribe = getattr(declared.resources, "subscribe", False) is True
    uri = next((each["uri"] for each in resources if isinstance(each.get("uri"), str)), None)
    if can_subscribe and uri is not None:
        found = await _try(client, "resources.subscribe", RESOURCES_SUBSCRIBE, {"uri": uri})
        findings += found or await _try(
            client, "resources.subscribe", RESOURCES_UNSUBSCRIBE, {"uri": uri}
        )
    return findings


def _completion_of(prompts: list[Any]) -> dict[str, Any] | None:
    """Return the params of a question about the first argument of a prompt."""
    for prompt in prompts:
        arguments = prompt.get("arguments")
        if isinstance(arguments, list) and arguments and isinstance(arguments[0], dict):
            name = arguments[0].get("name")
            reference = {"type": "ref/prompt", "name": prompt.get("name")}
            return {"ref": reference, "argument": {"name": name, "value": ""}}
    return None


async def _try(
    client: Client, capability: str, method: str, params: Mapping[str, Any]
) -> list[Finding]:
    try:
        await client.request(method, params)
    except RequestFailed as error:
        if error.code == METHOD_NOT_FOUND:
            return [unanswered(capability, method, error)]
    return []


def unanswered(capability: str, method: str, error: RequestFailed) -> Finding:
    """Describe a capability behind which there is nothing."""
    return Finding(
        "capability-unanswered",
        "error",
        f"the server declares `{capability}`, but does not answer `{method}`",
        str(error),
        f"answer `{method}` (an empty list is an answer), or do not declare `{capability}`",
        capability,
    )
