"""How the interaction tests connect a client to a server: each transport, each revision."""

import asyncio
import os
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import uvicorn
from msgspec import UNSET
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from tests.interaction.bazaar import bazaar
from wigwag import Client, Server, Timeouts
from wigwag.runtime.server_connection import ServerConnection
from wigwag.schema import (
    LATEST_LEGACY,
    LATEST_MODERN,
    REVISIONS,
    V2024_11_05,
    CallToolResult,
    TextContent,
)
from wigwag.transports.contract import Connection
from wigwag.transports.sockets import listen_tcp, listen_unix

PROGRAM = Path(__file__).with_name("bazaar.py")
PATIENCE = 60.0
"""Seconds for what happens at once on a machine that has nothing else to do."""
TIMEOUTS = Timeouts(request=PATIENCE, connect=PATIENCE, probe=PATIENCE)


class Way(NamedTuple):
    """A transport and the revision that is spoken over it."""

    transport: str
    revision: str

    def __str__(self) -> str:
        return f"{self.transport}-{self.revision}"


SOCKETS = ("unix", "tcp") if hasattr(socket, "AF_UNIX") and os.name == "posix" else ("tcp",)
# What a revision says does not depend on what carries it; a process takes long to start.
WAYS = [
    *(Way("memory", revision) for revision in REVISIONS),
    *(Way(SOCKETS[0], revision) for revision in (LATEST_LEGACY, LATEST_MODERN)),
    *(Way(transport, LATEST_LEGACY) for transport in SOCKETS[1:]),
    Way("stdio", LATEST_MODERN),
    Way("http", LATEST_LEGACY),
    Way("http", LATEST_MODERN),
    Way("sse", V2024_11_05),
]
ALL_WAYS = [
    Way(transport, revision)
    for transport in ("memory", *SOCKETS, "stdio", "http")
    for revision in REVISIONS
]

Connect = Callable[..., AbstractAsyncContextManager[Client]]


@asynccontextmanager
async def connected(
    way: Way, make: Callable[[], Server] = bazaar, program: Path = PROGRAM, **options: Any
) -> AsyncIterator[Client]:
    """Connect a client to the bazaar, or to another server, which also is a program."""
    options = {"mode": way.revision, "timeouts": TIMEOUTS, **options}
    if way.transport == "memory":
        async with Client(make(), **options) as client:
            yield client
    elif way.transport == "stdio":
        async with Client([sys.executable, str(program)], **options) as client:
            yield client
    elif way.transport in ("http", "sse"):
        async with (
            serving_http(make(), sse=True) as origin,
            Client(f"{origin}/{'mcp' if way.transport == 'http' else 'sse'}", **options) as client,
        ):
            yield client
    else:
        async with (
            listening(make(), way.transport) as address,
            Client(address, **options) as client,
        ):
            yield client


@asynccontextmanager
async def listening(server: Server, transport: str) -> AsyncIterator[str]:
    """Let a server listen on a socket, and return its address."""
    limit = server.max_message_bytes
    served: list[ServerConnection] = []

    def accept(connection: Connection) -> None:
        served.append(server.start(connection))

    async with server.running():
        with tempfile.TemporaryDirectory(prefix="wigwag-") as folder:
            if transport == "unix":
                path = os.path.join(folder, "socket")
                listener = await listen_unix(accept, path, max_line_bytes=limit)
                address = f"unix:{path}"
            else:
                listener = await listen_tcp(accept, "127.0.0.1", 0, max_line_bytes=limit)
                address = f"tcp://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
            try:
                yield address
            finally:
                listener.close()
                await asyncio.gather(*(connection.aclose() for connection in served))


@asynccontextmanager
async def serving_http(server: Server, **options: Any) -> AsyncIterator[str]:
    """Serve HTTP on a free port, by the parts of uvicorn that carry bytes; yields the origin."""
    app = server.http_app(host="127.0.0.1", **options)
    config = uvicorn.Config(app, http="httptools", ws="none", lifespan="off", log_config=None)
    config.load()
    state = ServerState()
    await app.start()
    loop = asyncio.get_running_loop()
    listener = await loop.create_server(
        lambda: HttpToolsProtocol(config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    try:
        yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    finally:
        listener.close()
        await app.aclose()
        for connection in list(state.connections):
            connection.shutdown()
        if state.tasks:
            await asyncio.wait(state.tasks, timeout=PATIENCE)
        await listener.wait_closed()


def connections_of(server: Server) -> list[ServerConnection]:
    """Return the connections that a server serves at the moment."""
    return [listener.__self__ for listener in server._listeners]  # type: ignore[attr-defined]


async def text_of(client: Client, tool: str, **arguments: Any) -> str:
    """Call a tool that succeeds, and return the one text that it returns."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.text
    (text,) = texts(result)
    return text


async def error_of(client: Client, tool: str, arguments: dict[str, Any] | None = None) -> str:
    """Call a tool that fails, and return the one text that the model is to read."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error is True, result.text
    assert structure(result) is None
    (text,) = texts(result)
    return text


def texts(result: CallToolResult) -> list[str]:
    """Return the texts of a result that has nothing else."""
    assert all(isinstance(block, TextContent) for block in result.content)
    return [block.text for block in result.content if isinstance(block, TextContent)]


def structure(result: CallToolResult) -> Any:
    """Return the structured content of a result; `None` where it has none."""
    value = result.structured_content
    return None if value is UNSET else msgspec.to_builtins(value)
