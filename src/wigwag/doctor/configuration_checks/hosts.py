"""How hosts differ in the files that tell them their servers."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

__all__ = ["ConfiguredHost", "configurations_here", "host_of"]


class ConfiguredHost(Struct, frozen=True, kw_only=True):
    """A host, and what it makes of its file.

    Attributes:
        name: Its name, for people.
        section: The key under which its servers are; `None` where that is not known.
        takes_comments: Whether comments and trailing commas may be in the file.
        fills_in: Whether it fills in variables such as `${HOME}`.
        takes_urls: Whether an entry may have a URL in place of a command.
        needs_type: Whether an entry with a URL must say its `type`.
        starts_in: The folder in which it starts servers: the root, the user's, or that which the
            file belongs to.
    """

    name: str
    section: str | None = "mcpServers"
    takes_comments: bool = False
    fills_in: bool = True
    takes_urls: bool = True
    needs_type: bool = False
    starts_in: Literal["root", "home", "workspace"] = "workspace"

    def folder_for(self, file: Path) -> Path:
        """Return the folder in which it starts the servers of a file."""
        if self.starts_in == "root":
            return Path(file.absolute().anchor)
        if self.starts_in == "home":
            return Path.home()
        folder = file.absolute().parent
        return folder.parent if folder.name in (".vscode", ".cursor", ".gemini") else folder


_CLAUDE_DESKTOP: Final = ConfiguredHost(
    name="Claude Desktop", fills_in=False, takes_urls=False, starts_in="root"
)
_CLAUDE_CODE: Final = ConfiguredHost(name="Claude Code", needs_type=True)
_CURSOR: Final = ConfiguredHost(name="Cursor", takes_comments=True)
_VS_CODE: Final = ConfiguredHost(name="VS Code", section="servers", takes_comments=True)
_WINDSURF: Final = ConfiguredHost(name="Windsurf", starts_in="home")
_CLINE: Final = ConfiguredHost(name="Cline", starts_in="home")
_GEMINI: Final = ConfiguredHost(name="Gemini CLI", takes_comments=True)
_ANY: Final = ConfiguredHost(name="the host", section=None, takes_comments=True)


def host_of(file: Path) -> ConfiguredHost:
    """Return the host that a file is for, by its name and folder."""
    by_name = {
        "claude_desktop_config.json": _CLAUDE_DESKTOP,
        ".mcp.json": _CLAUDE_CODE,
        ".claude.json": _CLAUDE_CODE,
        "cline_mcp_settings.json": _CLINE,
        "mcp_settings.json": _CLINE,
        "mcp_config.json": _WINDSURF,
    }
    if file.name in by_name:
        return by_name[file.name]
    by_folder = {
        ".cursor": _CURSOR,
        ".vscode": _VS_CODE,
        "User": _VS_CODE,
        "windsurf": _WINDSURF,
        ".gemini": _GEMINI,
    }
    return by_folder.get(file.absolute().parent.name, _ANY)


def configurations_here() -> Iterator[Path]:
    """Yield the files of hosts that there are on this machine, and in this folder."""
    home = Path.home()
    if sys.platform == "darwin":
        settings = home / "Library" / "Application Support"
    elif sys.platform == "win32":
        settings = Path(os.environ.get("APPDATA", home))
    else:
        settings = Path(os.environ.get("XDG_CONFIG_HOME", home / ".config"))
    for file in (
        settings / "Claude" / "claude_desktop_config.json",
        settings / "Code" / "User" / "mcp.json",
        home / ".claude.json",
        home / ".cursor" / "mcp.json",
        home / ".codeium" / "windsurf" / "mcp_config.json",
        home / ".gemini" / "settings.json",
        Path(".mcp.json"),
        Path(".cursor/mcp.json"),
        Path(".vscode/mcp.json"),
    ):
        if file.is_file():
            yield file
