"""Keeps the state of a server, and what a client has got, in the memory of the process."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from threading import Lock
from time import monotonic
from typing import Final, NamedTuple

from wigwag.stores.contract import Kept, Replay, StoreFull, Stores
from wigwag.stores.memory_replays import MemoryReplays

DEFAULT_MAX_SESSIONS: Final = 10_000
# For each session. A client that comes back after more than that begins anew.
DEFAULT_MAX_EVENTS: Final = 256
DEFAULT_MAX_EVENT_BYTES: Final = 4 * 1024 * 1024
# For all sessions together; those that had no event for the longest time lose theirs first.
DEFAULT_MAX_TOTAL_BYTES: Final = 256 * 1024 * 1024
DEFAULT_MAX_ANSWERS: Final = 1000
DEFAULT_MAX_ANSWER_BYTES: Final = 32 * 1024 * 1024


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
    return Stores(MemorySessions(max_sessions), events, MemoryBus(), MemoryReplays())


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


class _Answer(NamedTuple):
    value: bytes
    saved_at: float
    end: float


class MemoryCacheStore:
    """Answers of servers; those that nobody asked for the longest time go first.

    Clients may share it, also those of several event loops.

    Args:
        max_entries: How many are kept.
        max_bytes: And how many bytes they have together; a longer one is not kept at all.
        clock: Tells the time in seconds.
    """

    def __init__(
        self,
        max_entries: int = DEFAULT_MAX_ANSWERS,
        max_bytes: int = DEFAULT_MAX_ANSWER_BYTES,
        *,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._clock = clock
        self._lock = Lock()
        self._bytes = 0
        self._answers: OrderedDict[tuple[str, str], _Answer] = OrderedDict()
        self._keys: dict[str, set[str]] = {}  # of each group

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._answers)

    async def load(self, group: str, keys: Sequence[str]) -> Kept | None:
        """Return what is kept in a group under the first of these keys that has something."""
        with self._lock:
            now = self._clock()
            for key in keys:
                answer = self._answers.get((group, key))
                if answer is None:
                    continue
                if now < answer.end:
                    self._answers.move_to_end((group, key))
                    return Kept(answer.value, now - answer.saved_at)
                self._forget(group, key)
        return None

    async def save(self, group: str, key: str, value: bytes, lifetime: float) -> None:
        """Keep something, in place of what was there."""
        with self._lock:
            self._forget(group, key)
            if len(value) > self._max_bytes:
                return
            now = self._clock()
            self._answers[group, key] = _Answer(value, now, now + lifetime)
            self._keys.setdefault(group, set()).add(key)
            self._bytes += len(value)
            while len(self._answers) > self._max_entries or self._bytes > self._max_bytes:
                self._forget(*next(iter(self._answers)))

    async def delete(self, groups: Sequence[str], keys: Sequence[str] | None = None) -> None:
        """Forget what is kept in these groups: under these keys, or all of it."""
        with self._lock:
            for group in groups:
                for key in list(self._keys.get(group, ())) if keys is None else keys:
                    self._forget(group, key)

    def _forget(self, group: str, key: str) -> None:
        answer = self._answers.pop((group, key), None)
        if answer is None:
            return
        self._bytes -= len(answer.value)
        keys = self._keys[group]
        keys.discard(key)
        if not keys:
            del self._keys[group]
