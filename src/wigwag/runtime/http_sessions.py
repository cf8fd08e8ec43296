"""The sessions of legacy clients over HTTP, as far as this process has to do with them.

What a session is sits in the session store, which other replicas may share. What is here is only
what hangs on open connections: requests in flight and streams.
Spec: 2025-11-25 basic/transports#session-management
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
from collections.abc import Callable
from typing import Final

import msgspec

from wigwag.errors import ConnectionClosed
from wigwag.protocol.peer import BothInFlight
from wigwag.protocol.server import Session
from wigwag.runtime.dispatch import settle
from wigwag.runtime.event_stream import EventStream, StreamLog
from wigwag.runtime.wire_log import WireLog
from wigwag.schema import V2025_11_25
from wigwag.stores.contract import Stores

_logger = logging.getLogger("wigwag.http")

_ID_BYTES: Final = 20  # nobody can guess them

# Streams are named so that no other process of a session has one of the same name.
_PREFIX: Final = os.urandom(4).hex()
_numbers = itertools.count()


class LiveSession:
    """A session that this process has heard of."""

    __slots__ = (
        "has_ended",
        "id",
        "in_flight",
        "kept",
        "last_used",
        "record",
        "saved",
        "standalone",
        "streams",
        "wire",
    )

    def __init__(self, session_id: str, record: Session, wire: WireLog | None) -> None:
        self.id = session_id
        self.record = record
        """What the handshake has settled; all requests of the session share it."""
        # An answer that reaches another process of the session must not fit a question of its own.
        # And it is to be exact where numbers are doubles.
        self.in_flight = BothInFlight(int.from_bytes(os.urandom(6)))
        self.streams: dict[str, EventStream] = {}
        """The streams of requests that are being served, by name."""
        self.standalone: EventStream | None = None
        """The stream for what belongs to no request, once the client has opened it."""
        self.saved = record.changes
        self.kept = b""
        """Its record as it is in the store, as far as is known here."""
        self.last_used = 0.0
        self.wire = wire
        self.has_ended = False

    def refresh(self, record: Session) -> None:
        """Take over what another replica has changed; all that goes on shares the record."""
        for name in record.__struct_fields__:
            setattr(self.record, name, getattr(record, name))
        self.saved = record.changes

    @property
    def is_changed(self) -> bool:
        """Whether something of its record is still to be kept."""
        return self.saved != self.record.changes

    @property
    def is_busy(self) -> bool:
        """Whether something goes on in it, other than waiting for a client that has gone."""
        in_flight = self.in_flight
        if not in_flight.incoming:
            return False
        return not in_flight.outgoing or any(each.is_attached for each in self.streams.values())

    def new_log(self, stores: Stores, retry: float) -> StreamLog:
        """Return a place in the event store for one more stream."""
        is_primed = self.record.revision == V2025_11_25
        name = f"{_PREFIX}{next(_numbers):x}"
        log = StreamLog(stores.events, self.id, name, is_primed=is_primed, retry=retry)
        if self.has_ended:
            log.close()
        return log

    def end(self, why: str) -> None:
        """Stop all that goes on in the session."""
        self.has_ended = True
        requests = list(self.in_flight.incoming.values())
        self.in_flight.incoming.clear()  # nothing is said about them any more
        for request in requests:
            if request.served_by is not None:
                request.served_by.cancel(request)
        for asked in self.in_flight.outgoing.clear():
            settle(asked, ConnectionClosed(why))
        for stream in [*self.streams.values(), self.standalone]:
            if stream is not None:
                if stream.log is not None:
                    stream.log.close()
                stream.end()


class HttpSessions:
    """The sessions of one endpoint.

    Args:
        stores: Where they are kept.
        lifetime: Seconds without use after which one is forgotten.
        open_wire: Opens a log for the messages of a session.
    """

    def __init__(
        self, stores: Stores, lifetime: float, open_wire: Callable[[], WireLog | None]
    ) -> None:
        self._stores = stores
        self._lifetime = lifetime
        self._open_wire = open_wire
        self._live: dict[str, LiveSession] = {}

    def __len__(self) -> int:
        """How many sessions this process has heard of and still knows."""
        return len(self._live)

    async def open(self, record: Session, now: float, wire: WireLog | None) -> LiveSession:
        """Begin a session.

        Raises:
            StoreFull: There are too many.
        """
        session_id = os.urandom(_ID_BYTES).hex()
        data = _encode(record)
        await self._stores.sessions.create(session_id, data, self._lifetime)
        live = self._live[session_id] = LiveSession(session_id, record, wire)
        live.kept = data
        live.last_used = now
        return live

    async def find(self, session_id: str, now: float, owner: str) -> LiveSession | None:
        """Return the session of an id and note that it is in use; `None` when it is not known.

        A session of another owner is not known either: whoever has learned an id has nothing of it.
        """
        data = await self._stores.sessions.touch(session_id, self._lifetime)
        live = self._live.get(session_id)
        if data is None:
            if live is not None:
                await self._drop(live, "the session has expired")
            return None
        if live is None:  # of another replica
            live = LiveSession(session_id, _decode(data), self._open_wire())
            live.kept = data
            self._live[session_id] = live
            live.last_used = now
        elif data != live.kept:  # another replica has changed it
            live.refresh(_decode(data))
            live.kept = data
        if live.record.owner != owner:
            _logger.warning("refused a request for a session that somebody else has opened")
            return None
        live.last_used = now
        return live

    async def save(self, live: LiveSession) -> None:
        """Keep what a request has changed of a session."""
        live.saved = live.record.changes
        live.kept = _encode(live.record)
        await self._stores.sessions.save(live.id, live.kept, self._lifetime)

    async def close(self, session_id: str) -> bool:
        """End a session, as its client wants; returns whether there was one."""
        existed = await self._stores.sessions.delete(session_id)
        live = self._live.get(session_id)
        if live is not None:
            await self._drop(live, "the client has ended its session")
        await self._stores.events.forget(session_id)
        return existed

    async def sweep(self, now: float) -> None:
        """Forget the sessions that were not used for their lifetime; an open stream is no use."""
        sessions = self._stores.sessions
        for live in list(self._live.values()):
            if live.is_busy:  # its lifetime counts from the end of the last request
                live.last_used = now
                if await sessions.touch(live.id, self._lifetime) is None:
                    await self._drop(live, "the session has ended")
            # Another replica may have used it since.
            elif live.last_used + self._lifetime < now and await sessions.load(live.id) is None:
                await sessions.delete(live.id)
                await self._drop(live, "the session has expired")

    async def forget_all(self, why: str) -> None:
        """End all that goes on in sessions; they stay in the store."""
        streams = [
            s for live in self._live.values() for s in (*live.streams.values(), live.standalone)
        ]
        for live in self._live.values():
            live.end(why)
        self._live.clear()
        await asyncio.gather(*(stream.finish() for stream in streams if stream is not None))

    async def _drop(self, live: LiveSession, why: str) -> None:
        self._live.pop(live.id, None)
        live.end(why)
        await self._stores.events.forget(live.id)


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Session).decode
