"""A function's parameters as JSON: what its arguments look like, and how they are read.

The parameters become one msgspec type, so that arguments go straight from bytes to values. Only
when that fails are they looked at one by one, to accept what models write by mistake where it has
one meaning, and to say in a sentence what is wrong with the rest.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from wigwag.errors import RequestFailed
from wigwag.jsonrpc.codec import UNDECODABLE
from wigwag.jsonrpc.codes import INVALID_PARAMS, PARSE_ERROR
from wigwag.server.annotations.docstrings import describe
from wigwag.server.annotations.field_metadata import MISSING, default_in, split_default
from wigwag.server.annotations.flat_schema import values_at
from wigwag.server.annotations.hooked import Hook, faults_of, in_words
from wigwag.server.annotations.plain_schema import (
    SchemaWriter,
    decode_hook,
    default_of,
    strict_decode_hook,
)
from wigwag.server.annotations.translation import Translator
from wigwag.server.parameters.callables import (
    annotation_of,
    hints_of_dependencies,
    is_context,
    parameters_of,
    type_hints,
)
from wigwag.server.parameters.dependencies import Dependency, mark_of

Kind = inspect.Parameter
NOTHING: Final[Mapping[str, Any]] = types.MappingProxyType({})


class ArgumentsRefused(Exception):
    """The arguments are not what the function takes; the text says how, for a model to read."""


class Parameters:
    """The parameters of a function that come from the peer.

    Args:
        function: The function.
        context_type: The type of the parameter, if there is one, that is not an argument.
        frame: Where the function was defined, for annotations that are text.
        strict: Whether arguments must be exactly of their types. Otherwise JSON in a text is
            read where no text can be meant, and `3.0` is an integer.

    Raises:
        TypeError: A parameter cannot be an argument; the text names it.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        context_type: type,
        frame: types.FrameType | None = None,
        *,
        strict: bool = False,
    ) -> None:
        self._is_strict = strict
        self._hook = strict_decode_hook if strict else decode_hook
        names = NOTHING if frame is None else frame.f_locals
        self._translate = Translator(names, is_strict=strict).translate
        self.function = function
        self.description, descriptions = describe(function)
        self.hints = hints = type_hints(function, frame)
        self.return_type: Any = hints.get("return", UNSET)
        self.context: str | None = None
        self.dependencies: dict[str, Dependency] = {}
        """The parameters that get what a function returns, and are no arguments."""
        self._positional: list[str] = []
        self._keyword: list[str] = []
        self.types: dict[str, Any] = {}
        self.defaults: dict[str, Any] = {}
        self._factories: dict[str, Callable[[], Any]] = {}
        for parameter in parameters_of(function):
            self._add(parameter, hints, context_type)
        self.dependency_hints = hints_of_dependencies(self.dependencies.values(), frame)
        """The annotations of all functions that it depends on, by the functions."""
        self.descriptions = {name: descriptions.get(name, "") for name in self.types}
        self._struct = self._make_struct()
        del self._translate  # with the names in a frame, which must not live on
        self.decode: Callable[[Any], Any] = msgspec.json.Decoder(
            self._struct, dec_hook=self._hook
        ).decode
        """Reads arguments that are there and exactly right; `read` understands more."""
        self.is_plain = not self._keyword and len(self.types) == len(self._positional)
        """Whether the arguments, in order, are all that the function takes."""
        self._context_at: int | None = None
        """Where the context stands, if the arguments, in order, are all else that it takes."""
        if self.context is not None and not self._keyword and not self.dependencies:
            self._context_at = self._positional.index(self.context)
        self.schema = self._make_schema()

    # --- reading

    def read(self, arguments: Raw | bytes | UnsetType) -> Any:
        """Read arguments, which must be a JSON object or absent.

        Returns:
            What `call` takes.

        Raises:
            ArgumentsRefused: They are not what the function takes.
            RequestFailed: They are no object at all, or no JSON.
        """
        data = b"{}" if arguments is UNSET else arguments
        try:
            return self.decode(data)
        except UNDECODABLE:
            return self._read_one_by_one(data)

    def call(self, arguments: Any, context: Any, injected: Mapping[str, Any] = NOTHING) -> Any:
        """Call the function with arguments that `read` has returned.

        Args:
            arguments: They.
            context: For the parameter that takes it.
            injected: The values of all `dependencies`.
        """
        if self.is_plain:
            return self.function(*msgspec.structs.astuple(arguments))
        if self._context_at is not None:
            values = list(msgspec.structs.astuple(arguments))
            values.insert(self._context_at, context)
            return self.function(*values)
        others = dict(injected)
        if self.context is not None:
            others[self.context] = context
        positional = [
            others[name] if name in others else getattr(arguments, name)
            for name in self._positional
        ]
        keyword = {
            name: others[name] if name in others else getattr(arguments, name)
            for name in self._keyword
        }
        return self.function(*positional, **keyword)

    def convert(self, values: Mapping[str, str]) -> Any:
        """Read arguments that are text, such as those of a prompt or of a URI template.

        Raises:
            ArgumentsRefused: They are not what the function takes.
        """
        try:
            return msgspec.convert(values, self._struct, strict=False, dec_hook=self._hook)
        except (msgspec.ValidationError, ValueError):
            encoded = {name: Raw(msgspec.json.encode(value)) for name, value in values.items()}
            return self._build(encoded, is_text=True)

    def _read_one_by_one(self, data: Raw | bytes) -> Any:
        try:
            members = msgspec.json.decode(data, type=dict[str, Raw] | None) or {}
        except msgspec.ValidationError:
            message = "Invalid params: `arguments` must be an object"
            raise RequestFailed(INVALID_PARAMS, message) from None
        except UNDECODABLE as error:
            raise RequestFailed(PARSE_ERROR, f"Parse error: in `arguments`: {error}") from None
        return self._build(members)

    def _build(self, members: Mapping[str, Raw], *, is_text: bool = False) -> Any:
        problems = [self._unexpected(name) for name in members if name not in self.types]
        values: dict[str, Any] = {}
        for name, kind in self.types.items():
            if name not in members:
                if name not in self.defaults:
                    problems.append(f"`{name}` is missing")
                continue
            try:
                values[name] = self._decode_one(bytes(members[name]), name, kind, is_text=is_text)
            except UNDECODABLE as error:
                for path, text in dict.fromkeys(faults_of(error)):
                    allowed = self._choices(name, path) if "invalid enum value" in text else ""
                    problems.append(f"`{name}`: {in_words(path, text)}{allowed}")
        if problems:
            raise ArgumentsRefused("; ".join(problems))
        return self._struct(**values)

    def _decode_one(self, data: bytes, name: str, kind: Any, *, is_text: bool) -> Any:
        """Decode one argument; where it does not fit, try the one other thing it can mean."""
        try:
            return msgspec.json.decode(data, type=kind, strict=not is_text, dec_hook=self._hook)
        except msgspec.ValidationError:
            if self._is_strict and not is_text:
                raise
            # What can only be sent as text need not be meant as one.
            may_be_text = not is_text and _takes_text(self.schema["properties"][name])
            other = _other_reading(data, kind, self._hook, may_be_text=may_be_text)
            if other is UNSET:
                raise
            return other

    def _choices(self, name: str, path: str) -> str:
        """Name the values that are allowed, where another one was given."""
        allowed = values_at(self.schema["properties"][name], path)
        return "; it must be one of " + ", ".join(map(repr, allowed)) if allowed else ""

    def _unexpected(self, name: str) -> str:
        import difflib  # noqa: PLC0415 - only mistakes need it

        near = difflib.get_close_matches(name, self.types, n=1)
        if near:
            return f"`{name}` is not an argument; did you mean `{near[0]}`?"
        known = ", ".join(f"`{known}`" for known in self.types)
        return f"`{name}` is not an argument; there are {known or 'none'}"

    # --- making

    def _add(self, parameter: Kind, hints: Mapping[str, Any], context_type: type) -> None:
        name, kind = parameter.name, parameter.kind
        if name == "self" and parameter.annotation is Kind.empty and not self.types:
            raise TypeError(
                f"{self._name} is a method: register it on an object, as `thing.method`"
            )
        if kind in (Kind.VAR_POSITIONAL, Kind.VAR_KEYWORD):
            raise TypeError(f"`*{name}` of {self._name} cannot be an argument: give it a name")
        (self._keyword if kind is Kind.KEYWORD_ONLY else self._positional).append(name)
        annotation = hints.get(name, annotation_of(parameter))
        if is_context(annotation, context_type):
            self.context = name
            return
        mark = mark_of(annotation, parameter.default)
        if mark is not None:
            self.dependencies[name] = mark
            return
        if name in ("ctx", "context") and parameter.annotation is Kind.empty:
            raise TypeError(f"`{name}` of {self._name} needs its type: `{name}: Context`")
        try:
            self._add_argument(name, annotation, parameter.default)
        except TypeError as error:
            raise TypeError(f"parameter `{name}` of {self._name}: {error}") from None

    def _add_argument(self, name: str, annotation: Any, default: Any) -> None:
        factory = getattr(default, "default_factory", None)
        default, field = split_default(MISSING if default is Kind.empty else default)
        if default is MISSING and typing.get_origin(annotation) is typing.Annotated:
            default = default_in(annotation.__metadata__)
        if field is not MISSING:
            annotation = typing.Annotated[annotation, field]
        annotation = self._translate(annotation)
        if default is not MISSING:
            self.defaults[name] = default
            if field is not MISSING and callable(factory):
                self._factories[name] = factory
            if default is None and not _accepts_none(annotation):
                annotation = annotation | None
        self.types[name] = annotation

    @property
    def _name(self) -> str:
        return getattr(self.function, "__qualname__", repr(self.function))

    def _make_struct(self) -> type[msgspec.Struct]:
        fields: list[Any] = []
        for name, kind in self.types.items():
            if name not in self.defaults:
                fields.append((name, kind))
            else:
                default = self._factories.get(name) or _maker_of(self.defaults[name])
                fields.append((name, kind, msgspec.field(default_factory=default)))
        try:
            struct = msgspec.defstruct(
                "Arguments", fields, kw_only=True, forbid_unknown_fields=True, frozen=True
            )
            msgspec.json.Decoder(struct, dec_hook=decode_hook)
        except TypeError as error:
            raise TypeError(self._fault() or f"{self._name}: {error}") from None
        return struct

    def _fault(self) -> str | None:
        """Name the parameter whose type cannot be read from JSON."""
        for name, kind in self.types.items():
            try:
                msgspec.json.Decoder(kind, dec_hook=decode_hook)
            except TypeError as error:
                reason = str(error).split("\n", 1)[0]
                return f"parameter `{name}` of {self._name}: {reason}"
        return None

    def _make_schema(self) -> dict[str, Any]:
        if not self.types:
            return {"type": "object", "additionalProperties": False}
        schema: dict[str, Any] = {"type": "object", "properties": {}}
        properties = schema["properties"]
        writer = SchemaWriter()
        for name, kind in self.types.items():
            try:
                described = writer.write(kind)
            except TypeError as error:
                raise TypeError(f"parameter `{name}` of {self._name}: {error}") from None
            if self.descriptions[name]:
                described.setdefault("description", self.descriptions[name])
            if name in self.defaults:
                described |= default_of(self.defaults[name])
            properties[name] = described
        required = [name for name in self.types if name not in self.defaults]
        if required:
            schema["required"] = required
        schema["additionalProperties"] = False
        if writer.definitions:
            schema["$defs"] = writer.definitions
        return schema


