"""Reads the servers of a host's configuration, as Claude Desktop, Cursor and VS Code write it."""

from __future__ import annotations

import logging
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct

from wigwag.client.variables import Variables
from wigwag.transports.stdio_client import StdioServerParameters

if TYPE_CHECKING:
    from wigwag.oauth.secret import Secret

__all__ = [
    "ServerEntry",
    "UrlServer",
    "is_configuration",
    "is_entry",
    "load_configuration",
    "read_configuration",
]

_logger = logging.getLogger("wigwag.client")

_SECTIONS: Final = ("mcpServers", "servers")
_KNOWN: Final = {
    *("type", "transport", "command", "args", "env", "envFile", "cwd"),
    *("url", "headers", "auth", "disabled"),
}
_TRANSPORTS: Final = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "sse": "sse",
}
# A string, which stays; or a comment; or a comma before a closing bracket.
_COMMENT: Final = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA: Final = re.compile(r'"(?:\\.|[^"\\\n])*"|,(?=\s*[}\]])')


class UrlServer(Struct, frozen=True):
    """A server at a URL.

    Attributes:
        url: The URL.
        headers: What each request carries besides.
        is_http_sse: Whether it is said to be of HTTP+SSE, which came before Streamable HTTP.
        auth: How they are authorized: `oauth`, or a token.
    """

    url: str
    headers: Mapping[str, str]
    is_http_sse: bool
    auth: Literal["oauth"] | Secret | None = None


class CommandOfEntry(StdioServerParameters, frozen=True):
    """A command that is shown as it was written: its variables may hold what is secret."""

    shown: str = ""

    def __str__(self) -> str:
        """The command line, with the names of the variables."""
        return self.shown


class ServerEntry:
    """A server in a configuration: a target for `Client` and `ClientGroup`.

    Its variables are filled in when a client is made for it.

    Attributes:
        name: Its name in the configuration; empty for an entry that stands alone.
    """

    def __init__(self, name: str, fields: Any, variables: Variables | None = None) -> None:
        self.name = name
        self._fields = fields
        self._variables = variables or Variables()

    def __repr__(self) -> str:
        """Its name only: the rest may be secret."""
        return f"<ServerEntry {self.name!r}>"

    @property
    def is_disabled(self) -> bool:
        """Whether it is switched off."""
        return isinstance(self._fields, Mapping) and self._fields.get("disabled") is True

    def resolve(self) -> StdioServerParameters | UrlServer:
        """Return how to reach the server, with all variables filled in.

        Raises:
            ValueError: The entry makes no sense, or a variable has no value; the text names the
                server and the field.
        """
        if not isinstance(self._fields, Mapping):
            raise self._error("", f"an entry is an object, not {_kind(self._fields)}")
        for field in self._fields.keys() - _KNOWN:
            _logger.debug("%s: `%s` is not known and has no effect", self._title, field)
        transport = self._transport()
        if transport == "stdio":
            return self._command()
        url = self._text("url", self._fields["url"])
        if not url.lower().startswith(("http://", "https://")):
            raise self._error("url", "a URL begins with http:// or https://")
        headers = self._texts("headers")
        auth = self._fields.get("auth")
        if auth is not None:
            if not isinstance(auth, str):
                raise self._error("auth", f'it is "oauth" or a token, not {_kind(auth)}')
            auth = _auth_of(self._text("auth", auth))
        return UrlServer(url, headers, transport == "sse", auth)

    @property
    def _title(self) -> str:
        return f"server {self.name!r}" if self.name else "the entry of a server"

    def _error(self, field: str, problem: str) -> ValueError:
        where = f"{self._title}, `{field}`" if field else self._title
        return ValueError(f"{where}: {problem}")

    def _transport(self) -> Literal["stdio", "http", "sse"]:
        """Return how the server is reached, by what is said or by what is there."""
        field = "type" if "type" in self._fields else "transport"
        kind = self._fields.get(field)
        has_command, has_url = "command" in self._fields, "url" in self._fields
        if kind is None:
            if has_command == has_url:
                amount = "both `command` and" if has_command else "neither `command` nor"
                raise self._error("", f"there is {amount} `url`: which server is it?")
            return "stdio" if has_command else "http"
        found = _TRANSPORTS.get(kind) if isinstance(kind, str) else None
        if found is None:
            raise self._error(field, f"{kind!r} is none of {', '.join(_TRANSPORTS)}")
        wanted = "command" if found == "stdio" else "url"
        if wanted not in self._fields:
            raise self._error(field, f"a server of type {kind!r} needs a `{wanted}`")
        return found  # type: ignore[return-value] # the values of _TRANSPORTS

    def _command(self) -> StdioServerParameters:
        command = self._text("command", self._fields["command"])
        if not command:
            raise self._error("command", "it is empty")
        listed = self._fields.get("args", [])
        if not isinstance(listed, Sequence) or isinstance(listed, str):
            raise self._error("args", f"arguments are an array, not {_kind(listed)}")
        args = [self._text(f"args[{at}]", part) for at, part in enumerate(listed)]
        env = self._texts("env")
        if "envFile" in self._fields:
            env = {**self._env_file(), **env}
        folder = self._fields.get("cwd")
        cwd = None if folder is None else self._path("cwd", folder)
        shown = shlex.join(map(str, [self._fields["command"], *listed]))
        return CommandOfEntry(command=command, args=args, env=env, cwd=cwd, shown=shown)

    def _text(self, field: str, value: Any) -> str:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str):
            raise self._error(field, f"it is a string, not {_kind(value)}")
        try:
            return self._variables.fill_in(value)
        except ValueError as error:
            raise self._error(field, str(error)) from None

    def _texts(self, field: str) -> dict[str, str]:
        values = self._fields.get(field)
        if values is None:
            return {}
        if not isinstance(values, Mapping):
            raise self._error(field, f"it is an object, not {_kind(values)}")
        given = {str(name): value for name, value in values.items() if value is not None}
        return {name: self._text(f"{field}.{name}", value) for name, value in given.items()}

    def _path(self, field: str, value: Any) -> Path:
        return self._variables.workspace_folder / Path(self._text(field, value)).expanduser()

    def _env_file(self) -> dict[str, str]:
        path = self._path("envFile", self._fields["envFile"])
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise self._error("envFile", f"cannot read {path}: {error}") from None
        return _environment_of(lines)


