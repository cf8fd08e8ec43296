"""`ClientGroup`: many servers at once, as if they were one, none of which holds up the others."""

from __future__ import annotations

import asyncio
import logging
import os
from asyncio import FIRST_COMPLETED
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, Literal, Self, TypeVar, cast

import msgspec
from msgspec import UNSET, Struct

from wigwag.client.client import Client
from wigwag.client.configuration import ServerEntry, is_configuration, load_configuration
from wigwag.client.merged_names import did_you_mean, may_be_of_template, merged_names, qualified
from wigwag.client.targets import is_authorized, is_for_url
from wigwag.client.tool_results import ToolCallResult
from wigwag.errors import ConnectionClosed, LocalProtocolError, McpError, RequestFailed
from wigwag.schema import (
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    GetPromptResult,
    Prompt,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    Tool,
)

__all__ = ["ClientGroup", "Status"]

_logger = logging.getLogger("wigwag.client")

_OF_URLS: Final = ("auth", "http_client", "ssl")

Status = Literal["connecting", "connected", "failed", "disconnected"]
Kind = Literal["tools", "prompts", "resources", "resource_templates"]
N = TypeVar("N", bound=Struct)
F = TypeVar("F")


class ClientGroup:
    """Clients of many servers, used as one.

    Use it as `async with ClientGroup(servers) as group:`, or call `connect` and `close`, from
    whatever tasks, as often as you like. The servers are connected side by side. One that fails
    is no exception: `status` and `errors` tell of it, the others are there, and `connect`, or a
    call of something that only it can have, tries it anew. A server that has died since is
    connected anew when it is needed.

    The tools of all servers are one list. A name that several servers have is told apart by the
    name of the server, a `_` and the name of the tool; every tool can be called that way, and no
    server can have a tool that looks like another's. What a server offered before it failed counts,
    so that no name moves from one server to another.
    Prompts are the same; resources are told apart by their URIs.

    Args:
        servers: The configuration of a host, or the path of its JSON file; or a target for each
            name, of any kind that `Client` takes, as `load_configuration` returns them.
        patience: Seconds that `connect`, `add` and the lists wait for servers that are slow to come
            up. Those go on connecting behind the scenes. By default until each is connected or has
            failed, for which it has `timeouts.connect`.
        options: What each `Client` gets; `auth`, `ssl` and `http_client` only those
            of URLs, and `auth` only those whose entry says nothing of it.

    Raises:
        ValueError: The configuration is none, or `headers` are meant for all servers.
        OSError: Its file cannot be read.
    """

    def __init__(
        self,
        servers: Mapping[str, Any] | str | os.PathLike[str],
        *,
        patience: float | None = None,
        **options: Any,
    ) -> None:
        if not isinstance(servers, Mapping) or is_configuration(servers):
            servers = load_configuration(servers)
        _check_headers(options)
        self._patience = patience
        self._options = options
        members = [_Member(name, target, options) for name, target in servers.items()]
        self._members = {member.name: member for member in members if not member.is_disabled}
        self._is_wanted = False  # between `connect` and `close`
        self._merged: dict[Kind, dict[str, tuple[str, str]]] = {}  # until something changes

    # --- connecting

    async def connect(self) -> Self:
        """Connect to all servers that are not connected; `errors` tells of those that fail."""
        self._is_wanted = True
        await self._wait_for(self._members.values())
        return self

    async def close(self) -> None:
        """Close all connections. May be called twice, by any task."""
        self._is_wanted = False
        await _close(self._members.values())

    async def __aenter__(self) -> Self:
        """Connect."""
        try:
            return await self.connect()
        except BaseException:  # cancelled: nobody would close what is being opened
            await self.close()
            raise

    async def __aexit__(self, *exc: object) -> None:
        """Close."""
        await self.close()

    async def add(self, name: str, target: Any, **options: Any) -> None:
        """Add a server, and connect to it if the group is connected; `errors` tells if it fails.

        Args:
            name: Its name.
            target: Whatever `Client` takes.
            options: What its `Client` gets besides, or in place of, what all get.

        Raises:
            ValueError: There is a server of that name.
        """
        if name in self._members:
            raise ValueError(f"there is a server {name!r} already: remove it first")
        member = self._members[name] = _Member(name, target, {**self._options, **options})
        if self._is_wanted:
            await self._wait_for([member])

    async def remove(self, name: str) -> None:
        """Close the connection to a server, and forget it.

        Raises:
            ValueError: There is no server of that name.
        """
        if name not in self._members:
            raise ValueError(f"there is no server {name!r}{did_you_mean(name, self._members)}")
        member = self._members.pop(name)
        member.is_removed = True
        self._merged.clear()
        await _close([member])

    @property
    def clients(self) -> dict[str, Client]:
        """The clients, connected or not; there is none where a target makes no sense."""
        return {
            name: member.client
            for name, member in self._members.items()
            if member.client is not None
        }

    @property
    def status(self) -> dict[str, Status]:
        """How each server fares; `disconnected` before the first `connect`, or after its end."""
        return {name: member.status for name, member in self._members.items()}

    @property
    def errors(self) -> dict[str, Exception]:
        """What went wrong last, for each server that could not be connected to or listed."""
        return {
            name: member.error for name, member in self._members.items() if member.error is not None
        }

    def __repr__(self) -> str:
        """The servers, and how they fare."""
        servers = ", ".join(f"{name}: {status}" for name, status in self.status.items())
        return f"<ClientGroup of {servers or 'no servers'}>"

    # --- lists

    async def list_tools(self) -> list[Tool]:
        """List the tools of all servers that are connected, in the order of the servers."""
        return self._renamed("tools", await self._list("tools"))

    async def list_prompts(self) -> list[Prompt]:
        """List the prompts of all servers that are connected, in the order of the servers."""
        return self._renamed("prompts", await self._list("prompts"))

    async def list_resources(self) -> list[Resource]:
        """List the resources of all servers that are connected, in the order of the servers."""
        return [one for found in (await self._list("resources")).values() for one in found]

    async def list_resource_templates(self) -> list[ResourceTemplate]:
        """List the templates of all servers that are connected, in the order of the servers."""
        found = await self._list("resource_templates")
        return [one for templates in found.values() for one in templates]

    # --- requests

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, **options: Any
    ) -> ToolCallResult[Any]:
        """Call a tool of whichever server has it.

        Args:
            name: Its name in `list_tools`, or the name of the server, a `_` and the tool's own.
            arguments: What it takes.
            options: As for `Client.call_tool`.

        Raises:
            LocalProtocolError: No server has it, or the group is not connected.
            McpError: As for `Client.call_tool`; also when its server cannot be connected to.
            ValueError: The entry of its server makes no sense.
        """
        member, own_name = await self._find("tools", name)
        client = await self._ready(member)
        result: ToolCallResult[Any] = await client.call_tool(own_name, arguments, **options)
        return result

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, **options: Any
    ) -> GetPromptResult:
        """Get a prompt of whichever server has it.

        Args:
            name: Its name in `list_prompts`, or the name of the server, a `_` and the prompt's own.
            arguments: What it takes.
            options: As for `Client.get_prompt`.

        Raises:
            LocalProtocolError: No server has it, or the group is not connected.
            McpError: As for `Client.get_prompt`; also when its server cannot be connected to.
        """
        member, own_name = await self._find("prompts", name)
        client = await self._ready(member)
        found = await client.get_prompt(own_name, arguments, **options)
        return cast("GetPromptResult", found)

    async def read_resource(self, uri: str, **options: Any) -> ReadResourceResult:
        """Read a resource of whichever server has it.

        The first that lists the URI is asked; otherwise those with a template that fits, then all
        others that have resources, until one knows it.

        Args:
            uri: The URI.
            options: As for `Client.read_resource`.

        Raises:
            LocalProtocolError: No server has resources, or the group is not connected.
            RequestFailed: No server knows it.
            McpError: As for `Client.read_resource`; also when its server cannot be connected to.
        """
        kinds: tuple[Kind, ...] = ("resources", "resource_templates")
        member = await self._search(lambda: self._likely_to_have(uri), *kinds)
        if member is not None and uri in member.offered["resources"]:
            return await _read(await self._ready(member), uri, options)
        return await self._read_somewhere(uri, options)

    async def _read_somewhere(self, uri: str, options: Mapping[str, Any]) -> ReadResourceResult:
        """Read a resource that nobody lists."""
        fitting = [member for member in self._members.values() if member.may_have(uri)]
        members = self._members.values()
        others = [one for one in members if one.is_connected and one not in fitting]
        refusal: McpError | None = None
        for member in (*fitting, *others):
            try:
                client = await self._ready(member)
                if client.server_capabilities.resources is not UNSET:
                    return await _read(client, uri, options)
            except RequestFailed as error:
                if error.code not in (RESOURCE_NOT_FOUND, INVALID_PARAMS):
                    raise
                refusal = refusal or error
            except McpError:
                if member in fitting:
                    raise
        if refusal is None:
            raise LocalProtocolError(f"no server has resources: {uri} cannot be read")
        raise refusal

    def _likely_to_have(self, uri: str) -> _Member | None:
        members = list(self._members.values())
        listing = [one for one in members if uri in one.offered["resources"]]
        fitting = [one for one in members if one.may_have(uri)]
        return next(iter(listing + fitting), None)

    # --- who is there, and who has what

    def _check_wanted(self) -> None:
        if not self._is_wanted:
            raise LocalProtocolError("not connected: use `async with group:` or `connect()`")

    @property
    def _usable(self) -> list[_Member]:
        """The members that are connected, or may well be in a moment."""
        return [member for member in self._members.values() if not member.has_failed]

    async def _wait_for(self, members: Iterable[_Member]) -> None:
        """Connect to servers side by side, and wait for them with patience."""
        self._check_wanted()
        tasks = [task for member in members if (task := member.connecting()) is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=self._patience)

    async def _ready(self, member: _Member) -> Client:
        """Return the client of a member, connected, whether or not it has failed before."""
        self._check_wanted()
        if member.is_removed:
            raise LocalProtocolError(f"the server {member.name!r} was removed")
        task = member.connecting()
        if task is not None:
            await asyncio.wait([task])  # who is cancelled here leaves it to the others
            if task.cancelled():
                raise ConnectionClosed(f"the connection to {member.name!r} was closed")
            if member.has_failed and member.error is not None:
                raise member.error.with_traceback(None)
        assert member.client is not None
        return member.client

    async def _list(self, kind: Kind) -> dict[str, list[Any]]:
        """Ask all servers that are there what they offer."""
        await self._wait_for(self._usable)
        return await self._ask(kind, self._usable)

    async def _ask(self, kind: Kind, members: Iterable[_Member]) -> dict[str, list[Any]]:
        """Ask servers what they offer, side by side."""
        asked = [member for member in members if member.is_connected]
        found = await asyncio.gather(*(member.list(kind) for member in asked))
        self._merged.pop(kind, None)
        return {
            member.name: items
            for member, items in zip(asked, found, strict=True)
            if items is not None and not member.is_removed
        }

    async def _search(self, find: Callable[[], F | None], *kinds: Kind) -> F | None:
        """Ask what servers offer until something is found: first those that are connected."""
        self._check_wanted()
        if (found := find()) is not None:
            return found
        asked: set[_Member] = set()
        connecting: set[asyncio.Task[None]] | None = None
        while True:
            fresh = [one for one in self._members.values() if one.is_connected and one not in asked]
            asked.update(fresh)
            for kind in kinds:
                await self._ask(kind, fresh)
            if (found := find()) is not None:
                return found
            self._check_wanted()
            if connecting is None:
                tasks = [one.connecting() for one in self._members.values()]
                connecting = {task for task in tasks if task is not None}
            if not connecting:
                return None
            _, connecting = await asyncio.wait(connecting, return_when=FIRST_COMPLETED)
            self._check_wanted()

    def _names(self, kind: Kind) -> dict[str, tuple[str, str]]:
        if kind not in self._merged:
            offered = {name: one.offered[kind] for name, one in self._members.items()}
            self._merged[kind] = merged_names(offered)
        return self._merged[kind]

    def _renamed(self, kind: Kind, found: Mapping[str, list[N]]) -> list[N]:
        """Return what was found under the names of the whole group."""
        merged = {of: name for name, of in self._names(kind).items()}
        renamed: list[N] = []
        for server, items in found.items():
            for item in items:
                own: str = item.name  # type: ignore[attr-defined] # tools and prompts have names
                name = merged.get((server, own), own)
                renamed.append(item if name == own else msgspec.structs.replace(item, name=name))
        return renamed

    async def _find(self, kind: Kind, name: str) -> tuple[_Member, str]:
        """Return who has something of this name, and its name there."""
        found = await self._search(lambda: self._known(kind, name), kind)
        if found is not None:
            return found
        hint = did_you_mean(name, self._names(kind))
        absent = [repr(one.name) for one in self._members.values() if not one.is_connected]
        if absent:
            hint += f"; not connected: {', '.join(absent)}, see `errors`"
        raise LocalProtocolError(f"no server has a {kind[:-1]} {name!r}{hint}")

    def _known(self, kind: Kind, name: str) -> tuple[_Member, str] | None:
        found = self._names(kind).get(name)
        if found is not None:
            return self._members[found[0]], found[1]
        for member in self._members.values():
            for own in member.offered[kind]:
                if qualified(member.name, own) == name:
                    return member, own
        return None


