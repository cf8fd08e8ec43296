"""Reads a tool call, envelope and params, in a single pass.

Almost all that a busy server receives are tool calls, and half of the work of answering one is
reading it. What is not plainly a sound tool call is left to the general way, which knows what to
say about it.
"""

from collections.abc import Callable
from typing import Final, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from wigwag.jsonrpc.codec import UNDECODABLE
from wigwag.jsonrpc.messages import RequestId
from wigwag.schema import CallToolRequestParams

# The method stands near the front of what real clients send.
_FRONT_BYTES: Final = 128


class Call(msgspec.Struct, frozen=True, gc=False):
    """A sound `tools/call` request."""

    jsonrpc: Literal["2.0"]
    id: RequestId
    method: Literal["tools/call"]
    params: CallToolRequestParams
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


_decode: Callable[[bytes], Call] | None = None


def decode_call(data: bytes) -> Call | None:
    """Read a message that is a sound tool call; `None` when it is anything else."""
    if data.find(b"tools/call", 0, _FRONT_BYTES) < 0:
        return None
    try:
        call = (_decode or _make_decoder())(data)
    except UNDECODABLE:
        return None
    return call if call.result is UNSET and call.error is UNSET else None


def _make_decoder() -> Callable[[bytes], Call]:
    """Make what decodes, with the first call: it takes as long as the import of many modules."""
    global _decode
    _decode = msgspec.json.Decoder(Call).decode
    return _decode
