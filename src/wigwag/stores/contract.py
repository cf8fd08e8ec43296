"""What is kept beyond a request, as interfaces that several processes can share.

A server over HTTP keeps `Stores`, a client a `CacheStore` and a `TokenStore`. To keep it somewhere
new, write classes with these methods. All that is kept is bytes and text, and every call may go
over a network. A server makes none for a modern request.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol


class StoreFull(Exception):
    """No more sessions can be kept; its text says what the limit is."""


class SessionStore(Protocol):
    """The sessions of the legacy revisions, by their ids.

    A session that is neither saved nor touched for its lifetime is forgotten.
    """

    async def create(self, session_id: str, record: bytes, lifetime: float) -> None:
        """Keep a new session.

        Args:
            session_id: Its id.
            record: What is known of it.
            lifetime: Seconds that it is kept without being used.

        Raises:
            StoreFull: There is no room.
        """
        ...

    async def load(self, session_id: str) -> bytes | None:
        """Return what is known of a session; `None` when there is none."""
        ...

    async def save(self, session_id: str, record: bytes, lifetime: float) -> bool:
        """Keep what has changed; returns whether there is such a session."""
        ...

    async def touch(self, session_id: str, lifetime: float) -> bytes | None:
        """Note that a session is in use, and return what is known of it.

        `None` when there is no such session. Another replica may have saved something meanwhile.
        """
        ...

    async def delete(self, session_id: str) -> bool:
        """Forget a session; returns whether there was one."""
        ...


class Replay(NamedTuple):
    """What a client has missed of a stream."""

    stream: str
    """Which stream it was."""
    events: Sequence[tuple[str, bytes]]
    """Ids and messages, the oldest first."""


class EventStore(Protocol):
    """The latest events of the streams of sessions, for clients that come back after a cut."""

    async def append(
        self, session_id: str, stream: str, messages: Sequence[bytes]
    ) -> Sequence[str]:
        """Keep events, and return their ids, which are unique among all streams of the session."""
        ...

    async def replay(self, session_id: str, last_event_id: str) -> Replay | None:
        """Return what came after an event on the same stream; `None` when that is not known."""
        ...

    async def forget(self, session_id: str) -> None:
        """Drop all events of a session."""
        ...


class ChangeBus(Protocol):
    """Carries news of changes to all replicas of a server, the sender included."""

    def publish(self, message: bytes) -> None:
        """Send a message; does not wait until it has arrived."""
        ...

    def subscribe(self, receive: Callable[[bytes], None]) -> Callable[[], None]:
        """Have each message handed over, on the event loop; returns what ends that."""
        ...


class ReplayStore(Protocol):
    """What can be used once, and has been: the proofs that come with tokens.

    It must not forget too early: what it has forgotten can be used again.
    """

    async def remember(self, key: str, lifetime: float) -> bool:
        """Remember something; returns whether it is new. Of two who ask at once, one is told so.

        Args:
            key: What tells it from all others.
            lifetime: Seconds after which it can no longer be used anyway.
        """
        ...


class Stores(NamedTuple):
    """All that a server keeps."""

    sessions: SessionStore
    events: EventStore
    changes: ChangeBus
    replays: ReplayStore | None = None
    """By default in the memory of the process; several processes need one that they share."""


class Kept(NamedTuple):
    """What a cache has found."""

    value: bytes
    age: float
    """Seconds since it was saved, as the store has measured them."""


class CacheStore(Protocol):
    """Answers that clients have got, for themselves and, if they share the store, for others.

    An answer has a group and a key; what becomes invalid together is a group. It may be forgotten
    at any time, and must be when its lifetime is over. If a call raises, the client does without
    the store for a while.
    """

    async def load(self, group: str, keys: Sequence[str]) -> Kept | None:
        """Return what is kept in a group under the first of these keys that has something."""
        ...

    async def save(self, group: str, key: str, value: bytes, lifetime: float) -> None:
        """Keep something, in place of what was there.

        Args:
            group: The group.
            key: The key in it.
            value: What to keep.
            lifetime: Seconds after which it must be forgotten.
        """
        ...

    async def delete(self, groups: Sequence[str], keys: Sequence[str] | None = None) -> None:
        """Forget what is kept in these groups: under these keys, or all of it."""
        ...


class TokenStore(Protocol):
    """What clients keep of their authorization: tokens, registrations, keys.

    All of it is secret, and nothing is ever forgotten by itself. Clients of several event loops,
    threads and processes may share it. A store that cannot be used raises `AuthorizationFailed`,
    which says what to do, and shows nothing of what is kept.
    """

    async def load(self, key: str) -> bytes | None:
        """Return what is kept under a key; `None` when there is nothing that can be read."""
        ...

    async def save(self, key: str, value: bytes | None) -> None:
        """Keep something in place of what was there, all of it or nothing.

        Args:
            key: The key; any text.
            value: What to keep; `None` to forget what is there.
        """
        ...

    def lock(self, name: str) -> AbstractAsyncContextManager[None]:
        """Return what lets one at a time in, of all tasks, threads and processes with this store.

        Whoever is inside must not enter again under the same name. Waiting can be cancelled, and a
        process that dies lets the next one in.
        """
        ...

    async def keys(self) -> Sequence[str]:
        """Return the keys under which something is kept, in any order."""
        ...
