"""Reads params and results from bytes into the types of this package.

Params are read strictly: what is wrong with them is for the sender to hear. Results are read as
they come: a content block of an unknown type, or a `null` where a member should have been left out,
must not cost the caller everything else.
"""

from functools import reduce
from operator import or_
from types import UnionType
from typing import Any, Final, Literal, TypeVar, Union, cast, get_args, get_origin

from msgspec import UNSET, Raw, Struct, UnsetType, ValidationError
from msgspec.json import Decoder
from msgspec.structs import FieldInfo, fields

from wigwag.schema.basic import RESULT_COMPLETE, RESULT_INPUT_REQUIRED, Result
from wigwag.schema.content import AnyContent, TextContent, UnknownContent
from wigwag.schema.elicitation import (
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitRequestURLParams,
)
from wigwag.schema.input_required import InputRequiredResult
from wigwag.schema.methods import METHODS, Method
from wigwag.schema.tasks import CreateTaskResult

T = TypeVar("T")
Json = bytes | Raw

LEFT_OUT: Final = object()

_DECODERS: Final[dict[Any, Decoder[Any]]] = {}


def decode(data: Json, type_: type[T]) -> T:
    """Read JSON as a type, strictly.

    >>> from wigwag.schema import TextContent
    >>> decode(b'{"type": "text", "text": "Hello"}', TextContent).text
    'Hello'

    Raises:
        msgspec.ValidationError: It is no value of the type; the text says where and why.
        msgspec.DecodeError: It is no JSON.
    """
    try:
        decoder = _DECODERS[type_]
    except KeyError:
        decoder = _DECODERS[type_] = Decoder(type_)
    return cast("T", decoder.decode(data))


def decode_params(method: str, params: Json | UnsetType) -> Any:
    """Read the params of a method, strictly; absent ones count as an empty object.

    >>> decode_params("prompts/list", UNSET)
    PaginatedRequestParams()

    Args:
        method: One of `METHODS`.
        params: The undecoded params.

    Returns:
        A value of `METHODS[method].params`.

    Raises:
        msgspec.ValidationError: They do not fit the method; the text says where and why.
        KeyError: There is no such method.
    """
    type_ = METHODS[method].params
    data = b"{}" if isinstance(params, UnsetType) else params
    if type_ is ElicitRequestParams:
        return decode_elicit_request_params(data)
    try:
        return decode(data, type_)
    except ValidationError:
        # A sampling message may hold a block of a type that we do not know.
        value = Lenient(drop_nulls=False).build_or_none(data, type_)
        if value is None:
            raise
        return value


class _Mode(Struct):
    mode: Literal["form", "url"] | UnsetType = UNSET


def decode_elicit_request_params(data: Json) -> ElicitRequestFormParams | ElicitRequestURLParams:
    """Read the params of `elicitation/create`; without a `mode` they are those of a form.

    Raises:
        msgspec.ValidationError: They are neither; the text says where and why.
    """
    if decode(data, _Mode).mode == "url":
        return decode(data, ElicitRequestURLParams)
    return decode(data, ElicitRequestFormParams)


class ResultHead(Struct, rename="camel"):
    """What tells which result it is that somebody was answered with."""

    result_type: str | UnsetType | None = UNSET
    task: Raw | UnsetType = UNSET


def decode_result(method: str, result: Json) -> Any:
    """Read the result of a method, whichever of its results it is.

    >>> decode_result("tools/call", b'{"resultType": "input_required", "requestState": "s"}')
    InputRequiredResult(result_type='input_required', request_state='s')

    Args:
        method: One of `METHODS`, a request.
        result: The undecoded result.

    Returns:
        A value of `METHODS[method].result`; or an `InputRequiredResult` or a `CreateTaskResult`,
        where the method may have one; or a plain `Result` with the `result_type`, when that says
        that it is something else.

    Raises:
        msgspec.ValidationError: It is none of them; the text says where and why.
        KeyError: There is no such method.
    """
    row = METHODS[method]
    try:
        value = decode(result, row.result)
    except ValidationError:
        value = _decode_other_result(row, result)
        if value is None:
            raise
        return value
    if getattr(value, "result_type", UNSET) in (UNSET, RESULT_COMPLETE):
        return value
    return _decode_other_result(row, result)


