"""What an end of a conversation reports when messages arrive or time passes.

Every name says what has happened; the docstring says what to do about it.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Raw, Struct, UnsetType

from wigwag.jsonrpc.inflight import OutgoingRequest
from wigwag.jsonrpc.messages import ErrorObject, InvalidMessage, RequestId

if TYPE_CHECKING:  # loaded when first used
    from wigwag.schema import (
        ClientCapabilities,
        DiscoverResult,
        Implementation,
        ProgressNotificationParams,
        RequestMetaObject,
        ServerCapabilities,
    )


class RequestReceived(Struct, eq=False):
    """The peer asks for something: answer it with `send_result` or `send_error`.

    It passed every check that needs no handler. The object is the handle of the request: progress
    and the answer are sent by passing it back, and are dropped once it is no longer in flight.

    Attributes:
        id: The id it came under.
        method: Its method.
        params: The decoded params, of the type that the table of methods names.
        source: The bytes of the message, with the members that the type does not have.
        revision: The revision in which it is asked and must be answered.
        is_modern: Whether it described itself in `_meta`, without a handshake.
        meta: Its `_meta`, if any.
        client_capabilities: What the client declared, on this request or in its handshake.
        client_info: What the client calls itself; nobody vouches for it.
        served_by: For whoever serves the request; the protocol does not look at it.
        came_by: And what it came by, where that matters to a handler.
    """

    id: RequestId
    method: str
    params: Any
    source: bytes
    revision: str
    is_modern: bool
    meta: RequestMetaObject | UnsetType
    client_capabilities: ClientCapabilities
    client_info: Implementation | UnsetType
    last_progress: float = -inf
    reply_batch: Any = None
    served_by: Any = None
    came_by: Any = None


class RequestCancelled(Struct, eq=False, frozen=True):
    """The peer no longer wants an answer: stop the handler. Nothing is sent for it any more."""

    request: RequestReceived
    reason: str | UnsetType


class NotificationReceived(Struct, eq=False, frozen=True):
    """The peer tells something.

    Attributes:
        method: What.
        params: The decoded params, of the type that the table of methods names.
        source: The params undecoded, with the members that the type does not have.
    """

    method: str
    params: Any
    source: Raw | UnsetType = UNSET


class ResponseReceived(Struct, eq=False, frozen=True):
    """A request of ours has its result, still undecoded: hand it to whoever waits."""

    request: OutgoingRequest
    result: Raw
    revision: str


class ErrorReceived(Struct, eq=False, frozen=True):
    """A request of ours was refused: raise `RequestFailed` where it is waited for."""

    request: OutgoingRequest
    error: ErrorObject


class AnswerInvalid(Struct, eq=False, frozen=True):
    """What came under the id of a request of ours is no answer: fail whoever waits."""

    request: OutgoingRequest
    reason: str


class RequestLost(Struct, eq=False, frozen=True):
    """No answer to a request of ours can come: raise `error` where it is waited for."""

    request: OutgoingRequest
    error: Exception


class ProgressReceived(Struct, eq=False, frozen=True):
    """A request of ours makes progress; its idle limit has started anew."""

    request: OutgoingRequest
    params: ProgressNotificationParams


class RequestExpired(Struct, eq=False, frozen=True):
    """A request of ours was not answered in time; the peer was told to stop."""

    request: OutgoingRequest
    waited: float
    limit: str


class MessageIgnored(Struct, eq=False, frozen=True):
    """Something arrived that has no effect; worth a line in the log.

    Attributes:
        reason: Why it has none.
        invalid: The message, where its bytes were no message at all.
    """

    reason: str
    invalid: InvalidMessage | None = None


class Connected(Struct, eq=False, frozen=True):
    """The client knows what it talks to; from now on requests can be sent.

    Attributes:
        revision: The revision that is spoken.
        server_info: What the server calls itself; `UNSET` when it does not say.
        capabilities: What the server declared.
        instructions: What the server wants the model to know.
        discovered: All that a modern server said, if it was asked.
        losses: What was malformed in what it said, and is left out.
    """

    revision: str
    server_info: Implementation | UnsetType
    capabilities: ServerCapabilities
    instructions: str | UnsetType
    discovered: DiscoverResult | None = None
    losses: list[str] = []


class ConnectFailed(Struct, eq=False, frozen=True):
    """The two sides cannot talk: close the connection and raise `error`."""

    error: Exception


Event = (
    RequestReceived
    | RequestCancelled
    | NotificationReceived
    | ResponseReceived
    | ErrorReceived
    | AnswerInvalid
    | RequestLost
    | ProgressReceived
    | RequestExpired
    | MessageIgnored
    | Connected
    | ConnectFailed
)
