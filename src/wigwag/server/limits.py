"""Bounds on what a server takes and spends."""

from __future__ import annotations

from msgspec import Struct

from wigwag.bindings.lines import DEFAULT_MAX_LINE_BYTES
from wigwag.runtime.threads import DEFAULT_WORKER_THREADS


class Limits(Struct, frozen=True, kw_only=True):
    """Bounds on what a server takes from its clients and spends on them.

    Attributes:
        max_message_bytes: Longest message accepted. A longer one is refused, by its id if that
            can be read, and the conversation goes on.
        worker_threads: How many plain functions run at the same time; more wait their turn.
        subscriptions: How many resources a legacy session can subscribe to.
        sessions: How many sessions legacy clients can have open over HTTP.
        session_lifetime: Seconds without a request after which such a session is forgotten.
        streams: How many streams HTTP clients can have open to listen.
        calls: How many requests can be under way: of all clients over HTTP, of each elsewhere.
        events: How many events of a session are kept for a client that lost its connection.
        event_bytes: And how many bytes they have together.
        keep_alive: Seconds after which a silent stream gets a comment, so that no proxy cuts it.
        retry: Seconds after which a client that lost a stream is asked to come back.
        state_bytes: How long the state may become that a modern client carries between the rounds
            of a call: the answers so far, and what `Context.once` remembers.
        state_lifetime: Seconds for which such a state is good.
    """

    max_message_bytes: int = DEFAULT_MAX_LINE_BYTES
    worker_threads: int = DEFAULT_WORKER_THREADS
    subscriptions: int = 1000
    sessions: int = 10_000
    session_lifetime: float = 1800.0
    streams: int = 10_000
    calls: int = 10_000
    events: int = 256
    event_bytes: int = 4 * 1024 * 1024
    keep_alive: float = 15.0
    retry: float = 1.0
    state_bytes: int = 1_000_000
    state_lifetime: float = 900.0