class _Member:
    """A server of a group."""

    def __init__(self, name: str, target: Any, options: Mapping[str, Any]) -> None:
        self.name = name
        self.client: Client | None = None
        self.errors: dict[Kind | Literal["connecting"], Exception] = {}
        self.has_failed = False  # the last time it was connected to
        self.is_removed = False
        self.offered: dict[Kind, list[str]] = {
            "tools": [], "prompts": [], "resources": [], "resource_templates": []
        }  # fmt: skip
        if isinstance(target, Mapping) and not is_configuration(target):
            target = ServerEntry(name, target)
        self._target = target
        self._options = options
        self._task: asyncio.Task[None] | None = None

    @property
    def is_disabled(self) -> bool:
        return isinstance(self._target, ServerEntry) and self._target.is_disabled

    @property
    def is_connected(self) -> bool:
        return self.client is not None and self.client.is_connected

    @property
    def status(self) -> Status:
        if self._task is not None and not self._task.done():
            return "connecting"
        if self.is_connected:
            return "connected"
        return "failed" if self.has_failed else "disconnected"

    def may_have(self, uri: str) -> bool:
        """Tell whether one of its templates fits a URI."""
        return any(may_be_of_template(uri, one) for one in self.offered["resource_templates"])

    @property
    def error(self) -> Exception | None:
        return self.errors.get("connecting") or next(iter(self.errors.values()), None)

    def note(self, error: Exception, of: Kind | Literal["connecting"]) -> None:
        """Remember what went wrong, and when."""
        if str(error) != str(self.errors.get(of)):
            _logger.warning("server %r: %s", self.name, error)
        self.errors[of] = error

    def connecting(self) -> asyncio.Task[None] | None:
        """Return the task that connects, begun now if need be; none when connected."""
        if self._task is not None and not self._task.done():
            return self._task
        if self.is_connected:
            return None
        self._task = asyncio.get_running_loop().create_task(self._connect())
        return self._task

    async def _connect(self) -> None:
        try:
            if self.client is None:
                self.client = self._new_client()
            await self.client.connect()
        except Exception as error:  # noqa: BLE001 - whatever a target raises concerns it alone
            self.has_failed = True
            self.note(error, "connecting")
        else:
            self.has_failed = False
            self.errors.clear()

    def _new_client(self) -> Client:
        options = dict(self._options)
        if not is_for_url(self._target):
            options = {key: options[key] for key in options if key not in _OF_URLS}
        elif options.get("auth") is not None and is_authorized(self._target):
            del options["auth"]
        return Client(self._target, **options)

    async def list(self, kind: Kind) -> list[Any] | None:
        """Return what the server offers; none if it cannot tell."""
        client = self.client
        assert client is not None
        ask: dict[Kind, Callable[[], Awaitable[Any]]] = {
            "tools": client.list_tools,
            "prompts": client.list_prompts,
            "resources": client.list_resources,
            "resource_templates": client.list_resource_templates,
        }
        key = {"resources": "uri", "resource_templates": "uri_template"}.get(kind, "name")
        try:
            found: list[Any] = getattr(await ask[kind](), kind)
        except Exception as error:  # noqa: BLE001 - as above
            self.note(error, kind)
            return None
        self.errors.pop(kind, None)
        self.offered[kind] = [getattr(item, key) for item in found]
        return found

    async def close(self) -> None:
        task, self._task = self._task, None
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait([task])
        if self.client is not None:
            await self.client.close()


async def _read(client: Client, uri: str, options: Mapping[str, Any]) -> ReadResourceResult:
    return cast("ReadResourceResult", await client.read_resource(uri, **options))


async def _close(members: Iterable[_Member]) -> None:
    """Close connections side by side; one that cannot be closed keeps no other open."""
    closing = [member.close() for member in members]
    for outcome in await asyncio.gather(*closing, return_exceptions=True):
        if isinstance(outcome, Exception):
            _logger.warning("a connection was not closed cleanly: %s", outcome)


def _check_headers(options: Mapping[str, Any]) -> None:
    if options.get("headers") is not None:
        raise ValueError(
            "`headers` are for one server: write them into its entry, or give them to `add`"
        )
    auth = options.get("auth")
    if auth is not None and not _is_for_many(auth):
        raise ValueError(
            "a token is for one server: write `auth` into its entry, or give it to `add`; "
            '"oauth" and OAuth() get one for each'
        )


def _is_for_many(auth: Any) -> bool:
    """Tell whether an `auth` gets another token for each server."""
    from wigwag.client.authorization.oauth import OAuthWay  # noqa: PLC0415 - few use it

    return isinstance(auth, OAuthWay) or (isinstance(auth, str) and auth.lower() == "oauth")