def load_configuration(
    source: str | os.PathLike[str] | Mapping[str, Any],
    *,
    inputs: Mapping[str, str] | None = None,
    workspace_folder: str | os.PathLike[str] | None = None,
) -> dict[str, ServerEntry]:
    """Read a configuration as hosts have it, and return its servers, each a target for a client.

    The servers are under `mcpServers`, as Claude Desktop and Cursor write it, or under `servers`,
    as VS Code does; comments and trailing commas may be in the file. Entries that are `disabled`
    are left out. What is wrong with one entry shows when a client is made for it, and so does
    not keep the others from use.

    Args:
        source: The path of a JSON file, or what is in it.
        inputs: The values of `${input:…}`, by their ids.
        workspace_folder: What `${workspaceFolder}` means, and where relative paths in `cwd` and
            `envFile` begin. By default the folder of the file, or the one above if that is
            `.vscode` or `.cursor`; without a file the current one.

    Raises:
        ValueError: It is no such configuration; for a file the text says where it is not JSON.
        OSError: The file cannot be read.
    """
    if isinstance(source, Mapping):
        content, where, folder = source, "the configuration", Path.cwd()
    else:
        path = Path(source)
        content, where = read_configuration(path), str(path)
        folder = path.absolute().parent
        if folder.name in (".vscode", ".cursor"):
            folder = folder.parent
    if isinstance(content.get("mcp"), Mapping) and is_configuration(content["mcp"]):
        content = content["mcp"]  # as it stands in the settings of VS Code
    found = [content[section] for section in _SECTIONS if section in content]
    if not found:
        keys = ", ".join(map(repr, content)) or "nothing"
        raise ValueError(f"{where} has neither `mcpServers` nor `servers`, but {keys}")
    if not all(isinstance(servers, Mapping) for servers in found):
        raise ValueError(f"{where}: the servers are an object, each under its name")
    variables = Variables(
        inputs={**_defaults_of(content.get("inputs")), **(inputs or {})},
        workspace_folder=Path(workspace_folder or folder).absolute(),
    )
    entries = [
        ServerEntry(str(name), fields, variables)
        for servers in found
        for name, fields in servers.items()
    ]
    return {entry.name: entry for entry in entries if not entry.is_disabled}


