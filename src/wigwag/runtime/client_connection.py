"""Pumps one connection of a client: calls to the protocol, answers to whoever waits."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from math import inf
from typing import Any, Final

import msgspec
from msgspec import Struct

from wigwag.errors import (
    ConnectionClosed,
    HttpStatusError,
    LocalProtocolError,
    RemoteProtocolError,
    RequestFailed,
    RequestTimedOut,
    SessionLost,
)
from wigwag.jsonrpc.codec import overlong_message
from wigwag.jsonrpc.codes import INTERNAL_ERROR, PARSE_ERROR
from wigwag.jsonrpc.inflight import OutgoingRequest
from wigwag.jsonrpc.messages import InvalidMessage, RequestId
from wigwag.protocol.client import ClientProtocol
from wigwag.protocol.events import (
    AnswerInvalid,
    Connected,
    ConnectFailed,
    ErrorReceived,
    Event,
    MessageIgnored,
    NotificationReceived,
    ProgressReceived,
    RequestCancelled,
    RequestExpired,
    RequestLost,
    RequestReceived,
    ResponseReceived,
)
from wigwag.protocol.peer import decode_error_data
from wigwag.runtime.callbacks import Callbacks
from wigwag.runtime.failures import describe_failure
from wigwag.runtime.wire_log import open_wire_log
from wigwag.schema import DiscoverResult, ProgressNotificationParams
from wigwag.transports.contract import Connection, ExchangeConnection, Received

_logger = logging.getLogger("wigwag.client")

OnProgress = Callable[[ProgressNotificationParams], object]
OnNotification = Callable[[NotificationReceived], object]
AnswerServer = Callable[[RequestReceived], Awaitable[Struct]]

# How much of a line that is no message is shown.
_EXCERPT_CHARACTERS: Final = 200


class _Waiter(Struct, eq=False):
    """Who waits for the answer to a request."""

    future: asyncio.Future[Any]
    on_progress: OnProgress | None = None


class ClientConnection:
    """A client's connection to one server, from its first message to its last.

    Args:
        connection: What carries the messages; it is started here.
        protocol: The client's end of the conversation.
        answer: Answers a request of the server; what it raises becomes the error response.
        on_notification: Called with each notification that belongs to no request.
        on_lost: Called with the reason when nothing can be asked any more, unless this side wanted
            it so.
        may_resume: Whether a stream of the connection that was cut is gone on with, if it can be.
        on_resumed: Called when one is, as `ExchangeReceiver.stream_resumed`.
    """

    def __init__(
        self,
        connection: Connection,
        protocol: ClientProtocol,
        *,
        answer: AnswerServer,
        on_notification: OnNotification,
        on_lost: Callable[[Exception], object] = lambda _: None,
        may_resume: bool = True,
        on_resumed: Callable[[str | None, str, bool], object] = lambda *_: None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._connection = connection
        self._exchanges = connection if isinstance(connection, ExchangeConnection) else None
        self._protocol = protocol
        protocol.closes_to_cancel = self._exchanges is not None
        self._answer = answer
        self._on_notification = on_notification
        self._on_lost = on_lost
        self._may_resume = may_resume
        self._on_resumed = on_resumed
        self._wire = open_wire_log("client")
        self._connected: asyncio.Future[Connected] = self._loop.create_future()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = inf
        self._is_flush_due = False
        self._waiting = 0
        self._idle: asyncio.Event | None = None  # where somebody wants to know of it
        self._tasks: dict[RequestReceived, asyncio.Task[None]] = {}
        self._callbacks = Callbacks()
        self._reason: Exception | None = None  # why the connection is of no more use
        self._closing: asyncio.Task[None] | None = None
        self._reactions: dict[type, Callable[[Any], None]] = {
            ErrorReceived: self._note_error,
            ProgressReceived: self._note_progress,
            NotificationReceived: lambda event: self._callbacks.call(self._on_notification, event),
            RequestReceived: self._note_request,
            RequestCancelled: self._note_cancelled,
            RequestExpired: self._note_expired,
            AnswerInvalid: lambda event: self._fail(
                event.request, RemoteProtocolError(event.reason)
            ),
            RequestLost: lambda event: self._fail(event.request, event.error),
            Connected: self._note_connected,
            ConnectFailed: lambda event: self._fail_all(event.error),
            MessageIgnored: self._note_ignored,
        }
        connection.start(self)

    @property
    def protocol(self) -> ClientProtocol:
        """The client's end of the conversation."""
        return self._protocol

    @property
    def is_open(self) -> bool:
        """Whether requests can still be sent."""
        return self._reason is None and not self._loop.is_closed()

    @property
    def exchanges(self) -> ExchangeConnection | None:
        """The connection, if each request has an exchange of its own on it, as over HTTP."""
        return self._exchanges

    @property
    def reason(self) -> Exception | None:
        """Why nothing can be sent any more."""
        return self._reason

    @property
    def has_lost_session(self) -> bool:
        """Whether nothing can be sent any more only because the server forgot the session."""
        return isinstance(self._reason, SessionLost)

    async def connect(
        self, *, skip_probe: bool = False, prior: DiscoverResult | None = None
    ) -> Connected:
        """Find out what the server speaks.

        Args:
            skip_probe: Greet it as a legacy server at once.
            prior: What it has said earlier: if that is of use, it is asked nothing.

        Raises:
            ConnectionClosed: The server has gone before it said so.
            RemoteProtocolError: There is no revision that both speak, or the server did not answer.
            RequestFailed: The server refused.
        """
        adopted = () if prior is None else self._protocol.adopt(prior)
        for event in adopted:
            self._note(event)
        if not adopted:
            self._protocol.connect(now=self._loop.time(), skip_probe=skip_probe)
        self._flush()
        self._arm(self._protocol.next_deadline())
        return await asyncio.shield(self._connected)

    async def request(
        self,
        method: str,
        params: Struct | None,
        *,
        idle_timeout: float = inf,
        ceiling: float = inf,
        meta: dict[str, Any] | None = None,
        on_progress: OnProgress | None = None,
        on_sent: Callable[[OutgoingRequest], None] | None = None,
    ) -> msgspec.Raw:
        """Send a request and wait for its result, which is returned undecoded.

        Cancelling the caller cancels the request.

        Raises:
            RequestFailed: The server answered with an error.
            RequestTimedOut: It did not answer in time; it was told to stop.
            ConnectionClosed: The connection ended first.
            LocalProtocolError: The server cannot be asked this; nothing was sent.
        """
        if self._reason is not None:
            raise self._fresh(self._reason)
        future: asyncio.Future[msgspec.Raw] = self._loop.create_future()
        request = self._protocol.send_request(
            method,
            params,
            now=self._loop.time(),
            idle_timeout=idle_timeout,
            ceiling=ceiling,
            meta=meta,
            token=_Waiter(future, on_progress),
        )
        if on_sent is not None:
            on_sent(request)
        if self._waiting:
            self._flush_soon()
        else:  # alone: nothing to gather
            self._flush()
        if request.deadline < self._timer_at:
            self._arm(request.deadline)
        self._waiting += 1
        try:
            return await future
        except asyncio.CancelledError:
            self._protocol.forget(request, "the caller gave up")
            self._abandon(request)
            self._flush_soon()
            raise
        finally:
            self._waiting -= 1
            if self._idle is not None and not self._waiting:
                self._idle.set()

    def notify(self, method: str, params: Mapping[str, Any] | Struct | None = None) -> None:
        """Send a notification.

        Raises:
            LocalProtocolError: The revision has no such notification from clients.
            ConnectionClosed: The connection has ended.
        """
        if self._reason is not None:
            raise self._fresh(self._reason)
        self._protocol.send_notification(method, params)
        self._flush_soon()

    async def drain(self) -> None:
        """Wait while the server does not read what it is sent."""
        self._flush()
        await self._connection.drain()

    # --- Receiver

    def messages_received(self, messages: Sequence[Received]) -> None:
        """Hand answers to whoever waits for them."""
        self._is_flush_due = True
        now = self._loop.time()
        receive = self._protocol.receive_message
        try:
            for data in messages:
                if type(data) is bytes:
                    if self._wire is not None:
                        self._wire.received(data)
                    events = receive(data, now=now)
                else:
                    events = self._receive_overlong(data.head, data.limit)  # type: ignore[union-attr]
                for event in events:
                    if type(event) is ResponseReceived:
                        future = event.request.token.future
                        if not future.done():
                            future.set_result(event.result)
                    else:
                        self._note(event)
        finally:
            self._flush()

    def end_of_input(self) -> None:
        """The server will say nothing more; `connection_lost` follows with the reason."""

    def connection_lost(self, reason: Exception | None) -> None:
        """Fail whoever waits."""
        self._fail_all(reason or ConnectionClosed("the client was closed"))
        if reason is not None:
            self._on_lost(reason)

    # --- ExchangeReceiver

    def is_waiting(self, request_id: RequestId) -> bool:
        """Tell whether the answer to a request is still to come."""
        return self._protocol.is_waiting(request_id)

    def request_failed(self, request_id: RequestId, error: Exception) -> None:
        """Fail one request, or find out from its failure what the server speaks."""
        if self._wire is not None and isinstance(error, HttpStatusError) and _is_message(error):
            self._wire.received(error.body.encode())
        now = self._loop.time()
        for event in self._protocol.receive_failure(request_id, error, now=now):
            self._note(event)
        self._flush()

    def request_held(self, request_id: RequestId) -> None:
        """Let no limit of the request count."""
        self._protocol.hold(request_id, now=self._loop.time())

    def request_released(self, request_id: RequestId) -> None:
        """Let its limits count again."""
        self._protocol.release(request_id, now=self._loop.time())
        deadline = self._protocol.next_deadline()
        if deadline is not None and deadline < self._timer_at:
            self._arm(deadline)

    def session_lost(self, reason: SessionLost) -> None:
        """Take no more requests; those in flight may still be answered."""
        if self._reason is None:
            self._reason = SessionLost(reason.reason)
            self._on_lost(self._reason)

    def may_resume(self) -> bool:
        """Tell whether streams are to be gone on with."""
        return self._may_resume

    def stream_resumed(self, method: str | None, reason: str, *, is_whole: bool) -> None:
        """Pass it on."""
        self._on_resumed(method, reason, is_whole)

    def _receive_overlong(self, head: bytes, limit: int) -> Sequence[Event]:
        invalid = overlong_message(head, limit)
        events = self._protocol.receive_invalid(invalid)
        if any(type(event) is AnswerInvalid for event in events):
            return events
        # Whose answer it was cannot be told, and that one would wait in vain.
        return [
            *events,
            *(AnswerInvalid(request, invalid.reason) for request in self._protocol.fail_all()),
        ]

    # --- events

    def _note(self, event: Event) -> None:
        react = self._reactions.get(type(event))
        if react is not None:
            react(event)

    def _note_error(self, event: ErrorReceived) -> None:
        error = event.error
        data = decode_error_data(error.data)
        self._fail(event.request, RequestFailed(error.code, error.message, data))

    def _note_expired(self, event: RequestExpired) -> None:
        method = event.request.method
        self._fail(event.request, RequestTimedOut(method, event.waited, event.limit))
        self._abandon(event.request)

    def _abandon(self, request: OutgoingRequest) -> None:
        if self._exchanges is not None:
            self._exchanges.abandon(request.id)

    def _note_connected(self, event: Connected) -> None:
        if self._exchanges is not None:
            self._exchanges.use_revision(event.revision)
        if not self._connected.done():
            self._connected.set_result(event)

    def _note_request(self, event: RequestReceived) -> None:
        task = self._loop.create_task(self._serve(event))
        self._tasks[event] = task
        task.add_done_callback(lambda _: self._tasks.pop(event, None))

    def _note_cancelled(self, event: RequestCancelled) -> None:
        task = self._tasks.get(event.request)
        if task is not None:
            task.cancel()

    def _note_progress(self, event: ProgressReceived) -> None:
        waiter = event.request.token
        if isinstance(waiter, _Waiter) and waiter.on_progress is not None:
            self._callbacks.call(waiter.on_progress, event.params)

    def _note_ignored(self, event: MessageIgnored) -> None:
        if event.invalid is None:
            _logger.debug("ignored %s", event.reason)
        else:
            _logger.warning("%s", describe_junk(event.invalid))

    async def _serve(self, request: RequestReceived) -> None:
        try:
            result = await self._answer(request)
            self._protocol.send_result(request, result)
        except Exception as error:  # noqa: BLE001 - every request is answered
            code, message, data = describe_failure(error, request.method, "client")
            if isinstance(error, LocalProtocolError):
                code, message = INTERNAL_ERROR, f"Internal error: {error}"
            self._protocol.send_error(request, code, message, data)
        self._flush_soon()

    def _fail(self, request: OutgoingRequest, error: Exception) -> None:
        waiter = request.token
        if isinstance(waiter, _Waiter) and not waiter.future.done():
            waiter.future.set_exception(error)

    def _fail_all(self, reason: Exception) -> None:
        if self._reason is None:
            self._reason = reason
        self._arm(None)
        for request in self._protocol.fail_all():
            self._fail(request, self._fresh(reason))
        for task in self._tasks.values():
            task.cancel()
        if not self._connected.done():
            self._connected.set_exception(reason)
            self._connected.exception()  # nobody may be waiting for it

    @staticmethod
    def _fresh(reason: Exception) -> Exception:
        """Return an exception that can be raised without growing another's traceback."""
        return copy.copy(reason) if isinstance(reason, ConnectionClosed) else reason

    # --- time

    def _arm(self, deadline: float | None) -> None:
        """See to it that `_check_deadlines` runs at the deadline."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timer_at = inf
        if deadline is not None and deadline != inf:
            self._timer_at = deadline
            self._timer = self._loop.call_at(deadline, self._check_deadlines)

    def _check_deadlines(self) -> None:
        # A timer may fire a little early; the deadline counts.
        now = max(self._loop.time(), self._timer_at)
        for event in self._protocol.handle_timeout(now):
            self._note(event)
        self._flush()
        self._arm(self._protocol.next_deadline())

    # --- what is sent

    def _flush_soon(self) -> None:
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
        self._connection.send(messages)

    # --- its end

    async def retire(self) -> None:
        """Close the connection when nobody waits for an answer any more."""
        while self._waiting:
            if self._idle is None:
                self._idle = asyncio.Event()
            self._idle.clear()
            await self._idle.wait()
        await self.aclose()

    async def aclose(self) -> None:
        """End the connection; whoever still waits fails. May be called twice, by anyone."""
        if self._loop.is_closed():  # with all of its tasks: there is nobody left to wait for
            with contextlib.suppress(RuntimeError):
                self._connection.abort()
            return
        if self._closing is None:
            self._closing = self._loop.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        self._fail_all(ConnectionClosed("the client was closed"))
        self._flush()
        await self._connection.aclose()


def _is_message(error: HttpStatusError) -> bool:
    return error.body.lstrip().startswith("{") and '"jsonrpc"' in error.body


def describe_junk(message: InvalidMessage) -> str:
    """Say what a server wrote that is no message, and what to do about it."""
    excerpt = message.data[:_EXCERPT_CHARACTERS].decode("utf-8", "replace")
    if message.code != PARSE_ERROR:
        return f"skipped a message of the server: {message.reason}: {excerpt!r}"
    return (
        f"skipped what the server sent, which is not JSON-RPC: {excerpt!r} "
        "(a stdio server must print to standard error only)"
    )
