"""What the doctor says to a server at a URL: as little as possible, and nothing with an effect."""

from __future__ import annotations

import itertools
from typing import Any, Final

from wigwag._version import __version__
from wigwag.bindings.http_headers import request_headers
from wigwag.bindings.sse import EVENT_STREAM
from wigwag.jsonrpc.codec import encode_value
from wigwag.schema import LEGACY_REVISIONS, MODERN_REVISIONS

__all__ = [
    "JSON_TYPE",
    "LEGACY",
    "MODERN",
    "Question",
    "initialize",
    "initialized",
    "legacy",
    "modern",
]

JSON_TYPE: Final = "application/json"
LEGACY: Final = LEGACY_REVISIONS[-1]
MODERN: Final = MODERN_REVISIONS[-1]

_INFO: Final = {"name": "wigwag-doctor", "version": __version__}
# No id is used twice in a session, and each of them belongs to one examination.
_ids: Final = itertools.count(1)
_META: Final = "io.modelcontextprotocol/"


class Question:
    """A message that is to be sent, and the headers that go with it.

    Args:
        method: The method.
        params: Its params.
        headers: The headers.
        is_notification: Whether it gets no answer.
    """

    def __init__(
        self,
        method: str,
        params: dict[str, Any] | None,
        headers: dict[str, str],
        *,
        is_notification: bool = False,
    ) -> None:
        self.method = method
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if not is_notification:
            message["id"] = next(_ids)
        if params is not None:
            message["params"] = params
        self.body = encode_value(message)
        self.headers = {
            "Content-Type": JSON_TYPE,
            "Accept": f"{JSON_TYPE}, {EVENT_STREAM}",
            **headers,
        }


def initialize(revision: str = LEGACY) -> Question:
    """Return the request that begins a legacy conversation."""
    params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": _INFO}
    return Question("initialize", params, {})


def initialized(headers: dict[str, str]) -> Question:
    """Return the notification that ends the handshake."""
    return Question("notifications/initialized", None, headers, is_notification=True)


def legacy(method: str, headers: dict[str, str], params: dict[str, Any] | None = None) -> Question:
    """Return a request after a handshake, in its session if the headers name one."""
    return Question(method, params, headers)


def modern(
    method: str, params: dict[str, Any] | None = None, *, name: str | None = None
) -> Question:
    """Return a request that stands for itself."""
    meta = {
        f"{_META}protocolVersion": MODERN,
        f"{_META}clientInfo": _INFO,
        f"{_META}clientCapabilities": {},
    }
    more = (params or {}).get("_meta", {})
    whole = {**(params or {}), "_meta": {**meta, **more}}
    return Question(method, whole, request_headers(method, name, MODERN))
