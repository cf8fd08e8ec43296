"""Decodes the params of a message and puts into words what is wrong with them."""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from wigwag import schema
from wigwag.jsonrpc.codec import UNDECODABLE
from wigwag.jsonrpc.codes import INVALID_PARAMS, PARSE_ERROR
from wigwag.schema import (
    CLIENT_CAPABILITIES_KEY,
    CLIENT_INFO_KEY,
    METHODS,
    PROTOCOL_VERSION_KEY,
    ClientCapabilities,
    Implementation,
    InputResponseRequestParams,
    RequestMetaObject,
)

_MODERN_KEYS = (PROTOCOL_VERSION_KEY, CLIENT_CAPABILITIES_KEY, CLIENT_INFO_KEY)

# Nobody knows it, so that no more than `_meta` is read.
_NO_METHOD = ""

_NAMELESS = Implementation(name="", version="")

_decoders: dict[str, Callable[[Any], Any]] = {}


class ParamsRefused(Exception):
    """The params are not what the method takes."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


def decode_params(method: str, params: Raw | UnsetType) -> Any:
    """Decode the params of a message.

    Raises:
        ParamsRefused: They are not what the method takes.
    """
    data = b"{}" if params is UNSET else params
    try:
        try:
            return (_decoders.get(method) or _decoder_of(method))(data)
        except msgspec.ValidationError:
            return _decode_slowly(method, params)
    except RecursionError:
        raise ParamsRefused(PARSE_ERROR, "Parse error: nested too deeply") from None
    except UNDECODABLE as error:
        raise ParamsRefused(PARSE_ERROR, f"Parse error: {error}") from None


def decode_request_params(method: str, params: Raw | UnsetType) -> Any:
    """Decode the params of a request, whose `_meta` is that of a request whatever its method.

    Raises:
        ParamsRefused: They are not what the method takes.
    """
    row = METHODS.get(method)
    return decode_params(method if row is None or row.kind == "request" else _NO_METHOD, params)


def _decoder_of(method: str) -> Callable[[Any], Any]:
    """Return what decodes the params of a method; made when the method is first met."""
    row = METHODS.get(method)
    if row is None:  # names that a peer makes up must not fill the memory
        return msgspec.json.Decoder(InputResponseRequestParams).decode
    if isinstance(row.params, type):
        decode: Callable[[Any], Any] = msgspec.json.Decoder(row.params).decode
    else:
        decode = partial(schema.decode_params, method)
    _decoders[method] = decode
    return decode


def _decode_slowly(method: str, params: Raw | UnsetType) -> Any:
    """Decode what has blocks of unknown types in it, or say what is wrong with it."""
    try:
        if method in METHODS:
            return schema.decode_params(method, params)
        return msgspec.json.decode(
            b"{}" if params is UNSET else params, type=InputResponseRequestParams
        )
    except msgspec.ValidationError as error:
        raise ParamsRefused(INVALID_PARAMS, f"Invalid params: {_in_words(error)}") from None


def is_modern(meta: RequestMetaObject | UnsetType) -> bool:
    """Tell whether a request describes itself, as the modern era demands. Spec: basic#meta."""
    return meta is not UNSET and (
        meta.protocol_version is not UNSET
        or meta.client_capabilities is not UNSET
        or meta.client_info is not UNSET
    )


def read_broken_meta(params: Raw | UnsetType) -> RequestMetaObject | UnsetType:
    """Read what can be read of the `_meta` of params that did not decode.

    A member of the wrong type is left out. Where no other says that the request is modern, the
    presence of a modern one still does: then it gets a client without a name.
    """
    try:
        value = msgspec.json.decode(b"{}" if params is UNSET else params)
    except UNDECODABLE:
        return UNSET
    meta = value.get("_meta") if isinstance(value, dict) else None
    if not isinstance(meta, dict):
        return UNSET
    readable = RequestMetaObject(
        protocol_version=_converted(meta, PROTOCOL_VERSION_KEY, str),
        client_capabilities=_converted(meta, CLIENT_CAPABILITIES_KEY, ClientCapabilities),
        client_info=_converted(meta, CLIENT_INFO_KEY, Implementation),
    )
    if not is_modern(readable) and any(key in meta for key in _MODERN_KEYS):
        return RequestMetaObject(client_info=_NAMELESS)
    return readable


def _converted(meta: dict[str, Any], key: str, kind: Any) -> Any:
    try:
        return msgspec.convert(meta[key], kind) if key in meta else UNSET
    except msgspec.ValidationError:
        return UNSET


def _in_words(error: msgspec.ValidationError) -> str:
    """Turn "Expected `str`, got `int` - at `$.name`" into a sentence about `params.name`."""
    text, _, path = str(error).partition(" - at `$")
    if text.startswith("Object missing required field"):
        text = text.replace("Object missing required field", "missing")
    else:
        text = text[:1].lower() + text[1:]
    return f"{text} (at `params{path}" + ")" if path else f"{text} (at `params`)"
