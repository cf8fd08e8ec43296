"""A recorded server that can be served, and connected to, as any other."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, BinaryIO, Final, Literal

from wigwag.bindings.lines import LineTooLong
from wigwag.jsonrpc.codec import encode_error
from wigwag.jsonrpc.codes import INVALID_REQUEST
from wigwag.tracing.player import Manner, Player, Said, Stage
from wigwag.tracing.records import Recording, read_recording
from wigwag.tracing.script import read_script

if TYPE_CHECKING:
    from wigwag.tracing.replay_http import ReplayApp
    from wigwag.transports.contract import Connection, Received

__all__ = ["ReplayServer"]

MAX_MESSAGE_BYTES: Final = 64 * 1024 * 1024


class ReplayServer:
    """A server that answers as a recorded one did: a stand-in for it in the tests of a host.

    Requests get the answers that were recorded for the same method and params, under their own
    ids, with the notifications, progress and questions to the client that came with them. Where
    several were recorded for the same request, they come in their order, and then the last of them
    again. What was not recorded is refused with an error that says what comes nearest.

    It is served as a `Server` is, by `run`, or given to a `Client` in the same process:
    `Client(ReplayServer("trace.jsonl"))`.

    Args:
        recording: What `wigwag trace` has recorded, or where it is.
        pace: How much of the recorded times is waited before each answer: 0 for none, 1 for all.
        faults: Whether what the server did wrong is done again: no answers, junk on its standard
            output, its crash. Otherwise what was never answered is refused at once.

    Raises:
        RecordingError: It is no recording.
        OSError: It cannot be read.
        ValueError: `pace` is negative.
    """

    def __init__(
        self,
        recording: Recording | str | os.PathLike[str] | BinaryIO,
        *,
        pace: float = 0.0,
        faults: bool = False,
    ) -> None:
        if pace < 0:
            raise ValueError(
                f"a pace of {pace:g} makes no sense: 0 waits for nothing, 1 as recorded"
            )
        if not isinstance(recording, Recording):
            recording = read_recording(recording)
        self._script = read_script(recording)
        self._manner = Manner(pace=pace, faults=faults)
        self._exit: Callable[[int], None] | None = None
        self.info = self._script.info
        """What the recorded server called itself."""
        self.max_message_bytes = MAX_MESSAGE_BYTES
        """Longest message accepted."""

    def run(
        self,
        transport: Literal["stdio", "http", "tcp", "unix"] = "stdio",
        *,
        host: str = "127.0.0.1",
        port: int = 8765,
        path: str | None = None,
        allowed_hosts: Sequence[str] | None = None,
        allowed_origins: Sequence[str] | None = None,
    ) -> None:
        """Serve until the host is gone or the process is told to stop; does not return before.

        Args:
            transport: `stdio`, `http`, `tcp`, or `unix`.
            host: The address to listen at.
            port: The port; 0 for any that is free.
            path: Of the endpoint, by default `/mcp`; or of the unix socket.
            allowed_hosts: As `Server.http_app` takes them.
            allowed_origins: As above.

        Raises:
            TransportError: It cannot listen there.
            ValueError: There is no such transport.
        """
        from wigwag.server import process  # noqa: PLC0415 - not everybody runs it

        if transport == "http":
            from wigwag.server.http_process import run_http  # noqa: PLC0415

            app = self.http_app(
                path or "/mcp",
                host=host,
                allowed_hosts=allowed_hosts,
                allowed_origins=allowed_origins,
            )
            run_http(app, self.info.name, host, port)
        elif transport == "stdio":
            self._exit = _leave_as
            process.run_stdio(self)
        else:
            process.run_sockets(self, transport, host, port, path)

    def http_app(
        self,
        path: str = "/mcp",
        *,
        host: str | None = None,
        allowed_hosts: Sequence[str] | None = None,
        allowed_origins: Sequence[str] | None = None,
    ) -> ReplayApp:
        """Return it as an ASGI application, for any ASGI server.

        Args:
            path: Of its endpoint.
            host: The address that it is bound to, if that is known.
            allowed_hosts: As `Server.http_app` takes them.
            allowed_origins: As above.
        """
        from wigwag.tracing.replay_http import ReplayApp  # noqa: PLC0415 - only over HTTP

        return ReplayApp(
            self._script,
            path=path,
            host=host,
            allowed_hosts=allowed_hosts,
            allowed_origins=allowed_origins,
            manner=self._manner,
        )

    async def serve(self, connection: Connection) -> None:
        """Serve one connection until it ends. Each begins the recording anew."""
        served = self.start(connection)
        try:
            await served.wait_closed()
        finally:
            await served.aclose()

    def start(self, connection: Connection, /) -> _Served:
        """Begin to serve a connection."""
        served = _Served(connection)
        served.player = Player(
            Stage(self._script), served.say, manner=self._manner, on_exit=self._exit or served.leave
        )
        connection.start(served)
        served.player.open()
        return served

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """There is nothing to open."""
        yield


class _Served:
    """A connection on which a script is played."""

    player: Player

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._closed = asyncio.Event()

    def say(self, said: Said) -> None:
        self._connection.send([said.data])

    def leave(self, _: int) -> None:
        """Drop the connection, as a server does that crashes."""
        self._connection.abort()
        self._closed.set()

    def messages_received(self, messages: Sequence[Received]) -> None:
        """Take messages of the client."""
        for message in messages:
            if isinstance(message, LineTooLong):
                reason = f"Invalid Request: the message is longer than {message.limit} bytes"
                self._connection.send([encode_error(None, INVALID_REQUEST, reason)])
            else:
                self.player.receive(message)

    def end_of_input(self) -> None:
        """The client has gone."""
        self._closed.set()

    def connection_lost(self, reason: Exception | None) -> None:
        """The client has gone."""
        self._closed.set()

    async def wait_closed(self) -> None:
        """Wait until the client has gone, and what it asked is answered, if that is soon."""
        await self._closed.wait()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.player.idle(), _LAST_WORDS)

    async def aclose(self) -> None:
        """Play nothing more, and close the connection."""
        await self.player.aclose()
        await self._connection.aclose()


def _leave_as(exit_code: int) -> None:
    """End this process as another has ended: with its code, or by the same signal."""
    if exit_code < 0:
        os.kill(os.getpid(), -exit_code)
    os._exit(exit_code)  # nothing is tidied up


# How long answers have after the end of the input.
_LAST_WORDS: Final = 0.5
