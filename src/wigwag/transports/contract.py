"""What a connection is to the rest of the library, and what it calls back.

To carry messages over something new, write a class with the methods of `Connection` and hand an
object of it to `Client` or `Server.serve`. Everything happens on one event loop, in plain calls:
there are no streams to iterate and no tasks to own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from wigwag.bindings.lines import LineTooLong
from wigwag.errors import SessionLost
from wigwag.jsonrpc.messages import RequestId

if TYPE_CHECKING:  # only HTTP has them
    from wigwag.bindings.mirrored_parameters import MirroredParameter

Received = bytes | LineTooLong


class Receiver(Protocol):
    """The side that a connection delivers to."""

    def messages_received(self, messages: Sequence[Received]) -> None:
        """Take messages in the order in which they arrived; must not raise."""
        ...

    def end_of_input(self) -> None:
        """Learn that the peer will send nothing more. What is sent may still arrive."""
        ...

    def connection_lost(self, reason: Exception | None) -> None:
        """Learn that the connection is gone; called exactly once, and nothing follows it.

        `reason` is a `TransportError`, or `None` when this side closed the connection.
        """
        ...


class Connection(Protocol):
    """A channel that carries whole messages both ways, in order."""

    def start(self, receiver: Receiver) -> None:
        """Begin to deliver; called once, before anything is sent."""
        ...

    def send(self, messages: list[bytes]) -> None:
        """Send encoded messages. Never blocks; once the connection is gone it does nothing."""
        ...

    async def drain(self) -> None:
        """Wait until what was sent has left, or nearly so; returns when the connection is gone."""
        ...

    def abort(self) -> None:
        """Drop the connection at once, losing what has not left yet."""
        ...

    async def aclose(self) -> None:
        """Send what is left, end the connection and free what it holds. May be called twice.

        A peer that does not read must not hold it up for long.
        """
        ...


@runtime_checkable
class ExchangeReceiver(Receiver, Protocol):
    """The side that an `ExchangeConnection` delivers to."""

    def is_waiting(self, request_id: RequestId) -> bool:
        """Tell whether the request has not been answered and its answer is wanted."""
        ...

    def request_failed(self, request_id: RequestId, error: Exception) -> None:
        """Learn that the request will get no answer, an `McpError` says why.

        Requests that do not wait any more are no concern of it.
        """
        ...

    def request_held(self, request_id: RequestId) -> None:
        """Learn that the request waits to be authorized, perhaps by a person who is logging in."""
        ...

    def request_released(self, request_id: RequestId) -> None:
        """Learn that it does not wait for that any more."""
        ...

    def session_lost(self, reason: SessionLost) -> None:
        """Learn that nothing more can be asked here. What was asked may still be answered."""
        ...

    def may_resume(self) -> bool:
        """Tell whether a stream that has ended too early is to be asked for again."""
        ...

    def stream_resumed(self, method: str | None, reason: str, *, is_whole: bool) -> None:
        """Learn that a stream had ended, for a reason, and goes on.

        Args:
            method: Of the request whose stream it is; `None` for the stream of what the server
                says of its own accord.
            reason: Why it had ended.
            is_whole: Whether it goes on behind the last event, so that nothing was missed.
        """
        ...


@runtime_checkable
class ExchangeConnection(Connection, Protocol):
    """A connection of a client in which each request has an exchange of its own, as over HTTP.

    It needs an `ExchangeReceiver`.
    """

    def use_revision(self, revision: str) -> None:
        """Learn which revision the two sides have agreed on."""
        ...

    def abandon(self, request_id: RequestId) -> None:
        """End the exchange of a request that nobody waits for any more.

        That is how a modern server learns of it, instead of by a notification.
        """
        ...

    def mirror_parameters(self, tool: str, parameters: Sequence[MirroredParameter]) -> None:
        """Learn which arguments of calls to a tool are to be repeated outside of the message."""
        ...
