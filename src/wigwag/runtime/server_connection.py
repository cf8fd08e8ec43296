"""Pumps one connection of a server: bytes to the protocol, requests to handlers, answers back."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from wigwag.errors import TransportError
from wigwag.jsonrpc.codec import overlong_message
from wigwag.protocol.events import RequestReceived
from wigwag.protocol.server import ServerProtocol
from wigwag.protocol.subscriptions import Change
from wigwag.runtime.at_once import begin_turn, end_turn
from wigwag.runtime.dispatch import Dispatch, Handler, Hear, Outcome, fail_all
from wigwag.runtime.wire_log import open_wire_log

if TYPE_CHECKING:  # what is not needed to import a server
    from wigwag.transports.contract import Connection, Received

_logger = logging.getLogger("wigwag.server")

# After the end of input, what was asked before it may still be answered for as long as this.
DRAIN_TIMEOUT: Final = 0.5
# Changes that follow one another this closely are reported together.
CHANGES_DELAY: Final = 0.05
# A cancelled handler has this long to clean up before it is left behind.
CLEANUP_TIMEOUT: Final = 0.25


class ServerConnection(Dispatch):
    """One client's connection to a server.

    Args:
        connection: What carries the messages; it is started here.
        protocol: The server's end of the conversation.
        handlers: What answers requests, by method.
        max_calls: How many requests may be under way.
        hear: Called with each notification that says more than the protocol itself understands.
    """

    def __init__(
        self,
        connection: Connection,
        protocol: ServerProtocol,
        handlers: Mapping[str, Handler],
        *,
        max_calls: int = sys.maxsize,
        hear: Hear | None = None,
    ) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(protocol, handlers, loop, open_wire_log("server"), max_calls, hear)
        self._connection = connection
        self._input_ended = False
        self._changes: dict[Change, None] = {}  # to be reported soon, each once
        self._closing: asyncio.Task[None] | None = None
        self._closed = self.loop.create_future()
        connection.start(self)

    def publish(self, change: Change) -> None:
        """Tell the client of a change, if it wants to know; may be called in any thread."""
        if asyncio._get_running_loop() is self.loop:
            self._publish_soon(change)
        else:
            self.loop.call_soon_threadsafe(self._publish_soon, change)

    def _publish_soon(self, change: Change) -> None:
        if not self._changes:
            self.loop.call_later(CHANGES_DELAY, self._publish)
        self._changes[change] = None

    def _publish(self) -> None:
        changes, self._changes = self._changes, {}
        for change in changes:
            self.protocol.publish(change)
        self._flush()

    # --- Receiver

    def messages_received(self, messages: Sequence[Received]) -> None:
        """Serve what has arrived and write all that is ready at once."""
        if self._closing is not None:
            return
        # Whoever wants to flush meanwhile need not: it is done below.
        self._is_flush_due = True
        turn = begin_turn(self.loop) if len(messages) > 1 else None
        try:
            for data in messages:
                if type(data) is bytes:
                    self._receive(data)
                else:
                    invalid = overlong_message(data.head, data.limit)  # type: ignore[union-attr]
                    for event in self.protocol.receive_invalid(invalid):
                        self._note(event)
        finally:
            if turn is not None:
                end_turn(self.loop, turn)
            self._flush()

    def end_of_input(self) -> None:
        """Answer what was asked, for a moment, then close."""
        self._input_ended = True
        if not self._tasks:
            self._close_soon()
        else:
            self.loop.call_later(DRAIN_TIMEOUT, self._close_soon)

    def connection_lost(self, reason: Exception | None) -> None:
        """Stop what still runs: nobody hears its answer."""
        if reason is not None:
            _logger.debug("connection lost: %s", reason)
        self._close_soon()

    # --- its end

    def call_when_closed(self, callback: Callable[[ServerConnection], object]) -> None:
        """Call back once the connection has ended and its handlers have been stopped."""
        self._closed.add_done_callback(lambda _: callback(self))

    async def wait_closed(self) -> None:
        """Wait until the connection has ended and its handlers have been stopped."""
        await asyncio.shield(self._closed)

    async def aclose(self) -> None:
        """Stop the handlers, send what is ready and close. May be called twice, by anyone."""
        self._close_soon()
        await self.wait_closed()

    def _close_soon(self) -> None:
        if self._closing is None:
            self._closing = self.loop.create_task(self._close())

    async def _close(self) -> None:
        try:
            fail_all(self.protocol, "the client has gone")
            tasks = list(self._tasks.values())
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks, timeout=CLEANUP_TIMEOUT)
            self.protocol.end_subscriptions()
            self._flush()
            await self._connection.aclose()
        finally:
            self._closed.set_result(None)

    # --- requests

    def _finish_later(self, request: RequestReceived, task: asyncio.Task[Outcome]) -> None:
        super()._finish_later(request, task)
        if self._input_ended and not self._tasks:
            self._close_soon()

    def _fail(self, request: RequestReceived, error: BaseException) -> None:
        if self._closing is not None and isinstance(error, asyncio.CancelledError):
            return
        super()._fail(request, error)

    def _flush(self) -> None:
        messages = self._messages_to_send()
        if not messages:
            return
        try:
            self._connection.send(messages)
        except TransportError as error:
            _logger.debug("cannot send: %s", error)
