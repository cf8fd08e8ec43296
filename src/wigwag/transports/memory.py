"""Two connections in one process, each the other's peer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from wigwag.errors import ConnectionClosed
from wigwag.transports.contract import Receiver

__all__ = ["MemoryConnection", "memory_pair"]


# How long `aclose` waits for what serves the other end.
CLOSE_TIMEOUT = 2.0


class MemoryConnection:
    """One end of a pair made by `memory_pair`."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._peer: MemoryConnection
        self._receiver: Receiver | None = None
        self._early: list[bytes] | None = []  # what arrived before it was delivered; then `None`
        self._early_loss: list[Exception | None] = []
        self._is_ending = False  # the peer has ended its side
        self._ended = False  # and what it had sent before has arrived
        self._lost = False
        self._serving: asyncio.Task[None] | None = None  # what serves the other end

    def start(self, receiver: Receiver) -> None:
        """Begin to deliver what the peer sends, beginning with what it has sent already."""
        self._receiver = receiver
        self._loop.call_soon(self._deliver_early)

    def send(self, messages: list[bytes]) -> None:
        """Hand messages to the peer, on a later turn of the event loop."""
        if self._lost or not messages:
            return
        self._loop.call_soon(self._peer._deliver, messages)

    async def drain(self) -> None:
        """Let the peer run once."""
        await asyncio.sleep(0)

    def ends_with(self, task: asyncio.Task[None]) -> None:
        """Tie this end to what serves the other: its failure is the reason, its end is awaited."""
        self._serving = task
        task.add_done_callback(self._note_end_of_serving)

    def _note_end_of_serving(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._lose(ConnectionClosed(f"the server failed: {type(error).__name__}: {error}"))
        self.abort()

    def abort(self) -> None:
        """End both sides at once."""
        self._peer._end()
        self._lose(None)

    async def aclose(self) -> None:
        """End this side; the peer sees the end of its input, and has a moment to leave."""
        self.abort()
        if self._serving is not None and self._serving is not asyncio.current_task():
            await asyncio.wait({self._serving}, timeout=CLOSE_TIMEOUT)

    def _deliver_early(self) -> None:
        early, self._early = self._early, None
        if early:
            self._deliver(early)
        if self._ended:
            self._deliver_end()
        for reason in self._early_loss:
            self._receiver.connection_lost(reason)  # type: ignore[union-attr]  # it has started

    def _deliver(self, messages: Sequence[bytes]) -> None:
        if self._early is not None:
            self._early.extend(messages)
        elif self._receiver is not None and not self._lost:
            self._receiver.messages_received(messages)

    def _end(self) -> None:
        if not self._is_ending:
            self._is_ending = True
            self._loop.call_soon(self._deliver_end)

    def _deliver_end(self) -> None:
        self._ended = True
        if self._early is None and self._receiver is not None and not self._lost:
            self._receiver.end_of_input()
            self._lose(ConnectionClosed("the peer closed the connection"))

    def _lose(self, reason: Exception | None) -> None:
        if self._lost:
            return
        self._lost = True
        if self._early is not None:
            self._early_loss.append(reason)
        elif self._receiver is not None:
            self._receiver.connection_lost(reason)


def memory_pair() -> tuple[MemoryConnection, MemoryConnection]:
    """Return two connections; what one sends the other receives.

    Must be called while an event loop runs. Both ends belong to that loop.
    """
    one, other = MemoryConnection(), MemoryConnection()
    one._peer, other._peer = other, one
    return one, other
