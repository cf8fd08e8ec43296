"""The two endpoints of HTTP+SSE, the transport of revision 2024-11-05, for clients of old.

A client opens a stream of events and is told in its first event where to post its messages;
everything it is answered comes by the stream.
Spec: 2024-11-05 basic/transports#http-with-sse
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from time import time
from typing import Final
from urllib.parse import parse_qs

from wigwag.bindings.http_headers import RequestHeaders, is_json
from wigwag.bindings.sse import encode_event
from wigwag.jsonrpc.codec import encode_error
from wigwag.jsonrpc.codes import INVALID_REQUEST
from wigwag.protocol.events import RequestReceived
from wigwag.runtime.event_stream import EventStream
from wigwag.runtime.http_exchange import OpenCall
from wigwag.runtime.permits import MayHear, Permit, owner_in, permit_in
from wigwag.runtime.server_connection import ServerConnection
from wigwag.transports.asgi import (
    Answer,
    BodyTooLarge,
    ClientGone,
    HttpRequest,
    Receive,
    Scope,
    read_body,
)
from wigwag.transports.contract import Connection, Receiver

_logger = logging.getLogger("wigwag.http")

_ID_BYTES: Final = 20


class SseServed(ServerConnection):
    """Serves one client, and knows by which POST each of its requests came."""

    is_remote = True

    def http_of(self, request: RequestReceived) -> HttpRequest | None:
        """Return the POST that a request came by."""
        came_by: HttpRequest | None = request.came_by
        return came_by

    def permit_of(self, request: RequestReceived) -> Permit | None:
        """Return what is known of its sender, by its POST, or else by the stream."""
        came_by: HttpRequest | None = request.came_by
        connection = self._connection
        assert isinstance(connection, _SseConnection)
        return permit_in((came_by or connection.opened_by).scope)

    def _publish(self) -> None:
        connection = self._connection
        assert isinstance(connection, _SseConnection)
        may_hear = connection.may_hear
        if may_hear is not None:
            permit = connection.stream.permit
            self._changes = {each: None for each in self._changes if may_hear(permit, each)}
        super()._publish()

    def _serve(self, request: RequestReceived, *, is_held: bool = True) -> None:
        connection = self._connection
        assert isinstance(connection, _SseConnection)
        request.came_by = connection.arriving
        super()._serve(request, is_held=is_held)


class _SseConnection:
    """One client's stream, as a connection that carries messages both ways."""

    def __init__(
        self, stream: EventStream, opened_by: HttpRequest, may_hear: MayHear | None
    ) -> None:
        self.stream = stream
        self.opened_by = opened_by
        self.may_hear = may_hear
        self.arriving: HttpRequest | None = None
        """The POST whose message is being delivered."""
        self._receiver: Receiver | None = None

    def start(self, receiver: Receiver) -> None:
        """Begin to deliver."""
        self._receiver = receiver

    def deliver(self, message: bytes, http: HttpRequest) -> None:
        """Hand a message over that the client has posted; dropped when it has gone meanwhile."""
        if self._receiver is not None:
            self.arriving = http
            self._receiver.messages_received([message])
            self.arriving = None

    def lose(self) -> None:
        """Learn that the client has closed its stream."""
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            receiver.connection_lost(None)

    def send(self, messages: list[bytes]) -> None:
        """Send messages to the client."""
        self.stream.push(messages)

    async def drain(self) -> None:
        """Wait until what was sent has left."""
        await self.stream.written()

    def abort(self) -> None:
        """Drop the connection at once."""
        self.stream.detach()

    async def aclose(self) -> None:
        """Send what is left, and end the stream."""
        self.stream.end()
        self.lose()


class SseEndpoints:
    """Serves HTTP+SSE.

    Args:
        serve: Begins to serve a connection.
        max_message_bytes: Longest message accepted.
        max_streams: How many clients there may be.
        messages_path: The last part of the path that messages are posted to.
        may_hear: Tells who hears of a change.
    """

    def __init__(
        self,
        serve: Callable[[Connection, type[SseServed]], SseServed],
        *,
        max_message_bytes: int,
        max_streams: int,
        messages_path: str,
        may_hear: MayHear | None = None,
    ) -> None:
        self._may_hear = may_hear
        self._serve = serve
        self._max_message_bytes = max_message_bytes
        self._max_streams = max_streams
        self._messages_path = messages_path
        self._open: dict[str, _SseConnection] = {}
        self._served: set[ServerConnection] = set()

    async def get(self, scope: Scope, receive: Receive, answer: Answer) -> None:
        """Open a client's stream."""
        if len(self._open) >= self._max_streams:
            limit = self._max_streams
            _logger.warning("refused a stream: %s are open (Limits.streams)", limit)
            await _refuse(answer, 503, f"{limit} streams are open, and no more are allowed")
            return
        call = OpenCall()
        loop = asyncio.get_running_loop()
        stream = EventStream(answer, loop, on_detached=call.is_over)
        connection = _SseConnection(stream, HttpRequest(scope), self._may_hear)
        stream.permit = permit_in(scope)
        session_id = os.urandom(_ID_BYTES).hex()
        # Relative to this very URL: whatever a proxy has put in front of the path stays there.
        way = "../" if scope["path"].endswith("/") else ""
        target = f"{way}{self._messages_path}?session_id={session_id}"
        served = self._serve(connection, SseServed)
        # Before the client is told: it may post before this goes on.
        self._open[session_id] = connection
        self._served.add(served)
        served.call_when_closed(self._served.discard)
        try:
            await answer.begin_events()
            await answer.more(encode_event(target.encode(), event="endpoint"))
            if await call.wait(receive):
                stream.detach()
        finally:
            del self._open[session_id]
            connection.lose()

    async def post(self, scope: Scope, receive: Receive, answer: Answer) -> None:
        """Take a message of a client."""
        headers = RequestHeaders(scope["headers"])
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        session_id = query.get("session_id", [""])[0]
        connection = self._open.get(session_id)
        if connection is None or owner_in(connection.opened_by.scope) != owner_in(scope):
            await _refuse(answer, 404, "this stream has ended, or never was; open a new one")
        elif not is_json(headers.get(b"content-type")):
            await _refuse(answer, 415, "send application/json")
        else:
            try:
                body = await read_body(receive, self._max_message_bytes)
            except BodyTooLarge as error:
                await _refuse(answer, 413, str(error))
            except ClientGone:
                await answer.nobody()
            else:
                await answer.whole(202)
                connection.deliver(body, HttpRequest(scope))

    def keep_alive(self) -> None:
        """Send silent clients a comment, and let those go who may not listen any longer."""
        now = time()
        for connection in list(self._open.values()):
            if connection.stream.expires_at < now:
                connection.stream.end()
            else:
                connection.stream.keep_alive()

    async def aclose(self) -> None:
        """End all streams."""
        served = list(self._served)
        await asyncio.gather(*(each.aclose() for each in served))
        await asyncio.gather(*(each.stream.finish() for each in list(self._open.values())))


async def _refuse(answer: Answer, status: int, reason: str) -> None:
    await answer.whole(status, encode_error(None, INVALID_REQUEST, f"Invalid Request: {reason}"))
