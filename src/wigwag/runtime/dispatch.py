"""Runs the handlers of one conversation and hands their answers to the protocol."""

from __future__ import annotations

import asyncio
import logging
import sys
from abc import abstractmethod
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from math import inf
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Raw, Struct, UnsetType

from wigwag.errors import (
    ConnectionClosed,
    LocalProtocolError,
    RemoteProtocolError,
    RequestFailed,
    RequestTimedOut,
)
from wigwag.jsonrpc.codes import INTERNAL_ERROR
from wigwag.jsonrpc.inflight import OutgoingRequest
from wigwag.protocol.events import (
    AnswerInvalid,
    ErrorReceived,
    Event,
    MessageIgnored,
    NotificationReceived,
    RequestCancelled,
    RequestReceived,
    ResponseReceived,
)
from wigwag.protocol.peer import decode_error_data
from wigwag.protocol.server import Members, ServerProtocol
from wigwag.runtime.failures import describe_failure
from wigwag.runtime.tasks import start_task
from wigwag.runtime.wire_log import WireLog
from wigwag.schema import LoggingLevel

if TYPE_CHECKING:  # few servers need any of this
    from wigwag.runtime.permits import Permit
    from wigwag.runtime.progress_pace import ProgressPace
    from wigwag.transports.asgi import HttpRequest

_logger = logging.getLogger("wigwag.server")

# What is answered elsewhere, as a subscription is when it ends, comes out as `None`.
Outcome = Struct | Members | None
Handler = Callable[[RequestReceived, "Dispatch"], Outcome | Coroutine[Any, Any, Outcome]]
Hear = Callable[[NotificationReceived, "Dispatch"], None]


