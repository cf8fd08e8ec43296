"""What a client can be pointed at, and how the connection to it is opened."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable
from urllib.parse import urlsplit

import msgspec

from wigwag.bindings.lines import DEFAULT_MAX_LINE_BYTES
from wigwag.transports.contract import Connection
from wigwag.transports.pausable_timeout import PausableTimeout
from wigwag.transports.stdio_client import OnStderr, StdioServerParameters, spawn_server

if TYPE_CHECKING:  # only HTTP and configurations need them
    from wigwag.client.authorization.authorizer import ClientAuthorizer
    from wigwag.client.configuration import ServerEntry, UrlServer
    from wigwag.transports.http_client_engine import TLS, Headers, HttpOptions

Open = Callable[[], Awaitable[Connection]]


@runtime_checkable
class Servable(Protocol):
    """A server in this process."""

    async def serve(self, connection: Connection) -> None:
        """Serve a connection until it ends."""
        ...


class Opener:
    """Opens connections to one target, again and again if need be.

    Attributes:
        open: Opens one.
        is_process: Whether each is a new process, which may die of what it does not understand.
        name: What it is, for error texts.
        open_older: Opens a connection over HTTP+SSE, for servers that know nothing newer.
        url: The URL, without what may be secret in it, if it is one.
        whole_url: The same with all that is in it.
        key: What it is known by from one time to the next; `None` where there is nothing to know.
        is_http_sse: Whether the server is said to be of HTTP+SSE.
        auth: What authorizes its requests.
    """

    def __init__(  # noqa: PLR0913 - most are given for few kinds of targets
        self,
        open: Open,
        name: str,
        *,
        is_process: bool = False,
        open_older: Open | None = None,
        url: str | None = None,
        whole_url: str | None = None,
        key: str | None = None,
        is_http_sse: bool = False,
        auth: ClientAuthorizer | None = None,
    ) -> None:
        self.open = open
        self.name = name
        self.is_process = is_process
        self.open_older = open_older
        self.url = url
        self.whole_url = whole_url
        self.key = key or url
        self.is_http_sse = is_http_sse
        self.auth = auth
        self._limits: set[PausableTimeout] = set()
        self._holds = 0

    @asynccontextmanager
    async def limit(self, seconds: float) -> AsyncIterator[PausableTimeout]:
        """Limit the time to open a connection; it stands still while somebody logs in for that."""
        async with PausableTimeout(seconds) as limit:
            for _ in range(self._holds):
                limit.hold()
            self._limits.add(limit)
            try:
                yield limit
            finally:
                self._limits.discard(limit)

    def hold(self) -> None:
        """Stop counting."""
        self._holds += 1
        for limit in self._limits:
            limit.hold()

    def release(self) -> None:
        """Go on counting."""
        self._holds -= 1
        for limit in self._limits:
            limit.release()


def opener_for(  # noqa: PLR0913 - the options of `Client`, as they are
    target: Any,
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    on_stderr: OnStderr | None = None,
    max_message_bytes: int = DEFAULT_MAX_LINE_BYTES,
    headers: Headers | None = None,
    ssl: TLS | None = None,
    http_client: Any = None,
    auth: Any = None,
    client_name: str | None = None,
) -> Opener:
    """Return what opens connections to a target.

    Args:
        target: A `Server`; a command as a list; `StdioServerParameters`; the path of a Python
            file; a URL; `tcp://host:port` or `unix:path`; an entry of a configuration, or one
            with a single server, or the path of its JSON file; or a function that opens a
            `Connection`.
        env: Variables for a process, laid over a safe part of this process's environment.
        cwd: The folder a process starts in.
        on_stderr: Called with each line of a process's standard error.
        max_message_bytes: Longest message accepted.
        headers: What requests to a URL carry besides.
        ssl: What servers are trusted.
        http_client: What makes the requests to a URL.
        auth: How requests to a URL are authorized.
        client_name: What the client calls itself.

    Raises:
        ValueError: Nothing can be opened by that name, or the configuration makes no sense.
        OSError: The file of a configuration cannot be read.
        TypeError: It is none of these.
    """
    if _is_url(target):
        return _http_opener(target, headers, ssl, http_client, max_message_bytes, auth, client_name)
    entry = _entry_of(target)
    if entry is not None:
        target = entry.resolve()
        if not isinstance(target, StdioServerParameters):
            headers = _laid_over(target.headers, headers)
            auth = target.auth if auth is None else auth
            opener = _http_opener(
                target.url, headers, ssl, http_client, max_message_bytes, auth, client_name
            )
            opener.is_http_sse = target.is_http_sse
            return opener
    _check_not_given(headers=headers, ssl=ssl, http_client=http_client, auth=auth)
    server = _as_process(target)
    if server is not None:
        return _process_opener(server, env, cwd, on_stderr, max_message_bytes)
    if isinstance(target, str):
        return _socket_opener(target, max_message_bytes)
    if isinstance(target, Servable):
        return Opener(lambda: _serve_in_memory(target), "the server in this process")
    if callable(target):
        return Opener(cast("Open", target), "the connection")
    raise TypeError(
        f"a client cannot connect to {type(target).__name__}: give it a Server, a command as a "
        "list, StdioServerParameters, a URL, a tcp:// or unix: address, an entry of a "
        "configuration, or a function that opens a Connection"
    )


def _process_opener(
    server: StdioServerParameters,
    env: Mapping[str, str] | None,
    cwd: str | os.PathLike[str] | None,
    on_stderr: OnStderr | None,
    max_message_bytes: int,
) -> Opener:
    if env is not None:
        server = msgspec.structs.replace(server, env={**(server.env or {}), **env})
    if cwd is not None:
        server = msgspec.structs.replace(server, cwd=cwd)

    async def spawn() -> Connection:
        return await spawn_server(server, on_stderr=on_stderr, max_line_bytes=max_message_bytes)

    return Opener(spawn, f"the server `{server}`", is_process=True, key=_key_of(server))


def _key_of(server: StdioServerParameters) -> str:
    """Return what a command is known by: what may be secret in its arguments is not in it."""
    from hashlib import sha256  # noqa: PLC0415 - not every client starts a process

    what = msgspec.json.encode([server.command, list(server.args), str(server.cwd or "")])
    return f"stdio:{os.path.basename(server.command)}:{sha256(what).hexdigest()[:16]}"


def is_for_url(target: Any) -> bool:
    """Tell whether a target is reached by HTTP.

    Raises:
        ValueError: It is the entry of a configuration, and makes no sense.
        OSError: The file of a configuration cannot be read.
    """
    if _is_url(target):
        return True
    entry = _entry_of(target)
    return entry is not None and not isinstance(entry.resolve(), StdioServerParameters)


def is_authorized(target: Any) -> bool:
    """Tell whether a target says itself how requests to it are authorized.

    Raises:
        ValueError: It is the entry of a configuration, and makes no sense.
        OSError: The file of a configuration cannot be read.
    """
    entry = None if _is_url(target) else _entry_of(target)
    found = None if entry is None else entry.resolve()
    if found is None or isinstance(found, StdioServerParameters):
        return False
    return found.auth is not None or "authorization" in map(str.lower, found.headers)


def resolve_target(target: Any) -> StdioServerParameters | UrlServer | None:
    """Return which process or URL a target of a client stands for; `None` if it is neither.

    Raises:
        ValueError: There is no such file, or the configuration makes no sense.
        OSError: The file of a configuration cannot be read.
    """
    if _is_url(target):
        from wigwag.client.configuration import UrlServer  # noqa: PLC0415 - few use them

        return UrlServer(target, {}, is_http_sse=False)
    entry = _entry_of(target)
    return _as_process(target) if entry is None else entry.resolve()


def _is_url(target: Any) -> bool:
    return isinstance(target, str) and target.lower().startswith(("http://", "https://"))


def _entry_of(target: Any) -> ServerEntry | None:
    """Return the server of a configuration that a target is, if it is that."""
    if isinstance(target, str | os.PathLike):
        file = os.fspath(target)
        if not file.endswith(".json") or file.startswith(("tcp:", "unix:")):
            return None
    elif isinstance(target, StdioServerParameters | Sequence | Servable):
        return None
    from wigwag.client.configuration import entry_of  # noqa: PLC0415 - few use them

    return entry_of(target)


def _laid_over(base: Mapping[str, str], headers: Headers | None) -> Headers | None:
    """Return the headers of a configuration with those of the caller, which prevail."""

    def both(ours: Mapping[str, str]) -> dict[str, str]:
        given = {name.lower() for name in ours}
        return {**{name: base[name] for name in base if name.lower() not in given}, **ours}

    if headers is None:
        return base or None
    if not callable(headers):
        return both(headers)
    compute = headers

    async def computed() -> Mapping[str, str]:
        found = compute()
        return both(await found if isinstance(found, Awaitable) else found)

    return computed


def _check_not_given(**options: Any) -> None:
    for name, value in options.items():
        if value is not None:
            raise ValueError(f"`{name}` is for URLs, which begin with http:// or https://")


def _as_process(target: Any) -> StdioServerParameters | None:
    if isinstance(target, StdioServerParameters):
        return target
    if isinstance(target, str) and target.endswith(".py"):
        target = [sys.executable, _existing(target)]
    elif isinstance(target, os.PathLike):
        target = [sys.executable, _existing(os.fspath(target))]
    if isinstance(target, Sequence) and not isinstance(target, str | bytes):
        command = [os.fspath(part) for part in target]
        if not command:
            raise ValueError("an empty list is no command")
        return StdioServerParameters(command=command[0], args=command[1:])
    return None


def _existing(file: str) -> str:
    if os.path.isfile(file):
        return file
    hint = f"; a command is a list, as {file.split()!r}" if " " in file else ""
    raise ValueError(f"there is no file {file!r}{hint}")


def _socket_opener(address: str, max_message_bytes: int) -> Opener:
    from wigwag.transports.sockets import connect_tcp, connect_unix  # noqa: PLC0415

    parts = urlsplit(address)
    if parts.scheme == "tcp" and parts.hostname and parts.port:
        host, port = parts.hostname, parts.port

        async def open_tcp() -> Connection:
            return await connect_tcp(host, port, max_line_bytes=max_message_bytes)

        return Opener(open_tcp, f"the server at {address}")
    if parts.scheme == "unix" and (path := parts.netloc + parts.path):

        async def open_unix() -> Connection:
            return await connect_unix(path, max_line_bytes=max_message_bytes)

        return Opener(open_unix, f"the server at {address}")
    raise ValueError(
        f"{address!r} is no address: write a URL, tcp://host:port or unix:path; a command is a "
        f"list, for example {address.split()!r}"
    )


def _http_opener(
    url: str,
    headers: Headers | None,
    ssl: TLS | None,
    http_client: Any,
    max_message_bytes: int,
    auth: Any,
    client_name: str | None,
) -> Opener:
    from wigwag.transports.http_client_engine import (  # noqa: PLC0415
        HttpOptions,
        library_of,
        public_url,
    )

    try:
        has_host = bool(urlsplit(url).hostname) and urlsplit(url).port != 0
    except ValueError:  # a port that is none
        has_host = False
    if not has_host:
        raise ValueError(f"{url!r} is no URL: write https://host/path, with a port if need be")
    if http_client is not None and library_of(http_client) != "aiohttp" and ssl is not None:
        raise ValueError("`ssl` is for aiohttp: give it to your own client as `verify` instead")
    authorizer: ClientAuthorizer | None = None
    if auth is not None:
        from wigwag.client.authorization.choosing import authorizer_for  # noqa: PLC0415

        authorizer = authorizer_for(auth, url, headers=headers, ssl=ssl, client_name=client_name)
    opener = Opener(
        lambda: _open_http(url, options),
        f"the server at {public_url(url)}",
        open_older=lambda: _open_http_sse(url, options),
        url=public_url(url),
        whole_url=url,
        auth=authorizer,
    )
    options = HttpOptions(
        headers=headers,
        ssl=ssl,
        http_client=http_client,
        max_message_bytes=max_message_bytes,
        auth=authorizer,
        held=None if authorizer is None else opener,
    )
    return opener


async def _open_http(url: str, options: HttpOptions) -> Connection:
    from wigwag.transports.http_client import StreamableHttpConnection  # noqa: PLC0415
    from wigwag.transports.http_client_peer import open_peer  # noqa: PLC0415

    return StreamableHttpConnection(open_peer(url, options))


async def _open_http_sse(url: str, options: HttpOptions) -> Connection:
    from wigwag.transports.http_client_peer import open_peer  # noqa: PLC0415
    from wigwag.transports.http_client_sse import open_http_sse  # noqa: PLC0415

    return await open_http_sse(open_peer(url, options))


async def _serve_in_memory(server: Servable) -> Connection:
    from wigwag.transports.memory import memory_pair  # noqa: PLC0415

    ours, theirs = memory_pair()
    ours.ends_with(asyncio.get_running_loop().create_task(server.serve(theirs)))
    return ours
