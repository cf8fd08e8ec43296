"""What functions return, as results of the protocol."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from types import UnionType
from typing import Any, Final, Union, cast, get_args, get_origin

import msgspec
from msgspec import UNSET, Raw

from wigwag.errors import ToolError
from wigwag.jsonrpc.codec import UNDECODABLE
from wigwag.protocol.server import Members
from wigwag.schema import (
    CallToolResult,
    ContentBlock,
    TextContent,
)
from wigwag.server.annotations import is_model, translate
from wigwag.server.input_required import InputRequired
from wigwag.server.plain_schema import decode_hook, encode_hook, schema_of

BLOCKS: Final[tuple[type, ...]] = get_args(ContentBlock)
# What these return is content already, or text: there is no structure to describe.
_UNSTRUCTURED: Final = (str, bytes, type(None), Any, UNSET, CallToolResult, *BLOCKS)

_CHECKED_BY_TYPE: Final = (bool, int, float, str, dict, list)
_ANYTHING: Final = (list, tuple, list[Any], tuple[Any, ...])

_LONE_SURROGATE: Final = "a text has a lone surrogate, which UTF-8 has no form for"
_TEXT_HEAD: Final = b'"content":[{"type":"text","text":'

_encode = msgspec.json.Encoder(enc_hook=encode_hook).encode
_encode_text = msgspec.json.Encoder().encode


class InvalidOutput(Exception):
    """A function returned something that it did not declare, or that JSON has no form for."""


class ToolOutput:
    """What a tool returns, by its annotation.

    Attributes:
        schema: The schema of its structured content; `None` when it has none.
    """

    def __init__(self, annotation: Any) -> None:
        annotation = translate(_without_questions(annotation))
        self.schema: dict[str, Any] | None = None
        self._type = annotation
        # The fields of any other object may hold what they should not.
        self._is_checked_by_type = annotation in _CHECKED_BY_TYPE or is_model(annotation)
        if _is_structured(annotation):
            try:
                self.schema = schema_of(annotation)
            except TypeError:
                return  # no form in JSON that can be promised; what is returned is sent as text
            self._decode = msgspec.json.Decoder(annotation, dec_hook=decode_hook).decode

    def to_result(self, value: Any) -> CallToolResult | Members:
        """Turn what the tool returned into a result, or its encoded members where that is quickest.

        Raises:
            InvalidOutput: It is not what the tool declared, or JSON has no form for it.
        """
        if type(value) is str and self.schema is None:
            try:
                return _TEXT_HEAD, _encode_text(value), b"}]"
            except UnicodeEncodeError:
                raise InvalidOutput(_LONE_SURROGATE) from None
        if isinstance(value, CallToolResult):
            return value
        blocks = None if self.schema is not None else _as_blocks(value)
        if blocks is not None:
            return CallToolResult(content=blocks)
        encoded = encode_value(value)
        if self.schema is None:
            return CallToolResult(content=[TextContent(text=encoded.decode())])
        if not (self._is_checked_by_type and type(value) is self._type):
            self._check(encoded)
        return CallToolResult(
            content=[TextContent(text=value if type(value) is str else encoded.decode())],
            structured_content=Raw(encoded),
        )

    def _check(self, encoded: bytes) -> None:
        try:
            self._decode(encoded)
        except UNDECODABLE as error:
            raise InvalidOutput(f"it is not what the tool declares to return: {error}") from None


def failed_result(text: str) -> CallToolResult:
    """Return the result of a tool that has failed, for a model to read."""
    return CallToolResult(content=[TextContent(text=_sendable(text))], is_error=True)


def text_of_tool_error(error: ToolError) -> str:
    """Return what the model is to read of a deliberate failure."""
    return str(error) or type(error).__name__


def _without_questions(annotation: Any) -> Any:
    """Return an annotation without the `InputRequired` that a handler may return as well."""
    if get_origin(annotation) not in (Union, UnionType):
        return annotation
    rest = tuple(part for part in get_args(annotation) if part is not InputRequired)
    return Union[rest] if rest else annotation  # noqa: UP007 - the types are not known here


def _is_structured(annotation: Any) -> bool:
    if any(annotation is kind for kind in _UNSTRUCTURED):
        return False
    if annotation in _ANYTHING or _is_text_or_nothing(annotation):
        return False  # text; or what may hold anything, and so content as well
    return not _has_content(annotation)


def _has_content(annotation: Any) -> bool:
    """Tell whether a type is content, a choice with content in it, or a list of such."""
    if any(annotation is kind for kind in (*BLOCKS, CallToolResult)):
        return True
    arguments = get_args(annotation)
    if get_origin(annotation) in (list, tuple, Union, UnionType):
        return any(_has_content(part) for part in arguments)
    return False


def _is_text_or_nothing(annotation: Any) -> bool:
    """Tell whether a type is `str | None` or the like, which is text."""
    if get_origin(annotation) not in (Union, UnionType):
        return False
    return all(part in (str, bytes, type(None)) for part in get_args(annotation))


def _as_blocks(value: Any) -> list[ContentBlock] | None:
    """Return a value as content blocks if that is what it is."""
    if value is None:
        return []
    if isinstance(value, str):
        return [TextContent(text=value)]
    if isinstance(value, BLOCKS):
        return [cast("ContentBlock", value)]
    if isinstance(value, list | tuple) and any(isinstance(item, BLOCKS) for item in value):
        blocks: list[ContentBlock] = []
        for item in value:
            blocks += _as_blocks(item) or [TextContent(text=encode_value(item).decode())]
        return blocks
    return None


def encode_value(value: Any) -> bytes:
    """Return a value as JSON.

    Raises:
        InvalidOutput: JSON has no form for it.
    """
    try:
        encoded = _encode(value)
    except UnicodeEncodeError:
        raise InvalidOutput(_LONE_SURROGATE) from None
    except (TypeError, NotImplementedError, RecursionError, OverflowError) as error:
        if isinstance(value, InputRequired):
            raise InvalidOutput(
                "without a Context it cannot get answers, so it cannot ask"
            ) from None
        raise InvalidOutput(f"JSON has no form for it: {error}") from None
    if b"null" in encoded and _has_no_number(msgspec.to_builtins(value, enc_hook=encode_hook)):
        raise InvalidOutput("NaN and infinity have no form in JSON")
    return encoded


def _has_no_number(value: Any) -> bool:
    """Tell whether a NaN or an infinity is in it, which would silently become `null`."""
    if isinstance(value, float):
        return not math.isfinite(value)
    items: Iterable[Any]
    if isinstance(value, Mapping):
        items = value.values()
    elif isinstance(value, list | tuple | set | frozenset):
        items = value
    else:
        return False
    return any(_has_no_number(item) for item in items)


def _sendable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
