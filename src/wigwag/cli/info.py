"""`wigwag info`, which shows what a server says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
import msgspec
from msgspec import UNSET

from wigwag import Client
from wigwag.cli.conversations import Conversation
from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.output import print_json
from wigwag.cli.server_commands import server_command, unexpected
from wigwag.cli.tables import print_table
from wigwag.client.terminal_lines import visible, visible_lines
from wigwag.schema import MODERN_REVISIONS

__all__ = ["info_command"]


@server_command("info")
async def info_command(
    conversation: Conversation, words: list[str], *, as_json: bool
) -> ExitCode | None:
    r"""Show what a server says of itself: its name, revisions, capabilities and instructions.

    \b
        wigwag info server.py
        wigwag info https://example.com/mcp
        wigwag info --era legacy -- npx -y some-server
    """
    unexpected(words)
    client = conversation.client
    if as_json:
        print_json(_as_json(client))
        return None
    info = client.server_info
    name = "a server without a name" if info is None else f"{info.name} {info.version}"
    rows = [("title", info.title)] if info is not None and info.title is not UNSET else []
    if info is not None and info.description is not UNSET:
        rows.append(("description", info.description))
    if info is not None and info.website_url is not UNSET:
        rows.append(("website", info.website_url))
    rows.append(("revision", f"{client.revision} ({_era(client)})"))
    if client.discovered is not None:
        rows.append(("modern revisions", ", ".join(client.discovered.supported_versions)))
    rows.append(("capabilities", "; ".join(_capabilities(client)) or "none"))
    print_table(visible(name), rows)
    if client.instructions:
        click.echo("\nInstructions")
        for line in visible_lines(client.instructions.strip()).split("\n"):
            click.echo(f"  {line}".rstrip())
    return None


def _as_json(client: Client) -> dict[str, Any]:
    found: dict[str, Any] = {
        "revision": client.revision,
        "era": _era(client),
        "serverInfo": msgspec.to_builtins(client.server_info),
        "capabilities": msgspec.to_builtins(client.capabilities),
        "instructions": client.instructions,
    }
    if client.discovered is not None:
        found["supportedVersions"] = list(client.discovered.supported_versions)
    return found


def _era(client: Client) -> str:
    return "modern" if client.revision in MODERN_REVISIONS else "legacy"


def _capabilities(client: Client) -> list[str]:
    """Return each capability in a few words, with what it says of itself."""
    declared: Mapping[str, Any] = msgspec.to_builtins(client.capabilities)
    return [_in_words(name, members) for name, members in declared.items()]


def _in_words(name: str, members: Any) -> str:
    told = members.items() if isinstance(members, Mapping) else ()
    more = [key if value in (True, {}) else f"{key}: {value}" for key, value in told]
    return f"{name} ({', '.join(more)})" if more else name
