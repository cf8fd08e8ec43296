"""The headers of Streamable HTTP: what they say, and whether it is true.

A modern request says in headers what its body says, so that whatever stands between client and
server can route it without reading bodies; a server therefore refuses a request whose headers tell
another story than its body.
Spec: basic/transports/streamable-http
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from wigwag.bindings.header_values import (
    SENTINEL,
    decode_header_value,
    encode_header_value,
    encode_scalar,
    equals,
    is_scalar,
    quoted,
)
from wigwag.bindings.mirrored_parameters import MCP_PARAM_PREFIX, MirroredParameter
from wigwag.errors import LocalProtocolError

__all__ = [
    "COMMON_ACCEPTS",
    "LAST_EVENT_ID",
    "MCP_METHOD",
    "MCP_NAME",
    "MCP_PARAM_PREFIX",
    "MCP_PROTOCOL_VERSION",
    "MCP_SESSION_ID",
    "NAME_MEMBERS",
    "HeaderFault",
    "RequestHeaders",
    "accepts",
    "is_json",
    "parameter_headers",
    "request_headers",
]

# As an ASGI server gives them.
MCP_PROTOCOL_VERSION: Final = b"mcp-protocol-version"
MCP_SESSION_ID: Final = b"mcp-session-id"
MCP_METHOD: Final = b"mcp-method"
MCP_NAME: Final = b"mcp-name"
LAST_EVENT_ID: Final = b"last-event-id"

NAME_MEMBERS: Final[Mapping[str, str]] = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
"""The methods that `Mcp-Name` is sent with, and the member of their params that it repeats."""

_NO_NAMES: Final[frozenset[bytes]] = frozenset()


# --- the headers of a client


def request_headers(method: str, name: str | None, version: str) -> dict[str, str]:
    """Return the headers that every POST of a modern client has.

    Args:
        method: The method of the request or notification.
        name: The member of its params that `NAME_MEMBERS` tells, `None` if it tells none.
        version: The revision, as in the `_meta` of the request.

    Raises:
        LocalProtocolError: The method or the version cannot stand in a header, or the name has
            lone surrogates.
    """
    headers = {"MCP-Protocol-Version": version, "Mcp-Method": method}
    for header, value in headers.items():
        if encode_header_value(value) != value:
            raise LocalProtocolError(f"{header} cannot carry {quoted(value)}")
    if name is not None:
        headers["Mcp-Name"] = encode_header_value(name)
    return headers


def parameter_headers(
    mirrored: Iterable[MirroredParameter], arguments: Mapping[str, Any]
) -> dict[str, str]:
    """Return the headers that repeat arguments of a tool call.

    Args:
        mirrored: The parameters that the tool wants repeated.
        arguments: As plain JSON values. What is absent, null or no scalar is not repeated.

    Raises:
        LocalProtocolError: A value cannot stand in a header, see `encode_scalar`.
    """
    headers = {}
    for parameter in mirrored:
        value = parameter.value_in(arguments)
        # JSON has no infinity and no NaN: they are sent as null.
        if is_scalar(value) and not (isinstance(value, float) and not math.isfinite(value)):
            try:
                headers[parameter.header] = encode_scalar(value)
            except LocalProtocolError as error:
                message = f"{parameter.header} cannot carry {_path(parameter)}: {error}"
                raise LocalProtocolError(message) from None
    return headers


# --- the headers of a request, seen by the server


class HeaderFault(msgspec.Struct, frozen=True):
    """Why the headers of a request do not fit its body; it is answered with 400 and -32020."""

    reason: str
    """One sentence, the message of the error."""

    header: str
    """The name of the header, for the error's data."""


# What headers are compared with again and again, as bytes; texts that need encoding are not here.
_plain: dict[str, bytes] = {}
_MAX_PLAIN: Final = 1024
_MAX_PLAIN_CHARACTERS: Final = 128


def _as_plain(text: str) -> bytes | None:
    """Return the bytes that a text is in a header; `None` if it cannot be written as it is."""
    if not (text.isascii() and text.isprintable()) or text[:2] == SENTINEL[:2] or not text:
        return None
    data = text.encode()
    if len(_plain) < _MAX_PLAIN and len(text) <= _MAX_PLAIN_CHARACTERS:
        _plain[text] = data
    return data


