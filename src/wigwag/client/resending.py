"""Requests that were lost, and are sent again where that does no harm.

A request whose answer is lost may have been carried out, so it is sent again only if asking twice
does no more than asking once. One that cannot have been carried out is sent again in any case.
Spec: basic/transports/streamable-http, schema#toolannotations
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Raw

from wigwag.client.events import Events
from wigwag.client.healing import Pauses, may_pass, retry_after, was_not_carried_out
from wigwag.client.known_tools import KnownTools
from wigwag.client.link import Link
from wigwag.errors import ConnectionClosed, RequestTimedOut, SessionLost, TransportError
from wigwag.jsonrpc.inflight import OutgoingRequest
from wigwag.runtime.client_connection import OnProgress
from wigwag.schema import (
    COMPLETION_COMPLETE,
    LOGGING_SET_LEVEL,
    PING,
    PROMPTS_GET,
    PROMPTS_LIST,
    RESOURCES_LIST,
    RESOURCES_READ,
    RESOURCES_SUBSCRIBE,
    RESOURCES_TEMPLATES_LIST,
    RESOURCES_UNSUBSCRIBE,
    SERVER_DISCOVER,
    TOOLS_CALL,
    TOOLS_LIST,
)

__all__ = ["LostRequest", "Resending"]

# A request that ends its connection each time is the reason for that.
MAX_SENDINGS: Final = 3
# Seconds before each further try: a server that is started anew gets about four in all, and is
# found soon after it is there.
DELAYS: Final = (0.0, 0.1, 0.2, 0.4, 0.8, 1.5, 1.5)
# A server that wants to be left alone for longer is better heard of.
MAX_RETRY_AFTER: Final = 10.0

# Asking these twice does no more than asking once, so a lost answer can be asked for again.
_REPEATABLE: Final = frozenset(
    {
        SERVER_DISCOVER,
        TOOLS_LIST,
        RESOURCES_LIST,
        RESOURCES_TEMPLATES_LIST,
        RESOURCES_READ,
        RESOURCES_SUBSCRIBE,
        RESOURCES_UNSUBSCRIBE,
        PROMPTS_LIST,
        PROMPTS_GET,
        COMPLETION_COMPLETE,
        LOGGING_SET_LEVEL,
        PING,
    }
)


class LostRequest:
    """A request that got no answer, with all that it takes to send it again.

    Args:
        method: Its method.
        params: What it takes.
        idle: Seconds to wait for an answer or a sign of life.
        ceiling: Seconds to wait in any case.
        meta: More members for `_meta`.
        on_progress: Called with each sign of progress.
        sent: As it was sent; `None` if there was no connection to send it on.
    """

    def __init__(
        self,
        method: str,
        params: Any,
        *,
        idle: float,
        ceiling: float,
        meta: dict[str, Any] | None,
        on_progress: OnProgress | None,
        sent: OutgoingRequest | None,
    ) -> None:
        self.method = method
        self.params = params
        self.idle = idle
        self.ceiling = ceiling
        self.meta = meta
        self.on_progress = on_progress
        self.sent = sent
        self.sendings = 0 if sent is None else 1
        # So often its connection ended before the answer, or its session was over.
        self._ended: Counter[type[Exception]] = Counter()
        self._delays: Iterator[float] = iter(DELAYS)
        now = asyncio.get_running_loop().time()
        self._limits = (now, now + ceiling, now + idle)
        self._keep_limits()

    def next_delay(self, error: TransportError) -> float | None:
        """Return how long to wait before it is sent again; `None` when it has been tried enough."""
        self._keep_limits()
        if isinstance(error, ConnectionClosed):
            self._ended[type(error)] += 1
            if self._ended[type(error)] >= MAX_SENDINGS:
                return None
        # A session can be opened anew at once: the server is there.
        delay = 0.0 if isinstance(error, SessionLost) else next(self._delays, None)
        wanted = retry_after(error)
        if delay is None or wanted > MAX_RETRY_AFTER:
            return None
        delay = max(delay, wanted)
        return None if asyncio.get_running_loop().time() + delay >= self.deadline else delay

    def note_sent(self, request: OutgoingRequest) -> None:
        """Let it wait no longer than it would have waited, had it not been lost."""
        self.sent = request
        self.sendings += 1
        request.sent_at, request.ceiling, request.deadline = self._limits

    @property
    def deadline(self) -> float:
        """When it has failed, unless there is a sign of life before."""
        return self._limits[2]

    @property
    def seconds_left(self) -> float:
        """How long it may still take."""
        return self.deadline - asyncio.get_running_loop().time()

    def extend(self, seconds: float) -> None:
        """Let it take so much longer: somebody had to log in."""
        sent_at, ceiling, deadline = self._limits
        self._limits = (sent_at + seconds, ceiling + seconds, deadline + seconds)

    def expired(self) -> RequestTimedOut:
        """Return what to raise when there is no answer by then."""
        waited = asyncio.get_running_loop().time() - self._limits[0]
        limit = f"{self.idle:g} s without a sign of life"
        return RequestTimedOut(self.method, waited, limit)

    def _keep_limits(self) -> None:
        if self.sent is not None:
            self._limits = (self.sent.sent_at, self.sent.ceiling, self.sent.deadline)


class Resending:
    """Sends lost requests of one client again.

    Args:
        link: What connects to the server.
        tools: What is known of its tools.
        events: Who is told.
        pauses: Where it is waited between two tries.
    """

    def __init__(self, link: Link, tools: KnownTools, events: Events, pauses: Pauses) -> None:
        self._link = link
        self._tools = tools
        self._events = events
        self._pauses = pauses

    async def send(self, lost: LostRequest, error: TransportError) -> Raw:
        """Send a lost request again, as long as that is of use and does no harm.

        Args:
            lost: The request.
            error: Why it was lost; raised if it is not sent again.
        """
        while True:
            delay = lost.next_delay(error) if self._may_send(lost, error) else None
            if delay is None:
                raise error
            await self._pauses.wait(delay)
            if not self._link.is_wanted:
                raise ConnectionClosed("the client was closed") from error
            lost.sent = None
            reason = error

            def note_sent(request: OutgoingRequest, reason: TransportError = reason) -> None:
                lost.note_sent(request)
                if lost.sendings > 1:
                    self._events.tell(
                        "request_resent", reason, method=lost.method, attempt=lost.sendings
                    )

            try:
                try:
                    live, held_for = await self._link.get_within(lost.seconds_left)
                    lost.extend(held_for)
                except TimeoutError:
                    raise lost.expired() from error
                return await live.request(
                    lost.method,
                    lost.params,
                    idle_timeout=lost.idle,
                    ceiling=lost.ceiling,
                    meta=lost.meta,
                    on_progress=lost.on_progress,
                    on_sent=note_sent,
                )
            except TransportError as again:
                error = again

    def _may_send(self, lost: LostRequest, error: TransportError) -> bool:
        link = self._link
        if not (link.healing.resend and link.is_wanted and link.may_be_used and may_pass(error)):
            return False
        if lost.sent is None or was_not_carried_out(error):
            return True
        return self._is_repeatable(lost.method, lost.params)

    def _is_repeatable(self, method: str, params: Any) -> bool:
        """Tell whether asking twice does no more than asking once."""
        if method == TOOLS_CALL:
            name = params.get("name", "") if isinstance(params, Mapping) else params.name
            return self._tools.is_repeatable(name)
        return method in _REPEATABLE
