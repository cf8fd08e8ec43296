"""A client's connection over Streamable HTTP.

Theory of operation. Each message is a POST of its own, made by a task of its own. The response to
the POST of a request carries the answer, as JSON or as a stream of events with other messages
before it. In the legacy era the server may have given the session an id; there is a GET stream for
what it says of its own accord, and a stream that was cut is resumed from its last event. A modern
server remembers nothing: what was cut is lost, and closing a stream is how it learns that nobody
waits any more.

Spec: basic/transports/streamable-http, 2025-11-25 basic/transports#streamable-http
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

import msgspec

from wigwag.bindings.http_envelope import Envelope, read_envelope
from wigwag.bindings.http_headers import parameter_headers, request_headers
from wigwag.bindings.lines import LineTooLong
from wigwag.bindings.mirrored_parameters import MirroredParameter
from wigwag.errors import (
    ConnectionClosed,
    HttpStatusError,
    NotMcp,
    RemoteProtocolError,
    SessionLost,
    excerpt,
)
from wigwag.jsonrpc.codec import decode_message
from wigwag.jsonrpc.codes import METHOD_NOT_FOUND
from wigwag.jsonrpc.messages import ErrorResponse, RequestId
from wigwag.schema import (
    INITIALIZE,
    MODERN_REVISIONS,
    NOTIFICATIONS_INITIALIZED,
    V2024_11_05,
    V2025_03_26,
)
from wigwag.transports.contract import Received
from wigwag.transports.http_client_connection import HeldRequest, HttpConnection, wait_held
from wigwag.transports.http_client_engine import HttpResponse
from wigwag.transports.http_client_peer import HttpPeer
from wigwag.transports.http_client_stream import EventStream, is_event_stream
from wigwag.transports.pausable_timeout import PausableTimeout

__all__ = ["StreamableHttpConnection"]

_logger = logging.getLogger("wigwag.client")

# How long a server may take to accept what needs no answer.
_ACCEPT_TIMEOUT: Final = 10.0
# Nobody likes to wait for a program to end.
_CLOSE_TIMEOUT: Final = 1.0

_SESSION_ID: Final = "Mcp-Session-Id"
_POST_HEADERS: Final = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
}


class StreamableHttpConnection(HttpConnection):
    """A `Connection` in which every message is an HTTP request; nothing is sent to open it.

    Args:
        peer: What answers at the URL; it is closed with the connection.
    """

    def __init__(self, peer: HttpPeer) -> None:
        super().__init__(peer)
        self._exchanges: dict[RequestId, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()  # of what needs no answer
        self._greeting: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None
        self._own_stream: EventStream | None = None  # what the server says of its own accord
        self._mirrored: dict[str, Sequence[MirroredParameter]] = {}
        self._session_headers: dict[str, str] = {}
        self._lost: SessionLost | None = None
        self._modern: str | None = None  # the revision, if it is a modern one

    # --- Connection

    def send(self, messages: list[bytes]) -> None:
        """Post each of the messages."""
        if self._is_closed:
            return
        for message in messages:
            envelope = read_envelope(message)
            if envelope.request_id is None:
                self._tell(envelope, message)
                continue
            if envelope.method == INITIALIZE:
                self._forget()
            exchange = _start(self._loop, self._exchange(envelope, message))
            if not exchange.done():
                self._exchanges[envelope.request_id] = exchange

    async def drain(self) -> None:
        """Wait until the server has accepted what needs no answer."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def aclose(self) -> None:
        """Send what is left, end all exchanges and the session."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._listening is not None:
            self._listening.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_CLOSE_TIMEOUT)
        if ended := self._cancel_all():
            await asyncio.wait(ended)
        if _SESSION_ID in self._session_headers and self._lost is None:
            await self._end_session()
        await self._peer.aclose()
        self._report_lost(None)

    # --- ExchangeConnection

    def use_revision(self, revision: str) -> None:
        """Name the revision in the headers from now on, if it is one that wants that."""
        if revision in MODERN_REVISIONS:
            self._modern = revision
        elif revision not in (V2024_11_05, V2025_03_26):
            self._session_headers["MCP-Protocol-Version"] = revision

    def abandon(self, request_id: RequestId) -> None:
        """Close the response of a request that nobody waits for any more."""
        exchange = self._exchanges.get(request_id)
        if exchange is not None:
            exchange.cancel()

    def mirror_parameters(self, tool: str, parameters: Sequence[MirroredParameter]) -> None:
        """Repeat these arguments in the headers of calls to a tool."""
        if parameters:
            self._mirrored[tool] = parameters
        else:
            self._mirrored.pop(tool, None)

    # --- requests

    async def _exchange(self, envelope: Envelope, message: bytes) -> None:
        """Post a request and deliver what comes back."""
        request_id = envelope.request_id
        assert request_id is not None
        held = self._held(request_id)
        try:
            if self._greeting is not None:
                await self._wait_greeted(self._greeting, held)
            if self._lost is not None:
                raise SessionLost(self._lost.reason, was_refused=True)
            response = await self._peer.request(
                "POST",
                self._headers_for(envelope),
                message,
                operation="" if held is None else envelope.operation,  # for who authorizes alone
                held=held,
            )
            try:
                await self._receive(envelope, request_id, response)
            finally:
                await response.aclose()
        except Exception as error:  # noqa: BLE001 - also of the user's function for headers
            self._receiver.request_failed(request_id, error)
            if isinstance(error, SessionLost):
                self._lose_session(error)
        finally:
            if self._exchanges.get(request_id) is asyncio.current_task():
                del self._exchanges[request_id]

    async def _receive(
        self, envelope: Envelope, request_id: RequestId, response: HttpResponse
    ) -> None:
        """Deliver what a response carries.

        Raises:
            McpError: The request will get no answer.
        """
        if not 200 <= response.status < 300:
            raise await self._refusal(envelope, response)
        if envelope.method == INITIALIZE and (session_id := response.header("mcp-session-id")):
            self._session_headers[_SESSION_ID] = session_id
        if is_event_stream(response):
            await self._follow(envelope, request_id, response)
            return
        body = await self._peer.read_body(response)
        if body[:1] == b"{" or body.lstrip()[:1] in (b"{", b"["):
            self._receiver.messages_received([body])
            reason = "is no answer to it"
        elif response.status == 202 and self._own_stream is not None and self._own_stream.is_open:
            return  # contrary to the rules, some answer on that stream
        else:
            reason = "is no JSON" if body else f"is empty (status {response.status})"
        if self._receiver.is_waiting(request_id):
            what = f"{self._peer.name} answered {envelope.method} with something that {reason}"
            raise NotMcp(what + excerpt(body[:1000].decode("utf-8", "replace")))

    async def _refusal(
        self, envelope: Envelope, response: HttpResponse
    ) -> HttpStatusError | SessionLost:
        refusal = await self._peer.refusal(response)
        is_legacy = envelope.version is None and envelope.method != INITIALIZE
        if is_legacy and self._is_lost(refusal):
            return _session_lost(refusal)
        return refusal

    def _is_lost(self, refusal: HttpStatusError) -> bool:
        return _SESSION_ID in self._session_headers and _means_lost_session(refusal)

    def _headers_for(self, envelope: Envelope) -> dict[str, str]:
        version = envelope.version or self._modern  # a notification does not name it
        if version is None or envelope.method is None:
            return {**_POST_HEADERS, **self._session_headers}
        headers = request_headers(envelope.method, envelope.name, version)
        if envelope.name in self._mirrored and envelope.arguments is not msgspec.UNSET:
            arguments = msgspec.json.decode(envelope.arguments)
            headers.update(parameter_headers(self._mirrored[envelope.name], arguments))
        return {**_POST_HEADERS, **headers}

    # --- streams

    async def _follow(
        self, envelope: Envelope, request_id: RequestId, response: HttpResponse
    ) -> None:
        """Deliver the events of a response until the answer is among them; resume after a cut.

        Raises:
            ConnectionClosed: The stream was cut, and the answer is lost.
        """

        def deliver(messages: Sequence[Received]) -> None:
            self._deliver(messages, request_id)

        def is_answered() -> bool:
            return not self._receiver.is_waiting(request_id)

        held = self._held(request_id)
        stream = self._stream(deliver, is_answered, envelope.method, held)
        await stream.read(response)
        if is_answered():
            return
        await response.aclose()
        reason = ""
        if envelope.version is None and stream.is_resumable and self._receiver.may_resume():
            reason = await stream.resume()
            if is_answered():
                return
            reason = f", and cannot be resumed: {reason}"
        what = f"{self._peer.name}: the stream of {envelope.method} was cut before the answer"
        raise ConnectionClosed(what + reason)

    async def _listen(self) -> None:
        """Deliver what the server says of its own accord, if it has a stream for that."""
        stream = self._stream(self._deliver, lambda: self._is_closed)
        self._own_stream = stream
        try:
            await stream.listen(again=self._receiver.may_resume())
        except Exception as error:  # noqa: BLE001 - there is nobody to raise it to
            _logger.warning("cannot listen to %s: %s", self._peer.name, error)
        refusal = stream.refusal if stream.was_open else None
        if refusal is not None and self._is_lost(refusal):
            self._lose_session(_session_lost(refusal))

    def _stream(
        self,
        deliver: Callable[[Sequence[Received]], None],
        is_done: Callable[[], bool],
        method: str | None = None,
        held: HeldRequest | None = None,
    ) -> EventStream:
        def note_resumed(reason: str, is_whole: bool) -> None:  # noqa: FBT001
            self._receiver.stream_resumed(method, reason, is_whole=is_whole)

        return EventStream(
            self._peer,
            headers=lambda: self._session_headers,
            deliver=deliver,
            is_done=is_done,
            on_resumed=note_resumed,
            held=held,
        )

    def _deliver(self, messages: Sequence[Received], request_id: RequestId | None = None) -> None:
        """Pass messages on; what was too long can at least be told to whom it concerns."""
        for message in messages:
            if isinstance(message, LineTooLong):
                self._note_too_long(message, request_id)
        self._receiver.messages_received([m for m in messages if not isinstance(m, LineTooLong)])

    def _note_too_long(self, message: LineTooLong, request_id: RequestId | None) -> None:
        reason = f"a message of {self._peer.name} is longer than {message.limit} bytes, which "
        error = RemoteProtocolError(reason + "`max_message_bytes` allows")
        if request_id is None:
            _logger.warning("skipped: %s", error)
        else:
            self._receiver.request_failed(request_id, error)

    # --- what needs no answer

    def _tell(self, envelope: Envelope, message: bytes) -> None:
        task = self._loop.create_task(self._post(envelope, message))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if envelope.method == NOTIFICATIONS_INITIALIZED:
            self._greeting = task

    async def _post(self, envelope: Envelope, message: bytes) -> None:
        """Post a notification or a response of ours; that it was refused is for the log."""
        what = envelope.method or "an answer"
        try:
            async with PausableTimeout(_ACCEPT_TIMEOUT) as limit:
                response = await self._peer.request(
                    "POST",
                    self._headers_for(envelope),
                    message,
                    operation=envelope.operation,
                    held=limit,
                )
                try:
                    if not 200 <= response.status < 300:
                        raise await self._refusal(envelope, response)
                finally:
                    await response.aclose()
        except SessionLost as error:
            self._lose_session(error)
        except TimeoutError:
            _logger.warning("%s did not accept %s in time", self._peer.name, what)
        except Exception as error:  # noqa: BLE001 - there is nobody to raise it to
            _logger.warning("%s was not accepted: %s", what, error)
        else:
            if envelope.method == NOTIFICATIONS_INITIALIZED and not self._is_closed:
                self._listening = self._loop.create_task(self._listen())

    async def _wait_greeted(self, greeting: asyncio.Task[None], held: HeldRequest | None) -> None:
        """Let no request overtake the end of the handshake: each has a connection of its own."""
        await wait_held(greeting, held)
        if self._greeting is greeting:
            self._greeting = None

    # --- the session and its end

    def _lose_session(self, reason: SessionLost) -> None:
        """Use the session for nothing more."""
        self._lost = reason
        if self._listening is not None:
            self._listening.cancel()
        self._receiver.session_lost(reason)

    def _forget(self) -> None:
        """Begin anew: there is no session, and nobody waits for what was asked before."""
        self._session_headers.clear()
        for exchange in self._exchanges.values():
            exchange.cancel()

    async def _end_session(self) -> None:
        """Tell the server that the session is over; not every server wants to know."""
        try:
            async with asyncio.timeout(_CLOSE_TIMEOUT):
                response = await self._peer.request("DELETE", dict(self._session_headers))
                await response.aclose()
        except Exception as error:  # noqa: BLE001 - it is over in any case
            _logger.debug("%s was not told of the end of the session: %s", self._peer.name, error)

    def _cancel_all(self) -> set[asyncio.Task[None]]:
        tasks = {*self._exchanges.values(), *self._tasks}
        if self._listening is not None:
            tasks.add(self._listening)
        for task in tasks:
            task.cancel()
        return tasks


def _start(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """Begin an exchange: at once where Python can do that, else in the next turn of the loop."""
    if sys.version_info >= (3, 12):
        return asyncio.Task(work, loop=loop, eager_start=True)
    return loop.create_task(work)


def _session_lost(refusal: HttpStatusError) -> SessionLost:
    why = f"the server has forgotten the session{excerpt(refusal.body)}"
    return SessionLost(why, was_refused=True)


def _means_lost_session(refusal: HttpStatusError) -> bool:
    """Tell whether a request was refused because its session is no more.

    The status for that is 404. Many servers answer 400 instead, and then only their words tell.
    """
    if refusal.status not in (400, 404):
        return False
    answer = decode_message(refusal.body.encode())
    if not isinstance(answer, ErrorResponse):
        return refusal.status == 404
    if refusal.status == 404:
        return answer.error.code != METHOD_NOT_FOUND
    return "session" in answer.error.message.lower()
