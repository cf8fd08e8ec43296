"""Keeps the state of a server in the memory of its process."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Final

from wigwag.stores.contract import Replay, StoreFull, Stores

DEFAULT_MAX_SESSIONS: Final = 10_000
# For each session. A client that comes back after more than that begins anew.
DEFAULT_MAX_EVENTS: Final = 256
DEFAULT_MAX_EVENT_BYTES: Final = 4 * 1024 * 1024
# For all sessions together; those that had no event for the longest time lose theirs first.
DEFAULT_MAX_TOTAL_BYTES: Final = 256 * 1024 * 1024


def memory_stores(
    *,
    max_sessions: int = DEFAULT_MAX_SESSIONS,
    max_events: int = DEFAULT_MAX_EVENTS,
    max_event_bytes: int = DEFAULT_MAX_EVENT_BYTES,
    max_total_event_bytes: int = DEFAULT_MAX_TOTAL_BYTES,
) -> Stores:
    """Return stores for a server that is one process.

    Args:
        max_sessions: How many sessions are kept.
        max_events: How many events of a session are kept for clients that come back.
        max_event_bytes: And how many bytes they have together; the latest one may have more.
        max_total_event_bytes: How many bytes the events of all sessions have.
    """
    events = MemoryEvents(max_events, max_event_bytes, max_total_event_bytes)
    return Stores(MemorySessions(max_sessions), events, MemoryBus())


class MemorySessions:
    """Sessions by their ids."""

    def __init__(self, max_sessions: int = DEFAULT_MAX_SESSIONS) -> None:
        self._max_sessions = max_sessions
        self._records: dict[str, tuple[bytes, float]] = {}  # with their ends

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._records)

    async def create(self, session_id: str, record: bytes, lifetime: float) -> None:
        """Keep a new session.

        Raises:
            StoreFull: There are as many as are allowed.
        """
        if len(self._records) >= self._max_sessions:
            self._forget_expired()
        if len(self._records) >= self._max_sessions:
            raise StoreFull(f"{self._max_sessions} sessions are open, and no more are allowed")
        self._records[session_id] = (record, monotonic() + lifetime)

    async def load(self, session_id: str) -> bytes | None:
        """Return what is known of a session; `None` when there is none."""
        kept = self._records.get(session_id)
        if kept is None or kept[1] < monotonic():
            return None
        return kept[0]

    async def save(self, session_id: str, record: bytes, lifetime: float) -> bool:
        """Keep what has changed; returns whether there is such a session."""
        if await self.touch(session_id, lifetime) is None:
            return False
        self._records[session_id] = (record, monotonic() + lifetime)
        return True

    async def touch(self, session_id: str, lifetime: float) -> bytes | None:
        """Note that a session is in use, and return what is known of it; `None` without one."""
        kept = self._records.get(session_id)
        if kept is None:
            return None
        now = monotonic()
        if kept[1] < now:
            del self._records[session_id]
            return None
        self._records[session_id] = (kept[0], now + lifetime)
        return kept[0]

    async def delete(self, session_id: str) -> bool:
        """Forget a session; returns whether there was one."""
        return self._records.pop(session_id, None) is not None

    def _forget_expired(self) -> None:
        # All of them are looked at, for their lifetimes may differ.
        now = monotonic()
        for session_id in [key for key, (_, end) in self._records.items() if end < now]:
            del self._records[session_id]


class _SessionEvents:
    """The latest events of one session, of all its streams."""

    __slots__ = ("bytes", "events", "last_number")

    def __init__(self) -> None:
        self.last_number = 0
        self.bytes = 0
        self.events: deque[tuple[int, str, bytes]] = deque()


class MemoryEvents:
    """The latest events of sessions. An id is `<number>-<stream>`."""

    def __init__(
        self,
        max_events: int = DEFAULT_MAX_EVENTS,
        max_bytes: int = DEFAULT_MAX_EVENT_BYTES,
        max_total_bytes: int = DEFAULT_MAX_TOTAL_BYTES,
    ) -> None:
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._max_total_bytes = max_total_bytes
        self._total_bytes = 0
        self._sessions: dict[str, _SessionEvents] = {}
        # Those with events, the one whose latest event is the oldest first.
        self._order: OrderedDict[str, _SessionEvents] = OrderedDict()

    async def append(self, session_id: str, stream: str, messages: Sequence[bytes]) -> list[str]:
        """Keep events, and return their ids."""
        kept = self._sessions.get(session_id)
        if kept is None:
            kept = self._sessions[session_id] = _SessionEvents()
        self._order[session_id] = kept
        self._order.move_to_end(session_id)
        number, size = kept.last_number, 0
        ids = []
        for message in messages:
            number += 1
            size += len(message)
            kept.events.append((number, stream, message))
            ids.append(f"{number}-{stream}")
        kept.last_number = number
        kept.bytes += size
        self._total_bytes += size
        while len(kept.events) > self._max_events or (
            kept.bytes > self._max_bytes and len(kept.events) > 1
        ):
            self._drop_first(kept)
        while self._total_bytes > self._max_total_bytes and len(self._order) > 1:
            oldest = next(iter(self._order))
            self._drop_all(self._order.pop(oldest))
        return ids

    def _drop_first(self, kept: _SessionEvents) -> None:
        size = len(kept.events.popleft()[2])
        kept.bytes -= size
        self._total_bytes -= size

    def _drop_all(self, kept: _SessionEvents) -> None:
        self._total_bytes -= kept.bytes
        kept.bytes = 0
        kept.events.clear()  # but its next number stays: no id is given out twice

    async def replay(self, session_id: str, last_event_id: str) -> Replay | None:
        """Return what came after an event on the same stream; `None` when that is not known."""
        kept = self._sessions.get(session_id)
        number, _, stream = last_event_id.partition("-")
        # Only ids that were given out have just these digits, and not more of them.
        if kept is None or not (number.isascii() and number.isdigit() and len(number) < 20):
            return None
        last = int(number)
        if all(event[0] != last or event[1] != stream for event in kept.events):
            return None  # never sent, or so long ago that what came after it may be gone as well
        missed = [
            (f"{each}-{stream}", message)
            for each, of, message in kept.events
            if of == stream and each > last
        ]
        return Replay(stream, missed)

    async def forget(self, session_id: str) -> None:
        """Drop all events of a session."""
        kept = self._sessions.pop(session_id, None)
        self._order.pop(session_id, None)
        if kept is not None:
            self._drop_all(kept)


class MemoryBus:
    """Hands changes to those who listen in this process."""

    def __init__(self) -> None:
        self._receivers: list[Callable[[bytes], None]] = []

    def publish(self, message: bytes) -> None:
        """Hand a message over."""
        for receive in list(self._receivers):
            receive(message)

    def subscribe(self, receive: Callable[[bytes], None]) -> Callable[[], None]:
        """Have each message handed over; returns what ends that."""
        self._receivers.append(receive)
        return lambda: self._receivers.remove(receive)
