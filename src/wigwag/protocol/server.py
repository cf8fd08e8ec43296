"""The server's end of a conversation, in both eras at once.

Each request says by itself in which era it is asked: one whose `_meta` describes it (version,
capabilities) is modern, any other belongs to the session that `initialize` began. Nothing about a
modern request is remembered once it is answered.

    Spec: basic/versioning, 2025-11-25 basic/lifecycle
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_args

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from wigwag import schema
from wigwag.errors import LocalProtocolError
from wigwag.jsonrpc.codec import (
    UNDECODABLE,
    decode_request,
    encode_error,
    encode_id,
    encode_notification,
    encode_request,
    encode_value,
)
from wigwag.jsonrpc.codes import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
)
from wigwag.jsonrpc.inflight import OutgoingRequest
from wigwag.jsonrpc.messages import InvalidMessage, Notification, Request
from wigwag.protocol import hot_path
from wigwag.protocol.events import (
    Event,
    MessageIgnored,
    NotificationReceived,
    RequestCancelled,
    RequestReceived,
)
from wigwag.protocol.gates import (
    client_declares,
    missing_capability_error,
    offered_methods,
    required_client_capability,
)
from wigwag.protocol.params import (
    ParamsRefused,
    decode_params,
    decode_request_params,
    is_modern,
    read_broken_meta,
)
from wigwag.protocol.peer import BothInFlight, PeerProtocol, ReplyBatch
from wigwag.protocol.subscriptions import Change, covers, honored, is_declared, is_within
from wigwag.schema import (
    HEADER_MISMATCH,
    INITIALIZE,
    LEGACY_REVISIONS,
    LOGGING_SET_LEVEL,
    METHODS,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    MODERN_REVISIONS,
    NOTIFICATIONS_CANCELLED,
    NOTIFICATIONS_INITIALIZED,
    NOTIFICATIONS_MESSAGE,
    NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED,
    PING,
    PROMPTS_GET,
    RESOURCE_NOT_FOUND,
    RESOURCES_READ,
    RESOURCES_SUBSCRIBE,
    RESOURCES_UNSUBSCRIBE,
    RESULT_COMPLETE,
    REVISIONS,
    SERVER_DISCOVER,
    SERVER_INFO_KEY,
    SUBSCRIPTION_ID_KEY,
    SUBSCRIPTIONS_LISTEN,
    TOOLS_CALL,
    UNSUPPORTED_PROTOCOL_VERSION,
    URL_ELICITATION_REQUIRED,
    CacheScope,
    ClientCapabilities,
    Implementation,
    LoggingLevel,
    NotificationParams,
    RequestMetaObject,
    ServerCapabilities,
    project,
)

if TYPE_CHECKING:  # who does not serve HTTP never needs it
    from wigwag.protocol.stated_headers import HeaderMismatch, StatedHeaders
    from wigwag.schema import (
        CancelledNotificationParams,
        DiscoverResult,
        InitializeRequestParams,
        InitializeResult,
        SubscriptionFilter,
    )

__all__ = [
    "CacheHint",
    "Members",
    "ServerDescription",
    "ServerProtocol",
    "Session",
    "encode_members",
]

# From the least severe to the most.
_LEVELS: Final[tuple[LoggingLevel, ...]] = get_args(LoggingLevel)

_RESULT_HEAD: Final = b'{"jsonrpc":"2.0","id":'
_RESULT: Final = b',"result":{'
_END: Final = b"}}"

# A result that has one of these says more than the head that others get.
_OWN_HEAD: Final = ("meta", "result_type", "ttl_ms", "cache_scope")

SERVED_BY_THE_PROTOCOL: Final = frozenset(
    (PING, LOGGING_SET_LEVEL, SERVER_DISCOVER, INITIALIZE, SUBSCRIPTIONS_LISTEN)
)
"""The methods of requests that need no handler."""


# What makes no sense where each request stands for itself.
_OF_SESSIONS: Final = (RESOURCES_SUBSCRIBE, RESOURCES_UNSUBSCRIBE)

V = TypeVar("V")


class _Derived(dict[str, V]):
    """Values that follow from their keys, each made when first asked for."""

    def __init__(self, make: Callable[[str], V]) -> None:
        self._make = make

    def __missing__(self, key: str) -> V:
        value = self[key] = self._make(key)
        return value


class CacheHint(Struct, frozen=True):
    """How long a client may keep a result, and for whom; modern clients are told.

    Spec: server/utilities/caching

    Attributes:
        ttl_ms: Milliseconds for which it is good; 0 to have it asked for anew each time.
        scope: Whether it is the same for everybody, so that others may be given it as well, or
            `private` to whoever asked.
    """

    ttl_ms: int = 0
    scope: CacheScope = "private"

    def __post_init__(self) -> None:
        """Refuse what is no duration, and nobody's."""
        if self.ttl_ms < 0:
            raise ValueError(f"a time to live is 0 or more milliseconds, not {self.ttl_ms}")
        if self.scope not in get_args(CacheScope):
            known = " or ".join(get_args(CacheScope))
            raise ValueError(f"what is kept is {known}, not {self.scope!r}")


