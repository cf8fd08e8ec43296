"""Pumps one connection of a server: bytes to the protocol, requests to handlers, answers back."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from types import CoroutineType
from typing import Any, Final

from msgspec import UNSET, Struct, UnsetType

from wigwag.errors import LocalProtocolError, TransportError
from wigwag.jsonrpc.codec import overlong_message
from wigwag.jsonrpc.codes import INTERNAL_ERROR
from wigwag.protocol.events import (
    Event,
    MessageIgnored,
    NotificationReceived,
    RequestCancelled,
    RequestReceived,
)
from wigwag.protocol.server import Members, ServerProtocol
from wigwag.protocol.subscriptions import Change
from wigwag.runtime.failures import describe_failure
from wigwag.runtime.wire_log import open_wire_log
from wigwag.schema import LoggingLevel
from wigwag.transports.contract import Connection, Received

_logger = logging.getLogger("wigwag.server")

# After the end of input, what was asked before it may still be answered for as long as this.
DRAIN_TIMEOUT: Final = 0.5
# Changes that follow one another this closely are reported together.
CHANGES_DELAY: Final = 0.05
# A cancelled handler has this long to clean up before it is left behind.
CLEANUP_TIMEOUT: Final = 0.25

Outcome = Struct | Members
Handler = Callable[[RequestReceived, "ServerConnection"], Outcome | Coroutine[Any, Any, Outcome]]

# An eager task runs up to its first suspension at once, and most handlers are done then.
_start_task: Callable[..., Any] = asyncio.Task
if sys.version_info >= (3, 12):
    _start_task = partial(asyncio.Task, eager_start=True)


class ServerConnection:
    """One client's connection to a server.

    Args:
        connection: What carries the messages; it is started here.
        protocol: The server's end of the conversation.
        handlers: For each method what answers a request: with a result, with the members of one,
            encoded, or with a coroutine that returns either. What it raises becomes the error
            response.
        on_notification: Called with each notification that has no meaning to the protocol itself.
    """

    def __init__(
        self,
        connection: Connection,
        protocol: ServerProtocol,
        handlers: Mapping[str, Handler],
        *,
        on_notification: Callable[[NotificationReceived], None] | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._connection = connection
        self._protocol = protocol
        self._handlers = handlers
        self._on_notification = on_notification
        self._tasks: dict[RequestReceived, asyncio.Task[Outcome]] = {}
        self._wire = open_wire_log("server")
        self._is_flush_due = False
        self._input_ended = False
        self._changes: dict[Change, None] = {}  # to be reported soon, each once
        self._closing: asyncio.Task[None] | None = None
        self._closed = self._loop.create_future()
        connection.start(self)

    @property
    def protocol(self) -> ServerProtocol:
        """The server's end of the conversation."""
        return self._protocol

    # --- for handlers

    def send_progress(
        self,
        request: RequestReceived,
        progress: float,
        total: float | UnsetType = UNSET,
        message: str | UnsetType = UNSET,
    ) -> None:
        """Report how far a request has come, if the client asked to be told."""
        self._protocol.send_progress(request, progress, total, message)
        self._flush_soon()

    def send_log(
        self,
        request: RequestReceived,
        level: LoggingLevel,
        data: Any,
        logger: str | UnsetType = UNSET,
    ) -> None:
        """Send a log message about a request, if the client wants to hear it."""
        if self._protocol.send_log(request, level, data, logger):
            self._flush_soon()

    def publish(self, change: Change) -> None:
        """Tell the client of a change, if it wants to know; may be called in any thread."""
        if asyncio._get_running_loop() is self._loop:
            self._publish_soon(change)
        else:
            self._loop.call_soon_threadsafe(self._publish_soon, change)

    def _publish_soon(self, change: Change) -> None:
        if not self._changes:
            self._loop.call_later(CHANGES_DELAY, self._publish)
        self._changes[change] = None

    def _publish(self) -> None:
        changes, self._changes = self._changes, {}
        for change in changes:
            self._protocol.publish(change)
        self._flush()

    # --- Receiver

    def messages_received(self, messages: Sequence[Received]) -> None:
        """Serve what has arrived and write all that is ready at once."""
        if self._closing is not None:
            return
        # Whoever wants to flush meanwhile need not: it is done below.
        self._is_flush_due = True
        receive = self._protocol.receive_message
        try:
            for data in messages:
                if type(data) is bytes:
                    if self._wire is not None:
                        self._wire.received(data)
                    events = receive(data, now=0.0)
                else:
                    invalid = overlong_message(data.head, data.limit)  # type: ignore[union-attr]
                    events = self._protocol.receive_invalid(invalid)
                for event in events:
                    if type(event) is RequestReceived:
                        self._serve(event)
                    else:
                        self._note(event)
        finally:
            self._flush()

    def end_of_input(self) -> None:
        """Answer what was asked, for a moment, then close."""
        self._input_ended = True
        if not self._tasks:
            self._close_soon()
        else:
            self._loop.call_later(DRAIN_TIMEOUT, self._close_soon)

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
            self._closing = self._loop.create_task(self._close())

    async def _close(self) -> None:
        try:
            tasks = list(self._tasks.values())
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks, timeout=CLEANUP_TIMEOUT)
            self._protocol.end_subscriptions()
            self._flush()
            await self._connection.aclose()
        finally:
            self._closed.set_result(None)

    # --- requests

    def _serve(self, request: RequestReceived) -> None:
        try:
            outcome = self._handlers[request.method](request, self)
        except Exception as error:  # noqa: BLE001 - every request is answered
            self._fail(request, error)
            return
        if type(outcome) is not CoroutineType:
            self._succeed(request, outcome)  # type: ignore[arg-type]
            return
        task: asyncio.Task[Outcome] = _start_task(outcome, loop=self._loop)
        if task.done():  # and so, nearly always, its result is at hand
            try:
                self._protocol.send_result(request, task.result())
            except BaseException:  # noqa: BLE001 - sorted out there
                self._finish(request, task)
        else:
            self._tasks[request] = task
            task.add_done_callback(partial(self._finish_later, request))

    def _finish_later(self, request: RequestReceived, task: asyncio.Task[Outcome]) -> None:
        self._tasks.pop(request, None)
        self._finish(request, task)
        self._flush_soon()
        if self._input_ended and not self._tasks:
            self._close_soon()

    def _finish(self, request: RequestReceived, task: asyncio.Task[Outcome]) -> None:
        try:
            result = task.result()
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - all are answered
            # Nothing is said about what the client cancelled; the protocol sees to that. But a
            # handler may also be cancelled from within.
            self._fail(request, error)
        else:
            self._succeed(request, result)

    def _succeed(self, request: RequestReceived, result: Outcome) -> None:
        try:
            self._protocol.send_result(request, result)
        except LocalProtocolError as error:
            self._protocol.send_error(request, INTERNAL_ERROR, f"Internal error: {error}")
            _logger.error("the result of %s cannot be sent: %s", request.method, error)  # noqa: TRY400

    def _fail(self, request: RequestReceived, error: BaseException) -> None:
        if not self._protocol.is_in_flight(request):
            return
        if self._closing is not None and isinstance(error, asyncio.CancelledError):
            return
        code, message, data = describe_failure(error, request.method)
        try:
            self._protocol.send_error(request, code, message, data)
        except LocalProtocolError as fault:
            self._protocol.send_error(request, code, message)
            _logger.error("the data of an error cannot be sent: %s", fault)  # noqa: TRY400

    def _note(self, event: Event) -> None:
        if type(event) is RequestCancelled:
            task = self._tasks.get(event.request)
            if task is not None:
                task.cancel()
        elif type(event) is NotificationReceived:
            if self._on_notification is not None:
                self._on_notification(event)
        elif type(event) is MessageIgnored:
            _logger.debug("ignored: %s", event.reason)

    # --- what is sent

    def _flush_soon(self) -> None:
        """Write once a turn of the event loop, however much is to be written in it."""
        if not self._is_flush_due:
            self._is_flush_due = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._is_flush_due = False
        messages = self._protocol.messages_to_send()
        if not messages:
            return
        if self._wire is not None:
            for message in messages:
                self._wire.sent(message)
        try:
            self._connection.send(messages)
        except TransportError as error:
            _logger.debug("cannot send: %s", error)
