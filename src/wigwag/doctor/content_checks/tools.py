"""Finds out what is wrong with the tools that a server lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from wigwag.bindings.mirrored_parameters import mirrored_parameters
from wigwag.doctor.content_checks.host_demands import check_host_demands, check_number_of_tools
from wigwag.doctor.content_checks.hosts import CLAUDE_CODE_CHARACTERS, MAX_TOKENS_OF_TOOLS
from wigwag.doctor.content_checks.json_schemas import check_schema
from wigwag.doctor.content_checks.media import check_icons
from wigwag.doctor.findings import Finding

__all__ = ["check_tools"]

# About so many characters of JSON are a token.
_CHARACTERS_OF_TOKEN: Final = 4


def check_tools(tools: list[dict[str, Any]], *, is_modern: bool) -> Iterator[Finding]:
    """Yield what is wrong with tools.

    Args:
        tools: As the server lists them.
        is_modern: Whether they were listed in a modern revision, in which output may be anything.
    """
    yield from check_number_of_tools(len(tools))
    yield from _about_size(tools)
    yield from check_host_demands(tools)
    for tool in tools:
        name = tool.get("name")
        if not isinstance(name, str):
            continue  # which is told of the list
        yield from _about_description(tool, name)
        yield from _about_hints(tool, name)
        yield from check_icons(tool, name)
        yield from _about_headers(tool, name)
        yield from check_schema(tool.get("inputSchema"), name, "inputSchema", is_object=True)
        output = tool.get("outputSchema")
        yield from check_schema(output, name, "outputSchema", is_object=not is_modern)


def _about_size(tools: list[dict[str, Any]]) -> Iterator[Finding]:
    tokens = len(msgspec.json.encode(tools)) // _CHARACTERS_OF_TOKEN
    if tokens > MAX_TOKENS_OF_TOOLS:
        largest = max(tools, key=lambda tool: len(msgspec.json.encode(tool)))
        size = len(msgspec.json.encode(largest)) // _CHARACTERS_OF_TOKEN
        yield Finding(
            "tools-too-large",
            "warning",
            "the definitions of the tools take much of the model's context in every conversation",
            f"about {tokens} tokens, of which {size} are {largest.get('name')!r}; Claude Code "
            f"warns above {MAX_TOKENS_OF_TOOLS}",
            "shorten descriptions and schemas, and offer fewer tools",
            "tools",
        )


def _about_description(tool: dict[str, Any], name: str) -> Iterator[Finding]:
    text = tool.get("description")
    if text is None or (isinstance(text, str) and not text.strip()):
        yield Finding(
            "tool-without-description",
            "warning",
            "a tool has no description, so that models do not know when to call it",
            "",
            "say in a sentence or two what it does, and what it returns",
            name,
        )
    elif isinstance(text, str) and len(text) > CLAUDE_CODE_CHARACTERS:
        yield Finding(
            "description-long",
            "note",
            f"Claude Code cuts descriptions behind {CLAUDE_CODE_CHARACTERS} characters",
            f"{len(text)} characters",
            "put what matters first",
            name,
        )


def _about_hints(tool: dict[str, Any], name: str) -> Iterator[Finding]:
    hints = tool.get("annotations")
    if not isinstance(hints, dict):
        return
    if hints.get("readOnlyHint") is True and hints.get("destructiveHint") is True:
        yield Finding(
            "hints-contradict",
            "note",  # the protocol gives destructiveHint no meaning then; some SDKs always send it
            "a tool says that it only reads, and that it destroys: hosts that do not know which "
            "counts ask users in vain",
            "readOnlyHint and destructiveHint are both true",
            "say `destructiveHint` false where a tool only reads",
            name,
        )


def _about_headers(tool: dict[str, Any], name: str) -> Iterator[Finding]:
    schema = tool.get("inputSchema")
    if not isinstance(schema, dict):
        return
    try:
        mirrored_parameters(schema)
    except ValueError as error:
        yield Finding(
            "tool-header-invalid",
            "error",
            "modern hosts must leave out a tool over HTTP whose `x-mcp-header` breaks the rules",
            str(error),
            "put the annotation right, or leave it out",
            name,
        )