_NO_CACHE: Final = CacheHint()


class ServerDescription:
    """What a server says about itself; shared by all of its conversations.

    Args:
        info: Its name and version.
        instructions: How to use it, for the model.
        revisions: The revisions it serves.
        capabilities: Returns what it can do now; called after every `changed`.
        cache_hint: Returns how long the results of a method may be kept; asked for again after
            every `changed`.
        mirrored: Returns, for each tool with arguments that are mirrored in headers, which ones
            those are; called after every `changed`.
    """

    def __init__(
        self,
        info: Implementation,
        *,
        instructions: str | UnsetType = UNSET,
        revisions: Sequence[str] = REVISIONS,
        capabilities: Callable[[], ServerCapabilities],
        cache_hint: Callable[[str], CacheHint | None] = lambda _: None,
        mirrored: Callable[[], dict[str, Any]] = dict,
    ) -> None:
        unknown = [revision for revision in revisions if revision not in REVISIONS]
        if unknown or not revisions:
            known = ", ".join(REVISIONS)
            raise ValueError(f"revisions must be some of {known}, not {list(revisions)!r}")
        self.info = info
        self.instructions = instructions
        self.legacy = tuple(r for r in LEGACY_REVISIONS if r in revisions)
        self.modern = tuple(r for r in MODERN_REVISIONS if r in revisions)
        self._declare = capabilities
        self._cache_hint = cache_hint
        identity = encode_value(project(info, MODERN_REVISIONS[-1]))
        self._head = b'"resultType":"%b","_meta":{"%b":%b}' % (
            RESULT_COMPLETE.encode(),
            SERVER_INFO_KEY.encode(),
            identity,
        )
        self._identity = msgspec.json.decode(identity)
        self._find_mirrored = mirrored
        self.custom: dict[str, Collection[str]] = {}
        """The methods that MCP does not know, with the revisions in which they are served."""
        self.is_observed = False
        """Whether somebody wants to see the requests too that the protocol answers by itself."""
        self.changed()

    def changed(self) -> None:
        """Forget what was derived from the capabilities: they are about to differ."""
        self._capabilities: ServerCapabilities | None = None
        self.__dict__.pop("mirrored", None)
        self.offered: dict[str, frozenset[str]] = {}
        """For each revision that was asked for, the methods of requests that are served."""
        self.heads = _Derived(self._make_head)
        """For each method the members that every result of a modern request begins with."""
        self.openings = _Derived(lambda method: b"%b%b," % (_RESULT, self.heads[method]))
        """For each method all that comes between the id and the other members of a result."""

    @property
    def capabilities(self) -> ServerCapabilities:
        """What the server can do, in full; each revision is told what it knows."""
        if self._capabilities is None:
            self._capabilities = self._declare()
        return self._capabilities

    @cached_property
    def mirrored(self) -> dict[str, Any]:
        """For each tool with arguments that are mirrored in headers, which ones those are."""
        return self._find_mirrored()

    def offers(self, method: str, revision: str) -> bool:
        """Tell whether requests of the method are served in a revision of those served."""
        if revision not in self.offered:
            self.offered[revision] = offered_methods(self.capabilities, revision)
        return method in self.offered[revision] or revision in self.custom.get(method, ())

    def cache_hint(self, method: str) -> CacheHint | None:
        """Return how long results of a method may be kept; `None` if they say nothing of it."""
        row = METHODS.get(method)
        return (self._cache_hint(method) or _NO_CACHE) if row and row.cacheable else None

    def _make_head(self, method: str) -> bytes:
        hint = self.cache_hint(method)
        if hint is None:
            return self._head
        scope = hint.scope.encode()
        return b'%b,"ttlMs":%d,"cacheScope":"%b"' % (self._head, hint.ttl_ms, scope)

    def complete(self, result: Struct, method: str, revision: str) -> bytes:
        """Encode a result for a modern request, with the members that every such result has."""
        if any(getattr(result, name, UNSET) is not UNSET for name in _OWN_HEAD):
            return self._complete_in_full(result, method, revision)
        members = encode_value(project(result, revision))[1:-1]
        return (
            b"{%b,%b}" % (self.heads[method], members) if members else b"{%b}" % self.heads[method]
        )

    def _complete_in_full(self, result: Any, method: str, revision: str) -> bytes:
        hint = self.cache_hint(method)
        meta = {} if result.meta is UNSET else result.meta
        changes: dict[str, Any] = {"meta": {SERVER_INFO_KEY: self._identity, **meta}}
        if result.result_type is UNSET:
            changes["result_type"] = RESULT_COMPLETE
        if hint and changes.get("result_type", result.result_type) == RESULT_COMPLETE:
            ttl, scope = result.ttl_ms, result.cache_scope
            changes["ttl_ms"] = hint.ttl_ms if ttl is UNSET else max(0, int(ttl))
            changes["cache_scope"] = hint.scope if scope is UNSET else scope
        return encode_value(msgspec.structs.replace(project(result, revision), **changes))


