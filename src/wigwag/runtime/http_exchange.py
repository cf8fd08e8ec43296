"""Serves one message that came by an HTTP POST, and answers it.

A request whose handler is quick is answered with one JSON body. When something must be said before
its result, or it takes long, the answer becomes a stream of events; so the status can still follow
from the outcome as long as possible.

Spec: basic/transports/streamable-http
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping
from sys import maxsize
from typing import Any, Final

from msgspec import UNSET, Raw, Struct, UnsetType

from wigwag.bindings.sse import encode_events
from wigwag.errors import LocalProtocolError
from wigwag.jsonrpc.codec import NOTIFICATION_HEAD
from wigwag.jsonrpc.codes import INTERNAL_ERROR, METHOD_NOT_FOUND
from wigwag.protocol.events import RequestReceived
from wigwag.protocol.server import ServerProtocol
from wigwag.protocol.subscriptions import Change
from wigwag.runtime.dispatch import Dispatch, Handler, Hear
from wigwag.runtime.event_stream import EventStream
from wigwag.runtime.http_sessions import LiveSession
from wigwag.runtime.permits import Permit, ScopesMissing, permit_in
from wigwag.runtime.tasks import start_task
from wigwag.runtime.wire_log import WireLog
from wigwag.schema import INITIALIZE, SUBSCRIPTIONS_LISTEN, LoggingLevel
from wigwag.stores.contract import Stores
from wigwag.transports.asgi import (
    Answer,
    Headers,
    HttpRequest,
    Receive,
    Scope,
    wait_until_gone,
)

# What begins something, which has to be counted.
_BEGINNING: Final = (INITIALIZE, SUBSCRIPTIONS_LISTEN)

# A complete stream of this many bytes arrives as a whole, or not at all, as JSON does: there
# is nothing that its client could come back for.
_WRITTEN_AT_ONCE: Final = 16 * 1024

_FORBIDDEN: Final = 403
_NOT_FOUND: Final = 404
_BAD_REQUEST: Final = 400
_ACCEPTED: Final = 202
_OK: Final = 200


class OpenCall:
    """Keeps a call of the ASGI server open while others write the answer.

    The task of the call waits for the client to go away. It needs no other task that would tell
    it that the answer is complete: it is woken by being cancelled, as by `asyncio.timeout`.
    """

    __slots__ = ("_is_over", "_is_waiting", "_task")

    def __init__(self) -> None:
        self._task = asyncio.current_task()
        self._is_over = False
        self._is_waiting = False

    async def wait(self, receive: Receive) -> bool:
        """Wait until the call is over; returns whether that is because the client went away."""
        if self._is_over:
            return False
        self._is_waiting = True
        try:
            await wait_until_gone(receive)
        except asyncio.CancelledError:
            # Somebody else may want to cancel the task as well.
            if not self._is_over or (self._task is not None and self._task.uncancel() > 0):
                raise
        finally:
            self._is_waiting = False
        return not self._is_over

    def is_over(self) -> None:
        """The answer is complete."""
        self._is_over = True
        if self._is_waiting and self._task is not None:
            self._is_waiting = False
            self._task.cancel()


class Surroundings:
    """What all exchanges of an endpoint share.

    Attributes:
        handlers: What answers requests, by method.
        stores: Where events are kept.
        retry: Seconds after which a client should come back for the rest of a stream.
        hear: Called with each notification that says more than the protocol itself understands.
        open: The exchanges whose handlers have not finished at once.
    """

    __slots__ = ("handlers", "hear", "loop", "open", "retry", "stores")

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        stores: Stores,
        loop: asyncio.AbstractEventLoop,
        retry: float,
        hear: Hear | None,
    ) -> None:
        self.handlers = handlers
        self.hear = hear
        self.stores = stores
        self.loop = loop
        self.retry = retry
        self.open: set[HttpExchange] = set()


class HttpExchange(Dispatch):
    """One POST and its answer.

    Args:
        around: What is shared.
        protocol: The server's end of the conversation, for this message.
        answer: The HTTP answer.
        scope: The HTTP request, as ASGI has it.
        session: The session, if it came in one.
        wire: Where messages are shown.
        accepts: Whether the client takes JSON, and whether it takes a stream.
    """

    is_remote = True

    # What most exchanges never come to set.
    _stream: EventStream | None = None
    _call: OpenCall | None = None
    _completing: asyncio.Task[None] | None = None
    _is_complete = False
    _has_waited = False
    _is_stopping = False
    _refusal: tuple[int, Headers] | None = None  # to somebody who lacks scopes

    def __init__(
        self,
        around: Surroundings,
        protocol: ServerProtocol,
        answer: Answer,
        scope: Scope,
        session: LiveSession | None,
        wire: WireLog | None,
        accepts: tuple[bool, bool],
    ) -> None:
        super().__init__(protocol, around.handlers, around.loop, wire, maxsize, around.hear)
        self._scope = scope
        self.session = session
        self._around = around
        self._answer = answer
        self._takes_json, self.takes_events = accepts
        """Whether the client takes a stream."""

    def http_of(self, request: RequestReceived) -> HttpRequest:
        """Return the HTTP request that the message came by."""
        return HttpRequest(self._scope)

    def permit_of(self, request: RequestReceived) -> Permit | None:
        """Return what is known of the sender of the message."""
        return self.permit

    @property
    def permit(self) -> Permit | None:
        """What is known of the sender of the message."""
        return permit_in(self._scope)

    def add_header(self, name: bytes, value: bytes) -> None:
        """Add a line to the head of the answer."""
        self._answer.add_header(name, value)

    # --- the way of a message

    def take(self, body: bytes) -> None:
        """Take the message; what can be done at once is done afterwards."""
        self._is_flush_due = True  # it is sent by `respond`
        self._receive(body)

    def respond(self, receive: Receive) -> Awaitable[None]:
        """Answer; it is awaited until the answer is complete, or the client has gone."""
        messages = self._messages_to_send()
        if not self.is_done:
            return self._respond_later(messages, receive)
        self._is_complete = True
        if not messages or self._is_whole(messages):
            return self._answer_whole(messages)
        return self._answer_with_events(messages)

    async def _respond_later(self, messages: list[bytes], receive: Receive) -> None:
        """Answer by and by, as handlers finish."""
        self._around.open.add(self)
        self._call = OpenCall()
        # In a session a client that gets events from the start can come back for the rest; in the
        # modern era a refusal can still have its status as long as there was none.
        if messages or not (self._takes_json or self.session is None):
            self._push(messages)
        try:
            if await self._call.wait(receive):
                self._lose_client()
                await self._answer.nobody()
        except asyncio.CancelledError:  # so a server or a framework may say that it has gone
            self._lose_client()
            raise

    @property
    def is_done(self) -> bool:
        """Whether all that it asks for has been done."""
        return not self._tasks and not self.protocol.is_listened_to

    async def settle(self) -> None:
        """Wait until it is known whether there is a session or a subscription now.

        That is at once, unless somebody looks on who may refuse it.
        """
        tasks = [task for each, task in self._tasks.items() if each.method in _BEGINNING]
        if tasks:
            await asyncio.wait(tasks)

    @property
    def wire(self) -> WireLog | None:
        """Where its messages are shown."""
        return self._wire

    @property
    def is_listening(self) -> bool:
        """Whether it is a subscription."""
        return self.protocol.is_listened_to

    def _is_whole(self, messages: list[bytes]) -> bool:
        """Tell whether this is the answer and nothing else, and may be sent as it is."""
        if not self.takes_events:
            return True
        # A refusal has a status, whatever the client takes.
        return (
            len(messages) == 1
            and (self._takes_json or self._status() != _OK)
            and not messages[0].startswith(NOTIFICATION_HEAD)
        )

    def _answer_whole(self, messages: list[bytes]) -> Awaitable[None]:
        if messages and self._refusal is not None:
            return self._answer.whole(self._refusal[0], messages[0], self._refusal[1])
        if messages:
            return self._answer.whole(self._status(), messages[0])
        return self._answer.whole(_ACCEPTED)

    def _answer_with_events(self, messages: list[bytes]) -> Awaitable[None]:
        if self.session is None or sum(map(len, messages)) <= _WRITTEN_AT_ONCE:
            return self._answer.whole_events(encode_events(messages))
        return self._answer_with_kept_events(messages, self.session)

    async def _answer_with_kept_events(self, messages: list[bytes], session: LiveSession) -> None:
        log = session.new_log(self._around.stores, self._around.retry)
        await self._answer.whole_events(await log.encode_whole(messages))

    def _status(self) -> int:
        """Return the status of a single answer. Spec: basic/transports/streamable-http."""
        if self._refusal is not None:
            return self._refusal[0]
        code = self.protocol.unserved
        if code is None:
            return _OK
        if code == METHOD_NOT_FOUND:
            return _NOT_FOUND if self.protocol.session is None else _OK
        return _BAD_REQUEST

    def _flush(self) -> None:
        messages = self._messages_to_send()
        is_done = self.is_done
        if self._is_complete or not (messages or is_done):
            return
        if is_done and self._stream is None and self._is_whole(messages):
            self._is_complete = True
            # Kept, for the event loop does not keep a task alive.
            self._completing = start_task(self._complete(messages), loop=self.loop)
        else:
            self._push(messages)

    async def _complete(self, messages: list[bytes]) -> None:
        try:
            await self._answer_whole(messages)
        finally:
            self._leave()

    def _push(self, messages: list[bytes]) -> None:
        """Send messages as events; the last of them ends the stream."""
        stream = self._stream or self._open_stream()
        if messages:
            stream.push(messages)
        if self.is_done:
            self._is_complete = True
            stream.end()

    def _open_stream(self) -> EventStream:
        session = self.session
        log = None
        if session is not None:
            log = session.new_log(self._around.stores, self._around.retry)
        self._stream = stream = EventStream(
            self._answer,
            self.loop,
            log=log,
            on_detached=self._lose_connection,
            on_end=self._leave,
        )
        if session is not None and log is not None:
            session.streams[log.stream] = stream
        if self._answer.is_gone:
            stream.detach()
        else:
            stream.open()
        return stream

    def report(self, changes: Iterable[Change]) -> None:
        """Tell a subscription of changes."""
        for change in changes:
            self.protocol.publish(change)
        self._flush()

    # --- its end

    def drop(self) -> None:
        """Stop its handlers; nothing is said about their requests any more."""
        self._is_complete = True
        for request in self._tasks:
            self.protocol.abandon(request)
        for task in list(self._tasks.values()):
            task.cancel()

    def _lose_connection(self) -> None:
        """The connection has ended; in a session the stream may go on with another."""
        if self._call is not None:
            self._call.is_over()
        if self.protocol.session is None and not self._is_complete:
            self.drop()
            self._leave()

    def _leave(self) -> None:
        self._around.open.discard(self)
        if self._call is not None:
            self._call.is_over()
        stream = self._stream
        if self.session is not None and stream is not None and stream.log is not None:
            self.session.streams.pop(stream.log.stream, None)

    def _lose_client(self) -> None:
        """The client went away; in the modern era that cancels, in a session it may come back."""
        self._answer.is_gone = True
        if self._stream is not None:
            self._stream.detach(self._answer)
        elif self.protocol.session is None:
            self.drop()
            self._leave()

    def _fail(self, request: RequestReceived, error: BaseException) -> None:
        if self._is_stopping and isinstance(error, asyncio.CancelledError):
            self.protocol.send_error(request, INTERNAL_ERROR, "Internal error: the server ends")
            return
        # The others of an array have been served; their answers are not to be made again.
        if isinstance(error, ScopesMissing) and request.reply_batch is None:
            permit = self.permit_of(request)
            self._refusal = (_FORBIDDEN, ()) if permit is None else permit.refuse(error.scopes)
        super()._fail(request, error)

    async def stop(self, timeout: float) -> None:  # noqa: ASYNC109
        """End it: a subscription at once, a handler when it has had some time to finish."""
        self._is_stopping = True
        self.protocol.end_subscriptions()
        self._flush()
        tasks = list(self._tasks.values())
        if tasks:
            await asyncio.wait(tasks, timeout=timeout)
        for task in tasks:
            task.cancel()
        if self._stream is not None:
            await asyncio.sleep(0)
            await self._stream.finish()

    def end_listening(self) -> None:
        """End a subscription in good order: its client may not listen any longer."""
        self.protocol.end_subscriptions()
        self._flush()

    def keep_alive(self) -> None:
        """See to it that nothing between here and the client takes the connection for dead."""
        if self._stream is not None:
            self._stream.keep_alive()
        elif self._has_waited and self.takes_events and not self._is_complete:
            self._open_stream()
        self._has_waited = True

    # --- for handlers

    def send_progress(
        self,
        request: RequestReceived,
        progress: float,
        total: float | UnsetType = UNSET,
        message: str | UnsetType = UNSET,
    ) -> None:
        """Report how far a request has come; see `Dispatch.send_progress`.

        To a client that takes nothing but JSON there is no way to say anything before the result.
        """
        if self.takes_events:
            super().send_progress(request, progress, total, message)

    def send_log(
        self,
        request: RequestReceived,
        level: LoggingLevel,
        data: Any,
        logger: str | UnsetType = UNSET,
    ) -> None:
        """Send a log message about a request; see `Dispatch.send_log` and `send_progress`."""
        if self.takes_events:
            super().send_log(request, level, data, logger)

    def send_about(self, request: RequestReceived, method: str, params: bytes | None) -> None:
        """Send a notification; see `Dispatch.send_about` and `send_progress`."""
        if self.takes_events:
            super().send_about(request, method, params)

    async def ask(self, method: str, params: Struct | None, *, timeout: float | None) -> Raw:  # noqa: ASYNC109
        """Ask the client; see `Dispatch.ask`.

        Raises:
            LocalProtocolError: It cannot be asked, as it takes no stream.
        """
        if not self.takes_events:
            raise LocalProtocolError(f"{method} needs a client that accepts text/event-stream")
        return await super().ask(method, params, timeout=timeout)

    def close_stream(self, retry: float | None = None) -> bool:
        """Let the client go; it comes back for the result. See `Dispatch.close_stream`."""
        if self.session is None or self._is_complete or not self.takes_events:
            return False
        stream = self._stream or self._open_stream()
        if stream.log is None or not stream.log.is_primed:
            return False  # it would not know how to come back
        stream.leave(retry)
        return True
