"""`wigwag list`, which shows what a server offers."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

import click
import msgspec
from msgspec import UNSET

from wigwag.cli.contents import size_of
from wigwag.cli.conversations import Conversation
from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.offered import KINDS, Offered, name_of
from wigwag.cli.output import print_json
from wigwag.cli.server_commands import server_command
from wigwag.cli.tables import print_table
from wigwag.cli.tool_details import print_prompt, print_tool
from wigwag.client.merged_names import did_you_mean
from wigwag.client.terminal_lines import visible
from wigwag.client.tool_arguments import argument_schemas, required_arguments
from wigwag.schema import Prompt, Resource, ResourceTemplate, Tool

__all__ = ["list_command"]

Features = Mapping[str, Sequence[Any]]


_TITLES: Final = {
    "tools": "Tools",
    "prompts": "Prompts",
    "resources": "Resources",
    "templates": "Resource templates",
}
# As the protocol has them in its results.
_MEMBERS: Final = {**{name: name for name in KINDS}, "templates": "resourceTemplates"}


@server_command("list", words="[KIND | NAME]...")
async def list_command(
    conversation: Conversation, words: list[str], *, as_json: bool
) -> ExitCode | None:
    r"""Show what a server offers: its tools, prompts, resources and resource templates.

    A KIND is one of tools, prompts, resources and templates, and shows only these. A NAME is that
    of a tool, a prompt or a resource, and shows all there is to know about it: what it takes above
    all.

    \b
        wigwag list server.py
        wigwag list https://example.com/mcp tools
        wigwag list server.py search
        wigwag list search -- npx -y some-server
    """
    kinds = [word for word in words if word in KINDS]
    names = [word for word in words if word not in KINDS]
    wanted = kinds if kinds and not names else list(KINDS)
    offered = Offered(conversation.client)
    found: Features = {kind: await offered.features(kind) for kind in wanted}
    if names:
        found = _named(found, names)
    if as_json:
        print_json({_MEMBERS[kind]: msgspec.to_builtins(found[kind]) for kind in found})
    elif names:
        _print_details(found)
    elif any(found.values()):
        _print_tables(found)
    else:
        what = " and no ".join(_TITLES[kind].lower() for kind in wanted)
        click.echo(f"wigwag: the server has no {what}", err=True)
    return None


def _named(found: Features, names: Sequence[str]) -> Features:
    """Return the features of these names.

    Raises:
        ValueError: There is none of a name.
    """
    known = {name for features in found.values() for each in features for name in _names(each)}
    for name in names:
        if name not in known:
            raise ValueError(f"the server has no {name!r}{did_you_mean(name, sorted(known))}")
    chosen = {
        kind: [each for each in features if set(_names(each)) & set(names)]
        for kind, features in found.items()
    }
    return {kind: features for kind, features in chosen.items() if features}


def _names(feature: Any) -> tuple[str, ...]:
    """Return what a feature goes by."""
    return name_of(feature), feature.name


def _print_tables(found: Features) -> None:
    is_first = True
    for kind, features in found.items():
        if features:
            if not is_first:
                click.echo()
            is_first = False
            print_table(f"{_TITLES[kind]} ({len(features)})", [_row(each) for each in features])


def _row(feature: Any) -> tuple[str, ...]:
    if isinstance(feature, Tool):
        return feature.name, _signature(feature), _about(feature)
    if isinstance(feature, Prompt):
        taken = feature.arguments or []
        words = [each.name if each.required is True else f"[{each.name}]" for each in taken]
        return feature.name, " ".join(words), _about(feature)
    kind = "" if feature.mime_type is UNSET else feature.mime_type
    return name_of(feature), kind, _about(feature)


def _signature(tool: Tool) -> str:
    """Return the names of what a tool takes; in brackets what may be left out."""
    needed = required_arguments(tool.input_schema)
    names = argument_schemas(tool.input_schema)
    return " ".join(name if name in needed else f"[{name}]" for name in names)


def _about(feature: Any) -> str:
    """Return what a feature is, in one line."""
    if feature.description is not UNSET and feature.description.strip():
        text: str = feature.description.strip()
        return text.splitlines()[0]
    return "" if feature.title is UNSET else feature.title


def _print_details(found: Features) -> None:
    is_first = True
    for features in found.values():
        for feature in features:
            if not is_first:
                click.echo()
            is_first = False
            if isinstance(feature, Tool):
                print_tool(feature)
            elif isinstance(feature, Prompt):
                print_prompt(feature)
            else:
                _print_resource(feature)


def _print_resource(feature: Resource | ResourceTemplate) -> None:
    rows = [("name", feature.name)]
    rows += [("title", feature.title)] if feature.title is not UNSET else []
    rows += [("type", feature.mime_type)] if feature.mime_type is not UNSET else []
    if isinstance(feature, Resource) and feature.size is not UNSET:
        rows.append(("size", size_of(feature.size)))
    if feature.description is not UNSET:
        rows.append(("description", feature.description))
    if feature.annotations is not UNSET:
        rows.append(("annotations", json.dumps(msgspec.to_builtins(feature.annotations))))
    print_table(visible(name_of(feature)), rows)
    sys.stdout.flush()