class RequestHeaders:
    """The headers of one request.

    Lines with the same name are joined by commas, as HTTP says; but no header of MCP may come
    twice, and the checks refuse one that does.

    Args:
        headers: Pairs of name and value as ASGI has them, the names in lower case.
    """

    __slots__ = ("_repeated", "values")

    def __init__(self, headers: Sequence[tuple[bytes, bytes]]) -> None:
        self.values = dict(headers)
        """The values by name, as they came; `get` is without the blanks around them."""
        self._repeated = _NO_NAMES
        if len(self.values) != len(headers):
            self._join(headers)

    def get(self, name: bytes) -> bytes | None:
        """Return a value without the blanks around it, `None` if there is no such header."""
        value = self.values.get(name)
        return None if value is None else value.strip(b" \t")

    @property
    def protocol_version(self) -> str | None:
        """The revision it claims to follow."""
        return self._text(MCP_PROTOCOL_VERSION)

    @property
    def session_id(self) -> str | None:
        """The session of a legacy request."""
        return self._text(MCP_SESSION_ID)

    @property
    def last_event_id(self) -> str | None:
        """The last event that a client got of a stream it wants to go on with."""
        return self._text(LAST_EVENT_ID)

    def agree(self, version: str, method: str, name: str) -> bool:
        """Tell whether revision, method and name are plainly those of the body.

        Quicker than the checks below, which tell what is wrong, or that nothing is after all.
        """
        values = self.values
        return (
            values.get(MCP_NAME) == (_plain.get(name) or _as_plain(name))
            and values.get(MCP_METHOD) == (_plain.get(method) or _as_plain(method))
            and values.get(MCP_PROTOCOL_VERSION) == (_plain.get(version) or _as_plain(version))
            and not self._repeated
        )

    def check_version(self, version: str) -> HeaderFault | None:
        """Compare the revision with the one in `_meta`."""
        if self.values.get(MCP_PROTOCOL_VERSION) == version.encode() and not self._repeated:
            return None
        return self._check_plainly(MCP_PROTOCOL_VERSION, "MCP-Protocol-Version", version)

    def check_method(self, method: str, name: str | None) -> HeaderFault | None:
        """Compare method and name with those in the body.

        Args:
            method: The method.
            name: The member of its params that `NAME_MEMBERS` tells. `None` if it tells none or
                the member is missing: then `Mcp-Name` is not looked at.
        """
        values = self.values
        if not (values.get(MCP_METHOD) == method.encode() and not self._repeated):
            fault = self._check_plainly(MCP_METHOD, "Mcp-Method", method)
            if fault is not None:
                return fault
        if name is None or (
            values.get(MCP_NAME) == name.encode()
            and name.isascii()
            and name.isprintable()
            and not name.startswith(SENTINEL)
            and not self._repeated
        ):
            return None
        return self._check_name(name)

    def check_notification(self, method: str) -> HeaderFault | None:
        """Compare the method of a notification, which need not be stated in a header."""
        if self.get(MCP_METHOD) is None:
            return None
        return self._check_plainly(MCP_METHOD, "Mcp-Method", method)

    def check_parameters(
        self, mirrored: Iterable[MirroredParameter], arguments: Mapping[str, Any]
    ) -> HeaderFault | None:
        """Compare what headers repeat of the arguments of a tool call.

        A value that is neither null nor a scalar breaks the tool's schema; its header is not
        missed, so that the refusal of the arguments says what is wrong.
        """
        for parameter in mirrored:
            fault = self._check_parameter(parameter, parameter.value_in(arguments))
            if fault is not None:
                return fault
        return None

    def _check_plainly(self, key: bytes, header: str, expected: str) -> HeaderFault | None:
        """Compare a header whose value is never encoded."""
        value = self.get(key)
        if value is None or key in self._repeated:
            return self._missing(key, header, quoted(expected))
        if value == expected.encode():
            return None
        return _mismatch(header, value.decode("latin-1"), expected)

    def _check_name(self, name: str) -> HeaderFault | None:
        raw = self.get(MCP_NAME)
        if raw is None or MCP_NAME in self._repeated:
            return self._missing(MCP_NAME, "Mcp-Name", quoted(name))
        try:
            value = decode_header_value(raw)
        except ValueError as error:
            return _undecodable("Mcp-Name", error)
        return None if value == name else _mismatch("Mcp-Name", value, name)

    def _check_parameter(self, parameter: MirroredParameter, value: Any) -> HeaderFault | None:
        header = parameter.header
        raw = self.get(parameter.key)
        if raw is None or parameter.key in self._repeated:
            if raw is None and not is_scalar(value):
                return None
            return self._missing(parameter.key, header, f"the argument {_path(parameter)}")
        try:
            text = decode_header_value(raw)
        except ValueError as error:
            return _undecodable(header, error)
        if equals(text, value):
            return None
        # Arguments may be private; neither value is told.
        body = f"the argument {_path(parameter)}, which is "
        body += "absent or null" if value is None else "another value"
        return HeaderFault(f"Header mismatch: {header} must repeat {body}", header)

    def _missing(self, key: bytes, header: str, expected: str) -> HeaderFault:
        fault = "came more than once" if key in self._repeated else "is missing"
        return HeaderFault(f"Header mismatch: {header} {fault}; it must repeat {expected}", header)

    def _text(self, name: bytes) -> str | None:
        value = self.get(name)
        return None if value is None else value.decode("latin-1")

    def _join(self, headers: Sequence[tuple[bytes, bytes]]) -> None:
        lines: dict[bytes, list[bytes]] = {}
        for name, value in headers:
            lines.setdefault(name, []).append(value)
        self._repeated = frozenset(name for name, values in lines.items() if len(values) > 1)
        for name in self._repeated:
            self.values[name] = b", ".join(lines[name])


