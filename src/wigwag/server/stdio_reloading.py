"""A stdio server that is started anew when its code changes, while its host stays connected."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from typing import Final

import msgspec

from wigwag.errors import McpError
from wigwag.jsonrpc.codec import encode_error, overlong_message
from wigwag.server.code_changes import CodeChanges
from wigwag.server.departure import Departure
from wigwag.server.kept_conversation import KeptConversation
from wigwag.server.loading import Code
from wigwag.server.process import first, run_stdio, run_until_told
from wigwag.transports.contract import Connection, Received
from wigwag.transports.stdio_client import StdioServerParameters, spawn_server
from wigwag.transports.stdio_server import Wire, open_stdio, take_standard_streams

__all__ = ["run_stdio_reloading", "serve_once"]

_PROGRAM: Final = "from wigwag.server.stdio_reloading import serve_once; serve_once()"
_RELOADED: Final = "the server was loaded again before it had answered: ask again"
_GONE: Final = "the server has ended, or its code cannot be loaded: its standard error says more"


def run_stdio_reloading(code: Code, wire: Wire, changes: CodeChanges) -> None:
    """Serve a host over the standard streams, by a process that is replaced on changes.

    What the host had begun with the last process the next one is told, and the host that lists may
    have changed. Requests under way are answered with an error.

    Args:
        code: What is served.
        wire: The standard streams.
        changes: Tells of changes.
    """
    departure = Departure()

    async def serve(started: asyncio.Event, stop: asyncio.Event) -> None:
        host = await open_stdio(wire, on_hang_up=departure.begin)
        relay = _Relay(host, code)
        host.start(relay)
        started.set()
        keeping = asyncio.ensure_future(relay.keep(changes))
        try:
            await first(asyncio.shield(keeping), relay.host_gone.wait(), stop.wait())
            if keeping.done():
                keeping.result()
        finally:
            keeping.cancel()
            await asyncio.wait([keeping])
            await relay.end()
            await host.aclose()

    run_until_told(serve, departure)


def serve_once() -> None:
    """Be the process that serves, until its code changes.

    Raises:
        SystemExit: Its code cannot be loaded; the text says why.
    """
    code = msgspec.json.decode(sys.argv[1], type=Code)
    wire = take_standard_streams()
    try:
        server = code.load()
    except (McpError, ValueError) as error:
        raise SystemExit(f"wigwag: {error}") from None
    run_stdio(server, wire)


class _Relay:
    """Carries messages between the host and the server there is at the moment."""

    def __init__(self, host: Connection, code: Code) -> None:
        self.host_gone = asyncio.Event()
        self._host = host
        self._code = code
        self._conversation = KeptConversation()
        self._server: Connection | None = None
        self._server_gone = asyncio.Event()
        # What the host says while a server is replaced; `None` when none is.
        self._held: list[Received] | None = []

    async def keep(self, changes: CodeChanges) -> None:
        """Have a server, and replace it on changes."""
        while True:
            await self._begin()
            paths = await changes.wait()
            _say(f"{', '.join(map(os.path.relpath, paths))} changed: loading again")
            self._held = []
            await self.end()
            self._host.send(self._conversation.server_has_ended(_RELOADED))

    async def end(self) -> None:
        """Let the server end what it does."""
        self._conversation.server_is_to_end()
        server, self._server = self._server, None
        if server is not None:
            await server.aclose()

    async def _begin(self) -> None:
        told = msgspec.json.encode(self._code).decode()
        command = StdioServerParameters(
            sys.executable, ["-P", "-c", _PROGRAM, told], dict(os.environ)
        )
        self._server = await spawn_server(command)
        self._server.start(_FromServer(self))
        self._server.send(self._conversation.server_has_begun())
        held, self._held = self._held or [], None
        self.messages_received(held)

    # --- from the host

    def messages_received(self, messages: Sequence[Received]) -> None:
        """Pass on what the host says."""
        if self._held is not None:
            self._held += messages
            return
        lines = [line for line in map(self._whole, messages) if line is not None]
        passed = [line for line in lines if self._conversation.host_says(line)]
        if self._server is None:
            self._host.send(self._conversation.server_has_ended(_GONE))
        else:
            self._server.send(passed)

    def end_of_input(self) -> None:
        """Learn that the host says no more."""
        self.host_gone.set()

    def connection_lost(self, reason: Exception | None) -> None:
        """Learn that the host is gone."""
        self.host_gone.set()

    def _whole(self, message: Received) -> bytes | None:
        """Return a message; refuse one that is too long."""
        if isinstance(message, bytes):
            return message
        refused = overlong_message(message.head, message.limit)
        if not refused.answers:
            self._host.send([encode_error(refused.id, refused.code, refused.reason)])
        return None

    # --- from the server

    def server_says(self, messages: Sequence[Received]) -> None:
        """Pass on what the server says."""
        lines = [
            line
            for message in messages
            if isinstance(message, bytes)
            for line in self._conversation.server_says(message)
        ]
        if lines:
            self._host.send(lines)

    def server_lost(self) -> None:
        """Learn that the server is gone."""
        if self._server is not None:  # nobody has ended it
            self._server = None
            self._host.send(self._conversation.server_has_ended(_GONE))
            _say("waiting for a change of the code")


class _FromServer:
    """What one server is heard by."""

    def __init__(self, relay: _Relay) -> None:
        self._relay = relay

    def messages_received(self, messages: Sequence[Received]) -> None:
        """Pass on what it says."""
        self._relay.server_says(messages)

    def end_of_input(self) -> None:
        """Learn that it says no more; it is gone in a moment."""

    def connection_lost(self, reason: Exception | None) -> None:
        """Learn that it is gone."""
        self._relay.server_lost()


def _say(text: str) -> None:
    print(f"wigwag: {text}", file=sys.stderr, flush=True)  # noqa: T201 - to whoever started it
