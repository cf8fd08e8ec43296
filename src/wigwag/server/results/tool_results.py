"""What tools return, as results of the protocol."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, cast

import msgspec
from msgspec import UNSET, Raw, StructMeta, UnsetType
from msgspec.structs import replace

from wigwag.jsonrpc.codec import UNDECODABLE
from wigwag.protocol.server import Members
from wigwag.runtime.failures import InvalidOutput as InvalidOutput
from wigwag.runtime.failures import sendable
from wigwag.schema import (
    LATEST_MODERN,
    MODERN_REVISIONS,
    CallToolResult,
    ContentBlock,
    TextContent,
)
from wigwag.server.annotations.plain_schema import decode_hook, encode_hook, schema_of
from wigwag.server.annotations.translation import is_model, translate
from wigwag.server.asking.input_required import InputRequired
from wigwag.server.results.return_types import (
    BLOCKS,
    declared,
    has_content,
    is_media,
    is_of_objects,
    is_structured,
)

_CHECKED_BY_TYPE: Final = (bool, int, float, str, dict, list)

_LONE_SURROGATE: Final = "a text has a lone surrogate, which UTF-8 has no form for"
_NO_NUMBER: Final = "NaN and infinity have no form in JSON"
_NO_TEXT: Final = "the bytes are no UTF-8 text; return Image, Audio or File(data=…) for other data"
_MISFIT: Final = "it is not what the tool declares to return"
_TEXT_HEAD: Final = b'"content":[{"type":"text","text":'
# `TextContent(…)` at half the cost, as nobody tells its `type` here.
_make_text: Final[Callable[..., TextContent]] = partial(StructMeta.__call__, TextContent)


class ToolResult:
    """Returned by a tool that wants to say all of its result itself.

    Where the tool declares structured content, that is held to what is declared, unless the result
    is an error. Spec: server/tools#tool-result

    Args:
        content: What the model reads: text, a content block, an `Image` and its like, any value,
            or a list of all these. When left out, it is the structured content as JSON.
        structured_content: Any value that JSON has a form for, `None` included.
        is_error: Whether the tool has failed.
        meta: For the program that reads the result, by keys with a prefix, such as
            `"example.com/took"`.
    """

    def __init__(
        self,
        content: Any = UNSET,
        structured_content: Any = UNSET,
        *,
        is_error: bool = False,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        self.content = content
        self.structured_content = structured_content
        self.is_error = is_error
        self.meta = meta


_RESULTS: Final = (CallToolResult, ToolResult)


class ToolOutput:
    """What a tool returns.

    Args:
        annotation: The type that it declares to return.
        schema: The schema of its structured content, written by hand; it is made from the
            annotation otherwise.
        structured: Whether it has structured content; by default, if its annotation describes any.

    Attributes:
        schema: The schema of its structured content; `None` when it has none.

    Raises:
        TypeError: It is to have structured content, and the annotation describes none.
        ValueError: The schema is none.
    """

    def __init__(
        self,
        annotation: Any,
        schema: dict[str, Any] | None = None,
        *,
        structured: bool | None = None,
    ) -> None:
        if schema is not None and structured is False:
            raise TypeError("an output schema describes structured content: leave one of them out")
        annotation = declared(annotation, _RESULTS)
        self.schema = schema
        self._type = annotation
        # The fields of any other object may hold what they should not.
        self._is_checked_by_type = schema is None and annotation in _CHECKED_BY_TYPE
        self._is_model = schema is None and is_model(annotation)
        self._check: Callable[[bytes], Any] | None = None
        if schema is not None:
            self._check = _check_by_schema(schema)
        elif structured is not False and (structured or is_structured(annotation, _RESULTS)):
            self._describe(annotation, is_demanded=bool(structured))
        # Before 2026-07-28, structured content must be an object. `project` wraps the schema.
        self._is_wrapped = self.schema is not None and self.schema.get("type") != "object"

    def _describe(self, annotation: Any, *, is_demanded: bool) -> None:
        said = "there is none" if annotation is UNSET else f"{annotation!r} does not"
        fault = f"structured content needs a return type that describes it: {said}"
        if is_demanded and (annotation in (Any, UNSET) or has_content(annotation, _RESULTS)):
            raise TypeError(fault)
        try:
            kind = translate(annotation)
            if kind is Any:
                raise TypeError  # content as well, it may be
            schema = self._schema_of(kind)
            decode = msgspec.json.Decoder(kind, dec_hook=decode_hook).decode
        except TypeError:
            if is_demanded:
                raise TypeError(fault) from None
            return  # no form in JSON that can be promised; what is returned is sent as text
        self.schema = {"type": "object", **schema} if is_of_objects(schema, schema) else schema
        self._check = _check_by_type(decode)

    def _schema_of(self, kind: Any) -> dict[str, Any]:
        if not self._is_model:
            return schema_of(kind)
        from wigwag.server.annotations.pydantic_types import describe_model  # noqa: PLC0415 - only with models

        return describe_model(kind, is_output=True)

    def to_result(self, value: Any, revision: str = LATEST_MODERN) -> CallToolResult | Members:
        """Turn what the tool returned into a result, or its encoded members where that is quickest.

        Args:
            value: What it returned.
            revision: That of the request: older ones want structured content to be an object.

        Raises:
            InvalidOutput: It is not what the tool declared, or JSON has no form for it.
        """
        if type(value) is str and self.schema is None:
            try:
                return _TEXT_HEAD, _encode_text(value), b"}]"
            except UnicodeEncodeError:
                raise InvalidOutput(_LONE_SURROGATE) from None
        if isinstance(value, _RESULTS):
            return self._by_hand(value, revision)
        if self.schema is None:
            return CallToolResult(content=to_blocks(value))
        encoded = self._encode(value)
        return CallToolResult(
            content=[_make_text(text=_as_text(value, encoded))],
            structured_content=self._structure(encoded, revision),
        )

    def _encode(self, value: Any) -> bytes:
        """Return a value as JSON, held to what the tool declares."""
        encoded = encode_value(value)
        if self._check is None or (self._is_checked_by_type and type(value) is self._type):
            return encoded
        if not self._is_model:
            self._check(encoded)
        elif not isinstance(value, self._type):  # written as the model, with all that it adds
            encoded = encode_value(self._check(encoded))
        return encoded

    def _structure(self, encoded: bytes, revision: str) -> Raw:
        if self._is_wrapped and revision not in MODERN_REVISIONS:
            return Raw(b'{"result":%b}' % encoded)
        return Raw(encoded)

    def _by_hand(self, result: CallToolResult | ToolResult, revision: str) -> CallToolResult:
        structured = result.structured_content
        is_free = self._check is None or result.is_error is True
        if structured is UNSET:
            encoded: bytes | UnsetType = UNSET
            if not is_free:
                raise InvalidOutput(f"{_MISFIT}: its result has no structured content")
        else:
            encoded = encode_value(structured) if is_free else self._encode(structured)
        meta = result.meta
        if meta is not UNSET and meta is not None:
            encode_value(meta)
        raw = UNSET if isinstance(encoded, UnsetType) else self._structure(encoded, revision)
        if isinstance(result, CallToolResult):
            return result if raw is UNSET else replace(result, structured_content=raw)
        content: list[ContentBlock] = []
        if result.content is not UNSET:
            content = to_blocks(result.content)
        elif not isinstance(encoded, UnsetType):
            content = [TextContent(text=_as_text(structured, encoded))]
        return CallToolResult(
            content=content,
            structured_content=raw,
            is_error=bool(result.is_error),
            meta=dict(result.meta) if result.meta else UNSET,
        )


def _check_by_type(decode: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    def check(encoded: bytes) -> Any:
        try:
            return decode(encoded)
        except UNDECODABLE as error:
            raise InvalidOutput(f"{_MISFIT}: {error}") from None

    return check


def _check_by_schema(schema: dict[str, Any]) -> Callable[[bytes], None]:
    from wigwag.schema.json_schema import make_check  # noqa: PLC0415 - few write one by hand

    try:
        find_problem = make_check(schema)
    except ValueError as error:
        raise ValueError(f"the output schema is none: {error}") from None

    def check(encoded: bytes) -> None:
        problem = find_problem(msgspec.json.decode(encoded))
        if problem is not None:
            raise InvalidOutput(f"{_MISFIT}: {problem}")

    return check


def failed_result(text: str) -> CallToolResult:
    """Return the result of a tool that has failed, for a model to read."""
    return CallToolResult(content=[TextContent(text=sendable(text))], is_error=True)


# --- content


def as_block(value: Any) -> ContentBlock | None:
    """Return a value as a content block if it is one, or an `Image` or the like."""
    if isinstance(value, BLOCKS):
        return cast("ContentBlock", value)
    return value.to_content() if is_media(type(value)) else None


def to_blocks(value: Any) -> list[ContentBlock]:
    """Turn any value into content: blocks as they are, text as text, anything else as JSON.

    Raises:
        InvalidOutput: It is none of these.
    """
    if value is None:
        return []
    block = as_block(value)
    if block is not None:
        return [block]
    if isinstance(value, list | tuple) and any(map(_is_content, set(map(type, value)))):
        return [block for item in value for block in _to_blocks_of_item(item)]
    return [_to_text(value)]


def _is_content(kind: type) -> bool:
    return issubclass(kind, BLOCKS) or is_media(kind)


def _to_blocks_of_item(item: Any) -> list[ContentBlock]:
    return [_to_text(item)] if isinstance(item, list | tuple) else to_blocks(item)


def _to_text(value: Any) -> TextContent:
    if isinstance(value, bytes | bytearray | memoryview):
        try:
            return TextContent(text=bytes(value).decode())
        except UnicodeDecodeError:
            raise InvalidOutput(_NO_TEXT) from None
    return TextContent(text=_as_text(value, encode_value(value)))


def _as_text(value: Any, encoded: bytes) -> str:
    return str.__str__(value) if isinstance(value, str) else encoded.decode()


# --- JSON


def encode_value(value: Any) -> bytes:
    """Return a value as JSON.

    Raises:
        InvalidOutput: JSON has no form for it; the text says for what in it.
    """
    try:
        encoded = _encode(value)
    except _NOT_ENCODABLE:
        pass
    else:
        if b"null" not in encoded or not _has_no_number(value):
            return encoded
    raise InvalidOutput(why_unsendable(value)) from None


def why_unsendable(value: Any) -> str:
    """Say what in a value JSON has no form for, and where in it that is."""
    from wigwag.server.results.unsendable import explain  # noqa: PLC0415 - all is well nearly always

    return explain(value, _why)


def _why(value: Any) -> str | None:
    try:
        encoded = _encode(value)
    except UnicodeEncodeError:
        return _LONE_SURROGATE
    except RecursionError:
        return "it is nested too deeply"
    except _NOT_ENCODABLE:
        if isinstance(value, InputRequired):
            return "without a Context it cannot get answers, so it cannot ask"
        if isinstance(value, dict):
            return "it has a key that is neither a text nor a number"
        hint = ": return it by itself, or in a list" if is_media(type(value)) else ""
        return f"JSON has no form for {type(value).__name__}{hint}"
    return _NO_NUMBER if b"null" in encoded and _has_no_number(value) else None


def _has_no_number(value: Any) -> bool:
    """Tell whether a NaN or an infinity is in it, which would silently become `null`."""
    rest: list[Any] = [msgspec.to_builtins(value, enc_hook=_encode_hook)]
    while rest:
        value = rest.pop()
        if isinstance(value, float):
            if not math.isfinite(value):
                return True
        elif isinstance(value, dict):
            rest += value.values()
        elif isinstance(value, list | tuple | set | frozenset):
            rest += value
    return False


def _encode_hook(value: Any) -> Any:
    """Write the types that msgspec does not know itself, those derived from plain ones included."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, Raw):
        return msgspec.json.decode(value)
    return encode_hook(value)


_encode = msgspec.json.Encoder(enc_hook=_encode_hook).encode
_encode_text = msgspec.json.Encoder().encode
_NOT_ENCODABLE: Final = (
    TypeError,
    ValueError,
    NotImplementedError,
    RecursionError,
    OverflowError,
)
