"""Reads and writes JSON-RPC messages: one JSON text each, in bytes.

Reading never raises: whatever is wrong with the bytes becomes an `InvalidMessage` that says so.
Spec: basic#messages
"""

import re
from functools import cache
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from wigwag.errors import LocalProtocolError
from wigwag.jsonrpc.codes import INVALID_REQUEST, PARSE_ERROR
from wigwag.jsonrpc.messages import (
    Batch,
    ErrorObject,
    ErrorResponse,
    InvalidMessage,
    Message,
    Notification,
    Request,
    RequestId,
    Response,
    SingleMessage,
)

# How the notifications begin that are encoded here; requests and answers have something else first.
NOTIFICATION_HEAD: Final = b'{"jsonrpc":"2.0","method":'

# Hosts send a handful of messages in a batch; thousands are an attack on memory.
MAX_BATCH_MESSAGES: Final = 1000

# What decoding can raise: DecodeError covers malformed and ill-typed JSON, RecursionError nesting.
UNDECODABLE = (msgspec.DecodeError, RecursionError, UnicodeError)


class _Envelope(msgspec.Struct, frozen=True, gc=False):
    jsonrpc: Literal["2.0"]
    id: RequestId | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: ErrorObject | UnsetType = UNSET


class _WholeRequest(Request, frozen=True, gc=False, kw_only=True):
    jsonrpc: Literal["2.0"]
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class _WholeResponse(Response, frozen=True, gc=False, kw_only=True):
    jsonrpc: Literal["2.0"]
    method: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


_decode_request = msgspec.json.Decoder(_WholeRequest).decode
_decode_response = msgspec.json.Decoder(_WholeResponse).decode
_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decode_array = msgspec.json.Decoder(list[Raw]).decode
_encode = msgspec.json.Encoder().encode


def decode_message(data: bytes) -> Message:
    r"""Read one message, or an array of them.

    >>> decode_message(b'{"jsonrpc":"2.0","id":7,"method":"ping"}')
    Request(id=7, method='ping', params=UNSET)
    >>> decode_message(b'{"jsonrpc":"2.0","id":7}').reason
    'Invalid Request: it has none of `method`, `result` and `error`'
    """
    try:
        envelope = _decode_envelope(data)
    except UNDECODABLE:
        return _decode_array_of_messages(data) or _diagnose(data)
    return _classify(envelope, data)


def decode_request(data: bytes) -> Request | None:
    """Read a message that is most likely a request; `None` when it is not, or not a sound one.

    What `decode_message` would say of it in the end, sooner.
    """
    try:
        message = _decode_request(data)
    except UNDECODABLE:
        return None
    return message if message.result is UNSET and message.error is UNSET else None


def decode_response(data: bytes) -> Response | None:
    """Read a message that is most likely a result; `None` when it is not, or not a sound one.

    The type of the result is not looked at: whoever decodes it will see.
    """
    try:
        message = _decode_response(data)
    except UNDECODABLE:
        return None
    return message if message.method is UNSET and message.error is UNSET else None


def overlong_message(head: bytes, limit: int) -> InvalidMessage:
    """Describe a message longer than `limit` bytes, of which only `head` was kept."""
    request_id, answers = _salvage_id(head)
    reason = f"the message is longer than {limit} bytes"
    if not answers:
        reason = f"Invalid Request: {reason}"
    return InvalidMessage(INVALID_REQUEST, reason, head, id=request_id, answers=answers)


def encode_value(value: Any) -> bytes:
    """Encode a value as JSON.

    Raises:
        LocalProtocolError: JSON cannot hold the value; nothing was sent.
    """
    try:
        return _encode(value)
    except UnicodeEncodeError as error:
        message = "text with a lone surrogate cannot be sent: JSON is UTF-8, which has none"
        raise LocalProtocolError(message) from error
    except (TypeError, RecursionError, OverflowError) as error:
        raise LocalProtocolError(f"the value cannot be sent as JSON: {error}") from error


def encode_id(request_id: RequestId) -> bytes:
    """Encode an id with its own JSON type."""
    try:
        return _encode(request_id)
    except OverflowError:  # a number of more than 64 bits
        return str(request_id).encode()


def encode_request(request_id: RequestId, method: str, params: bytes | None) -> bytes:
    """Encode a request whose params are encoded already."""
    head = b'{"jsonrpc":"2.0","id":%b,"method":%b' % (encode_id(request_id), _encode(method))
    return b"%b}" % head if params is None else b'%b,"params":%b}' % (head, params)


def encode_notification(method: str, params: bytes | None) -> bytes:
    """Encode a notification whose params are encoded already."""
    head = NOTIFICATION_HEAD + _encode(method)
    return b"%b}" % head if params is None else b'%b,"params":%b}' % (head, params)


def encode_error(request_id: RequestId | None, code: int, message: str, data: Any = UNSET) -> bytes:
    """Encode the refusal of a request; without an id when none could be read."""
    error = _encode(message.encode("utf-8", "replace").decode())
    body = b'{"code":%d,"message":%b' % (code, error)
    if data is not UNSET:
        body += b',"data":%b' % encode_value(data)
    if request_id is None:
        return b'{"jsonrpc":"2.0","error":%b}}' % body
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}}' % (encode_id(request_id), body)


def encode_batch(messages: list[bytes]) -> bytes:
    """Encode an array of messages that are encoded already."""
    return b"[%b]" % b",".join(messages)


