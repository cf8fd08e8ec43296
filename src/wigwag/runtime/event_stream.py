"""Writes a stream of server-sent events, and keeps what a client may have to be told again.

Theory of operation: messages are pushed at any time, from plain calls; one short-lived task at a
time writes what has gathered, so that an idle stream has no task. A stream of a legacy session is
also kept in the event store, and outlives its connection: a client that lost it, or was asked to
come back later, attaches a new answer and gets what it missed.

Spec: 2025-11-25 basic/transports#resumability-and-redelivery
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from math import inf
from typing import Any, Final

from wigwag.bindings.sse import encode_event, encode_events
from wigwag.runtime.permits import Permit
from wigwag.runtime.tasks import start_task
from wigwag.stores.contract import EventStore
from wigwag.transports.asgi import Answer

# More than this that a client does not read, and it is taken for gone.
MAX_UNREAD_BYTES: Final = 64 * 1024 * 1024

# When a server ends, a client that does not read holds it up for no longer than this.
FINISH_TIMEOUT: Final = 0.5

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

    __slots__ = ("_events", "_is_closed", "is_primed", "retry", "session_id", "stream")

    def __init__(
        self, events: EventStore, session_id: str, stream: str, *, is_primed: bool, retry: float
    ) -> None:
        self._events = events
        self._is_closed = False
        self.session_id = session_id
        self.stream = stream
        self.is_primed = is_primed
        self.retry = retry

    async def encode(self, messages: Sequence[bytes]) -> bytes:
        """Keep messages, and return the events that they are."""
        if self._is_closed:
            return encode_events(messages)
        ids = await self._events.append(self.session_id, self.stream, messages)
        return encode_replay(zip(ids, messages, strict=True))

    async def encode_whole(self, messages: Sequence[bytes]) -> bytes:
        """Keep all there is of a stream, and return its events, the first one with them."""
        if self._is_closed or not self.is_primed:
            return await self.encode(messages)
        ids = await self._events.append(self.session_id, self.stream, [b"", *messages])
        return self._first_event(ids[0]) + encode_replay(zip(ids[1:], messages, strict=True))

    async def prime(self) -> bytes:
        """Return the event that a stream begins with, empty when it begins with none."""
        if not self.is_primed or self._is_closed:
            return b""
        [event_id] = await self._events.append(self.session_id, self.stream, [b""])
        return self._first_event(event_id)

    def _first_event(self, event_id: str) -> bytes:
        return b"id: %b\nretry: %d\ndata: \n\n" % (event_id.encode(), round(self.retry * 1000))

    async def replay(self, last_event_id: str) -> bytes | None:
        """Return the events that came after one; `None` when that is not known."""
        replay = await self._events.replay(self.session_id, last_event_id)
        return None if replay is None else encode_replay(replay.events)

    def close(self) -> None:
        """Keep nothing more: the session has ended, and nobody would clear it away."""
        self._is_closed = True


class EventStream:
    """The stream of events of one request, or the standalone one of a session.

    Args:
        answer: The HTTP answer it is written to.
        loop: The event loop.
        log: Where its events are kept, if they are.
        on_detached: Called when that answer has ended or was given up.
        on_end: Called when the stream has ended, and all of it has been written or kept.
    """

    __slots__ = (
        "_answer",
        "_attaching",
        "_farewell",
        "_is_held",
        "_is_primed",
        "_is_sending",
        "_is_write_due",
        "_loop",
        "_missed",
        "_on_detached",
        "_on_end",
        "_pending",
        "_pending_bytes",
        "_writer",
        "has_ended",
        "log",
        "permit",
        "was_quiet",
    )

    def __init__(
        self,
        answer: Answer,
        loop: asyncio.AbstractEventLoop,
        *,
        log: StreamLog | None = None,
        on_detached: Callable[[], None],
        on_end: Callable[[], None] | None = None,
    ) -> None:
        self._answer: Answer | None = answer
        self._loop = loop
        self.log = log
        self._on_detached = on_detached
        self._on_end = on_end
        self._pending: list[bytes] = []  # messages, or comments
        self._pending_bytes = 0
        self._missed = b""  # events that a client that came back has to be told first
        self._writer: asyncio.Task[None] | None = None
        self._is_sending = False  # and all that is being sent has been kept
        self._is_primed = False
        self._is_write_due = False
        self._is_held = False  # while a client comes back
        self._attaching: asyncio.Lock | None = None
        self._farewell: bytes | None = None  # the connection is to end, though the stream goes on
        self.has_ended = False
        self.was_quiet = False
        self.permit: Permit | None = None
        """What is known of whoever reads it, where somebody has made sure of that."""

    @property
    def expires_at(self) -> float:
        """When whoever reads it may not any longer, in seconds since 1970."""
        return inf if self.permit is None else self.permit.expires_at

    @property
    def is_attached(self) -> bool:
        """Whether there is a connection that it is written to."""
        return self._answer is not None

    def open(self) -> None:
        """Send the head, though there is no message yet."""
        self._write_soon()

    def push(self, messages: Sequence[bytes]) -> None:
        """Send messages, and keep them."""
        self._pending += messages
        self._pending_bytes += sum(map(len, messages))
        if self._pending_bytes > MAX_UNREAD_BYTES and self._is_sending:
            self.detach()
        self._write_soon()

    def keep_alive(self) -> None:
        """Send a comment, if nothing has been sent since this was called before."""
        if not self.was_quiet:
            self.was_quiet = True
        elif not self._pending and self._answer is not None:
            self._pending.append(_COMMENT)
            self._write_soon()

    def end(self) -> None:
        """End the stream, once everything has been sent."""
        self.has_ended = True
        self._write_soon()

    def leave(self, retry: float | None = None) -> None:
        """End the connection, but not the stream: the client is to come back for the rest.

        Args:
            retry: Seconds after which, if it was not told before.
        """
        self._farewell = b"" if retry is None else b"retry: %d\n\n" % round(retry * 1000)
        self._write_soon()

    def detach(self, answer: Answer | None = None) -> None:
        """Learn that the client has gone, or does not read.

        Args:
            answer: The answer that was lost, if another may have taken its place meanwhile.
        """
        if answer is not None and answer is not self._answer:
            return
        if self._answer is not None:
            self._answer.is_gone = True
            self._answer = None
            self._on_detached()
        if self._is_sending and self._writer is not None:
            self._writer.cancel()

    async def attach(
        self, answer: Answer, last_event_id: str, on_detached: Callable[[], None]
    ) -> bool:
        """Go on with a client that has come back.

        Args:
            answer: Its answer.
            last_event_id: The last event that it got.
            on_detached: Called when this answer has ended or was given up.

        Returns:
            Whether that event is known; if not, everything stays as it is.
        """
        assert self.log is not None
        if self._attaching is None:
            self._attaching = asyncio.Lock()
        async with self._attaching:
            if await self.log.replay(last_event_id) is None:
                return False
            self._is_held = True
            self._hand_over()
            while self._writer is not None:
                await asyncio.wait([self._writer])
            # Something may have been written meanwhile; nothing is now.
            missed = await self.log.replay(last_event_id)
            self._is_held = False
            if missed is not None:
                self._missed, self._farewell, self._is_primed = missed, None, True
                self._answer, self._on_detached = answer, on_detached
            self._write_soon()
            return missed is not None

    async def written(self) -> None:
        """Wait until what was pushed has been handed over."""
        while self._writer is not None:
            await asyncio.wait([self._writer])

    async def finish(self, timeout: float = FINISH_TIMEOUT) -> None:  # noqa: ASYNC109
        """Wait until it has been written, but do not wait long for a client that does not read."""
        try:
            async with asyncio.timeout(timeout):
                await self.written()
        except TimeoutError:
            self.detach()

    # --- writing

    def _write_soon(self) -> None:
        self.was_quiet = False
        if self._writer is not None:
            self._is_write_due = True  # it may be past the point where it would notice
        elif not self._is_held:
            writer = start_task(self._write(), loop=self._loop)
            if not writer.done():
                self._writer = writer
                writer.add_done_callback(self._written)

    def _written(self, writer: asyncio.Task[None]) -> None:
        self._writer = None
        if self._is_write_due or writer.cancelled():
            self._is_write_due = False
            self._write_soon()

    async def _write(self) -> None:
        if self._answer is not None and not self._answer.is_begun:
            await self._sending(self._answer.begin_events())
        missed, self._missed = self._missed, b""
        await self._send(missed)
        if self.log is not None and not self._is_primed:
            self._is_primed = True
            await self._send(await self.log.prime())
        while self._pending and not self._is_held:
            await self._send(await self._encode(self._take()))
        if self._is_held:
            return
        if self._answer is not None and (self.has_ended or self._farewell is not None):
            await self._send(self._farewell or b"")
            if self._answer is not None:
                answer, self._answer = self._answer, None
                try:
                    await self._sending(answer.end())
                finally:
                    self._on_detached()
        if self.has_ended and self._on_end is not None:
            self._on_end()

    def _take(self) -> list[bytes]:
        pending, self._pending = self._pending, []
        self._pending_bytes = 0
        return pending

    async def _encode(self, pending: list[bytes]) -> bytes:
        messages = [each for each in pending if each is not _COMMENT]
        comment = _COMMENT if len(messages) < len(pending) else b""
        if not messages:
            return comment
        if self.log is not None:
            return comment + await self.log.encode(messages)
        return comment + encode_events(messages)

    async def _send(self, data: bytes) -> None:
        answer = self._answer
        if answer is not None and data:
            await self._sending(answer.more(data))
            if answer.is_gone and answer is self._answer:
                self.detach()

    async def _sending(self, writing: Coroutine[Any, Any, None]) -> None:
        self._is_sending = True
        try:
            await writing
        finally:
            self._is_sending = False

    def _hand_over(self) -> None:
        """Give up the connection there was; nobody may have noticed that it is dead."""
        answer = self._answer
        if answer is None or self._is_sending:
            self.detach()
            return
        self._answer = None
        ending = self._loop.create_task(_end(answer))
        on_detached = self._on_detached
        ending.add_done_callback(lambda _: on_detached())


async def _end(answer: Answer) -> None:
    if not answer.is_begun:
        await answer.begin_events()
    await answer.end()


def encode_replay(events: Iterable[tuple[str, bytes]]) -> bytes:
    """Encode events that have been kept."""
    return b"".join([encode_event(message, id=event_id) for event_id, message in events])