class Dispatch:  # no ABC: over HTTP there is one for each POST, and ABCs are slow to make
    """Serves the requests of one protocol object, wherever its messages come from and go to.

    Args:
        protocol: The server's end of the conversation.
        handlers: For each method what answers a request: with a result, with the members of one,
            encoded, or with a coroutine that returns either. What it raises becomes the error
            response.
        loop: The event loop that everything happens on.
        wire: Where messages are shown, if anybody wants to see them.
        max_calls: How many requests may be under way.
        hear: Called with each notification that says more than the protocol itself understands.
    """

    is_remote = False
    """Whether the client may be anybody, as over HTTP; elsewhere it has started the server."""

    def __init__(
        self,
        protocol: ServerProtocol,
        handlers: Mapping[str, Handler],
        loop: asyncio.AbstractEventLoop,
        wire: WireLog | None,
        max_calls: int = sys.maxsize,
        hear: Hear | None = None,
    ) -> None:
        self.protocol = protocol
        self._hear = hear
        self._max_calls = max_calls
        self._handlers = handlers
        self.loop = loop
        self._wire = wire
        self._tasks: dict[RequestReceived, asyncio.Task[Outcome]] = {}
        self._paces: dict[RequestReceived, ProgressPace] = {}
        self._is_flush_due = False

    def http_of(self, request: RequestReceived) -> HttpRequest | None:
        """Return the HTTP request that a request came by, if it came by one."""
        return None

    def permit_of(self, request: RequestReceived) -> Permit | None:
        """Return what is known of its sender, where somebody has made sure of that."""
        return None

    # --- for handlers

    def send_progress(
        self,
        request: RequestReceived,
        progress: float,
        total: float | UnsetType = UNSET,
        message: str | UnsetType = UNSET,
    ) -> None:
        """Report how far a request has come, if the client asked to be told.

        Of reports that come fast most are left out; the last one goes before the result.
        """
        if request.last_progress == -inf:  # the first one goes at once; often it is the only one
            self.protocol.send_progress(request, progress, total, message)
            if request.last_progress > -inf:
                self._flush_soon()
            return
        if not (request.last_progress < progress < inf and self.protocol.is_in_flight(request)):
            return
        now = self.loop.time()
        pace = self._paces.get(request)
        if pace is None:
            from wigwag.runtime.progress_pace import ProgressPace  # noqa: PLC0415 - see above

            pace = self._paces[request] = ProgressPace(now, spent=1)
        is_complete = total is not UNSET and request.last_progress < total <= progress
        if is_complete or pace.may_go(now):
            pace.held = None
            self.protocol.send_progress(request, progress, total, message)
            self._flush_soon()
            return
        from wigwag.runtime.progress_pace import Report  # noqa: PLC0415 - see above

        pace.hold(Report(progress, total, message))
        if pace.timer is None:
            pace.timer = self.loop.call_later(pace.wait(), self._send_held, request, pace)

    def _send_held(self, request: RequestReceived, pace: ProgressPace) -> None:
        pace.timer, held = None, pace.held
        if held is not None:
            pace.held = None
            pace.may_go(self.loop.time())
            self.protocol.send_progress(request, *held)
            self._flush_soon()

    def _end_progress(self, request: RequestReceived) -> None:
        """Send the report that is held back, as the result is about to be sent."""
        pace = self._paces.pop(request, None)
        if pace is None or pace.timer is None:
            return
        pace.timer.cancel()
        if pace.held is not None:
            self.protocol.send_progress(request, *pace.held)

    def send_about(self, request: RequestReceived, method: str, params: bytes | None) -> None:
        """Send a notification of the server's own about a request, if that is in flight."""
        if self.protocol.send_about(request, method, params):
            self._flush_soon()

    def send_log(
        self,
        request: RequestReceived,
        level: LoggingLevel,
        data: Any,
        logger: str | UnsetType = UNSET,
    ) -> None:
        """Send a log message about a request, if the client wants to hear it."""
        if self.protocol.send_log(request, level, data, logger):
            self._flush_soon()

    async def ask(self, method: str, params: Struct | None, *, timeout: float | None) -> Raw:  # noqa: ASYNC109
        """Ask the client of a legacy session for something, and wait for its answer.

        Returns:
            The result, undecoded.

        Raises:
            LocalProtocolError: It cannot be asked this; nothing was sent.
            RequestFailed: It answered with an error.
            RequestTimedOut: It did not answer in time; it was told to stop.
            ConnectionClosed: It has gone.
        """
        future: asyncio.Future[Raw] = self.loop.create_future()
        asked = self.protocol.send_request(method, params, now=self.loop.time())
        asked.token = future
        self._flush_soon()
        try:
            async with asyncio.timeout(timeout):
                return await future
        except TimeoutError:
            self.protocol.forget(asked, "timed out")
            self._flush_soon()
            waited = self.loop.time() - asked.sent_at
            why = f"{timeout:g} s without an answer"
            raise RequestTimedOut(method, waited, why) from None
        except asyncio.CancelledError:
            self.protocol.forget(asked, "the request it was asked for is no longer wanted")
            self._flush_soon()
            raise

    def close_stream(self, retry: float | None = None) -> bool:
        """Let an HTTP client of 2025-11-25 go while its request is served; it polls for the result.

        Args:
            retry: Seconds after which it should come back.

        Returns:
            Whether that was done; it is not where there is no such stream.
        """
        return False

    # --- what arrives

    def _receive(self, data: bytes) -> None:
        """Take one message and begin to serve what it asks for."""
        if self._wire is not None:
            self._wire.received(data)
        call = self.protocol.receive_call(data)
        if call is not None:  # as nearly all messages of a busy client are
            self._serve(call, is_held=False)
            return
        for event in self.protocol.receive_other(data, now=0.0):
            if type(event) is RequestReceived:
                self._serve(event)
            else:
                self._note(event)

    def _serve(self, request: RequestReceived, *, is_held: bool = True) -> None:
        """Let a request be answered; what is not held is a call, as `receive_call` returns it."""
        try:
            outcome = self._handlers[request.method](request, self)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - all are answered
            if not is_held:
                self.protocol.hold(request)
            self._fail(request, error)
            return
        if not is_held:
            if type(outcome) is tuple and outcome:
                self.protocol.answer_call(request, outcome)
                return
            self.protocol.hold(request)
        if type(outcome) is CoroutineType:
            self._run(request, outcome)
            return
        self._succeed(request, outcome)  # type: ignore[arg-type]

    def _run(self, request: RequestReceived, work: Coroutine[Any, Any, Outcome]) -> None:
        """Let a request be answered with what a coroutine returns."""
        task: asyncio.Task[Outcome] = start_task(work, self.loop)
        if task.done():  # and so, nearly always, its result is at hand
            if self._paces:
                self._end_progress(request)
            try:
                self.protocol.send_result(request, task.result())
            except BaseException:  # noqa: BLE001 - sorted out there
                self._finish(request, task)
        elif len(self._tasks) >= self._max_calls:
            self._refuse_one_too_many(request, task)
        else:
            request.served_by = self
            self._tasks[request] = task
            task.add_done_callback(partial(self._finish_later, request))

    def _refuse_one_too_many(self, request: RequestReceived, task: asyncio.Task[Outcome]) -> None:
        limit = self._max_calls
        self._end_progress(request)
        _logger.warning("refused %s: %s are under way (Limits.calls)", request.method, limit)
        reason = f"Internal error: {limit} requests are under way, and no more are allowed"
        self.protocol.send_error(request, INTERNAL_ERROR, reason)
        task.add_done_callback(lambda task: task.cancelled() or task.exception())
        task.cancel()

    def _finish_later(self, request: RequestReceived, task: asyncio.Task[Outcome]) -> None:
        self._tasks.pop(request, None)
        if self._paces:
            self._end_progress(request)
        self._finish(request, task)
        self._flush_soon()

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
            self.protocol.send_result(request, result)
        except LocalProtocolError as error:
            self.protocol.send_error(request, INTERNAL_ERROR, f"Internal error: {error}")
            _logger.error("the result of %s cannot be sent: %s", request.method, error)  # noqa: TRY400

    def _fail(self, request: RequestReceived, error: BaseException) -> None:
        if not self.protocol.is_in_flight(request):
            return
        code, message, data = describe_failure(error, _name_of(request))
        try:
            self.protocol.send_error(request, code, message, data)
        except LocalProtocolError as fault:
            self.protocol.send_error(request, code, message)
            _logger.error("the data of an error cannot be sent: %s", fault)  # noqa: TRY400

    def _note(self, event: Event) -> None:
        match event:
            case RequestCancelled(request=request):
                if request.served_by is not None:  # in a session it may be another one than this
                    request.served_by.cancel(request)
            case NotificationReceived():
                if self._hear is not None:
                    self._hear(event, self)
            case ResponseReceived(request=asked):
                settle(asked, event.result)
            case ErrorReceived(request=asked, error=error):
                data = decode_error_data(error.data)
                settle(asked, RequestFailed(error.code, error.message, data))
            case AnswerInvalid(request=asked):
                settle(asked, RemoteProtocolError(event.reason))
            case MessageIgnored():
                _logger.debug("ignored: %s", event.reason)

    def cancel(self, request: RequestReceived) -> None:
        """Stop the handler of a request that the client does not want an answer to any more."""
        task = self._tasks.get(request)
        if task is not None:
            task.cancel()

    # --- what is sent

    def _flush_soon(self) -> None:
        """Send once a turn of the event loop, however much is to be sent in it."""
        if not self._is_flush_due:
            self._is_flush_due = True
            self.loop.call_soon(self._flush)

    def _messages_to_send(self) -> list[bytes]:
        self._is_flush_due = False
        messages = self.protocol.messages_to_send()
        if self._wire is not None:
            for message in messages:
                self._wire.sent(message)
        return messages

    @abstractmethod
    def _flush(self) -> None:
        """Send what the protocol wants to have sent."""


def _name_of(request: RequestReceived) -> str:
    """Say what failed: the method, and the prompt or the resource that was meant."""
    meant = getattr(request.params, "name", None) or getattr(request.params, "uri", None)
    return f"{request.method} of {meant!r}" if isinstance(meant, str) else request.method


def settle(asked: OutgoingRequest, answer: Raw | Exception) -> None:
    """Hand the answer to a request of ours to whoever waits for it."""
    future = asked.token
    if future is None or future.done():
        return
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)


def fail_all(protocol: ServerProtocol, reason: str) -> None:
    """Let everybody fail who waits for an answer of a client that has gone."""
    for asked in protocol.fail_all():
        settle(asked, ConnectionClosed(reason))