Members = tuple[bytes, ...]
"""The members of a result, encoded, in pieces that are joined only once: when they are sent."""


def encode_members(result: Struct, revision: str) -> Members:
    """Encode the members of a result, as `ServerProtocol.send_result` takes them.

    For results that are kept, or that are sent as they are: they have neither `_meta` nor
    `resultType`.

    Raises:
        LocalProtocolError: The result holds a value that JSON has no form for.
    """
    return (encode_value(project(result, revision))[1:-1],)


class Session(Struct):
    """What a handshake has settled. Spec: 2025-11-25 basic/lifecycle."""

    revision: str
    client_info: Implementation | UnsetType
    client_capabilities: ClientCapabilities
    is_initialized: bool = False
    log_level: LoggingLevel = "debug"
    subscriptions: dict[str, None] = {}
    """The URIs of the resources whose changes the client wants to hear of."""
    is_assumed: bool = False
    """Whether there was no handshake, as the server keeps no sessions."""
    owner: str = ""
    """Who began it and may use it, for whoever tells people apart."""
    changes: int = 0
    """Grows whenever something of it changes, so that whoever keeps it knows."""


class ServerProtocol(PeerProtocol):
    """The server's end of one conversation.

    Over HTTP there is one of these for each message that arrives: what it leads to travels on the
    answer to it. Those of a session share its record and its requests in flight.

    Args:
        description: What the server says about itself.
        session: The session it belongs to, where that began elsewhere.
        in_flight: The requests in flight of that session.
        headers: What the headers that a message came with say about it.
    """

    def __init__(
        self,
        description: ServerDescription,
        session: Session | None = None,
        in_flight: BothInFlight | None = None,
        headers: StatedHeaders | None = None,
    ) -> None:
        super().__init__(in_flight)
        self._description = description
        self._headers = headers
        self.session = session
        """The session, once `initialize` has been answered."""
        self.unserved: int | None = None
        """Code of the error of a message that was not served at all: for what its form, its
        `_meta` or its headers say, or for what the client did not declare."""
        self._streams: dict[RequestReceived, SubscriptionFilter] | None = None

    def receive_call(self, data: bytes) -> RequestReceived | None:
        """Take the bytes of one message, if it is a tool call that nothing is wrong with.

        Returns:
            The call, which is for `answer_call` now, or else for `hold`; `None` when the message
            is anything else, and is for `receive_other`.
        """
        try:
            call = hot_path.decode_call(data)
        except UNDECODABLE:
            return None
        params, request_id = call.params, call.id
        meta = params.meta
        version: str | UnsetType = UNSET if meta is UNSET else meta.protocol_version
        modern = version is not UNSET
        if modern:
            capabilities, info = meta.client_capabilities, meta.client_info  # type: ignore[union-attr]
        else:
            session = self.session
            if session is None or (meta is not UNSET and is_modern(meta)):
                return None
            version = session.revision
            capabilities, info = session.client_capabilities, session.client_info
        if (
            call.result is not UNSET
            or call.error is not UNSET
            or capabilities is UNSET
            or request_id in self._incoming
            or TOOLS_CALL not in self._description.offered.get(version, ())  # type: ignore[arg-type]
        ):
            return None
        if modern and self._headers is not None:
            name = params.name
            agree = self._headers.agree(version, TOOLS_CALL, name)  # type: ignore[arg-type]
            if not agree or name in self._description.mirrored:
                return None
        return RequestReceived(
            request_id,
            TOOLS_CALL,
            params,
            data,
            version,  # type: ignore[arg-type]
            modern,
            meta,
            capabilities,
            info,
        )

    def answer_call(self, call: RequestReceived, members: Members) -> None:
        """Answer what `receive_call` has returned, at once; so it never is in flight.

        Args:
            call: The call.
            members: Those of the result; there are some.
        """
        self._to_send.append(self._result_of(call, members))

    def hold(self, call: RequestReceived) -> None:
        """Let what `receive_call` has returned be in flight, as it is not answered at once."""
        self._incoming[call.id] = call

    def receive_message(self, data: bytes, *, now: float) -> Sequence[Event]:
        """Take the bytes of one message and return what it means, in order.

        Never raises for what the peer sent. Answers that need no handler are in
        `messages_to_send` afterwards.
        """
        call = self.receive_call(data)
        if call is None:
            return self.receive_other(data, now=now)
        self.hold(call)
        return (call,)

    def receive_other(self, data: bytes, *, now: float) -> Sequence[Event]:
        """Take the bytes of one message that `receive_call` did not take; see `receive_message`."""
        message = decode_request(data)
        if message is not None:
            return self._receive_request(message, data)
        return super().receive_message(data, now=now)

    @property
    def is_listened_to(self) -> bool:
        """Whether a subscription is open."""
        return bool(self._streams)

    @property
    def is_silent(self) -> bool:
        """Whether there is nothing to send."""
        return not self._to_send

    # --- answers and notifications

    def send_result(self, request: RequestReceived, result: Struct | Members | None) -> None:
        """Answer a request; does nothing when its answer is no longer wanted.

        Args:
            request: The event it arrived as.
            result: The result, which is made to fit the revision of the request; or its members
                as encoded by `encode_members`, which must fit it already. `None` when it is
                answered later, as a subscription is when it ends.

        Raises:
            LocalProtocolError: The result holds a value that JSON has no form for; the request
                is still to be answered.
        """
        if result is None or self._incoming.get(request.id) is not request:
            return
        if type(result) is tuple and result:
            message = self._result_of(request, result)
        else:
            body = self._complete(request, result)  # type: ignore[arg-type]
            head = encode_id(request.id)
            message = b"".join((_RESULT_HEAD, head, _RESULT, body[1:-1], _END))
        self._answer(request, message)

    def _result_of(self, request: RequestReceived, members: Members) -> bytes:
        encoded_id = encode_id(request.id)
        opening = self._description.openings[request.method] if request.is_modern else _RESULT
        return b"".join([_RESULT_HEAD, encoded_id, opening, *members, _END])

    def _complete(self, request: RequestReceived, result: Struct | tuple[()]) -> bytes:
        """Encode a result with all that its revision wants in it."""
        if result == ():
            return b"{%b}" % self._description.heads[request.method] if request.is_modern else b"{}"
        if request.is_modern:
            return self._description.complete(result, request.method, request.revision)  # type: ignore[arg-type]
        return encode_value(project(result, request.revision))

    def send_error(
        self, request: RequestReceived, code: int, message: str, data: Any = UNSET
    ) -> None:
        """Refuse a request; does nothing when its answer is no longer wanted."""
        if request.is_modern:
            # Two codes of the legacy revisions that the modern one forbids.
            if code == RESOURCE_NOT_FOUND:
                code = INVALID_PARAMS
            elif code == URL_ELICITATION_REQUIRED:
                code, data = INTERNAL_ERROR, UNSET
            elif code == MISSING_REQUIRED_CLIENT_CAPABILITY:
                self.unserved = code
        if request.method == INITIALIZE and self.is_in_flight(request):
            self.session = None  # it has not begun after all
        super().send_error(request, code, message, data)

    def send_log(
        self,
        request: RequestReceived,
        level: LoggingLevel,
        data: Any,
        logger: str | UnsetType = UNSET,
    ) -> bool:
        """Send a log message about a request, if the client wants to hear it.

        Returns:
            Whether it was sent: the client asked for this level and the request is in flight.

        Raises:
            LocalProtocolError: `data` holds a value that JSON has no form for.
        """
        if not self.is_in_flight(request) or not self._wants_log(request, level):
            return False
        params = schema.LoggingMessageNotificationParams(level=level, data=data, logger=logger)
        self._notify(NOTIFICATIONS_MESSAGE, params, request.revision)
        return True

    def send_about(self, request: RequestReceived, method: str, params: bytes | None) -> bool:
        """Send a notification of a method that the protocol does not know, about a request.

        Args:
            request: The request.
            method: The method.
            params: The params, encoded already.

        Returns:
            Whether it was sent: the request is in flight.
        """
        if not self.is_in_flight(request):
            return False
        self._to_send.append(encode_notification(method, params))
        return True

    def _wants_log(self, request: RequestReceived, level: LoggingLevel) -> bool:
        if request.is_modern:
            wanted = UNSET if request.meta is UNSET else request.meta.log_level
        else:
            wanted = UNSET if self.session is None else self.session.log_level
        if wanted is UNSET or self._description.capabilities.logging is UNSET:
            return False
        return _LEVELS.index(level) >= _LEVELS.index(wanted)

    def publish(self, change: Change) -> None:
        """Tell the client of a change, on every stream and in the session that it concerns."""
        session = self.session
        if session is not None and session.is_initialized and self._concerns(session, change):
            self._notify(change.method, _params_of(change), session.revision)
        for request, wanted in (self._streams or {}).items():
            if covers(wanted, change):
                meta = {SUBSCRIPTION_ID_KEY: request.id}
                self._notify(change.method, _params_of(change, meta), request.revision)

    def _concerns(self, session: Session, change: Change) -> bool:
        if not is_declared(self._description.capabilities, change.method):
            return False
        return change.uri is None or any(
            is_within(change.uri, wanted) for wanted in session.subscriptions
        )

    def end_subscriptions(self) -> None:
        """Tell listening clients that nothing more will be reported; part of an orderly end."""
        streams, self._streams = self._streams or {}, None
        for request in streams:
            if self._headers is None:
                # One page of the specification wants the cancellation, another the result; over
                # HTTP there is no doubt.
                ended = schema.CancelledNotificationParams(
                    request_id=request.id, reason="the server ends"
                )
                self._notify(NOTIFICATIONS_CANCELLED, ended, request.revision)
            meta = {SUBSCRIPTION_ID_KEY: request.id}
            self.send_result(request, schema.SubscriptionsListenResult(meta=meta))

    def abandon(self, request: RequestReceived) -> None:
        """Forget a request: nothing is to be said about it any more."""
        if self._incoming.get(request.id) is request:
            del self._incoming[request.id]

    def send_notification(self, method: str, params: Struct | None = None) -> None:
        """Send a notification to the client of the session.

        Raises:
            LocalProtocolError: There is no session, or its revision has no such notification.
        """
        session = self.require_session(method)
        row = METHODS.get(method)
        if (
            row is None
            or row.kind != "notification"
            or not row.may_be_sent_by("server", session.revision)
        ):
            raise LocalProtocolError(f"{session.revision} has no notification {method}")
        self._notify(method, params, session.revision)

    def send_request(
        self,
        method: str,
        params: Struct | None = None,
        *,
        now: float,
        idle_timeout: float = inf,
        ceiling: float = inf,
    ) -> OutgoingRequest:
        """Ask the client of the session for something; the legacy revisions allow it.

        Returns:
            The handle under which its answer is reported.

        Raises:
            LocalProtocolError: There is no session yet, or the client did not declare that it
                can do this.
        """
        session = self.require_session(method)
        row = METHODS.get(method)
        if (
            row is None
            or row.kind != "request"
            or not row.may_be_sent_by("server", session.revision)
        ):
            raise LocalProtocolError(f"{session.revision} has no request {method}")
        needed = required_client_capability(method, params)
        if not client_declares(session.client_capabilities, needed):
            raise LocalProtocolError(f"the client did not declare what {method} needs")
        if method != PING and not session.is_initialized:
            raise LocalProtocolError(f"{method} must wait until the client is initialized")
        request = OutgoingRequest(
            self._outgoing.next_id(),
            method,
            now=now,
            idle_timeout=idle_timeout,
            ceiling=ceiling,
        )
        body = None if params is None else encode_value(project(params, session.revision))
        self._outgoing.add(request)
        self._to_send.append(encode_request(request.id, method, body))
        return request

    def require_session(self, method: str = "this") -> Session:
        """Return the session.

        Raises:
            LocalProtocolError: There is none.
        """
        if self.session is None:
            message = f"{method} needs a session: in the modern era a server only answers"
            raise LocalProtocolError(message)
        return self.session

    # --- requests

    def _receive_request(
        self, message: Request, source: bytes, batch: ReplyBatch | None = None
    ) -> Sequence[Event]:
        try:
            params = decode_request_params(message.method, message.params)
        except ParamsRefused as fault:
            if fault.code == PARSE_ERROR:
                return self._refuse(message, fault.code, fault.reason)
            meta = read_broken_meta(message.params)
            return self._judge(message, source, None, meta, fault, batch)
        return self._judge(message, source, params, params.meta, None, batch)

    def _judge(
        self,
        message: Request,
        source: bytes,
        params: Any,
        meta: RequestMetaObject | UnsetType,
        fault: ParamsRefused | None,
        batch: ReplyBatch | None,
    ) -> Sequence[Event]:
        """Tell the era of a request, and whether it can be served in it.

        What is wrong with its params is said last: what matters more comes first.
        """
        if message.id in self._incoming:
            reason = f"Invalid Request: id {message.id!r} is in flight already"
            return self._refuse(message, INVALID_REQUEST, reason)
        if meta is not UNSET and is_modern(meta) and self._description.modern:
            return self._receive_modern(message, source, params, meta, fault)
        return self._receive_legacy(message, source, params, meta, fault, batch)

    def _receive_modern(
        self,
        message: Request,
        source: bytes,
        params: Any,
        meta: RequestMetaObject,
        fault: ParamsRefused | None,
    ) -> Sequence[Event]:
        version, capabilities = meta.protocol_version, meta.client_capabilities
        refusal = self._check_version(message, meta)
        if refusal is None:
            refusal = self._check_modern(message, params, str(version), fault)
        if refusal is not None:
            return refusal
        assert version is not UNSET
        assert capabilities is not UNSET
        request = RequestReceived(
            message.id,
            message.method,
            params,
            source,
            version,
            True,  # noqa: FBT003 - positional, for this is the hot path
            meta,
            capabilities,
            meta.client_info,
        )
        self._incoming[message.id] = request
        if message.method not in SERVED_BY_THE_PROTOCOL or self._description.is_observed:
            return (request,)
        result = self.serve(request)
        if result is not None:
            self.send_result(request, result)
        return ()

    def serve(self, request: RequestReceived) -> Struct | Members | None:
        """Serve a request that needs no handler.

        Returns:
            Its result; `None` for a subscription, which has none before it ends.
        """
        method = request.method
        if method == SERVER_DISCOVER:
            return self._discover()
        if method == INITIALIZE:
            return self._initialize_result()
        if method == SUBSCRIPTIONS_LISTEN:
            self._listen(request)
            return None
        if method == LOGGING_SET_LEVEL:
            session = self.require_session()
            session.log_level = request.params.level
            session.changes += 1
        return ()

    def _check_version(self, message: Request, meta: RequestMetaObject) -> Sequence[Event] | None:
        """Refuse a request that does not say plainly in which revision it is asked."""
        version = meta.protocol_version
        if self._headers is not None and version is not UNSET:
            mismatch = self._headers.check_version(version)
            if mismatch is not None:
                return self._refuse_headers(message, mismatch)
        if version is UNSET or meta.client_capabilities is UNSET:
            return self._refuse(message, INVALID_PARAMS, _missing_meta(meta))
        if version not in self._description.modern:
            return self._refuse_version(message, version)
        return None

    def _check_modern(
        self, message: Request, params: Any, version: str, fault: ParamsRefused | None
    ) -> Sequence[Event] | None:
        """Refuse a request whose headers, method or params are not in order."""
        headers, method = self._headers, message.method
        mismatch: HeaderMismatch | None = None
        if headers is not None:
            mismatch = headers.check_method(method, named_by(method, params))
            if mismatch is not None:
                return self._refuse_headers(message, mismatch)
        if not self._description.offers(method, version):
            return self._refuse_method(message, version)
        if fault is not None:
            return self._refuse_params(message, fault)
        if headers is not None and method == TOOLS_CALL:
            mirrored = self._description.mirrored.get(params.name)
            if mirrored is not None:
                mismatch = headers.check_parameters(mirrored, _readable(params.arguments))
        return None if mismatch is None else self._refuse_headers(message, mismatch)

    def _listen(self, request: RequestReceived) -> None:
        """Open a stream: the acknowledgement comes first, the result when it ends."""
        agreed = honored(request.params.notifications, self._description.capabilities)
        if self._streams is None:
            self._streams = {}
        self._streams[request] = agreed
        params = schema.SubscriptionsAcknowledgedNotificationParams(
            notifications=agreed, meta={SUBSCRIPTION_ID_KEY: request.id}
        )
        self._notify(NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED, params, request.revision)

    def _receive_cancelled(self, params: CancelledNotificationParams) -> Sequence[Event]:
        events = super()._receive_cancelled(params)
        for event in events:
            if type(event) is RequestCancelled and self._streams is not None:
                self._streams.pop(event.request, None)
        return events

    def _discover(self) -> DiscoverResult:
        description = self._description
        return schema.DiscoverResult(
            supported_versions=list(description.modern),
            capabilities=description.capabilities,
            instructions=description.instructions,
        )

    def _receive_legacy(
        self,
        message: Request,
        source: bytes,
        params: Any,
        meta: RequestMetaObject | UnsetType,
        fault: ParamsRefused | None,
        batch: ReplyBatch | None,
    ) -> Sequence[Event]:
        method, session = message.method, self.session
        if method == INITIALIZE and self._description.legacy:
            return self._receive_initialize(message, source, params, fault, batch)
        if session is None:
            return self._receive_sessionless(message, fault)
        offers = self._description.offers(method, session.revision)
        if not offers or (session.is_assumed and method in _OF_SESSIONS):
            return self._refuse_method(message, session.revision)
        if fault is not None:
            return self._refuse_params(message, fault)
        request = RequestReceived(
            message.id,
            method,
            params,
            source,
            session.revision,
            False,  # noqa: FBT003 - positional, for this is the hot path
            meta,
            session.client_capabilities,
            session.client_info,
        )
        if batch is not None:
            request.reply_batch = batch
            batch.open.add(request)
        self._incoming[message.id] = request
        if method not in SERVED_BY_THE_PROTOCOL or self._description.is_observed:
            return (request,)
        self.send_result(request, self.serve(request) or ())
        return ()

    def _receive_initialize(
        self,
        message: Request,
        source: bytes,
        params: InitializeRequestParams | None,
        fault: ParamsRefused | None,
        batch: ReplyBatch | None,
    ) -> Sequence[Event]:
        if fault is not None:
            return self._refuse(message, fault.code, fault.reason)
        if batch is not None or not (self.session is None or self.session.is_assumed):
            why = "cannot be part of an array" if batch is not None else "was answered already"
            return self._refuse(message, INVALID_REQUEST, f"Invalid Request: `initialize` {why}")
        assert params is not None
        description = self._description
        wanted = params.protocol_version
        revision = wanted if wanted in description.legacy else description.legacy[-1]
        previous = self.session
        self.session = Session(
            revision, params.client_info, params.capabilities, is_assumed=previous is not None
        )
        if description.is_observed:
            request = RequestReceived(
                message.id,
                INITIALIZE,
                params,
                source,
                revision,
                False,  # noqa: FBT003 - as above
                params.meta,
                params.capabilities,
                params.client_info,
            )
            self._incoming[message.id] = request
            return (request,)
        body = encode_value(project(self._initialize_result(), revision))
        self._to_send.append(
            b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (encode_id(message.id), body)
        )
        return ()

    def _initialize_result(self) -> InitializeResult:
        description, session = self._description, self.require_session()
        capabilities = description.capabilities
        return schema.InitializeResult(
            protocol_version=session.revision,
            capabilities=_without_news(capabilities) if session.is_assumed else capabilities,
            server_info=description.info,
            instructions=description.instructions,
        )

    # --- refusals

    def _refuse(
        self, message: Request, code: int, reason: str, data: Any = UNSET
    ) -> Sequence[Event]:
        self.unserved = code
        return super()._refuse(message, code, reason, data)

    def _refuse_params(self, message: Request, fault: ParamsRefused) -> Sequence[Event]:
        """Refuse a request that is in order but for what its method takes."""
        return super()._refuse(message, fault.code, fault.reason)

    def _refuse_headers(self, message: Request, mismatch: HeaderMismatch) -> Sequence[Event]:
        data = {"header": mismatch.header}
        return self._refuse(message, HEADER_MISMATCH, mismatch.reason, data)

    def receive_invalid(self, message: InvalidMessage) -> Sequence[Event]:
        """Take something that is no message: it is answered, and the conversation goes on."""
        self.unserved = message.code
        return super().receive_invalid(message)

    def _refuse_version(self, message: Request, requested: str) -> Sequence[Event]:
        supported = list(self._description.modern)
        return self._refuse(
            message,
            UNSUPPORTED_PROTOCOL_VERSION,
            f"Unsupported protocol version {requested!r}; supported: {', '.join(supported)}",
            schema.UnsupportedProtocolVersionData(supported=supported, requested=requested),
        )

    def _refuse_method(self, message: Request, revision: str) -> Sequence[Event]:
        method = message.method
        row = METHODS.get(method)
        if row is None:
            reason = f"Method not found: {method}"
        elif not row.may_be_sent_by("client", revision):
            reason = f"Method not found: {revision} has no {method} for servers"
        else:
            reason = f"Method not found: this server does not offer {method}"
        return self._refuse(message, METHOD_NOT_FOUND, reason)

    def _receive_sessionless(
        self, message: Request, fault: ParamsRefused | None
    ) -> Sequence[Event]:
        """Refuse what is neither modern nor in a session, saying what would be served."""
        description = self._description
        if message.method == PING and fault is None and description.legacy:
            self._to_send.append(b'{"jsonrpc":"2.0","id":%b,"result":{}}' % encode_id(message.id))
            return ()
        if not description.modern:
            reason = "Invalid Request: not initialized; send `initialize` first"
            return self._refuse(message, INVALID_REQUEST, reason)
        versions = ", ".join(description.modern)
        needed = f"the `_meta` of {versions} (protocol version and client capabilities)"
        if not description.legacy:
            reason = f"Invalid params: this server speaks {versions} only; {needed} is missing"
        else:
            reason = f"Invalid params: send `initialize` first, or {needed} with every request"
        data = {"supported": list(description.modern)}
        return self._refuse(message, INVALID_PARAMS, reason, data)

    def require_client_capability(
        self, request: RequestReceived, needed: ClientCapabilities
    ) -> None:
        """See to it that the client of a request can do what its handler needs.

        Raises:
            RequestFailed: It did not declare that; raise it on, and it becomes the answer.
        """
        if not client_declares(request.client_capabilities, needed):
            raise missing_capability_error(needed)

    # --- the rest

    def _receive_notification(self, message: Notification, now: float) -> Sequence[Event]:
        session = self.session
        if self._headers is not None and session is None:
            mismatch = self._headers.check_notification(message.method)
            if mismatch is not None:
                self.unserved = HEADER_MISMATCH
                data = {"header": mismatch.header}
                error = encode_error(None, HEADER_MISMATCH, mismatch.reason, data)
                self._to_send.append(error)
                return ()
        events = super()._receive_notification(message, now)
        for event in events:
            if type(event) is NotificationReceived and event.method == NOTIFICATIONS_INITIALIZED:
                if session is None:
                    return (MessageIgnored("`notifications/initialized` before `initialize`"),)
                session.is_initialized = True
                session.changes += 1
        if self._description.is_observed and not any(
            type(event) in (NotificationReceived, MessageIgnored) for event in events
        ):
            params = decode_params(message.method, message.params)
            return (*events, NotificationReceived(message.method, params, message.params))
        return events

    def _session_revision(self) -> str | None:
        return None if self.session is None else self.session.revision


