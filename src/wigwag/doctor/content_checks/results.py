"""Calls tools that only read, and holds what they return to the output schemas they promise."""

from __future__ import annotations

from typing import Any, Final

from wigwag.client.client import Client
from wigwag.doctor.content_checks.asking import ask_for
from wigwag.doctor.content_checks.shapes import fault_of
from wigwag.doctor.findings import Finding
from wigwag.errors import RequestFailed, RequestTimedOut
from wigwag.schema import TOOLS_CALL, CallToolResult
from wigwag.schema.json_schema import make_check

__all__ = ["check_results"]

_MAX_CALLED: Final = 5


async def check_results(client: Client, tools: list[dict[str, Any]]) -> list[Finding]:
    """Find tools whose results break their own output schema.

    Called are those alone that say that they only read, that need no arguments and that have an
    output schema. A tool that fails proves nothing.

    Args:
        client: A connected client of the server.
        tools: As the server lists them.

    Raises:
        TransportError: The server has gone.
    """
    findings: list[Finding] = []
    for tool in [tool for tool in tools if _may_be_called(tool)][:_MAX_CALLED]:
        try:
            result = await ask_for(client, TOOLS_CALL, {"name": tool["name"], "arguments": {}})
        except (RequestFailed, RequestTimedOut):
            continue
        if isinstance(result, dict):
            finding = _about_result(result, tool)
            findings += [] if finding is None else [finding]
    return findings


def _may_be_called(tool: dict[str, Any]) -> bool:
    hints, schema = tool.get("annotations"), tool.get("inputSchema")
    return (
        isinstance(tool.get("name"), str)
        and isinstance(tool.get("outputSchema"), dict)
        and isinstance(hints, dict)
        and hints.get("readOnlyHint") is True
        and isinstance(schema, dict)
        and not schema.get("required")
    )


def _about_result(result: dict[str, Any], tool: dict[str, Any]) -> Finding | None:
    fault = fault_of(result, CallToolResult)
    if fault is not None:
        return Finding(
            "malformed-tool-result",
            "error",
            "what a tool returns is not as the protocol wants it, and strict hosts refuse it",
            fault,
            "give `content`, an array of blocks (it may be empty)",
            tool["name"],
        )
    if result.get("isError"):
        return None
    if "structuredContent" not in result:
        return _breaks("there is no structuredContent", tool)
    try:
        problem = make_check(tool["outputSchema"], formats=False)(result["structuredContent"])
    except ValueError:  # which is told of the schema
        return None
    return None if problem is None else _breaks(problem, tool)


def _breaks(problem: str, tool: dict[str, Any]) -> Finding:
    return Finding(
        "output-breaks-schema",
        "error",
        "a tool returns something else than its output schema says, and hosts refuse the result",
        problem,
        "return structuredContent that fits the outputSchema; or leave the outputSchema out",
        tool["name"],
    )