def entry_of(target: Any) -> ServerEntry | None:
    """Return the one server that a target of a client stands for, if it is of this kind.

    Args:
        target: An entry, a configuration, or the path of a file with one.

    Raises:
        ValueError: There is not exactly one.
        OSError: The file cannot be read.
    """
    if isinstance(target, ServerEntry):
        return target
    entries: Mapping[str, ServerEntry]
    if isinstance(target, str | os.PathLike):
        entries = load_configuration(target)
    elif not isinstance(target, Mapping):
        return None
    elif is_entry(target):
        return ServerEntry("", target)
    elif all(isinstance(value, ServerEntry) for value in target.values()):
        entries = target
    else:
        entries = load_configuration(target)
    if len(entries) != 1:
        names = ", ".join(map(repr, entries)) or "none"
        raise ValueError(
            f"a client is for one server, and the configuration has {len(entries)} ({names}): "
            "give it to ClientGroup, or one entry of load_configuration() to Client"
        )
    (entry,) = entries.values()
    return entry


def _auth_of(text: str) -> Literal["oauth"] | Secret:
    from wigwag.oauth.secret import Secret  # noqa: PLC0415 - few entries say it

    return "oauth" if text.lower() == "oauth" else Secret(text)


def is_entry(target: Mapping[Any, Any]) -> bool:
    """Tell whether a mapping is the entry of one server."""
    return any(isinstance(target.get(key), str) for key in ("command", "url"))


def is_configuration(target: Mapping[Any, Any]) -> bool:
    """Tell whether a mapping is a whole configuration."""
    sections = [target[key] for key in (*_SECTIONS, "mcp") if key in target]
    return any(isinstance(found, Mapping) and not is_entry(found) for found in sections)


def read_configuration(path: Path) -> Mapping[str, Any]:
    """Return what is in a JSON file, which may have comments and trailing commas.

    Raises:
        ValueError: It is not JSON, and the text says where; or no object.
        OSError: It cannot be read.
    """
    import json  # noqa: PLC0415 - its errors tell the line; messages have no use for it

    try:
        text = path.read_text(encoding="utf-8-sig")
        content = json.loads(_TRAILING_COMMA.sub(_blank, _COMMENT.sub(_blank, text)))
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ValueError(f"{path} is not JSON: {error.msg} at {where}") from None
    except (UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}") from None
    if not isinstance(content, Mapping):
        raise ValueError(f"{path} holds {_kind(content)}, but a configuration is an object")
    return content


def _blank(found: re.Match[str]) -> str:
    """Put spaces in place of what is no string, so that the places in error texts stay true."""
    if found[0].startswith('"'):
        return found[0]
    return re.sub(r"[^\n]", " ", found[0])


def _defaults_of(inputs: Any) -> dict[str, str]:
    """Return the values of the inputs that have one unasked."""
    listed = inputs if isinstance(inputs, Sequence) and not isinstance(inputs, str) else ()
    declared = [one for one in listed if isinstance(one, Mapping)]
    return {
        str(one["id"]): one["default"]
        for one in declared
        if "id" in one and isinstance(one.get("default"), str)
    }


def _environment_of(lines: Sequence[str]) -> dict[str, str]:
    """Return the variables in the lines of a file of them."""
    found: dict[str, str] = {}
    for line in map(str.strip, lines):
        name, equals, value = line.removeprefix("export ").partition("=")
        if not equals or line.startswith("#"):
            continue
        value = value.strip()
        quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
        found[name.strip()] = value[1:-1] if quoted else value.partition(" #")[0].rstrip()
    return found


def _kind(value: Any) -> str:
    kinds = {str: "a string", bool: "a boolean", list: "an array", dict: "an object"}
    return "null" if value is None else kinds.get(type(value), "a number")
