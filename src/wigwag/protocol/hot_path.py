"""Reads a tool call, envelope and params, in a single pass.

Almost all that a busy server receives are tool calls, and half of the work of answering one is
reading it. What is not plainly a sound tool call is left to the general way, which knows what to
say about it.
"""

from typing import Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from wigwag.jsonrpc.messages import RequestId
from wigwag.schema import CallToolRequestParams


class Call(msgspec.Struct, frozen=True, gc=False):
    """A sound `tools/call` request, but for members that only answers may have.

    Attributes:
        result: Must be `UNSET`.
        error: Must be `UNSET`.
    """

    jsonrpc: Literal["2.0"]
    id: RequestId
    method: Literal["tools/call"]
    params: CallToolRequestParams
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


def decode_call(data: bytes) -> Call:
    """Read a message that is a tool call; to be looked up in this module each time.

    Raises:
        DecodeError, RecursionError, UnicodeError: It is anything else; see `UNDECODABLE`.
    """
    # The first call makes what decodes the others: it takes as long as importing many modules.
    globals()["decode_call"] = decode = msgspec.json.Decoder(Call).decode
    return decode(data)
