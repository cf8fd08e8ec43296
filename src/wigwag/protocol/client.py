"""The client's end of a conversation: finds out what it talks to, then speaks that revision.

Theory of operation. A dual-era client asks `server/discover` first. Who answers it is modern; any
other answer, and silence, mean a server of the legacy era, which is then greeted with `initialize`.
The decision never hangs on one particular error code, because servers answer what they do not know
in every possible way. Over HTTP the status says more: `receive_failure` has the rules.

    PROBING ── DiscoverResult ──────────────────────────────▶ CONNECTED (modern)
       │  └─── unsupported version, once ──▶ PROBING with one of the supported
       │
       └────── any other answer, silence ──▶ INITIALIZING ──▶ CONNECTED (legacy)
                                                  └── refused as unsupported version,
                                                      once ──▶ PROBING

    Spec: basic/versioning, 2025-11-25 basic/lifecycle
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, auto
from math import inf
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from wigwag.errors import (
    HttpStatusError,
    InvalidResult,
    LocalProtocolError,
    NotMcp,
    RemoteProtocolError,
    RequestFailed,
)
from wigwag.jsonrpc.codec import (
    UNDECODABLE,
    decode_message,
    decode_response,
    encode_id,
    encode_request,
    encode_value,
)
from wigwag.jsonrpc.codes import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND
from wigwag.jsonrpc.inflight import OutgoingRequest
from wigwag.jsonrpc.messages import (
    ErrorObject,
    ErrorResponse,
    InvalidMessage,
    Request,
    RequestId,
    Response,
)
from wigwag.protocol.events import (
    AnswerInvalid,
    Connected,
    ConnectFailed,
    ErrorReceived,
    Event,
    MessageIgnored,
    RequestExpired,
    RequestLost,
    RequestReceived,
    ResponseReceived,
)
from wigwag.protocol.gates import (
    client_declares,
    has_capability,
    required_client_capability,
    server_declares,
)
from wigwag.protocol.params import ParamsRefused, decode_params
from wigwag.protocol.peer import PeerProtocol, ReplyBatch, decode_error_data
from wigwag.schema import (
    HEADER_MISMATCH,
    INITIALIZE,
    LEGACY_REVISIONS,
    METHODS,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    MODERN_REVISIONS,
    NOTIFICATIONS_INITIALIZED,
    PING,
    REVISIONS,
    SERVER_DISCOVER,
    SERVER_INFO_KEY,
    SUBSCRIPTIONS_LISTEN,
    UNSUPPORTED_PROTOCOL_VERSION,
    CancelledNotificationParams,
    ClientCapabilities,
    DiscoverResult,
    Implementation,
    InitializeRequestParams,
    InitializeResult,
    PromptsCapability,
    RequestMetaObject,
    ResourcesCapability,
    ServerCapabilities,
    ToolsCapability,
    decode_result,
    project,
)

__all__ = ["ClientDescription", "ClientProtocol", "Era", "is_of_another_era", "may_be_http_sse"]

Era = Literal["auto", "modern", "legacy"]

# Only these come from a server that knows the modern era.
_MODERN_ERRORS: Final = (
    UNSUPPORTED_PROTOCOL_VERSION,
    HEADER_MISMATCH,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
)

# What servers answer that do not understand a request at all; the first two are SDKs' own, for one
# that belongs to no session.
_REFUSALS: Final = (
    -32000,
    -32001,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    INVALID_PARAMS,
    UNSUPPORTED_PROTOCOL_VERSION,
)

# Statuses that say nothing about what a server speaks, only that it was not reached.
_NOT_OF_AN_ERA: Final = (401, 403, 407, 429)
_UNAUTHORIZED: Final = (401, 403)

# A server that does not say what it offers will say so of each thing that it does not.
_ASSUMED: Final = ServerCapabilities(
    completions={},
    logging={},
    prompts=PromptsCapability(list_changed=True),
    resources=ResourcesCapability(subscribe=True, list_changed=True),
    tools=ToolsCapability(list_changed=True),
)


class ClientDescription(Struct, frozen=True, kw_only=True):
    """What a client says about itself, and what it is willing to speak.

    Attributes:
        info: Its name and version.
        capabilities: What servers may ask it for.
        revisions: The revisions it speaks.
    """

    info: Implementation
    capabilities: ClientCapabilities = ClientCapabilities()
    revisions: tuple[str, ...] = REVISIONS


class _State(Enum):
    NEW = auto()
    PROBING = auto()
    INITIALIZING = auto()
    CONNECTED = auto()
    FAILED = auto()


class ClientProtocol(PeerProtocol):
    """The client's end of one conversation.

    Args:
        description: What the client says about itself.
        probe_timeout: Seconds without an answer after which a server counts as legacy.
        connect_timeout: Seconds for the whole of connecting.
    """

    def __init__(
        self,
        description: ClientDescription,
        *,
        probe_timeout: float = 5.0,
        connect_timeout: float = 30.0,
    ) -> None:
        super().__init__()
        unknown = [revision for revision in description.revisions if revision not in REVISIONS]
        if unknown or not description.revisions:
            known = ", ".join(REVISIONS)
            message = f"revisions must be some of {known}, not {list(description.revisions)!r}"
            raise ValueError(message)
        self._description = description
        self._modern = tuple(r for r in MODERN_REVISIONS if r in description.revisions)
        self._legacy = tuple(r for r in LEGACY_REVISIONS if r in description.revisions)
        self._probe_timeout = probe_timeout
        self._connect_timeout = connect_timeout
        self._state = _State.NEW
        self._connecting: OutgoingRequest | None = None
        self._has_retried = False
        self._has_returned = False
        self._owes_answer_to_probe = False  # it was silent for long, and may still say something
        self._connect_by = inf
        self.connected: Connected | None = None
        """What is known of the server, once it is known."""
        self.closes_to_cancel = False
        """Whether modern servers learn of a cancellation by something else than a message."""
        self._meta_head = b""
        self._openings: dict[str, bytes] = {}
        """What stands between id and progress token, for methods the server is known to offer."""

    @property
    def is_modern(self) -> bool:
        """Whether the revision that is spoken is a modern one."""
        return self.connected is not None and self.connected.revision in MODERN_REVISIONS

    @property
    def connecting_by(self) -> str | None:
        """The method of the request that is to be answered before anything else can be asked."""
        return None if self._connecting is None else self._connecting.method

    @property
    def is_probing(self) -> bool:
        """Whether the server has been asked which era it is of, and has not answered yet."""
        return self._state is _State.PROBING and self._may_be_legacy

    @property
    def may_die_of_probe(self) -> bool:
        """Whether a server that dies now may have died of the probe: it never answered it."""
        is_silent = self._state is _State.INITIALIZING and self._owes_answer_to_probe
        return self.is_probing or (is_silent and self._may_be_legacy)

    @property
    def _may_be_legacy(self) -> bool:
        """Whether the handshake is worth a try: nothing has shown that the server is modern."""
        return bool(self._legacy) and not (self._has_retried or self._has_returned)

    def receive_message(self, data: bytes, *, now: float) -> Sequence[Event]:
        """Take the bytes of one message and return what it means, in order.

        Never raises for what the peer sent. Answers that need no handler are in
        `messages_to_send` afterwards.
        """
        response = decode_response(data)
        if response is not None:
            return self._receive_response(response, now)
        return super().receive_message(data, now=now)

    # --- connecting

    def connect(self, *, now: float, skip_probe: bool = False) -> None:
        """Begin: ends in `Connected` or `ConnectFailed`.

        Args:
            now: The time.
            skip_probe: Greet the server as a legacy one at once, because it died of the probe
                before or is known to be legacy.
        """
        if self._state is not _State.NEW:
            raise LocalProtocolError("`connect` was called before")
        self._connect_by = now + self._connect_timeout
        if self._modern and not (skip_probe and self._legacy):
            self._probe(self._modern[-1], now)
        else:
            self._initialize(now)

    def adopt(self, result: DiscoverResult) -> Sequence[Event]:
        """Begin with what the server has said to an earlier client: it is not asked again.

        Returns:
            `Connected`; nothing if there is no revision that both speak, and `connect` is to be
            called.
        """
        version = self._mutual_version(result)
        if self._state is not _State.NEW or version is None:
            return ()
        return self._take_as_modern(version, result, [])

    def _probe(self, version: str, now: float) -> None:
        self._state = _State.PROBING
        self._set_meta(version)
        # Where there is nothing to fall back to, it waits as long as it may.
        timeout = self._probe_timeout if self._may_be_legacy else inf
        self._ask(SERVER_DISCOVER, b"{%b}}" % self._meta_head, now, timeout, token=version)

    def _initialize(self, now: float) -> Sequence[Event]:
        self._state = _State.INITIALIZING
        description = self._description
        params = InitializeRequestParams(
            protocol_version=self._legacy[-1],
            capabilities=project(description.capabilities, self._legacy[-1]),
            client_info=project(description.info, self._legacy[-1]),
        )
        self._ask(INITIALIZE, encode_value(params), now, inf)
        return ()

    def _ask(
        self, method: str, params: bytes, now: float, timeout: float, token: Any = None
    ) -> None:
        request = OutgoingRequest(
            self._outgoing.next_id(),
            method,
            now=now,
            idle_timeout=timeout,
            ceiling=self._connect_by - now,
            token=token,
        )
        self._connecting = request
        self._outgoing.add(request)
        self._to_send.append(encode_request(request.id, method, params))

    def _set_meta(self, version: str) -> None:
        """Prepare the members that the `_meta` of every modern request begins with."""
        description = self._description
        meta = RequestMetaObject(
            protocol_version=version,
            client_info=project(description.info, version),
            client_capabilities=project(description.capabilities, version),
        )
        self._meta_head = b'"_meta":' + encode_value(meta)[:-1]

    def _receive_probe_result(self, message: ResponseReceived, now: float) -> Sequence[Event]:
        losses: list[str] = []
        try:
            result, losses = _read(SERVER_DISCOVER, message.result)
        except UNDECODABLE:
            result = None
        if not isinstance(result, DiscoverResult):
            # Lenient servers of the legacy era answer `{}` to anything.
            return self._fall_back("it answered with something else", now)
        version = self._mutual_version(result)
        if version is None:
            if any(v in self._legacy for v in result.supported_versions):
                return self._initialize(now)
            return self._fail(_no_common_version(self._description, result.supported_versions))
        return self._take_as_modern(version, result, losses)

    def _mutual_version(self, result: DiscoverResult) -> str | None:
        mutual = [v for v in self._modern if v in result.supported_versions]
        return mutual[-1] if mutual else None

    def _take_as_modern(
        self, version: str, result: DiscoverResult, losses: list[str]
    ) -> Sequence[Event]:
        self._set_meta(version)
        return self._succeed(
            Connected(
                version,
                _server_info(result),
                result.capabilities,
                result.instructions,
                discovered=result,
                losses=losses,
            )
        )

    def _receive_probe_error(self, event: ErrorReceived, now: float) -> Sequence[Event]:
        error = event.error
        if error.code not in _MODERN_ERRORS:
            return self._fall_back(f"it answered: {error.message} ({error.code})", now)
        supported = _supported_versions(error)
        mutual = [version for version in self._modern if version in supported]
        if error.code == UNSUPPORTED_PROTOCOL_VERSION and not mutual:
            if any(version in self._legacy for version in supported):
                return self._initialize(now)
            return self._fail(_no_common_version(self._description, supported))
        if self._has_retried:
            return self._fail(_request_failed(error))
        self._has_retried = True
        self._probe(mutual[-1] if mutual else event.request.token, now)
        return ()

    def _fall_back(self, why: str, now: float) -> Sequence[Event]:
        """Greet a server that does not speak the modern era as a legacy one."""
        if self._may_be_legacy:
            return self._initialize(now)
        versions = ", ".join(self._modern)
        demand = "it said it would" if self._legacy else "was demanded"
        return self._fail(
            RemoteProtocolError(f"the server does not speak {versions}, as {demand}: {why}")
        )

    def _receive_initialize_result(self, message: ResponseReceived) -> Sequence[Event]:
        try:
            result, losses = _read(INITIALIZE, message.result)
        except UNDECODABLE as error:
            return self._fail(InvalidResult(f"the result of `initialize` is none: {error}"))
        if not isinstance(result, InitializeResult):
            return self._fail(InvalidResult("the result of `initialize` is of another type"))
        version = result.protocol_version
        if version not in self._legacy:
            return self._fail(_no_common_version(self._description, [version]))
        self._notify(NOTIFICATIONS_INITIALIZED, None, version)
        return self._succeed(
            Connected(
                version,
                result.server_info,
                result.capabilities,
                result.instructions,
                losses=losses,
            )
        )

    def _receive_initialize_error(self, event: ErrorReceived, now: float) -> Sequence[Event]:
        error = event.error
        supported = _supported_versions(error)
        mutual = [version for version in self._modern if version in supported]
        if not mutual and error.code == METHOD_NOT_FOUND and self._owes_answer_to_probe:
            mutual = list(self._modern)  # no legacy server does not know the handshake
        if mutual and not self._has_returned:
            # It is modern after all: it was slow to start, and the probe went unanswered.
            self._has_returned = True
            self._probe(mutual[-1], now)
            return ()
        if supported and not any(version in self._legacy for version in supported):
            return self._fail(_no_common_version(self._description, supported))
        return self._fail(_request_failed(error))

    def _succeed(self, connected: Connected) -> Sequence[Event]:
        self._state = _State.CONNECTED
        self._connecting = None
        self.connected = connected
        return (connected,)

    def _fail(self, error: Exception) -> Sequence[Event]:
        self._state = _State.FAILED
        self._connecting = None
        return (ConnectFailed(error),)

    # --- what the transport says

    @property
    def ended_requests(self) -> int:
        """How many requests of ours do not wait for an answer any more; it only grows."""
        return self._outgoing.ended

    def is_waiting(self, request_id: RequestId) -> bool:
        """Tell whether the answer to a request of ours is still to come."""
        return self._outgoing.get(request_id) is not None

    def receive_failure(
        self, request_id: RequestId, failure: Exception, *, now: float
    ) -> Sequence[Event]:
        """Learn that no answer to a request of ours will come.

        The body of an HTTP error may hold a JSON-RPC error, which is as good as an answer. While
        connecting, it counts like this:

        - a JSON-RPC error that only modern servers send: modern, whatever the status
        - 404 with "method not found": modern, only `server/discover` is missing
        - 401, 403, 407 and 429: says nothing, the failure is raised
        - any other 4xx, or a 200 with something that is not MCP: legacy
        - 5xx, and no response at all: says nothing, the failure is raised
        """
        request = self._outgoing.pop(request_id)
        if request is None:
            return ()
        error = _error_in(failure)
        if request is self._connecting:
            if request.method == SERVER_DISCOVER:
                return self._receive_probe_failure(request, failure, error, now)
            return self._receive_initialize_failure(request, failure, error, now)
        if error is not None:
            return (ErrorReceived(request, error),)
        return (RequestLost(request, failure),)

    def _receive_probe_failure(
        self,
        request: OutgoingRequest,
        failure: Exception,
        error: ErrorObject | None,
        now: float,
    ) -> Sequence[Event]:
        status = failure.status if isinstance(failure, HttpStatusError) else None
        if error is not None and error.code in _MODERN_ERRORS:
            return self._receive_probe_error(ErrorReceived(request, error), now)
        if error is not None and error.code == METHOD_NOT_FOUND and status == 404:
            return self._succeed(Connected(str(request.token), UNSET, _ASSUMED, UNSET))
        if error is not None and _is_about_modern_meta(error) and status == 400:
            return self._fail(_request_failed(error))
        if _speaks_of_legacy(status) or isinstance(failure, NotMcp):
            return self._fall_back(str(failure), now)
        return self._fail(failure)

    def _receive_initialize_failure(
        self,
        request: OutgoingRequest,
        failure: Exception,
        error: ErrorObject | None,
        now: float,
    ) -> Sequence[Event]:
        if error is None:
            return self._fail(failure)
        events = self._receive_initialize_error(ErrorReceived(request, error), now)
        for event in events:
            if type(event) is ConnectFailed:
                event.error.__cause__ = failure
        return events

    def hold(self, request_id: RequestId, *, now: float) -> None:
        """Let a request of ours wait without limit: it is held up on this side, not by the server.

        It may be waiting for a person to log in.
        """
        self._outgoing.hold(request_id, now)

    def release(self, request_id: RequestId, *, now: float) -> None:
        """Let its limits count again."""
        is_connecting = self._connecting is not None and self._connecting.id == request_id
        held_for = self._outgoing.release(request_id, now)
        if is_connecting:
            self._connect_by += held_for

    # --- requests and notifications of ours

    def send_request(
        self,
        method: str,
        params: Struct | None = None,
        *,
        now: float,
        idle_timeout: float = inf,
        ceiling: float = inf,
        meta: dict[str, Any] | None = None,
        token: Any = None,
    ) -> OutgoingRequest:
        """Ask the server for something.

        Args:
            method: A method of the table, or one of an extension.
            params: What it takes; its `meta` is filled in here.
            now: The time.
            idle_timeout: Seconds without an answer or progress after which it has failed.
            ceiling: Seconds after which it has failed in any case.
            meta: More members for `_meta`.
            token: Kept with the request, for whoever waits.

        Returns:
            The handle under which its answer is reported.

        Raises:
            LocalProtocolError: The revision has no such method, the server did not declare it, or
                the params cannot be encoded. Nothing was sent.
        """
        revision = self._require_connected().revision
        opening = self._openings.get(method) or self._make_opening(method)
        body = b"{}" if params is None else encode_value(project(params, revision))
        more = b"," + encode_value(meta)[1:-1] if meta else b""
        tail = b"}}" if body == b"{}" else b",%b}" % body[1:]
        outgoing = self._outgoing
        request_id = outgoing.next_id()
        encoded_id = encode_id(request_id)
        request = OutgoingRequest(
            request_id,
            method,
            now=now,
            idle_timeout=idle_timeout,
            ceiling=ceiling,
            token=token,
        )
        outgoing.add(request)
        # Progress is always asked for: it is what keeps a long request from timing out.
        self._to_send.append(
            b'{"jsonrpc":"2.0","id":%b%b%b%b}%b' % (encoded_id, opening, encoded_id, more, tail)
        )
        return request

    def _make_opening(self, method: str) -> bytes:
        """See to it that the server can be asked this, and prepare what all such requests share.

        Raises:
            LocalProtocolError: It cannot.
        """
        self.check_request(method)
        head = self._meta_head + b"," if self.is_modern else b'"_meta":{'
        opening = b',"method":%b,"params":{%b"progressToken":' % (encode_value(method), head)
        self._openings[method] = opening
        return opening

    def check_request(self, method: str) -> None:
        """See to it that the server can be asked this.

        Raises:
            LocalProtocolError: The revision has no such method, or the server did not declare
                that it offers it.
        """
        connected = self._require_connected()
        row = METHODS.get(method)
        if row is None:
            return  # of an extension: the server will say
        if row.kind != "request" or not row.may_be_sent_by("client", connected.revision):
            raise LocalProtocolError(f"clients cannot send {method} in {connected.revision}")
        if not server_declares(connected.capabilities, method, connected.revision):
            what = ".".join(row.server_capability) or "changes to listen for"
            raise LocalProtocolError(
                f"the server does not offer {method}: it did not declare `{what}`"
            )

    def send_notification(
        self, method: str, params: Mapping[str, Any] | Struct | None = None
    ) -> None:
        """Tell the server something.

        Raises:
            LocalProtocolError: The revision has no such notification from clients.
        """
        connected = self._require_connected()
        row = METHODS.get(method)
        if row is not None and not (
            row.kind == "notification" and row.may_be_sent_by("client", connected.revision)
        ):
            raise LocalProtocolError(f"clients cannot tell {method} in {connected.revision}")
        self._notify(method, params, connected.revision)

    def send_result(self, request: RequestReceived, result: Struct) -> None:
        """Answer a request of the server; does nothing when its answer is no longer wanted.

        Raises:
            LocalProtocolError: The result holds a value that JSON has no form for; the request
                is still to be answered.
        """
        if not self.is_in_flight(request):
            return
        body = encode_value(project(result, request.revision))
        self._answer(
            request, b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (encode_id(request.id), body)
        )

    def _require_connected(self) -> Connected:
        if self.connected is None:
            raise LocalProtocolError("not connected yet")
        return self.connected

    # --- what arrives

    def _receive_response(self, message: Response, now: float) -> Sequence[Event]:
        connecting = self._connecting
        events = super()._receive_response(message, now)
        if connecting is None:
            return events
        for event in events:
            if type(event) is ResponseReceived and event.request is connecting:
                if connecting.method == SERVER_DISCOVER:
                    return self._receive_probe_result(event, now)
                return self._receive_initialize_result(event)
        return events

    def _receive_error(self, message: ErrorResponse, now: float) -> Sequence[Event]:
        connecting = self._connecting
        if message.id is None and connecting is not None:
            # Who cannot read a message answers without its id; only one is under way here, unless
            # the probe was given up.
            if self._owes_answer_to_probe:
                self._owes_answer_to_probe = False
                return (MessageIgnored(f"a late answer to the probe: {message.error.message}"),)
            message = ErrorResponse(connecting.id, message.error)
        events = super()._receive_error(message, now)
        for event in events:
            if type(event) is ErrorReceived and event.request is connecting:
                if event.request.method == SERVER_DISCOVER:
                    return self._receive_probe_error(event, now)
                return self._receive_initialize_error(event, now)
        return events

    def _receive_cancelled(self, params: CancelledNotificationParams) -> Sequence[Event]:
        request_id = params.request_id
        request = None if request_id is UNSET else self._outgoing.get(request_id)
        if request is None or request.method != SUBSCRIPTIONS_LISTEN:
            return super()._receive_cancelled(params)
        # The one request of ours that a server may end so; it means the same as a result.
        self._outgoing.pop(request.id)
        return (ResponseReceived(request, Raw(b"{}"), self._revision_of(request)),)

    def receive_invalid(self, message: InvalidMessage) -> Sequence[Event]:
        """Take something that is no message: it is reported, and the conversation goes on."""
        events = super().receive_invalid(message)
        for event in events:
            if type(event) is AnswerInvalid and event.request is self._connecting:
                request = event.request
                if request.method == SERVER_DISCOVER and _is_error(message):
                    why = f"it answered with a broken error: {event.reason}"
                    return self._fall_back(why, request.sent_at)
                return self._fail(InvalidResult(f"the server's answer is broken: {event.reason}"))
        return events

    def handle_timeout(self, now: float) -> Sequence[Event]:
        """Give up the requests whose limit has been reached; silence is an answer to the probe."""
        events: list[Event] = []
        for event in super().handle_timeout(now):
            if type(event) is RequestExpired and event.request is self._connecting:
                if event.request.method == SERVER_DISCOVER and now < self._connect_by:
                    self._owes_answer_to_probe = True
                    events += self._fall_back("it did not answer", now)
                else:
                    reason = f"no answer to {event.request.method} in {event.waited:.1f} s"
                    events += self._fail(RemoteProtocolError(reason))
            else:
                events.append(event)
        return events

    def _receive_request(
        self, message: Request, source: bytes, batch: ReplyBatch | None = None
    ) -> Sequence[Event]:
        connected = self.connected
        if message.method == PING and not self.is_modern:
            self._to_send.append(b'{"jsonrpc":"2.0","id":%b,"result":{}}' % encode_id(message.id))
            return ()
        if connected is None or self.is_modern:
            return self._receive_forbidden_request(message)
        if message.id in self._incoming:
            reason = f"Invalid Request: id {message.id!r} is in flight already"
            return self._refuse(message, INVALID_REQUEST, reason)
        row = METHODS.get(message.method)
        if (
            row is None
            or row.kind != "request"
            or not row.may_be_sent_by("server", connected.revision)
        ):
            return self._refuse(message, METHOD_NOT_FOUND, f"Method not found: {message.method}")
        try:
            params = decode_params(message.method, message.params)
            self._check_declared(message.method, params)
        except ParamsRefused as error:
            return self._refuse(message, error.code, error.reason)
        request = RequestReceived(
            message.id,
            message.method,
            params,
            source,
            connected.revision,
            False,  # noqa: FBT003 - positional, as everywhere this is made
            params.meta,
            self._description.capabilities,
            UNSET,
            reply_batch=batch,
        )
        if batch is not None:
            batch.open.add(request)
        self._incoming[message.id] = request
        return (request,)

    def _receive_forbidden_request(self, message: Request) -> Sequence[Event]:
        if self.is_modern:
            # A modern server never asks, and its client never answers.
            return (MessageIgnored(f"a request, {message.method}, from a modern server"),)
        if message.method in (SERVER_DISCOVER, INITIALIZE):
            why = "it sends back what it is sent, so it is no MCP server"
            return self._fail(RemoteProtocolError(f"the server does not answer: {why}"))
        if self._state is _State.INITIALIZING:
            reason = "Invalid Request: nothing can be asked before the handshake is done"
            return self._refuse(message, INVALID_REQUEST, reason)
        return (MessageIgnored(f"{message.method} before the handshake was done"),)

    def _check_declared(self, method: str, params: Any) -> None:
        """See to it that the server asks only for what this client declared.

        Raises:
            ParamsRefused: It did not declare the feature, or not in this mode.
        """
        declared = self._description.capabilities
        if client_declares(declared, required_client_capability(method, params)):
            return
        if has_capability(declared, METHODS[method].client_capability):  # but not in this mode
            reason = f"Invalid params: this client does not support this kind of {method}"
            raise ParamsRefused(INVALID_PARAMS, reason)
        reason = f"Method not found: this client did not declare {method}"
        raise ParamsRefused(METHOD_NOT_FOUND, reason)

    def _must_answer(self, message: InvalidMessage) -> bool:
        # What a server prints to its output by mistake is nothing that it waits for an answer to,
        # and a modern server waits for none at all.
        return message.id is not None and self.connected is not None and not self.is_modern

    def _may_cancel(self, request: OutgoingRequest) -> bool:
        if self.closes_to_cancel and self.is_modern:
            return False
        return self.connected is not None and request.method not in (INITIALIZE, SERVER_DISCOVER)

    def _session_revision(self) -> str | None:
        return None if self.connected is None else self.connected.revision

    def _revision_of(self, request: OutgoingRequest) -> str:
        if self.connected is not None:
            return self.connected.revision
        return str(request.token) if request.method == SERVER_DISCOVER else self._legacy[-1]


def _read(method: str, result: Raw) -> tuple[Any, list[str]]:
    """Read what is sound in a result, and say what is missing in it.

    Raises:
        UNDECODABLE: There is nothing to save.
    """
    try:
        return decode_result(method, result), []
    except msgspec.ValidationError:
        from wigwag.schema.salvage import salvage_result  # noqa: PLC0415 - it is seldom

        saved = salvage_result(method, result)
        if saved is None:
            raise
        return saved


def _server_info(result: DiscoverResult) -> Implementation | UnsetType:
    """Read who the server says it is; a name that is not well formed counts as none."""
    meta = {} if result.meta is UNSET else result.meta
    try:
        return msgspec.convert(meta[SERVER_INFO_KEY], Implementation)
    except (KeyError, msgspec.ValidationError):
        return UNSET


def _supported_versions(error: ErrorObject) -> list[str]:
    data = decode_error_data(error.data)
    supported = data.get("supported") if isinstance(data, dict) else None
    if not isinstance(supported, list):
        return []
    return [version for version in supported if isinstance(version, str)]


def may_be_http_sse(failure: Exception) -> bool:
    """Tell whether a server that refused `initialize` so may be one of revision 2024-11-05.

    Those have another transport, and do not know a POST to the URL.
    """
    if isinstance(failure, RequestFailed) and failure.code in _MODERN_ERRORS:
        return False
    status = failure if isinstance(failure, HttpStatusError) else failure.__cause__
    return isinstance(status, HttpStatusError) and _speaks_of_legacy(status.status)


def is_of_another_era(failure: Exception) -> bool:
    """Tell whether a modern request may have failed because the server is not modern at all.

    So it answers before it has looked at anything else: nothing was done.
    """
    if isinstance(failure, RequestFailed):
        return failure.code in _REFUSALS
    status = failure.status if isinstance(failure, HttpStatusError) else None
    return _speaks_of_legacy(status) or isinstance(failure, NotMcp)


def _speaks_of_legacy(status: int | None) -> bool:
    return status is not None and 400 <= status < 500 and status not in _NOT_OF_AN_ERA


def _is_error(message: InvalidMessage) -> bool:
    """Tell whether a broken answer was to be an error."""
    try:
        answer = msgspec.json.decode(message.data)
    except UNDECODABLE:
        return False
    return answer.get("error") is not None and answer.get("result") is None


def _error_in(failure: Exception) -> ErrorObject | None:
    """Return the JSON-RPC error in the body of an HTTP error, whatever id it names."""
    # Who is not let in learns why from the headers.
    if not isinstance(failure, HttpStatusError) or failure.status in _UNAUTHORIZED:
        return None
    message = decode_message(failure.body.encode())
    return message.error if isinstance(message, ErrorResponse) else None


def _is_about_modern_meta(error: ErrorObject) -> bool:
    return error.code == INVALID_PARAMS and "io.modelcontextprotocol/" in error.message


def _request_failed(error: ErrorObject) -> RequestFailed:
    return RequestFailed(error.code, error.message, decode_error_data(error.data))


def _no_common_version(
    description: ClientDescription, offered: Sequence[str]
) -> RemoteProtocolError:
    ours = ", ".join(description.revisions)
    theirs = ", ".join(offered) or "none"
    return RemoteProtocolError(
        f"no common protocol version: this client speaks {ours}; the server offers {theirs}"
    )
