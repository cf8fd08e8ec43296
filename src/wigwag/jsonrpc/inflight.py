"""Which requests of ours wait for an answer, and until when.

A request has two limits. The idle limit is re-armed by every sign of life (progress); the ceiling
never moves. Time is an argument: seconds on any clock that does not go back.
"""

from __future__ import annotations

from math import inf
from typing import Any

from wigwag.jsonrpc.messages import RequestId


class OutgoingRequest:
    """One request of ours that has not been answered yet.

    Attributes:
        id: The id it was sent under.
        method: Its method.
        sent_at: When it was sent.
        idle_timeout: Seconds without a sign of life after which it has failed; may be `inf`.
        ceiling: The time at which it has failed in any case; may be `inf`.
        deadline: The earlier of the two limits, as of now.
        token: Whatever the sender wants back with the answer.
    """

    __slots__ = ("ceiling", "deadline", "id", "idle_timeout", "method", "sent_at", "token")

    def __init__(
        self,
        request_id: RequestId,
        method: str,
        *,
        now: float,
        idle_timeout: float = inf,
        ceiling: float = inf,
        token: Any = None,
    ) -> None:
        self.id = request_id
        self.method = method
        self.sent_at = now
        self.idle_timeout = idle_timeout
        self.ceiling = now + ceiling
        self.deadline = min(now + idle_timeout, self.ceiling)
        self.token = token


class InFlight:
    """The table of `OutgoingRequest`s of one side of a connection.

    Args:
        before: The number before the first id; others where several processes ask in one session.
    """

    __slots__ = ("_held", "_last_id", "_requests")

    def __init__(self, before: int = 0) -> None:
        self._requests: dict[RequestId, OutgoingRequest] = {}
        self._held: dict[RequestId, float] = {}
        self._last_id = before

    def __len__(self) -> int:
        """How many requests wait for an answer."""
        return len(self._requests)

    @property
    def ended(self) -> int:
        """How many requests do not wait for an answer any more; it only grows."""
        return self._last_id - len(self._requests)

    def next_id(self) -> int:
        """Return an id that this side has never used."""
        self._last_id += 1
        return self._last_id

    def add(self, request: OutgoingRequest) -> None:
        """Remember a request that is being sent."""
        self._requests[request.id] = request

    def get(self, request_id: RequestId) -> OutgoingRequest | None:
        """Find a request that waits for an answer."""
        return self._requests.get(request_id)

    def pop(self, request_id: RequestId) -> OutgoingRequest | None:
        """Take a request out: it was answered, or nobody waits for it any more."""
        return self._requests.pop(request_id, None)

    def clear(self) -> list[OutgoingRequest]:
        """Take all requests out, oldest first."""
        requests = list(self._requests.values())
        self._requests.clear()
        return requests

    def hold(self, request_id: RequestId, now: float) -> None:
        """Let a request wait without limit: what holds it up is not the peer."""
        request = self._requests.get(request_id)
        if request is not None and request_id not in self._held:
            self._held[request_id] = now
            request.deadline = inf

    def release(self, request_id: RequestId, now: float) -> float:
        """Let its limits count again, as if no time had passed; return how much has."""
        since = self._held.pop(request_id, None)
        request = self._requests.get(request_id)
        if since is None or request is None:
            return 0.0
        request.sent_at += now - since
        request.ceiling += now - since
        self.touch(request, now)
        return now - since

    def touch(self, request: OutgoingRequest, now: float) -> None:
        """Note a sign of life from the peer: the idle limit starts anew."""
        if request.id not in self._held:
            request.deadline = min(now + request.idle_timeout, request.ceiling)

    def next_deadline(self) -> float | None:
        """Return when `expired` should be called next; `None` while nothing can expire."""
        earliest = min((request.deadline for request in self._requests.values()), default=inf)
        return None if earliest == inf else earliest

    def expired(self, now: float) -> list[OutgoingRequest]:
        """Take out the requests whose limit has been reached, oldest first."""
        late = [request for request in self._requests.values() if request.deadline <= now]
        for request in late:
            del self._requests[request.id]
        return late
