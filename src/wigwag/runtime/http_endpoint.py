"""The MCP endpoint of an HTTP server: one path, every revision.

Which era a POST is of follows from its body, with the headers as a hint: what describes itself in
`_meta` is modern, whatever else it carries; anything else belongs to a session, begins one, or has
no place here.

Spec: basic/transports/streamable-http, 2025-11-25 basic/transports#streamable-http
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from time import time
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from wigwag.bindings.http_headers import (
    COMMON_ACCEPTS,
    MCP_PROTOCOL_VERSION,
    MCP_SESSION_ID,
    RequestHeaders,
    accepts,
    is_json,
)
from wigwag.jsonrpc.codec import UNDECODABLE, encode_error
from wigwag.jsonrpc.codes import INVALID_REQUEST
from wigwag.jsonrpc.messages import RequestId
from wigwag.protocol.params import is_modern, read_broken_meta
from wigwag.protocol.server import ServerDescription, ServerProtocol, Session
from wigwag.protocol.subscriptions import Change
from wigwag.runtime.dispatch import Handler, Hear
from wigwag.runtime.event_stream import EventStream, encode_replay
from wigwag.runtime.http_exchange import HttpExchange, OpenCall, Surroundings
from wigwag.runtime.http_sessions import HttpSessions, LiveSession
from wigwag.runtime.permits import NOBODY, MayHear, Permit, owner_in, permit_in
from wigwag.runtime.server_connection import CHANGES_DELAY
from wigwag.runtime.wire_log import WireLog, is_wire_shown, open_wire_log
from wigwag.schema import (
    INITIALIZE,
    LEGACY_REVISIONS,
    V2025_03_26,
    ClientCapabilities,
    RequestMetaObject,
)
from wigwag.stores.contract import StoreFull, Stores
from wigwag.transports.asgi import (
    Answer,
    BodyTooLarge,
    ClientGone,
    Receive,
    Scope,
    read_body,
)

_logger = logging.getLogger("wigwag.http")

_OK: Final = 200
_BAD_REQUEST: Final = 400
_NOT_FOUND: Final = 404
_NOT_ALLOWED: Final = 405
_NOT_ACCEPTABLE: Final = 406
_TOO_LARGE: Final = 413
_UNSUPPORTED_TYPE: Final = 415
_UNAVAILABLE: Final = 503

_NO_SESSION: Final = "Invalid Request: Mcp-Session-Id is missing; `initialize` gives one"

_NO_EVENTS: Final = "Not Acceptable: send `Accept: text/event-stream`"

_LEGACY: Final = frozenset(revision.encode() for revision in LEGACY_REVISIONS)

_JSON: Final = b"application/json"
_CONTENT_TYPE: Final = b"content-type"
_CONTENT_LENGTH: Final = b"content-length"
_ACCEPT: Final = b"accept"


class HttpLimits(Struct, frozen=True, kw_only=True):
    """Bounds of an HTTP endpoint.

    Attributes:
        max_message_bytes: Longest body of a request.
        session_lifetime: Seconds without a request after which a session is forgotten.
        streams: How many streams may be open: subscriptions, and standalone ones of sessions.
        calls: How many requests may be under way.
        keep_alive: Seconds within which a silent stream gets a comment, so that nothing between
            server and client takes it for dead.
        retry: Seconds after which a client that lost a stream should come back.
    """

    max_message_bytes: int
    session_lifetime: float
    streams: int
    calls: int
    keep_alive: float
    retry: float


class HttpEndpoint:
    """Answers the requests to one path.

    Args:
        description: What the server says about itself.
        handlers: What answers requests, by method.
        stores: Where sessions and events are kept.
        limits: What it takes and spends.
        has_sessions: Whether legacy clients get sessions. Without, each of their requests stands
            for itself: nothing can be asked of them, nor can they be told anything on its own.
        streams_always: Whether requests are answered by streams of events even when there is
            nothing to send before the result.
        hear: Called with each notification that says more than the protocol itself understands.
        may_hear: Tells who hears of a change.
    """

    def __init__(
        self,
        description: ServerDescription,
        handlers: Mapping[str, Handler],
        stores: Stores,
        limits: HttpLimits,
        *,
        has_sessions: bool = True,
        streams_always: bool = False,
        hear: Hear | None = None,
        may_hear: MayHear | None = None,
    ) -> None:
        loop = asyncio.get_running_loop()
        self._may_hear = may_hear
        self._description = description
        self._stores = stores
        self._limits = limits
        self._has_sessions = has_sessions
        self._streams_always = streams_always
        self._loop = loop
        self._around = Surroundings(handlers, stores, loop, limits.retry, hear)
        self._limit_digits = len(str(limits.max_message_bytes))
        self._wire = is_wire_shown()
        self._sessions = HttpSessions(stores, limits.session_lifetime, self._open_wire)
        self._standalone: dict[LiveSession, EventStream] = {}
        self._changes: dict[Change, None] = {}  # to be reported soon, each once
        self._also_keep_alive: Callable[[], None] | None = None
        self._unsubscribe = stores.changes.subscribe(self._hear)
        self._upkeep = loop.create_task(self._keep_up())
        self._supported = (*description.legacy, *description.modern)

    def _open_wire(self) -> WireLog | None:
        return open_wire_log("server") if self._wire else None

    @property
    def sessions(self) -> int:
        """How many sessions are open here."""
        return len(self._sessions)

    @property
    def calls(self) -> int:
        """How many requests are under way."""
        return len(self._around.open)

    # --- requests

    async def post(
        self, scope: Scope, headers: RequestHeaders, receive: Receive, answer: Answer
    ) -> None:
        """Take a message. Spec: basic/transports/streamable-http#sending-messages."""
        session: LiveSession | None = None
        record: Session | None = None
        try:
            accepted = self._judge_head(headers)
            body = await read_body(receive, self._limits.max_message_bytes)
            if not self._has_sessions:
                record = self._assumed_session(headers, body)
            elif MCP_SESSION_ID in headers.values:
                session = await self._find_session(scope, headers, body)
                record = None if session is None else session.record
            exchange = self._begin_exchange(scope, headers, answer, accepted, session, record)
            exchange.take(body)
            protocol = exchange.protocol
            if protocol.session is not record or protocol.is_silent or not exchange.is_done:
                await self._check_outcome(exchange, record, headers, body)
        except _Refused as refused:
            error = encode_error(refused.message_id, INVALID_REQUEST, refused.reason)
            await answer.whole(refused.status, error)
        except BodyTooLarge as fault:
            await _refuse(answer, _TOO_LARGE, f"Invalid Request: {fault}")
        except ClientGone:
            await answer.nobody()
        else:
            # Before the client knows: its next request may come to another replica.
            if session is not None and session.is_changed:
                await self._sessions.save(session)
            await exchange.respond(receive)
            if session is not None and session.is_changed:
                await self._sessions.save(session)

    async def _check_outcome(
        self,
        exchange: HttpExchange,
        record: Session | None,
        headers: RequestHeaders,
        body: bytes,
    ) -> None:
        """Look at what a message has led to, where that is not just an answer.

        Raises:
            _Refused: It is not served after all.
        """
        if self._description.is_observed:
            await exchange.settle()
        if exchange.protocol.session is not record:
            await self._begin_session(exchange, body)
        elif not exchange.is_done:
            self._check_load(exchange, body)
        elif exchange.session is None and exchange.protocol.is_silent:
            self._check_silent(headers, body)

    def _begin_exchange(
        self,
        scope: Scope,
        headers: RequestHeaders,
        answer: Answer,
        accepted: tuple[bool, bool],
        session: LiveSession | None,
        record: Session | None,
    ) -> HttpExchange:
        if self._streams_always and accepted[1]:
            accepted = (False, True)
        in_flight = None if session is None else session.in_flight
        protocol = ServerProtocol(self._description, record, in_flight, headers)
        wire = None
        if self._wire:
            wire = self._open_wire() if session is None else session.wire
        return HttpExchange(self._around, protocol, answer, scope, session, wire, accepted)

    async def get(
        self, scope: Scope, headers: RequestHeaders, receive: Receive, answer: Answer
    ) -> None:
        """Open the standalone stream of a session, or go on with a stream that was cut."""
        session = await self._session_for(scope, headers, answer)
        if session is None:
            return
        if not accepts(headers.get(_ACCEPT))[1]:
            await _refuse(answer, _NOT_ACCEPTABLE, _NO_EVENTS)
            return
        last_event_id = headers.last_event_id
        # A stream that is gone on with is none more than there was.
        if last_event_id is None and not self._has_room_for_stream():
            await _refuse(answer, _UNAVAILABLE, self._too_many_streams())
            return
        call = OpenCall()
        if last_event_id is None:
            stream = self._open_standalone(session, answer, call)
        else:
            found = await self._resume(session, last_event_id, answer, call)
            if found is None:
                return
            stream = found
        stream.permit = permit_in(scope)
        if await call.wait(receive):
            stream.detach(answer)

    async def delete(self, scope: Scope, headers: RequestHeaders, answer: Answer) -> None:
        """End a session, as its client wants."""
        session = await self._session_for(scope, headers, answer)
        if session is not None:
            self._standalone.pop(session, None)
            await self._sessions.close(session.id)
            await answer.whole(_OK)

    # --- what a POST may be refused for before it is read

    def _judge_head(self, headers: RequestHeaders) -> tuple[bool, bool]:
        """Tell what the client takes: JSON, and a stream of events.

        Raises:
            _Refused: It takes neither, or sends something else than JSON, or too much.
        """
        values = headers.values
        accepted = COMMON_ACCEPTS.get(values.get(_ACCEPT)) or accepts(headers.get(_ACCEPT))
        if values.get(_CONTENT_TYPE) != _JSON and not is_json(headers.get(_CONTENT_TYPE)):
            raise _Refused(_UNSUPPORTED_TYPE, "Unsupported Media Type: send application/json")
        if True not in accepted:
            wanted = "application/json, text/event-stream"
            raise _Refused(_NOT_ACCEPTABLE, f"Not Acceptable: send `Accept: {wanted}`")
        length = values.get(_CONTENT_LENGTH)
        # One with fewer digits than the limit needs no closer look.
        if length is not None and len(length) >= self._limit_digits and length.isdigit():
            limit = self._limits.max_message_bytes
            if int(length) > limit:
                reason = f"Invalid Request: the body has {int(length)} bytes; the limit is {limit}"
                raise _Refused(_TOO_LARGE, reason)
        return accepted

    def _check_silent(self, headers: RequestHeaders, body: bytes) -> None:
        """See to it that a message that asks for nothing, and came without a session, may do so."""
        stated = headers.protocol_version
        if _Glance.at(body).method is None:
            reason = "a response has no place here: this client was asked nothing"
            raise _Refused(_BAD_REQUEST, f"Invalid Request: {reason}")
        if self._has_sessions and (stated is None or stated in LEGACY_REVISIONS):
            raise _Refused(_BAD_REQUEST, _NO_SESSION)

    # --- sessions

    async def _find_session(
        self, scope: Scope, headers: RequestHeaders, body: bytes
    ) -> LiveSession | None:
        """Return the session that a message belongs to; `None` if it does not want one.

        Raises:
            _Refused: There is none, and the message needs one.
        """
        values = headers.values
        stated = values.get(MCP_PROTOCOL_VERSION)
        glance = None
        if stated is not None and stated not in _LEGACY and stated.strip() not in _LEGACY:
            glance = _Glance.at(body)
            if is_modern(glance.meta):
                return None
        session_id = values[MCP_SESSION_ID].strip().decode("latin-1")
        session = await self._sessions.find(session_id, self._loop.time(), owner_in(scope))
        if session is not None:
            version = None if glance is None else headers.protocol_version
            if version is not None and version not in self._supported:
                raise _Refused(_BAD_REQUEST, _unknown_version(version, self._supported), glance)
            return session
        glance = _Glance.at(body)
        if is_modern(glance.meta) or glance.method == INITIALIZE:
            return None
        reason = (
            "Invalid Request: this session has ended, or never was; "
            "send `initialize` without Mcp-Session-Id to begin a new one"
        )
        raise _Refused(_NOT_FOUND, reason, glance)

    def _assumed_session(self, headers: RequestHeaders, body: bytes) -> Session | None:
        """Return what stands in for a session where none are kept."""
        if headers.protocol_version in self._description.modern:
            return None
        glance = _Glance.at(body)
        if is_modern(glance.meta):
            return None
        revision = headers.protocol_version or V2025_03_26
        if glance.method != INITIALIZE and revision not in self._description.legacy:
            reason = _unknown_version(revision, self._supported)
            raise _Refused(_BAD_REQUEST, reason, glance)
        return Session(
            revision if revision in LEGACY_REVISIONS else V2025_03_26,
            UNSET,
            ClientCapabilities(),
            is_initialized=True,
            is_assumed=True,
        )

    async def _begin_session(self, exchange: HttpExchange, body: bytes) -> None:
        """Keep the session that an exchange has begun."""
        record = exchange.protocol.session
        if not self._has_sessions or record is None:
            return
        record.owner = NOBODY if exchange.permit is None else exchange.permit.owner
        try:
            session = await self._sessions.open(record, self._loop.time(), exchange.wire)
        except StoreFull as error:
            _logger.warning("refused a session: %s (Limits.sessions)", error)
            reason = f"Service Unavailable: {error}"
            raise _Refused(_UNAVAILABLE, reason, _Glance.at(body)) from None
        exchange.add_header(MCP_SESSION_ID, session.id.encode())

    async def _session_for(
        self, scope: Scope, headers: RequestHeaders, answer: Answer
    ) -> LiveSession | None:
        """Return the session of a GET or DELETE; `None` when it has been refused."""
        session_id = headers.session_id
        if not self._has_sessions or not self._description.legacy:
            await answer.whole(_NOT_ALLOWED, headers=((b"allow", b"POST"),))
            return None
        if session_id is None:
            await _refuse(answer, _BAD_REQUEST, _NO_SESSION)
            return None
        stated = headers.protocol_version
        if stated is not None and stated not in self._supported:
            reason = _unknown_version(stated, self._supported)
            await _refuse(answer, _BAD_REQUEST, reason)
            return None
        session = await self._sessions.find(session_id, self._loop.time(), owner_in(scope))
        if session is None:
            reason = "Invalid Request: this session has ended, or never was"
            await _refuse(answer, _NOT_FOUND, reason)
        return session

    # --- streams of sessions

    def _open_standalone(self, session: LiveSession, answer: Answer, call: OpenCall) -> EventStream:
        before = self._standalone.pop(session, None)
        if before is not None:  # its connection may be dead without anybody knowing
            before.end()
        log = session.new_log(self._stores, self._limits.retry)
        stream = EventStream(answer, self._loop, log=log, on_detached=call.is_over)
        session.standalone = self._standalone[session] = stream
        stream.open()
        return stream

    async def _resume(
        self, session: LiveSession, last_event_id: str, answer: Answer, call: OpenCall
    ) -> EventStream | None:
        """Go on with a stream; `None` when all there is of it has been sent, or nothing known."""
        name = last_event_id.partition("-")[2]
        stream = session.streams.get(name)
        if stream is None and session.standalone is not None:
            log = session.standalone.log
            stream = session.standalone if log is not None and log.stream == name else None
        if stream is not None:
            if await stream.attach(answer, last_event_id, call.is_over):
                return stream
        else:
            replay = await self._stores.events.replay(session.id, last_event_id)
            if replay is not None:
                await answer.whole_events(encode_replay(replay.events))
                return None
        reason = f"Invalid Request: nothing is known any more of an event {last_event_id!r}"
        await _refuse(answer, _BAD_REQUEST, reason)
        return None

    # --- load

    def _check_load(self, exchange: HttpExchange, body: bytes) -> None:
        """Refuse what is one too many, and subscriptions of clients that take no stream."""
        if exchange.is_listening:
            if not exchange.takes_events:
                exchange.drop()
                raise _Refused(_NOT_ACCEPTABLE, _NO_EVENTS, _Glance.at(body))
            if self._has_room_for_stream():
                return
            reason = self._too_many_streams()
        else:
            limit = self._limits.calls
            under_way = len(self._around.open)
            if under_way < limit or under_way - self._listening() < limit:
                return
            _logger.warning("refused a request: %s are under way (Limits.calls)", limit)
            reason = f"Service Unavailable: {limit} requests are under way, no more are allowed"
        exchange.drop()
        raise _Refused(_UNAVAILABLE, reason, _Glance.at(body))

    def _has_room_for_stream(self) -> bool:
        limit = self._limits.streams
        if len(self._standalone) + len(self._around.open) < limit:
            return True  # nearly always, and then nothing has to be counted
        attached = sum(stream.is_attached for stream in self._standalone.values())
        return attached + self._listening() < limit

    def _listening(self) -> int:
        return sum(exchange.is_listening for exchange in self._around.open)

    def _too_many_streams(self) -> str:
        limit = self._limits.streams
        _logger.warning("refused a stream: %s are open (Limits.streams)", limit)
        return f"Service Unavailable: {limit} streams are open, and no more are allowed"

    # --- changes

    def publish(self, change: Change) -> None:
        """Tell clients of this server, here and at its replicas; may be called in any thread."""
        if asyncio._get_running_loop() is self._loop:
            self._stores.changes.publish(msgspec.json.encode(change))
        elif not self._loop.is_closed():
            data = msgspec.json.encode(change)
            self._loop.call_soon_threadsafe(self._stores.changes.publish, data)

    def _hear(self, data: bytes) -> None:
        change = msgspec.json.decode(data, type=Change)
        if not self._changes:
            self._loop.call_later(CHANGES_DELAY, self._report)
        self._changes[change] = None

    def _report(self) -> None:
        changes, self._changes = self._changes, {}
        for exchange in list(self._around.open):
            if exchange.is_listening:
                exchange.report(self._for(exchange.permit, changes))
        for session, stream in list(self._standalone.items()):
            protocol = ServerProtocol(self._description, session=session.record)
            for change in self._for(stream.permit, changes):
                protocol.publish(change)
            messages = protocol.messages_to_send()
            if messages:
                if session.wire is not None:
                    for message in messages:
                        session.wire.sent(message)
                stream.push(messages)

    def _for(self, permit: Permit | None, changes: Iterable[Change]) -> Iterable[Change]:
        """Return those of some changes that somebody may hear of."""
        may_hear = self._may_hear
        if may_hear is None:
            return changes
        return [change for change in changes if may_hear(permit, change)]

    # --- upkeep and end

    def also_keep_alive(self, keep_alive: Callable[[], None]) -> None:
        """Call this too when silent streams get their comments."""
        self._also_keep_alive = keep_alive

    async def _keep_up(self) -> None:
        """Keep silent streams alive and forget sessions that are not used."""
        # A stream that was silent for one turn gets its comment in the next.
        interval = min(self._limits.keep_alive, self._limits.session_lifetime) / 2
        while True:
            await asyncio.sleep(interval)
            now = time()
            for exchange in list(self._around.open):
                exchange.keep_alive()
                permit = exchange.permit
                if permit is not None and permit.expires_at < now and exchange.is_listening:
                    exchange.end_listening()
            try:
                await self._sessions.sweep(self._loop.time())
            except Exception:  # a store that others run may be away for a while
                _logger.exception("cannot look for sessions that have expired")
            for session, stream in list(self._standalone.items()):
                if stream.has_ended:
                    del self._standalone[session]
                elif stream.expires_at < now:  # its client comes back with a fresh token
                    stream.permit = None
                    stream.leave()
                else:
                    stream.keep_alive()
            if self._also_keep_alive is not None:
                self._also_keep_alive()

    async def aclose(self, *, grace: float) -> None:
        """End subscriptions and streams at once, and requests when they had some time to finish.

        Args:
            grace: How many seconds they have. Then they are cancelled.
        """
        self._unsubscribe()
        self._upkeep.cancel()
        await asyncio.gather(*(exchange.stop(grace) for exchange in list(self._around.open)))
        self._standalone.clear()
        await self._sessions.forget_all("the server ends")


