"""What is remembered of a call between its rounds: the client carries it, sealed.

Spec: basic/utilities/mrtr#request-state
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from wigwag.errors import RequestFailed
from wigwag.jsonrpc.codec import UNDECODABLE
from wigwag.jsonrpc.codes import INTERNAL_ERROR, INVALID_PARAMS
from wigwag.protocol.events import RequestReceived
from wigwag.schema import METHODS, RESOURCES_READ
from wigwag.server.asking.questions import Answer
from wigwag.server.asking.sealing import Seal, SealBroken

if TYPE_CHECKING:
    from wigwag.server.principal import Principal

_BEGIN_ANEW: Final = "begin again, without `requestState` and `inputResponses`"


class Memory(Struct, omit_defaults=True):
    """What is remembered.

    Attributes:
        expires: When it is forgotten, in seconds since 1970.
        answers: The answers so far, by the keys of their questions.
        asked: The digests of the questions of the last round, by their keys.
        once: What `Context.once` has remembered, by name.
        given: The state of a handler that asks by hand.
        replies: The answers to what it asked by hand, where it then asks something else.
    """

    expires: int = 0
    answers: dict[str, Answer] = {}
    asked: dict[str, str] = {}
    once: dict[str, Raw] = {}
    given: Raw | UnsetType = UNSET
    replies: dict[str, Raw] = {}


_decode = msgspec.json.Decoder(Memory).decode


class Keeper:
    """Seals and opens what is remembered.

    Args:
        seal: What it is sealed with.
        server: The name of the server, whose states others do not take.
        lifetime: Seconds for which a state is good.
        max_bytes: How long a sealed state may become.
    """

    def __init__(self, seal: Seal, server: str, lifetime: float, max_bytes: int) -> None:
        self._seal = seal
        self._server = server
        self._lifetime = lifetime
        self._max_bytes = max_bytes

    def seal(
        self,
        memory: Memory,
        request: RequestReceived,
        *,
        now: float,
        principal: Principal | None = None,
    ) -> str:
        """Return what a client is to bring back when it makes the request again.

        Args:
            memory: What is to be remembered.
            request: The request; no other one can bring it back.
            now: Seconds since 1970.
            principal: Who makes the request, if that is known; nobody else can bring it back.

        Raises:
            RequestFailed: There is too much to remember.
        """
        memory.expires = int(now + self._lifetime) + 1
        state = self._seal.seal(
            msgspec.json.encode(memory), _purpose(self._server, request, principal)
        )
        if len(state) > self._max_bytes:
            message = (
                f"the answers and results to remember between the rounds of this call take "
                f"{len(state)} bytes; the server's limit is {self._max_bytes}"
            )
            raise RequestFailed(INTERNAL_ERROR, message)
        return state

    def open(
        self,
        state: str,
        request: RequestReceived,
        *,
        now: float,
        principal: Principal | None = None,
    ) -> Memory:
        """Return what was remembered of the request; the arguments are those of `seal`.

        Raises:
            RequestFailed: It was another one, or of somebody else; it is long ago; or the state
                was changed.
        """
        try:
            memory = _decode(self._seal.open(state, _purpose(self._server, request, principal)))
        except (SealBroken, *UNDECODABLE):
            message = f"Invalid params: `requestState` is not one for this request; {_BEGIN_ANEW}"
            raise RequestFailed(INVALID_PARAMS, message) from None
        if now >= memory.expires:
            message = f"Invalid params: `requestState` has expired; {_BEGIN_ANEW}"
            raise RequestFailed(INVALID_PARAMS, message)
        return memory


class _Inputs(Struct):
    request_state: str | UnsetType = field(name="requestState", default=UNSET)
    input_responses: dict[str, Raw] | UnsetType = field(name="inputResponses", default=UNSET)


class _Request(Struct):
    params: _Inputs = field(default_factory=_Inputs)


class _AnyRequest(Struct):
    params: dict[str, Any] = {}


def inputs_of(request: RequestReceived) -> Any:
    """Return the params of a request that have its `request_state` and `input_responses`.

    Raises:
        RequestFailed: They are not what they should be.
    """
    if request.method in METHODS:
        return request.params
    try:  # one of the server's own, whose params nobody has read
        return msgspec.json.decode(request.source, type=_Request).params
    except UNDECODABLE as error:
        raise RequestFailed(INVALID_PARAMS, f"Invalid params: {error}") from None


def _purpose(server: str, request: RequestReceived, principal: Principal | None) -> bytes:
    """Return what a state is bound to: nobody can use it for anything else."""
    params: Any = request.params
    if request.method in METHODS:
        target = params.uri if request.method == RESOURCES_READ else params.name
        arguments = getattr(params, "arguments", UNSET)
        if isinstance(arguments, Raw):
            arguments = msgspec.json.decode(arguments)
    else:
        target = ""
        arguments = msgspec.json.decode(request.source, type=_AnyRequest).params
        for name in ("_meta", "requestState", "inputResponses"):
            arguments.pop(name, None)
    canonical = msgspec.json.encode({} if arguments in (UNSET, None) else arguments, order="sorted")
    digest = hashlib.sha256(canonical).hexdigest()
    who = None if principal is None else [principal.issuer, principal.subject]
    return msgspec.json.encode([server, request.method, target, digest, who])
