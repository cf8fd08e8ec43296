"""The shapes a JSON-RPC 2.0 message can have once its envelope has been read.

Members that belong to a method (`params`, `result`, the error's `data`) stay undecoded: a `Raw` is
a view of the bytes that arrived.
Spec: basic#messages
"""

from msgspec import UNSET, Raw, Struct, UnsetType

RequestId = int | str


class Request(Struct, frozen=True, gc=False):
    """A message that wants an answer under its id."""

    id: RequestId
    method: str
    params: Raw | UnsetType = UNSET


class Notification(Struct, frozen=True, gc=False):
    """A message that is never answered."""

    method: str
    params: Raw | UnsetType = UNSET


class Response(Struct, frozen=True, gc=False):
    """The result of a request of ours."""

    id: RequestId
    result: Raw


class ErrorObject(Struct, frozen=True, gc=False, omit_defaults=True):
    """Why a request failed."""

    code: int
    message: str
    data: Raw | UnsetType = UNSET


class ErrorResponse(Struct, frozen=True, gc=False):
    """The refusal of a request of ours; `id` is `None` when the peer could not read it."""

    id: RequestId | None
    error: ErrorObject


class InvalidMessage(Struct, frozen=True, gc=False):
    """Something that arrived and is none of the other shapes.

    Attributes:
        code: The error code that says what is wrong with it.
        reason: The same in words, for the peer to read.
        id: The id of the message, if it had one that can be trusted.
        answers: Whether it was meant as an answer; an answer is never answered.
        data: The bytes, for the log.
    """

    code: int
    reason: str
    data: bytes
    id: RequestId | None = None
    answers: bool = False


SingleMessage = Request | Notification | Response | ErrorResponse | InvalidMessage


class Batch(Struct, frozen=True):
    """An array of messages, as revision 2025-03-26 allows. Spec: 2025-03-26 basic#batching."""

    messages: list[SingleMessage]
    texts: list[bytes]
    """The bytes of each of them."""
    data: bytes


Message = SingleMessage | Batch