class _Refused(Exception):
    """A message cannot be served; the answer says why."""

    def __init__(self, status: int, reason: str, glance: _Glance | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.message_id = None if glance is None else glance.id


class _Envelope(Struct, frozen=True):
    id: Any = UNSET
    method: Any = UNSET
    params: Raw | UnsetType = UNSET


class _Glance(Struct, frozen=True):
    """What must be known of a message to find out where it belongs."""

    id: RequestId | None = None
    method: str | None = None
    meta: RequestMetaObject | UnsetType = UNSET

    @classmethod
    def at(cls, body: bytes) -> _Glance:
        """Look at a body; what cannot be read is left out."""
        try:
            envelope = msgspec.json.decode(body, type=_Envelope)
        except UNDECODABLE:
            return cls()
        message_id = envelope.id
        is_id = isinstance(message_id, str | int) and not isinstance(message_id, bool)
        method = envelope.method if isinstance(envelope.method, str) else None
        return cls(message_id if is_id else None, method, read_broken_meta(envelope.params))


def _unknown_version(stated: str, supported: tuple[str, ...]) -> str:
    known = ", ".join(supported)
    return f"Invalid Request: MCP-Protocol-Version {stated!r} is not served here; {known} are"


async def _refuse(answer: Answer, status: int, reason: str) -> None:
    await answer.whole(status, encode_error(None, INVALID_REQUEST, reason))