def _decode_other_result(row: Method, data: Json) -> Any:
    head = decode(data, ResultHead)
    if head.result_type not in (UNSET, None, RESULT_COMPLETE):
        is_question = row.input_required and head.result_type == RESULT_INPUT_REQUIRED
        return decode(data, InputRequiredResult if is_question else Result)
    value = Lenient(drop_nulls=True).build_or_none(data, row.result)
    if value is None and row.task_augmentable and head.task is not UNSET:
        return decode(data, CreateTaskResult)
    return value


class _Type(Struct):
    type: str


_BLOCKS: Final[dict[str, type[Any]]] = {block.type: block for block in get_args(AnyContent)}


def decode_content(data: Json) -> AnyContent | UnknownContent:
    """Read one content block, of whatever type.

    Raises:
        msgspec.ValidationError: It has no `type`, or lacks what its type demands.
    """
    kind = decode(data, _Type).type
    if kind in _BLOCKS:
        return cast("AnyContent", decode(data, _BLOCKS[kind]))
    return UnknownContent(type=kind, raw=Raw(data))


class Lenient:
    """Builds values where `decode` gives up; slow, and used only then."""

    def __init__(self, *, drop_nulls: bool) -> None:
        self._drop_nulls = drop_nulls

    def build_or_none(self, data: Json, type_: Any) -> Any:
        """Build the value, or return `None` when the data are wrong for good."""
        try:
            return self._build(data, type_)
        except ValidationError:
            return None

    def _build(self, data: Json, type_: Any) -> Any:
        origin = get_origin(type_)
        if origin in (UnionType, Union):
            return self._build_one_of(data, [p for p in get_args(type_) if p is not UnsetType])
        if origin is list:
            return self._build_list(decode(data, list[Raw]), get_args(type_)[0])
        if isinstance(type_, type) and issubclass(type_, Struct):
            return self._build_struct(data, type_)
        return decode(data, type_)

    def _build_list(self, items: list[Raw], item_type: Any) -> list[Any]:
        return [self._build(item, item_type) for item in items]

    def _build_one_of(self, data: Json, types: list[Any]) -> Any:
        if len(types) == 1:
            return self._build(data, types[0])
        lists = [type_ for type_ in types if get_origin(type_) is list]
        if lists and bytes(data).lstrip().startswith(b"["):
            return self._build(data, lists[0])
        if TextContent not in types:
            return decode(data, cast("Any", reduce(or_, types)))
        kind = decode(data, _Type).type
        if _BLOCKS.get(kind) in types:
            return self._build_struct(data, _BLOCKS[kind])
        return UnknownContent(type=kind, raw=Raw(data))

    def _build_struct(self, data: Json, type_: type[Struct]) -> Any:
        members = decode(data, dict[str, Raw])
        values: dict[str, Any] = {}
        for field in fields(type_):
            member = members.get(field.encode_name)
            if member is None or (self._drop_nulls and _is_superfluous_null(member, field)):
                continue
            value = self._build_member(member, field)
            if value is not LEFT_OUT:
                values[field.name] = value
        for field in fields(type_):
            if field.required and field.name not in values:
                raise ValidationError(f"Object missing required field `{field.encode_name}`")
        return type_(**values)

    def _build_member(self, data: Raw, field: FieldInfo) -> Any:
        """Build a member of a struct, or return `LEFT_OUT` when it is to count as absent."""
        return self._build(data, field.type)


def _is_superfluous_null(member: Raw, field: FieldInfo) -> bool:
    return bytes(member) == b"null" and not field.required and Any not in get_args(field.type)
