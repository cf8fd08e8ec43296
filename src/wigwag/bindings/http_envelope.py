"""What a client must know of a message to put it into an HTTP request.

Spec: basic/transports/streamable-http
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from wigwag.bindings.http_headers import NAME_MEMBERS
from wigwag.jsonrpc.codec import UNDECODABLE
from wigwag.jsonrpc.messages import RequestId
from wigwag.schema import PROTOCOL_VERSION_KEY, TOOLS_CALL

__all__ = ["Envelope", "read_envelope"]


class Envelope(Struct, frozen=True, gc=False):
    """The outside of a message that is sent.

    Attributes:
        request_id: The id of a request; `None` for a notification, a response and an array.
        method: Its method; `None` for a response and an array.
        version: The revision that a modern message names.
        name: The tool, prompt, resource or task that it is about.
        arguments: Those of a tool call, undecoded.
    """

    request_id: RequestId | None = None
    method: str | None = None
    version: str | None = None
    name: str | None = None
    arguments: Raw | UnsetType = UNSET

    @property
    def operation(self) -> str:
        """What it is to do, such as `tools/call add`."""
        method = self.method or ""
        return method if self.name is None else f"{method} {self.name}"


class _Meta(Struct, rename={"version": PROTOCOL_VERSION_KEY}):
    version: str | UnsetType = UNSET


class _Params(Struct):
    name: Raw | UnsetType = UNSET
    uri: Raw | UnsetType = UNSET
    taskId: Raw | UnsetType = UNSET  # noqa: N815 - as on the wire
    arguments: Raw | UnsetType = UNSET
    _meta: _Meta | UnsetType = UNSET


class _Message(Struct):
    id: RequestId | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: _Params | UnsetType = UNSET


_decode: Final = msgspec.json.Decoder(_Message).decode
_decode_text: Final = msgspec.json.Decoder(str).decode
_NOTHING: Final = _Params()


def read_envelope(message: bytes) -> Envelope:
    """Look at a message that is to be sent.

    >>> read_envelope(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"}}')
    Envelope(request_id=1, method='tools/call', version=None, name='add', arguments=UNSET)
    """
    try:
        seen = _decode(message)
        if seen.method is UNSET:
            return Envelope()
        params = _NOTHING if seen.params is UNSET else seen.params
        member = NAME_MEMBERS.get(seen.method)
        name: Any = UNSET if member is None else getattr(params, member)
        return Envelope(
            None if seen.id is UNSET else seen.id,
            seen.method,
            None
            if params._meta is UNSET or params._meta.version is UNSET
            else params._meta.version,
            None if name is UNSET else _decode_text(name),
            params.arguments if seen.method == TOOLS_CALL else UNSET,
        )
    except UNDECODABLE:  # an array
        return Envelope()