def _without_news(capabilities: ServerCapabilities) -> ServerCapabilities:
    """Return what a server can do for clients that it cannot tell anything of its own accord."""
    changes: dict[str, Any] = {}
    for name in ("tools", "prompts", "resources"):
        feature = getattr(capabilities, name)
        if feature is not UNSET:
            quiet = {"list_changed": UNSET} | ({"subscribe": UNSET} if name == "resources" else {})
            changes[name] = msgspec.structs.replace(feature, **quiet)
    return msgspec.structs.replace(capabilities, **changes)


def named_by(method: str, params: Any) -> str | None:
    """Return what a request is about, where its method has such a thing: a name or a URI."""
    if method in (TOOLS_CALL, PROMPTS_GET):
        return getattr(params, "name", None)
    if method == RESOURCES_READ:
        return getattr(params, "uri", None)
    return None


def _readable(arguments: Raw | UnsetType) -> dict[str, Any]:
    """Return arguments as plain values; what is no object has none."""
    value = {} if arguments is UNSET else msgspec.json.decode(arguments)
    return value if isinstance(value, dict) else {}


def _params_of(change: Change, meta: dict[str, Any] | UnsetType = UNSET) -> Struct | None:
    if change.uri is None:
        return None if meta is UNSET else NotificationParams(meta=meta)
    return schema.ResourceUpdatedNotificationParams(uri=change.uri, meta=meta)


def _missing_meta(meta: RequestMetaObject) -> str:
    missing = [
        f"`{name}`"
        for name, value in (
            ("io.modelcontextprotocol/protocolVersion", meta.protocol_version),
            ("io.modelcontextprotocol/clientCapabilities", meta.client_capabilities),
        )
        if value is UNSET
    ]
    return f"Invalid params: `_meta` lacks {' and '.join(missing)}, or its type is wrong"
