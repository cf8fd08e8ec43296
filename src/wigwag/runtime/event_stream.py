"""Writes a stream of server-sent events, and keeps what a client may have to be told again.

Theory of operation: messages are pushed at any time, from plain calls; one short-lived task at a
time writes what has gathered, so that an idle stream has no task. A stream of a legacy session is
also kept in the event store, and outlives its connection: a client that lost it, or was asked to
come back later, attaches a new answer and gets what it missed.

Spec: 2025-11-25 basic/transports#resumability-and-redelivery
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from wigwag.bindings.sse import encode_event
from wigwag.runtime.dispatch import start_task
from wigwag.stores.contract import EventStore
from wigwag.transports.asgi import Answer

# More than this that a client does not read, and it is taken for gone.
MAX_UNREAD_BYTES: Final = 64 * 1024 * 1024

_COMMENT: Final = b": keep-alive\n\n"


class StreamLog:
    """The place of one stream in the event store.

    Args:
        events: The store.
        session_id: The session it belongs to.
        stream: Its name, unique in the session.
        is_primed: Whether its first event only tells an id, so that a client can come back even if
            it got nothing else. Clients of the older revisions may choke on that.
        retry: Seconds after which a client should come back.
    """

    __slots__ = ("_events", "is_primed", "retry", "session_id", "stream")

    def __init__(
        self, events: EventStore, session_id: str, stream: str, *, is_primed: bool, retry: float
    ) -> None:
        self._events = events
        self.session_id = session_id
        self.stream = stream
        self.is_primed = is_primed
        self.retry = retry

    async def encode(self, message: bytes) -> bytes:
        """Keep a message, and return the event that it is."""
        event_id = await self._events.append(self.session_id, self.stream, message)
        return encode_event(message, id=event_id)

    async def prime(self) -> bytes:
        """Return the event that a stream begins with, empty when it begins with none."""
        if not self.is_primed:
            return b""
        event_id = await self._events.append(self.session_id, self.stream, b"")
        return encode_event(b"", id=event_id, retry=round(self.retry * 1000))


class EventStream:
    """The stream of events of one request, or the standalone one of a session.

    Args:
        answer: The HTTP answer it is written to.
        loop: The event loop.
        log: Where its events are kept, if they are.
        on_end: Called when it has ended, or its connection has been given up.
    """

    def __init__(
        self,
        answer: Answer,
        loop: asyncio.AbstractEventLoop,
        *,
        log: StreamLog | None = None,
        on_end: Callable[[], None],
    ) -> None:
        self._answer: Answer | None = answer
        self._loop = loop
        self.log = log
        self._on_end = on_end
        self._pending: list[bytes] = []  # messages, or comments
        self._pending_bytes = 0
        self._writer: asyncio.Task[None] | None = None
        self._is_primed = False
        self._is_held = False  # while a client that came back is told what it missed
        self._is_leaving = False  # the connection is to end, though the stream goes on
        self.has_ended = False
        self.was_quiet = False

    @property
    def is_attached(self) -> bool:
        """Whether there is a connection that it is written to."""
        return self._answer is not None

    def call_at_end(self, on_end: Callable[[], None]) -> None:
        """Replace what is called when it has ended, or its connection has been given up."""
        self._on_end = on_end

    def open(self) -> None:
        """Send the head, though there is no message yet."""
        self._write_soon()

    def push(self, messages: Sequence[bytes]) -> None:
        """Send messages, and keep them."""
        self._pending += messages
        self._pending_bytes += sum(map(len, messages))
        if self._pending_bytes > MAX_UNREAD_BYTES and self._writer is not None:
            self.detach()
        self._write_soon()

    def keep_alive(self) -> None:
        """Send a comment, if nothing has been sent since this was called before."""
        if self.was_quiet and not self._pending and self._answer is not None:
            self._pending.append(_COMMENT)
            self._write_soon()
        self.was_quiet = True

    def end(self) -> None:
        """End the stream, once everything has been sent."""
        self.has_ended = True
        self._write_soon()

    def leave(self) -> None:
        """End the connection, but not the stream: the client is to come back for the rest."""
        self._is_leaving = True
        self._write_soon()

    def detach(self) -> None:
        """Learn that the client has gone."""
        if self._answer is not None:
            self._answer.is_gone = True
            self._answer = None
            self._on_end()

    async def attach(self, answer: Answer, last_event_id: str, events: EventStore) -> bool:
        """Go on with a client that has come back.

        Args:
            answer: Its answer.
            last_event_id: The last event that it got.
            events: Where they are kept.

        Returns:
            Whether that event is known.
        """
        assert self.log is not None
        self.detach()
        self._is_held = True
        if self._writer is not None:
            await asyncio.wait([self._writer])
        replay = await events.replay(self.log.session_id, last_event_id)
        if replay is None:
            self._is_held = False
            return False
        self._answer, self._is_leaving, self._is_primed = answer, False, True
        await write_replay(answer, replay.events)
        self._is_held = False
        self._write_soon()
        return True

    async def written(self) -> None:
        """Wait until what was pushed has been handed over."""
        while self._writer is not None:
            await asyncio.wait([self._writer])

    # --- writing

    def _write_soon(self) -> None:
        self.was_quiet = False
        if self._writer is None and not self._is_held:
            writer = start_task(self._write(), loop=self._loop)
            if not writer.done():
                self._writer = writer
                writer.add_done_callback(self._written)

    def _written(self, writer: asyncio.Task[None]) -> None:
        self._writer = None
        if self._pending:
            self._write_soon()

    async def _write(self) -> None:
        answer = self._answer
        if answer is not None and not answer.is_begun:
            await answer.begin_events()
        if self.log is not None and not self._is_primed:
            self._is_primed = True
            await self._send(await self.log.prime())
        while self._pending and not self._is_held:
            await self._send(b"".join([await self._encode(each) for each in self._take()]))
        if (self.has_ended or self._is_leaving) and not self._is_held:
            answer, self._answer = self._answer, None
            if answer is not None:
                await answer.end()
                self._on_end()

    def _take(self) -> list[bytes]:
        pending, self._pending = self._pending, []
        self._pending_bytes = 0
        return pending

    async def _encode(self, message: bytes) -> bytes:
        if message is _COMMENT:
            return message
        return encode_event(message) if self.log is None else await self.log.encode(message)

    async def _send(self, data: bytes) -> None:
        answer = self._answer
        if answer is not None and data:
            await answer.more(data)
            if answer.is_gone and answer is self._answer:
                self.detach()


async def write_replay(answer: Answer, events: Sequence[tuple[str, bytes]]) -> None:
    """Begin an answer with events that were sent before."""
    await answer.begin_events()
    data = b"".join([encode_event(message, id=event_id) for event_id, message in events])
    if data:
        await answer.more(data)