# --- what the bodies are


COMMON_ACCEPTS: Final[dict[bytes | None, tuple[bool, bool]]] = {
    None: (True, True),
    b"*/*": (True, True),
    b"application/json, text/event-stream": (True, True),
    b"application/json,text/event-stream": (True, True),
    b"text/event-stream, application/json": (True, True),
    b"text/event-stream,application/json": (True, True),
    b"application/json": (True, False),
    b"text/event-stream": (False, True),
}


def accepts(value: bytes | None) -> tuple[bool, bool]:
    """Tell whether a client takes JSON, and whether it takes an event stream.

    Judged leniently: without the header it takes both.

    >>> accepts(b"text/*;q=0.5, application/xml")
    (False, True)

    Args:
        value: The value of its `Accept`.
    """
    common = COMMON_ACCEPTS.get(value)
    if common is not None or value is None:
        return common or (True, True)
    ranges: dict[bytes, bool] = {}
    for part in value.lower().split(b","):
        name, _, parameters = part.partition(b";")
        if name.strip():
            ranges[name.strip()] = not _is_refused(parameters)
    if not ranges:
        return True, True
    return _takes(ranges, b"application", b"json"), _takes(ranges, b"text", b"event-stream")


def is_json(content_type: bytes | None) -> bool:
    """Tell whether a body is JSON by its `Content-Type`; taken for granted when that is absent.

    >>> is_json(b"application/json; charset=utf-8"), is_json(b"text/plain")
    (True, False)
    """
    if content_type is None or content_type == b"application/json":
        return True
    name = content_type.partition(b";")[0].strip().lower()
    return (
        not name
        or name == b"application/json"
        or (name.startswith(b"application/") and name.endswith(b"+json"))
    )


def _takes(ranges: dict[bytes, bool], kind: bytes, subtype: bytes) -> bool:
    """Tell what the most specific range says of a media type."""
    for name in (kind + b"/" + subtype, kind + b"/*", b"*/*", b"*"):
        if name in ranges:
            return ranges[name]
    return False


def _is_refused(parameters: bytes) -> bool:
    """Tell whether there is a quality of zero among the parameters of a range."""
    for parameter in parameters.split(b";"):
        name, _, quality = parameter.partition(b"=")
        if name.strip() == b"q" and quality.strip() and not quality.strip().strip(b"0."):
            return True
    return False


# --- parts of the above


def _mismatch(header: str, found: str, expected: str) -> HeaderFault:
    reason = f"Header mismatch: {header} is {quoted(found)}, but the body has {quoted(expected)}"
    return HeaderFault(reason, header)


def _undecodable(header: str, error: ValueError) -> HeaderFault:
    return HeaderFault(f"Header mismatch: {header} cannot be read: {error}", header)


def _path(parameter: MirroredParameter) -> str:
    return quoted(".".join(parameter.path))
