"""What both ends of a conversation have in common.

Theory of operation: bytes of one message go in through `receive_message`, which returns events;
messages to send come out of `messages_to_send`. Nothing else has an effect on the outside. Time is
an argument, in seconds on a clock that does not go back.

Requests of the peer are in `_incoming` from their arrival to their answer or cancellation; a
request that is not there any more cannot be answered, so that answering twice, or after a
cancellation, is impossible. Tool calls that a server answers before anything else happens are never
there: `ServerProtocol.answer_call`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType

from wigwag import schema
from wigwag.jsonrpc.codec import (
    NOTIFICATION_HEAD,
    decode_message,
    encode_batch,
    encode_error,
    encode_notification,
    encode_value,
)
from wigwag.jsonrpc.codes import INVALID_REQUEST
from wigwag.jsonrpc.inflight import InFlight, OutgoingRequest
from wigwag.jsonrpc.messages import (
    Batch,
    ErrorResponse,
    InvalidMessage,
    Notification,
    Request,
    RequestId,
    Response,
)
from wigwag.protocol.events import (
    AnswerInvalid,
    ErrorReceived,
    Event,
    MessageIgnored,
    NotificationReceived,
    ProgressReceived,
    RequestCancelled,
    RequestExpired,
    RequestReceived,
    ResponseReceived,
)
from wigwag.protocol.params import ParamsRefused, decode_params
from wigwag.schema import NOTIFICATIONS_CANCELLED, NOTIFICATIONS_PROGRESS, V2025_03_26, project

if TYPE_CHECKING:  # loaded when first used
    from wigwag.schema import CancelledNotificationParams, ProgressNotificationParams


# How arrays and notifications of ours begin.
_NEVER_IN_BATCH = (b"[", NOTIFICATION_HEAD)


class ReplyBatch:
    """Collects the answers to the requests of one array, which are sent as one array."""

    __slots__ = ("is_complete", "open", "replies")

    def __init__(self) -> None:
        self.is_complete = False  # all messages of the array have been looked at
        self.open: set[RequestReceived] = set()
        self.replies: list[bytes] = []


class BothInFlight:
    """The requests of either side that wait for an answer.

    Args:
        before: The number before the first id of a request of ours.
    """

    __slots__ = ("incoming", "outgoing")

    def __init__(self, before: int = 0) -> None:
        self.incoming: dict[RequestId, RequestReceived] = {}
        self.outgoing = InFlight(before)


class PeerProtocol:  # no ABC: there is one for each POST, and those are slow to make
    """One end of a conversation; `ServerProtocol` and `ClientProtocol` are the two kinds.

    Args:
        in_flight: The requests in flight, where several objects share them: over HTTP each message
            that arrives has a channel of its own for what it leads to.
    """

    def __init__(self, in_flight: BothInFlight | None = None) -> None:
        if in_flight is None:
            self._incoming: dict[RequestId, RequestReceived] = {}
            self._outgoing = InFlight(0)
        else:
            self._incoming = in_flight.incoming
            self._outgoing = in_flight.outgoing
        self._to_send: list[bytes] = []

    # --- bytes in, bytes out

    def receive_message(self, data: bytes, *, now: float) -> Sequence[Event]:
        """Take the bytes of one message and return what it means, in order.

        Never raises for what the peer sent. Answers that need no handler are in
        `messages_to_send` afterwards.
        """
        message = decode_message(data)
        if type(message) is Request:
            return self._receive_request(message, data)
        if type(message) is Response:
            return self._receive_response(message, now)
        if type(message) is Notification:
            return self._receive_notification(message, now)
        if type(message) is ErrorResponse:
            return self._receive_error(message, now)
        if type(message) is Batch:
            return self._receive_batch(message, now)
        assert type(message) is InvalidMessage
        return self.receive_invalid(message)

    def receive_invalid(self, message: InvalidMessage) -> Sequence[Event]:
        """Take something that is no message: it is answered, and the conversation goes on."""
        if message.answers:
            request = None if message.id is None else self._outgoing.pop(message.id)
            if request is not None:
                return (AnswerInvalid(request, message.reason),)
        elif message.data.isspace():
            return ()  # a blank line
        elif self._must_answer(message):
            self._to_send.append(encode_error(message.id, message.code, message.reason))
        return (MessageIgnored(message.reason, message),)

    def messages_to_send(self) -> list[bytes]:
        """Take the messages that are to be sent now, oldest first."""
        messages, self._to_send = self._to_send, []
        return messages

    # --- time

    def next_deadline(self) -> float | None:
        """Return the time at which `handle_timeout` must be called; `None` for never."""
        return self._outgoing.next_deadline()

    def handle_timeout(self, now: float) -> Sequence[Event]:
        """Give up the requests whose limit has been reached."""
        events: list[Event] = []
        for request in self._outgoing.expired(now):
            ceiling = request.ceiling <= now
            limit = (
                f"the ceiling of {request.ceiling - request.sent_at:g} s was reached; "
                f"signs of life may be {request.idle_timeout:g} s apart"
                if ceiling
                else f"{request.idle_timeout:g} s without a sign of life"
            )
            self._tell_cancelled(request, "timed out")
            events.append(RequestExpired(request, now - request.sent_at, limit))
        return events

    # --- the requests of the peer

    def is_in_flight(self, request: RequestReceived) -> bool:
        """Tell whether an answer to the request is still wanted."""
        return self._incoming.get(request.id) is request

    def requests_in_flight(self) -> list[RequestReceived]:
        """Return the requests of the peer that wait for an answer of ours."""
        return list(self._incoming.values())

    def send_error(
        self, request: RequestReceived, code: int, message: str, data: Any = UNSET
    ) -> None:
        """Refuse a request; does nothing when its answer is no longer wanted."""
        if self.is_in_flight(request):
            self._answer(request, encode_error(request.id, code, message, data))

    def send_progress(
        self,
        request: RequestReceived,
        progress: float,
        total: float | UnsetType = UNSET,
        message: str | UnsetType = UNSET,
    ) -> None:
        """Report how far a request has come.

        Does nothing when the peer did not ask for progress or no longer waits, and when the value
        has not grown, which the protocol demands.
        """
        meta = request.meta
        if meta is UNSET or meta.progress_token is UNSET or not self.is_in_flight(request):
            return
        if not request.last_progress < progress < inf:
            return
        if total is not UNSET and not -inf < total < inf:  # JSON has no such number
            total = UNSET
        request.last_progress = progress
        params = schema.ProgressNotificationParams(
            progress_token=meta.progress_token, progress=progress, total=total, message=message
        )
        self._notify(NOTIFICATIONS_PROGRESS, params, request.revision)

    # --- our requests

    def forget(self, request: OutgoingRequest, reason: str) -> None:
        """Give up a request of ours that nobody waits for any more, and tell the peer."""
        if self._outgoing.pop(request.id) is not None:
            self._tell_cancelled(request, reason)

    def fail_all(self) -> list[OutgoingRequest]:
        """Take all requests of ours out, because no answer can come any more."""
        return self._outgoing.clear()

    # --- for the two kinds

    @abstractmethod
    def _receive_request(
        self, message: Request, source: bytes, batch: ReplyBatch | None = None
    ) -> Sequence[Event]:
        """Judge a request of the peer."""

    @abstractmethod
    def _session_revision(self) -> str | None:
        """Return the revision that a handshake has settled, if one has."""

    def _must_answer(self, message: InvalidMessage) -> bool:
        """Tell whether the peer may wait for an answer to what was no message."""
        return True

    def _may_cancel(self, request: OutgoingRequest) -> bool:
        """Tell whether the peer may be told that a request of ours is no longer wanted."""
        return True

    def _receive_response(self, message: Response, now: float) -> Sequence[Event]:
        request = self._outgoing.pop(message.id)
        if request is None:
            return (MessageIgnored(f"a result for {message.id!r}, which nobody waits for"),)
        return (ResponseReceived(request, message.result, self._revision_of(request)),)

    def _receive_error(self, message: ErrorResponse, now: float) -> Sequence[Event]:
        request = None if message.id is None else self._outgoing.pop(message.id)
        if request is None:
            error = message.error
            return (MessageIgnored(f"an error for nothing known: {error.message} ({error.code})"),)
        return (ErrorReceived(request, message.error),)

    def _receive_notification(self, message: Notification, now: float) -> Sequence[Event]:
        try:
            params = decode_params(message.method, message.params)
        except ParamsRefused as error:
            return (MessageIgnored(f"a broken {message.method}: {error.reason}"),)
        if message.method == NOTIFICATIONS_CANCELLED:
            return self._receive_cancelled(params)
        if message.method == NOTIFICATIONS_PROGRESS:
            return self._receive_progress(params, now)
        return (NotificationReceived(message.method, params, message.params),)

    def _receive_cancelled(self, params: CancelledNotificationParams) -> Sequence[Event]:
        request_id = params.request_id
        request = None if request_id is UNSET else self._incoming.pop(request_id, None)
        if request is None:
            return (MessageIgnored(f"a cancellation of {request_id!r}, which is not in flight"),)
        self._leave_batch(request)
        return (RequestCancelled(request, params.reason),)

    def _receive_progress(self, params: ProgressNotificationParams, now: float) -> Sequence[Event]:
        # Our progress tokens are the ids of our requests.
        request = self._outgoing.get(params.progress_token)
        if request is None:
            return (MessageIgnored(f"progress for {params.progress_token!r}, not in flight"),)
        self._outgoing.touch(request, now)
        return (ProgressReceived(request, params),)

    def _receive_batch(self, batch: Batch, now: float) -> Sequence[Event]:
        if self._session_revision() != V2025_03_26:
            reason = "Invalid Request: arrays of messages exist in revision 2025-03-26 only"
            return self.receive_invalid(InvalidMessage(INVALID_REQUEST, reason, batch.data))
        events: list[Event] = []
        replies = ReplyBatch()
        mark = len(self._to_send)
        for message, text in zip(batch.messages, batch.texts, strict=True):
            if type(message) is Request:
                events += self._receive_request(message, text, replies)
            elif type(message) is Notification:
                events += self._receive_notification(message, now)
            elif type(message) is Response:
                events += self._receive_response(message, now)
            elif type(message) is ErrorResponse:
                events += self._receive_error(message, now)
            elif type(message) is InvalidMessage:
                events += self.receive_invalid(message)
        # What was answered on the spot belongs into the array as well. An earlier array, of which
        # the last request was cancelled just now, does not; nor does what is no answer.
        meanwhile = self._to_send[mark:]
        replies.replies += [each for each in meanwhile if not each.startswith(_NEVER_IN_BATCH)]
        self._to_send[mark:] = [each for each in meanwhile if each.startswith(_NEVER_IN_BATCH)]
        replies.is_complete = True
        self._flush_batch(replies)
        return events

    def _flush_batch(self, batch: ReplyBatch) -> None:
        if batch.is_complete and not batch.open and batch.replies:
            self._to_send.append(encode_batch(batch.replies))
            batch.replies = []

    def _leave_batch(self, request: RequestReceived) -> None:
        if request.reply_batch is not None:
            request.reply_batch.open.discard(request)
            self._flush_batch(request.reply_batch)

    def _answer(self, request: RequestReceived, message: bytes) -> None:
        """Send the one answer to a request that is in flight."""
        del self._incoming[request.id]
        if request.reply_batch is None:
            self._to_send.append(message)
        else:
            request.reply_batch.replies.append(message)
            self._leave_batch(request)

    def _refuse(
        self, message: Request, code: int, reason: str, data: Any = UNSET
    ) -> Sequence[Event]:
        """Refuse a request that never was in flight."""
        self._to_send.append(encode_error(message.id, code, reason, data))
        return ()

    def _notify(self, method: str, params: Any, revision: str) -> None:
        body = None if params is None else encode_value(project(params, revision))
        self._to_send.append(encode_notification(method, body))

    def _tell_cancelled(self, request: OutgoingRequest, reason: str) -> None:
        if self._may_cancel(request):
            params = schema.CancelledNotificationParams(request_id=request.id, reason=reason)
            self._notify(NOTIFICATIONS_CANCELLED, params, self._revision_of(request))

    def _revision_of(self, request: OutgoingRequest) -> str:
        revision = self._session_revision()
        assert revision is not None, "requests are sent once a revision is known"
        return revision


def decode_error_data(data: Any) -> Any:
    """Return the `data` of an error as plain values; `None` when there is none."""
    if data is UNSET:
        return None
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None
