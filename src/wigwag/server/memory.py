"""What is remembered of a call between its rounds: the client carries it, sealed.

Spec: basic/utilities/mrtr#request-state
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from wigwag.errors import RequestFailed
from wigwag.jsonrpc.codec import UNDECODABLE
from wigwag.jsonrpc.codes import INTERNAL_ERROR, INVALID_PARAMS
from wigwag.protocol.events import RequestReceived
from wigwag.server.sealing import Seal, SealBroken

_BEGIN_ANEW: Final = "begin again, without `requestState` and `inputResponses`"


class Answer(Struct, frozen=True, array_like=True):
    """An answer, and the digest of the question that it is an answer to."""

    digest: str
    value: Raw


class Memory(Struct, omit_defaults=True):
    """What is remembered.

    Attributes:
        expires: When it is forgotten, in seconds since 1970.
        answers: The answers so far, by the keys of their questions.
        asked: The digests of the questions of the last round, by their keys.
        once: What `Context.once` has remembered, by name.
        given: The state of a handler that asks by hand.
    """

    expires: int = 0
    answers: dict[str, Answer] = {}
    asked: dict[str, str] = {}
    once: dict[str, Raw] = {}
    given: Raw | UnsetType = UNSET


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

    def seal(self, memory: Memory, request: RequestReceived, *, now: float) -> str:
        """Return what a client is to bring back when it makes the request again.

        Raises:
            RequestFailed: There is too much to remember.
        """
        memory.expires = int(now + self._lifetime) + 1
        state = self._seal.seal(msgspec.json.encode(memory), self._purpose(request))
        if len(state) > self._max_bytes:
            message = (
                f"the answers and results to remember between the rounds of this call take "
                f"{len(state)} bytes; the server's limit is {self._max_bytes}"
            )
            raise RequestFailed(INTERNAL_ERROR, message)
        return state

    def open(self, state: str, request: RequestReceived, *, now: float) -> Memory:
        """Return what was remembered of the request.

        Raises:
            RequestFailed: It was another one, it is long ago, or the state was changed.
        """
        try:
            memory = _decode(self._seal.open(state, self._purpose(request)))
        except (SealBroken, *UNDECODABLE):
            message = f"Invalid params: `requestState` is not one for this request; {_BEGIN_ANEW}"
            raise RequestFailed(INVALID_PARAMS, message) from None
        if now >= memory.expires:
            message = f"Invalid params: `requestState` has expired; {_BEGIN_ANEW}"
            raise RequestFailed(INVALID_PARAMS, message)
        return memory

    def _purpose(self, request: RequestReceived) -> bytes:
        """Return what a state is bound to: nobody can use it for anything else."""
        params: Any = request.params
        target = getattr(params, "uri", None) or params.name
        arguments = getattr(params, "arguments", UNSET)
        if isinstance(arguments, Raw):
            arguments = msgspec.json.decode(arguments)
        canonical = msgspec.json.encode(
            {} if arguments in (UNSET, None) else arguments, order="sorted"
        )
        digest = hashlib.sha256(canonical).hexdigest()
        return msgspec.json.encode([self._server, request.method, target, digest])
