"""The connection of a client to its server: opened, kept, and opened anew.

Spec: basic/versioning, 2025-11-25 basic/lifecycle
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Final, NamedTuple

from msgspec import Struct

from wigwag.client.eras import HTTP_SSE, LEGACY, MODERN, EraCache
from wigwag.client.healing import Healing
from wigwag.client.targets import Opener
from wigwag.errors import (
    AuthorizationFailed,
    ConnectionClosed,
    HttpStatusError,
    LocalProtocolError,
    McpError,
    RemoteProtocolError,
    RequestFailed,
    ServerStartFailed,
    ServerUnreachable,
)
from wigwag.protocol.client import (
    ClientDescription,
    ClientProtocol,
    is_of_another_era,
    may_be_http_sse,
)
from wigwag.protocol.events import Connected, NotificationReceived, RequestReceived
from wigwag.runtime.client_connection import ClientConnection
from wigwag.schema import MODERN_REVISIONS, DiscoverResult
from wigwag.transports.contract import Connection
from wigwag.transports.pausable_timeout import PausableTimeout

__all__ = ["Link", "Reactions", "Timeouts", "in_one_line"]


_logger = logging.getLogger("wigwag.client")

# So many malformed parts of one result are named in the log.
MAX_LOSSES_SHOWN: Final = 10

_NOT_CONNECTED: Final = "not connected: use `async with client:` or `connect()`"


class Timeouts(Struct, frozen=True, kw_only=True):
    """How long a client waits, in seconds.

    Attributes:
        request: For an answer, or for the next sign of progress; overridable for each request.
        ceiling: For an answer in any case, whatever the progress.
        connect: For the whole of connecting, the start of a process included.
        probe: For the answer to the question which era a server is of; who is silent counts as
            legacy. By default 3 s for a URL, and 5 s for anything else, which may be starting up.
    """

    request: float = 60.0
    ceiling: float = 1800.0
    connect: float = 60.0
    probe: float | None = None


class Reactions(NamedTuple):
    """What a client does when something happens on its connection.

    Attributes:
        answer: Answers what the server asks.
        on_notification: Called with each notification of the server that belongs to no request.
        on_lost: Called with the reason when a connection was lost.
        on_open: Called with each connection when it is ready, before anybody else may use it, and
            with the reason for which the one before was lost, if there was one.
        on_resumed: Called when a stream of a connection had ended and goes on, with its method, the
            reason, and whether nothing can have been missed.
    """

    answer: Callable[[RequestReceived], Awaitable[Struct]]
    on_notification: Callable[[NotificationReceived], object]
    on_lost: Callable[[Exception], object]
    on_open: Callable[[ClientConnection, Exception | None], Awaitable[None]]
    on_resumed: Callable[[str | None, str, bool], object]


class Link:
    """What connects a client to its server; there is one connection at a time, or none.

    Args:
        opener: Opens connections to the server.
        description: What the client says of itself.
        timeouts: How long it waits.
        eras: What is known of the eras of servers.
        prior: What the server has said of itself earlier, if that is to be relied on.
        is_lazy: Whether the first that needs a connection opens it.
        healing: What is done about connections that break.
        reactions: What is done when something happens on a connection.
    """

    def __init__(
        self,
        opener: Opener,
        description: ClientDescription,
        timeouts: Timeouts,
        *,
        eras: EraCache,
        prior: DiscoverResult | None,
        is_lazy: bool,
        healing: Healing,
        reactions: Reactions,
    ) -> None:
        self.name = opener.name
        """The server, in words for a person."""
        self.live: ClientConnection | None = None
        """The latest connection, which may have died; `None` before it is first opened."""
        self.connected: Connected | None = None
        """What the server last said of itself."""
        self.is_wanted = False
        """Whether there should be a connection: between `connect` and `close`."""
        self.is_on_trust = False
        """Whether all that is known of the server is from earlier, and nothing confirms it yet."""
        self.healing = healing
        self.is_process = opener.is_process
        """Whether the server is a process that is started for this."""
        self._opener = opener
        self._description = description
        self._timeouts = timeouts
        self._eras = eras
        self._prior = prior
        self._is_lazy = is_lazy
        self._reactions = reactions
        self._opening: asyncio.Task[ClientConnection] | None = None
        # What was last asked in vain while connecting, and the last lines of standard error.
        self._stalled: tuple[str | None, str] = (None, "")
        self._closing: ClientConnection | None = None
        self._retired: set[ClientConnection] = set()

    @property
    def is_open(self) -> bool:
        """Whether there is a connection, as far as is known."""
        return self.live is not None and self.live.is_open

    @property
    def known(self) -> Connected:
        """What the server said of itself.

        Raises:
            LocalProtocolError: It was never asked.
        """
        if self.connected is None:
            raise LocalProtocolError(_NOT_CONNECTED)
        return self.connected

    @property
    def is_modern(self) -> bool:
        """Whether the server is spoken to in a modern revision."""
        return self.known.revision in MODERN_REVISIONS

    @property
    def is_mirroring(self) -> bool:
        """Whether headers repeat what is in requests: with modern servers, over HTTP."""
        return self.live is not None and self.live.exchanges is not None and self.is_modern

    async def connect(self) -> None:
        """Open the connection, unless it is open."""
        self.want()
        await self.get(reopen=True)

    def want(self) -> None:
        """Let the connection be opened by the first that needs it."""
        self.is_wanted = True
        self._is_lazy = False

    async def close(self) -> None:
        """Close the connection. May be called twice, by any task."""
        self.is_wanted = self._is_lazy = False
        opening, live = self._opening, self.live
        self._opening = self.live = None
        for retired in list(self._retired):
            await retired.aclose()
        if opening is not None and not opening.done():
            opening.cancel()
            await asyncio.wait([opening])
        if live is not None:
            self._closing = live
        if self._closing is not None:  # also when another task has begun to close it
            await self._closing.aclose()

    async def acquaint(self) -> None:
        """Connect, unless it is known already what the server speaks."""
        if self.connected is None:
            await self.get()

    async def ask_anew(self) -> None:
        """Rely no more on what the server said earlier: it has shown that it is otherwise."""
        live = self.live
        if self.is_on_trust and live is not None:
            self._retire(live)
            self.live = None
        await self.get(reopen=True)

    async def get(self, *, reopen: bool = False) -> ClientConnection:
        """Return the open connection; open it anew if that is wanted."""
        live = self.live
        if live is not None and live.is_open:
            return live
        if not self.is_wanted:
            if not self._is_lazy:
                raise LocalProtocolError(_NOT_CONNECTED)
            self.want()
        if live is not None and not (reopen or self._may_reopen(live)):
            return live  # dead: it says why
        opening = self._opening
        if opening is None:
            opening = self._opening = asyncio.get_running_loop().create_task(self._open(live))
            opening.add_done_callback(self._opened)
        try:
            # Whoever is cancelled while waiting does not take the connection from the others.
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            waiting = asyncio.current_task()
            if opening.cancelled() and waiting is not None and not waiting.cancelling():
                raise ConnectionClosed("the client was closed") from None
            raise

    async def get_within(self, seconds: float) -> tuple[ClientConnection, float]:
        """Do as `get` does, for so long; what a user takes to log in does not count.

        Returns:
            The connection, and how many seconds that took.

        Raises:
            TimeoutError: The time is over.
        """
        async with self.limit(seconds) as limit:
            live = await self.get()
        return live, limit.held_for

    def limit(self, seconds: float) -> AbstractAsyncContextManager[PausableTimeout]:
        """Limit the time for something; what a user takes to log in meanwhile does not count."""
        return self._opener.limit(seconds)

    @property
    def is_acquainted(self) -> bool:
        """Whether the server has answered before, so that it may well do so again."""
        return self.connected is not None and not self.is_on_trust

    @property
    def may_be_used(self) -> bool:
        """Whether there is a connection, or one may be opened."""
        return self.live is None or self.live.is_open or self._may_reopen(self.live)

    def _may_reopen(self, dead: ClientConnection) -> bool:
        return self.healing.session if dead.has_lost_session else self.healing.restart

    def _opened(self, task: asyncio.Task[ClientConnection]) -> None:
        if self._opening is task:
            self._opening = None
        if not task.cancelled():
            task.exception()  # raised where it is waited for, if anywhere

    async def _open(self, dead: ClientConnection | None) -> ClientConnection:
        if dead is not None and dead.has_lost_session:
            self._retire(dead)
        elif dead is not None:
            await dead.aclose()
        if self.is_on_trust:  # it may have died of that
            self._prior, self.is_on_trust = None, False
        self._stalled = (None, "")
        try:
            async with self._opener.limit(self._timeouts.connect):
                live = await self._open_as(self._eras.get(self._opener.key or ""))
        except TimeoutError:
            raise self._not_ready() from None
        self.live = live
        await self._reactions.on_open(live, None if dead is None else dead.reason)
        return live

    def _not_ready(self) -> ServerStartFailed | ServerUnreachable:
        """Return what to raise when the time to connect is over."""
        method, stderr = self._stalled
        what = f"{self.name} was not ready within {self._timeouts.connect:g} s"
        if method is not None:
            what += f": no answer to {method}"
        if self._opener.url is None:
            return ServerStartFailed(what, stderr=stderr)
        return ServerUnreachable(what)

    def _retire(self, live: ClientConnection) -> None:
        """Let those who wait for answers have them, or learn that there will be none."""
        self._retired.add(live)
        task = asyncio.get_running_loop().create_task(live.retire())
        task.add_done_callback(lambda _: self._retired.discard(live))

    async def _open_as(self, era: str | None) -> ClientConnection:
        """Connect, as to a server of this era if that is known; find out if it proves wrong."""
        key = self._opener.key or ""
        try:
            if era == HTTP_SSE and self._opener.open_older is not None:
                live = await self._greet(await self._opener.open_older(), skip_probe=True)
            else:
                live, era = await self._find_out(skip_probe=era == LEGACY)
        except (HttpStatusError, RequestFailed, RemoteProtocolError) as error:
            says_nothing = isinstance(error, HttpStatusError) and not is_of_another_era(error)
            if era not in (LEGACY, HTTP_SSE) or says_nothing:
                raise
            self._eras.pop(key, None)
            return await self._open_as(None)
        self._eras[key] = era
        return live

    async def _find_out(self, *, skip_probe: bool) -> tuple[ClientConnection, str]:
        """Connect to a server of whatever era, and return which it is."""
        try:
            live = await self._greet(await self._opener.open(), skip_probe=skip_probe)
            return live, MODERN if live.protocol.is_modern else LEGACY
        except (HttpStatusError, RequestFailed) as error:
            if self._opener.open_older is None or not may_be_http_sse(error):
                raise
            refusal = error
        older: Connection | None = None
        try:
            older = await self._opener.open_older()
        except AuthorizationFailed:  # it says more than the refusal
            raise
        except McpError:  # it was but a guess
            pass
        if older is None:
            raise refusal
        return await self._greet(older, skip_probe=True), HTTP_SSE

    async def _greet(self, connection: Connection, *, skip_probe: bool) -> ClientConnection:
        """Find out what the server on a connection speaks."""
        probe_timeout = self._timeouts.probe
        if probe_timeout is None:
            probe_timeout = 5.0 if self._opener.url is None else 3.0
        protocol = ClientProtocol(
            self._description,
            probe_timeout=probe_timeout,
            connect_timeout=self._timeouts.connect,
        )
        live = ClientConnection(
            connection,
            protocol,
            answer=self._reactions.answer,
            on_notification=self._reactions.on_notification,
            on_lost=self._reactions.on_lost,
            may_resume=self.healing.resume,
            on_resumed=self._reactions.on_resumed,
        )
        try:
            prior = None if skip_probe else self._prior
            self.connected = await live.connect(skip_probe=skip_probe, prior=prior)
            self._warn_of_losses(self.connected.losses)
            self.is_on_trust = prior is not None and self.connected.discovered is prior
        except ConnectionClosed as error:
            await live.aclose()
            if protocol.may_die_of_probe and self._opener.is_process:
                # Some legacy servers die of a question they do not know.
                return await self._greet(await self._opener.open(), skip_probe=True)
            if self._opener.is_process:
                raise ServerStartFailed(
                    f"{error.reason} before it was ready",
                    exit_code=error.exit_code,
                    stderr=error.stderr,
                ) from None
            raise
        except BaseException:
            method = protocol.connecting_by
            await live.aclose()
            self._stalled = method, getattr(connection, "last_words", "")
            raise
        return live

    def _warn_of_losses(self, losses: list[str]) -> None:
        if losses:
            _logger.warning(
                "%s says of itself something malformed, which is left out: %s",
                self.name,
                in_one_line(losses),
            )


def in_one_line(losses: list[str]) -> str:
    """Name the first of the malformed parts of a result, for the log."""
    more = ["and more"] if losses[MAX_LOSSES_SHOWN:] else []
    return "; ".join([*losses[:MAX_LOSSES_SHOWN], *more])