def _classify(envelope: _Envelope, data: bytes) -> SingleMessage:
    method, request_id = envelope.method, envelope.id
    result, error = envelope.result, envelope.error
    if method is not UNSET and result is UNSET and error is UNSET:
        if request_id is not UNSET:
            return Request(request_id, method, envelope.params)
        return Notification(method, envelope.params)
    if method is UNSET and request_id is not UNSET and result is not UNSET and error is UNSET:
        # A result is an object; the first byte of a value tells its type.
        if bytes(memoryview(result)[:1]) == b"{":
            return Response(request_id, result)
    elif method is UNSET and error is not UNSET and result is UNSET:
        return ErrorResponse(None if request_id is UNSET else request_id, error)
    return _diagnose(data)


def _decode_array_of_messages(data: bytes) -> Batch | InvalidMessage | None:
    """Read a batch; `None` when the bytes are no JSON array."""
    if data.lstrip(b" \t\r\n")[:1] != b"[":
        return None
    try:
        texts = _decode_array(data)
    except UNDECODABLE:
        return None
    if not texts:
        return InvalidMessage(INVALID_REQUEST, "Invalid Request: an empty array", data)
    if len(texts) > MAX_BATCH_MESSAGES:
        reason = f"Invalid Request: a batch of more than {MAX_BATCH_MESSAGES} messages"
        return InvalidMessage(INVALID_REQUEST, reason, data)
    copies = [bytes(text) for text in texts]
    return Batch([_decode_single(text) for text in copies], copies, data)


def _decode_single(data: bytes) -> SingleMessage:
    try:
        return _classify(_decode_envelope(data), data)
    except UNDECODABLE:
        return _diagnose(data)


def _diagnose(data: bytes) -> InvalidMessage | ErrorResponse:
    """Say what is wrong with bytes that are not a message."""
    try:
        value = msgspec.json.decode(data)
    except RecursionError:
        return _unparsable("nested too deeply", data)
    except UNDECODABLE as error:
        return _unparsable(str(error), data)
    if not isinstance(value, dict):
        kind = "an array" if isinstance(value, list) else "not an object"
        return InvalidMessage(INVALID_REQUEST, f"Invalid Request: the message is {kind}", data)
    return _diagnose_object(value, data)


def _diagnose_object(value: dict[str, Any], data: bytes) -> InvalidMessage | ErrorResponse:
    request_id = value.get("id")
    has_id = isinstance(request_id, int | str) and not isinstance(request_id, bool)
    is_answer = "method" not in value and ("result" in value or "error" in value)
    if is_answer and request_id is None and set(value) <= {"jsonrpc", "id", "error"}:
        # JSON-RPC itself answers an unreadable request under `id: null`; MCP leaves the id out.
        try:
            return ErrorResponse(None, msgspec.convert(value["error"], _DecodedError).to_object())
        except msgspec.ValidationError:
            pass
    return InvalidMessage(
        INVALID_REQUEST,
        f"Invalid Request: {_fault(value, has_id=has_id)}",
        data,
        id=request_id if has_id else None,
        answers=is_answer,
    )


class _DecodedError(msgspec.Struct):
    code: int
    message: str
    data: Any = UNSET

    def to_object(self) -> ErrorObject:
        data = UNSET if self.data is UNSET else Raw(_encode(self.data))
        return ErrorObject(self.code, self.message, data)


def _fault(value: dict[str, Any], *, has_id: bool) -> str:
    if value.get("jsonrpc") != "2.0":
        return '`jsonrpc` must be "2.0"'
    if "id" in value and not has_id:
        return "`id` must be a string or an integer"
    match [name for name in ("method", "result", "error") if name in value]:
        case []:
            fault = "it has none of `method`, `result` and `error`"
        case ["method"]:
            fault = "`method` must be a string"
        case ["result"]:
            fault = "`result` must be an object" if has_id else "a result needs an `id`"
        case ["error"]:
            fault = "`error` must have an integer `code` and a string `message`"
        case [one, other, *_]:
            fault = f"it has both `{one}` and `{other}`"
        case _:
            raise AssertionError("a list is empty, has one item or more")
    return fault


def _unparsable(reason: str, data: bytes) -> InvalidMessage:
    """Bytes that are no JSON; still answered under their id where it can be read.

    Without that, the sender of a long request with one bad byte in it would wait for ever.
    """
    request_id, answers = _salvage_id(data)
    return InvalidMessage(
        PARSE_ERROR, f"Parse error: {reason}", data, id=request_id, answers=answers
    )


@cache
def _token_pattern() -> re.Pattern[bytes]:
    # Compiled when first needed, which mostly is never.
    return re.compile(rb'"(?:[^"\\]|\\.)*"?|[{}\[\]]|[^\s"{}\[\],:]+', re.DOTALL)


# The id stands near the front of any real message; what is behind this is not searched.
_SALVAGE_BYTES: Final = 64 * 1024


def _salvage_id(data: bytes) -> tuple[RequestId | None, bool]:
    """Find the id of a broken request, and whether the text looks like an answer instead."""
    depth, key, members = 0, b"", dict[bytes, bytes]()
    for match in _token_pattern().finditer(data, 0, _SALVAGE_BYTES):
        token = match.group()
        if token in b"{}[]":
            if key:
                members.setdefault(key, token)
                key = b""
            depth += 1 if token in b"{[" else -1
        elif depth == 1:
            if key:
                members.setdefault(key, token)
                key = b""
            else:
                key = token
    is_request = b'"method"' in members
    is_answer = not is_request and (b'"result"' in members or b'"error"' in members)
    if b'"id"' not in members or not (is_request or is_answer):
        return None, is_answer
    try:
        return msgspec.json.decode(members[b'"id"'], type=RequestId), is_answer
    except UNDECODABLE:
        return None, is_answer