def _accepts_none(annotation: Any) -> bool:
    if typing.get_origin(annotation) is typing.Annotated:
        return _accepts_none(typing.get_args(annotation)[0])
    return annotation in (Any, None, type(None)) or type(None) in typing.get_args(annotation)


def _maker_of(default: Any) -> Callable[[], Any]:
    """Return what makes the default of a parameter, for each call.

    That is the very object, as Python would pass it, whereas msgspec would copy or refuse it. But a
    list or the like is a new one each time: calls of one client must not show in those of others.
    """
    if type(default) in (list, dict, set, bytearray):
        copy: Callable[[], Any] = default.copy
        return copy
    return partial(_identity, default)


def _identity(value: Any) -> Any:
    return value


def _takes_text(schema: dict[str, Any]) -> bool:
    """Tell whether a JSON string may be meant as one: then it is never looked into."""
    if "anyOf" in schema:
        return any(_takes_text(part) for part in schema["anyOf"])
    kind = schema.get("type", "string")  # what says nothing takes anything
    return kind == "string" or (isinstance(kind, list) and "string" in kind)


def _other_reading(data: bytes, kind: Any, hook: Hook, *, may_be_text: bool) -> Any:
    """Read a value that does not fit its type in the one other way it can be meant, if any."""
    try:
        value = msgspec.json.decode(data)
        if isinstance(value, str):
            # A model wrote the value as JSON, in a string. Where text may be meant, it is text.
            if may_be_text:
                return UNSET
            value = msgspec.json.decode(value)
        return msgspec.convert(_with_integers(value), kind, dec_hook=hook, str_keys=True)
    except UNDECODABLE:
        return UNSET


def _with_integers(value: Any) -> Any:
    """Return a value with 3.0 as 3: an integer in JSON Schema, and models write it."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_with_integers(item) for item in value]
    if isinstance(value, dict):
        return {key: _with_integers(item) for key, item in value.items()}
    return value
