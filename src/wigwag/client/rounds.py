"""Rounds of input that the caller answers, perhaps later and in another process.

Spec: basic/utilities/mrtr
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias, TypedDict, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

from wigwag.errors import LocalProtocolError
from wigwag.jsonrpc.codec import encode_value
from wigwag.runtime.client_connection import OnProgress
from wigwag.schema import (
    MODERN_REVISIONS,
    CreateMessageResult,
    ElicitResult,
    InputResponseRequestParams,
    ListRootsResult,
    project,
)

__all__ = ["CallOptions", "InputAnswer", "RequestOptions", "with_answers"]

InputAnswer: TypeAlias = ElicitResult | CreateMessageResult | ListRootsResult | Mapping[str, Any]

P = TypeVar("P", bound=InputResponseRequestParams)


class RequestOptions(TypedDict, total=False):
    """What each request that may take several rounds can be given besides."""

    timeout: float | None
    on_progress: OnProgress | None
    meta: Mapping[str, Any] | None
    input_responses: Mapping[str, InputAnswer] | None
    request_state: str | UnsetType | None


class CallOptions(RequestOptions, total=False):
    """What each call of a tool can be given besides."""

    check_output: bool


# Each kind of answer has a member that the others lack.
_KINDS: Final = (
    ("action", ElicitResult),
    ("roots", ListRootsResult),
    ("role", CreateMessageResult),
)
_WANTED: Final = (
    "give an ElicitResult, a CreateMessageResult or a ListRootsResult, or what one of them is in "
    "JSON"
)


def with_answers(
    params: P,
    responses: Mapping[str, InputAnswer] | None,
    state: str | UnsetType | None,
    revision: str,
) -> P:
    """Return the params of a request that goes on after the server has asked for input.

    Args:
        params: What the request had when it was first made.
        responses: The answers, under the keys of their questions.
        state: What the server has given to be returned.
        revision: What is spoken.

    Raises:
        LocalProtocolError: An answer is none, or the revision has no such rounds.
    """
    if responses is None and state in (None, UNSET):
        return params
    if revision not in MODERN_REVISIONS:
        raise LocalProtocolError(
            f"a server of {revision} asks by requests of its own, which callbacks answer: it takes "
            "neither `input_responses` nor `request_state`"
        )
    if state is None:
        state = UNSET
    if not isinstance(state, str | UnsetType):
        kind = type(state).__name__
        raise LocalProtocolError(f"`request_state` is the text that the server gave, not {kind}")
    if responses is not None and not isinstance(responses, Mapping):
        kind = type(responses).__name__
        raise LocalProtocolError(f"`input_responses` is a mapping of keys to answers, not {kind}")
    encoded = {key: _encoded(key, answer, revision) for key, answer in (responses or {}).items()}
    return msgspec.structs.replace(params, input_responses=encoded or UNSET, request_state=state)


def _encoded(key: str, answer: InputAnswer, revision: str) -> Raw:
    if isinstance(answer, ElicitResult | CreateMessageResult | ListRootsResult):
        return Raw(encode_value(project(answer, revision)))
    if not isinstance(answer, Mapping):
        kind = type(answer).__name__
        raise LocalProtocolError(f"the answer {key!r} is of type {kind}: {_WANTED}")
    found = [kind for member, kind in _KINDS if member in answer]
    if not found:
        raise LocalProtocolError(f"the answer {key!r} is none: {_WANTED}")
    encoded = encode_value(dict(answer))
    try:
        msgspec.json.decode(encoded, type=found[0])
    except (msgspec.DecodeError, RecursionError) as error:
        raise LocalProtocolError(f"the answer {key!r} is no {found[0].__name__}: {error}") from None
    return Raw(encoded)
