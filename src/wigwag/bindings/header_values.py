"""How values are written in the headers of Streamable HTTP, and how they compare with the body.

What is no printable ASCII, or would lose blanks on the way, is written as `=?base64?…?=`.
Spec: basic/transports/streamable-http#value-encoding
"""

from __future__ import annotations

import re
from binascii import Error as NotBase64
from binascii import a2b_base64, b2a_base64
from typing import Any, Final

from wigwag.errors import LocalProtocolError

__all__ = [
    "SENTINEL",
    "decode_header_value",
    "encode_header_value",
    "encode_scalar",
    "equals",
    "is_scalar",
    "quoted",
]

SENTINEL: Final = "=?base64?"
_SENTINEL_END: Final = "?="
_WRAPPED_BYTES: Final = len(SENTINEL) + len(_SENTINEL_END)

_MAX_INTEGER: Final = 2**53 - 1

_is_plain_bytes: Final = re.compile(rb"[ -~]*").fullmatch

# More lenient than JSON in one thing, leading zeros. The bounds keep arithmetic cheap.
_is_number: Final = re.compile(r"-?[0-9]{1,400}(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,3})?").fullmatch


def encode_header_value(value: str) -> str:
    """Write a text so that it survives in a header: as it is, or else as marked Base64.

    >>> encode_header_value("us-west1")
    'us-west1'
    >>> encode_header_value("Zürich")
    '=?base64?WsO8cmljaA==?='

    Raises:
        LocalProtocolError: It has lone surrogates, which no encoding can carry.
    """
    if (
        value.isascii()
        and value.isprintable()
        and value[:1] != " "
        and value[-1:] != " "
        and not (value.startswith(SENTINEL) and value.endswith(_SENTINEL_END))
    ):
        return value
    try:
        encoded = b2a_base64(value.encode(), newline=False)
    except UnicodeEncodeError:
        raise LocalProtocolError(f"{quoted(value)} has half a character (a surrogate)") from None
    return f"{SENTINEL}{encoded.decode()}{_SENTINEL_END}"


def decode_header_value(raw: bytes) -> str:
    """Read what `encode_header_value` wrote; the blanks around it must be gone already.

    Raises:
        ValueError: It has bytes that no header of MCP has, or it is marked as Base64 and is none.
    """
    if not _is_plain_bytes(raw):
        raise ValueError("only printable ASCII may stand in it; encode anything else")
    text = raw.decode("ascii")
    if not _is_wrapped(text):
        return text
    payload = text[len(SENTINEL) : -len(_SENTINEL_END)].encode()
    try:
        decoded = a2b_base64(payload)
    except NotBase64:
        raise ValueError("what it marks as Base64 is none") from None
    # Lenient decoders skip what is no Base64 and ignore spare bits.
    if b2a_base64(decoded, newline=False) != payload:
        raise ValueError("what it marks as Base64 is none, or is written in an unusual way")
    try:
        return decoded.decode()
    except UnicodeDecodeError:
        raise ValueError("the text that it has in Base64 is not UTF-8") from None


def encode_scalar(value: str | float | bool) -> str:  # noqa: FBT001 - it is the value
    """Write an argument, as `encode_header_value` does a text.

    Raises:
        LocalProtocolError: It is an integer that not every program can keep, or a text with lone
            surrogates.
    """
    if isinstance(value, str):
        return encode_header_value(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if not value.is_integer():
            return repr(value)
        value = int(value)
    if abs(value) > _MAX_INTEGER:
        raise LocalProtocolError("an integer in a header must be within ±(2**53 - 1)")
    return str(int(value))


def is_scalar(value: Any) -> bool:
    """Tell whether a value of the body can be repeated in a header."""
    return isinstance(value, str | int | float)  # a bool is an int


def equals(text: str, value: Any) -> bool:
    """Compare the text of a header with a value of the body, numbers by what they are worth."""
    if isinstance(value, str):
        return text == value
    if isinstance(value, bool):
        return text == ("true" if value else "false")
    if not isinstance(value, int | float) or not _is_number(text):
        return False
    if isinstance(value, float) and not value.is_integer():
        return float(text) == value
    if text.lstrip("-").isdigit():
        return int(text) == value
    from decimal import Decimal  # noqa: PLC0415 - few write an integer so

    return Decimal(text) == int(value)


def quoted(text: str) -> str:
    """Return a text as a sentence can have it: in quotes, on one line, not too long."""
    return repr(text) if len(text) <= 200 else repr(text[:200]) + "…"


def _is_wrapped(text: str) -> bool:
    return (
        len(text) >= _WRAPPED_BYTES and text.startswith(SENTINEL) and text.endswith(_SENTINEL_END)
    )
