"""What hosts, and the models behind them, demand of tools beyond the protocol.

Each demand goes with the words by which people learn of it. These are facts about other people's
programs, gathered from their documentation and from reports of their users in 2025 and 2026; when
one of them changes, this table is what to change.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

__all__ = [
    "CLAUDE_CODE_CHARACTERS",
    "HOSTS",
    "MAX_TOKENS_OF_TOOLS",
    "ArraysHaveItems",
    "Demand",
    "Draft202012",
    "Host",
    "MaxTools",
    "NameLength",
    "NoKeywordAtRoot",
    "PropertyName",
    "Rule",
    "ToolName",
]


class ToolName(Struct, frozen=True):
    """The whole name of a tool matches a pattern."""

    pattern: str
    in_words: str


class NameLength(Struct, frozen=True):
    """The name of the tool and that of its server in the configuration are not too long."""

    limit: int


class PropertyName(Struct, frozen=True):
    """The names of all arguments match a pattern."""

    pattern: str
    in_words: str


class NoKeywordAtRoot(Struct, frozen=True):
    """The root of the input schema has none of these keywords."""

    keywords: tuple[str, ...]


class ArraysHaveItems(Struct, frozen=True):
    """Each array in the input schema says what its items are."""


class Draft202012(Struct, frozen=True):
    """The input schema is a valid one of JSON Schema 2020-12, whatever it calls itself."""


class MaxTools(Struct, frozen=True):
    """There are no more tools than this, those of all servers together."""

    count: int


Rule = (
    ToolName
    | NameLength
    | PropertyName
    | NoKeywordAtRoot
    | ArraysHaveItems
    | Draft202012
    | MaxTools
)


class Demand(Struct, frozen=True):
    """Something that a host demands.

    Attributes:
        rule: What it is.
        says: What people see where it is not so.
    """

    rule: Rule
    says: str


class Host(Struct, frozen=True, kw_only=True):
    """A host, or the API of a model, which refuses what it does not like.

    Attributes:
        name: What people call it.
        refuses_all: Whether one tool that it refuses costs all of them, or the whole request.
        demands: What it demands.
    """

    name: str
    refuses_all: bool
    demands: tuple[Demand, ...]


_LETTERS: Final = "1 to 64 of a-z, A-Z, 0-9, _ and -"

HOSTS: Final = (
    Host(
        name="Claude Desktop and claude.ai",
        refuses_all=True,
        demands=(
            Demand(
                ToolName(r"[a-zA-Z0-9_-]{1,64}", _LETTERS),
                "FrontendRemoteMcpToolDefinition.name: String should match pattern "
                "'^[a-zA-Z0-9_-]{1,64}$'",
            ),
        ),
    ),
    Host(
        name="Claude API and Claude Code",
        refuses_all=True,
        demands=(
            Demand(
                PropertyName(r"[a-zA-Z0-9_.-]{1,64}", "1 to 64 of a-z, A-Z, 0-9, _, . and -"),
                "input_schema.properties: Property keys should match pattern "
                "'^[a-zA-Z0-9_.-]{1,64}$'",
            ),
            Demand(
                NoKeywordAtRoot(("oneOf", "allOf", "anyOf")),
                "input_schema does not support oneOf, allOf, or anyOf at the top level",
            ),
            Demand(
                Draft202012(),
                "JSON schema is invalid. It must match JSON Schema draft 2020-12",
            ),
        ),
    ),
    Host(
        name="OpenAI API (ChatGPT, Codex, Copilot)",
        refuses_all=True,
        demands=(
            Demand(ToolName(r"[a-zA-Z0-9_-]{1,64}", _LETTERS), "Invalid 'tools[0].function.name'"),
            Demand(
                NoKeywordAtRoot(("oneOf", "anyOf", "allOf", "enum", "not")),
                "schema must have type 'object' and not have "
                "'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level",
            ),
            Demand(ArraysHaveItems(), "Invalid schema for function: array schema missing items"),
            Demand(MaxTools(128), "You may not include more than 128 tools in your request"),
        ),
    ),
    Host(
        name="Gemini API and Gemini CLI",
        refuses_all=True,
        demands=(
            Demand(
                ToolName(
                    r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}",
                    "1 to 64 of a-z, A-Z, 0-9, _, ., : and -, the first a letter or _",
                ),
                "Invalid function name. Must start with a letter or an underscore",
            ),
            Demand(ArraysHaveItems(), "parameters.properties[…].items: missing field"),
        ),
    ),
    Host(
        name="VS Code (GitHub Copilot)",
        refuses_all=False,
        demands=(
            Demand(
                ToolName(r"[a-zA-Z0-9_-]+", "of a-z, A-Z, 0-9, _ and - alone"),
                "Tools names may only contain [a-z0-9_-]",
            ),
            Demand(
                ArraysHaveItems(),
                "Failed to validate tool: tool parameters array type must have items",
            ),
            Demand(MaxTools(128), "Cannot have more than 128 tools per request"),
        ),
    ),
    Host(
        name="Cursor",
        refuses_all=False,
        demands=(
            Demand(NameLength(60), "Combined server and tool name length exceeds 60 characters"),
            Demand(MaxTools(80), "Exceeding total tools limit"),
        ),
    ),
    Host(
        name="Amazon Bedrock",
        refuses_all=True,
        demands=(
            Demand(
                ToolName(r"[a-zA-Z0-9_-]{1,64}", _LETTERS),
                "toolSpec.name failed to satisfy constraint: [a-zA-Z0-9_-]+",
            ),
        ),
    ),
)

CLAUDE_CODE_CHARACTERS: Final = 2048
"""Claude Code cuts the description of a tool, and the instructions of a server, behind so many."""

MAX_TOKENS_OF_TOOLS: Final = 25_000
"""Claude Code warns when the definitions of all tools take more of the context than this."""
