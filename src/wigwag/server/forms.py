"""Forms for users: from the type that a handler wants to the schema of a form, and back.

Spec: client/elicitation#requested-schema
"""

from __future__ import annotations

import datetime
import typing
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any, Final, Literal, TypedDict, get_args, get_origin

import msgspec
from msgspec import Struct

from wigwag.jsonrpc.codec import UNDECODABLE
from wigwag.schema import EnumOption, TitledSingleSelectEnumSchema
from wigwag.server.annotations import is_model, translate_metadata
from wigwag.server.form_fields import as_field_has_it, checked_field, fault_of
from wigwag.server.plain_schema import decode_hook

_REFERENCE: Final = "#/$defs/"
_SINGLE: Final = "value"
"""The one field of a form for a value that is no object."""


class FormRefused(Exception):
    """What a user filled in does not fit the form; the text says where."""


class Form:
    """A form.

    Args:
        schema: Its requested schema.
        convert: Makes what the handler wants from content that fits the schema.
        fills_in: Whether what the user left out has the defaults of the schema; classes have their
            own.
    """

    def __init__(
        self,
        schema: dict[str, Any],
        convert: Callable[[dict[str, Any]], Any],
        *,
        fills_in: bool = False,
    ) -> None:
        self.schema = schema
        self._convert = convert
        self._fills_in = fills_in

    def read(self, content: Mapping[str, Any]) -> Any:
        """Return what a user filled in, as the handler wants it.

        Raises:
            FormRefused: It does not fit the form.
        """
        properties = self.schema["properties"]
        values = {
            name: as_field_has_it(properties.get(name, {}), value)
            for name, value in content.items()
        }
        if self._fills_in:
            for name, field in properties.items():
                if "default" in field:
                    values.setdefault(name, field["default"])
        for name in self.schema.get("required", ()):
            if name not in values:
                raise FormRefused(f"`{name}` is missing")
        for name, value in values.items():
            fault = fault_of(properties.get(name, {}), value)
            if fault is not None:
                raise FormRefused(f"`{name}`: {fault}")
        try:
            return self._convert(values)
        except (*UNDECODABLE, ValueError) as error:
            raise FormRefused(str(error)) from None


def form_of(wanted: Any) -> Form:
    """Return the form for what a handler wants to know.

    Args:
        wanted: A dataclass, struct, `TypedDict` or model; a mapping of names to types; a requested
            schema; a single type or a list of choices; or `None` for a form without fields.

    Raises:
        TypeError: It has a field that no form can have; the text names it.
    """
    if wanted is None:
        return Form({"type": "object", "properties": {}}, dict)
    if isinstance(wanted, Mapping):
        if isinstance(wanted.get("type"), str):
            return _written_form(wanted)
        return _form_of_fields(wanted)
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        return _form_of_choices(wanted)
    # Only classes are kept in mind: of a `Literal` any order of its values is equal.
    return _form_of_class(wanted) if isinstance(wanted, type) else _form_of_type(wanted)


@lru_cache(maxsize=256)
def _form_of_class(wanted: type) -> Form:
    return _form_of_type(wanted)


def _form_of_type(wanted: Any) -> Form:
    kind = translate_metadata(wanted)
    if _is_object(kind):
        return _form_of_object(kind)
    field, accepts_none = _field_of_type(_SINGLE, kind)
    return _form_of_value(kind, field, is_optional=accepts_none)


def _is_object(kind: Any) -> bool:
    if not isinstance(kind, type) or issubclass(kind, Enum):
        return False
    return (
        is_model(kind)
        or issubclass(kind, Struct)
        or hasattr(kind, "__dataclass_fields__")
        or hasattr(kind, "__attrs_attrs__")
        or typing.is_typeddict(kind)
    )


def _form_of_value(kind: Any, field: dict[str, Any], *, is_optional: bool = False) -> Form:
    schema: dict[str, Any] = {"type": "object", "properties": {_SINGLE: field}}
    if not is_optional:
        schema["required"] = [_SINGLE]
    return Form(schema, lambda content: _convert(content.get(_SINGLE), kind))


def _form_of_choices(choices: Sequence[Any]) -> Form:
    return _form_of_value(str, _field_of_choices(choices))


def _field_of_choices(choices: Sequence[Any]) -> dict[str, Any]:
    if choices and all(isinstance(choice, EnumOption) for choice in choices):
        field: dict[str, Any] = msgspec.to_builtins(
            TitledSingleSelectEnumSchema(one_of=list(choices))
        )
        return field
    if choices and all(isinstance(choice, str) for choice in choices):
        return {"type": "string", "enum": list(choices)}
    raise TypeError("choices are texts, or `EnumOption`s with a title each")


def _form_of_object(kind: Any) -> Form:
    schema, definitions = _describe(kind)
    titles = _titles(kind, schema)
    hints = _hints(kind)
    names = _names(kind)
    required = list(schema.get("required", ()))
    fields: dict[str, Any] = {}
    nullable: list[str] = []
    translated: dict[str, Any] = {}
    properties: dict[str, dict[str, Any]] = schema.get("properties", {})
    for name, described in properties.items():
        hint = hints.get(names.get(name, name))
        meant = hint if _is_of_pydantic(kind) else translate_metadata(hint)
        if meant is not hint:  # `Field` where msgspec does not look for it
            translated[name] = typing.NotRequired[meant]
            described = {**described, **_describe(meant)[0]}
            title = _title_in(hint)
            titles |= {name: title} if title is not None else {}
        described = {key: value for key, value in described.items() if key != "title"}
        if name in titles:
            described["title"] = titles[name]
        plain, accepts_none = _without_null(described, definitions)
        if accepts_none and name in required:
            required.remove(name)
            nullable.append(name)
        fields[name] = checked_field(name, _as_written(plain, hint))

    form = _converting_form(kind, fields, required)
    if not nullable and not translated:
        return form
    # What a user left out is `None` to the handler, though its type has no default.
    absent = dict.fromkeys(nullable)
    bounds: Any = TypedDict("Bounds", translated)  # type: ignore[misc]

    def convert(content: dict[str, Any]) -> Any:
        _convert(content, bounds)
        return _convert({**absent, **content}, kind)

    return Form(form.schema, convert)


def _form_of_fields(wanted: Mapping[str, Any]) -> Form:
    types: dict[str, Any] = {}
    fields: dict[str, Any] = {}
    required: list[str] = []
    for name, what in wanted.items():
        if not isinstance(name, str):
            raise TypeError(f"the fields of a form have names, not {name!r}")
        if isinstance(what, Struct):
            what = msgspec.to_builtins(what)
        if isinstance(what, Mapping):
            types[name], fields[name] = Any, checked_field(name, dict(what))
            is_optional = "default" in what
        elif isinstance(what, Sequence) and not isinstance(what, str):
            types[name], fields[name], is_optional = str, _field_of_choices(what), False
        else:
            types[name] = translate_metadata(what)
            fields[name], is_optional = _field_of_type(name, types[name])
        if is_optional:
            types[name] = typing.NotRequired[types[name]]
        else:
            required.append(name)
    kind = TypedDict("Fields", types)  # type: ignore[misc]  # as dynamic as it must be
    return _converting_form(kind, fields, required, fills_in=True)


def _written_form(schema: Mapping[str, Any]) -> Form:
    properties = schema.get("properties", {})
    if schema["type"] != "object" or not isinstance(properties, Mapping):
        raise TypeError("the schema of a form is one of an object, with properties")
    for name, field in properties.items():
        checked_field(name, field)
    return Form({**schema, "properties": properties}, dict, fills_in=True)


def _converting_form(
    kind: Any, fields: dict[str, Any], required: list[str], *, fills_in: bool = False
) -> Form:
    schema: dict[str, Any] = {"type": "object", "properties": fields}
    if required:
        schema["required"] = required
    return Form(schema, lambda content: _convert(content, kind), fills_in=fills_in)


def _convert(content: Any, kind: Any) -> Any:
    if _is_of_pydantic(kind):
        return _validated(kind, content)
    return msgspec.convert(content, kind, dec_hook=decode_hook)


# --- describing


def _describe(kind: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the schema of a type as it comes, and what it refers to."""
    try:
        if _is_of_pydantic(kind):
            model = is_model(kind)
            schema: dict[str, Any] = (
                kind.model_json_schema() if model else _adapter(kind).json_schema()
            )
            return schema, schema.get("$defs", {})
        (root,), definitions = msgspec.json.schema_components(
            (kind,), ref_template=_REFERENCE + "{name}"
        )
    except NameError as error:
        raise TypeError(
            f"a form cannot ask for {_name(kind)}: {error}; what its fields are of must be defined "
            "where the module can see it"
        ) from None
    except (TypeError, RuntimeError) as error:  # pydantic's are of either kind
        raise TypeError(f"a form cannot ask for {_name(kind)}: {_first_line(error)}") from None
    return _resolved(root, definitions), definitions


def _field_of_type(name: str, kind: Any) -> tuple[dict[str, Any], bool]:
    """Return the schema of a field, and whether it may be left out."""
    described, definitions = _describe(kind)
    plain, accepts_none = _without_null(described, definitions)
    title = described.get("title") if get_origin(kind) is typing.Annotated else None
    plain.pop("title", None)
    if title is not None:
        plain["title"] = title
    return checked_field(name, _as_written(plain, kind)), accepts_none


def _resolved(schema: dict[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    reference = schema.get("$ref")
    if reference is None:
        return dict(schema)
    beside = {key: value for key, value in schema.items() if key != "$ref"}
    target = definitions[reference.removeprefix(_REFERENCE)]
    own = {key: value for key, value in target.items() if key != "title"}
    return {**own, **beside}


def _without_null(
    schema: dict[str, Any], definitions: Mapping[str, Any]
) -> tuple[dict[str, Any], bool]:
    """Return the schema of `X | None` as that of X, and whether it was one."""
    schema = _resolved(schema, definitions)
    if "items" in schema and isinstance(schema["items"], dict):
        schema["items"] = _resolved(schema["items"], definitions)
    choices = schema.get("anyOf")
    if not isinstance(choices, list) or {"type": "null"} not in choices:
        return schema, False
    rest = [choice for choice in choices if choice != {"type": "null"}]
    if schema.get("default", ...) is None:
        del schema["default"]
    if len(rest) != 1:
        return schema, True
    del schema["anyOf"]
    inner, _ = _without_null(rest[0], definitions)
    return {**inner, **schema}, True


def _titles(kind: Any, schema: Mapping[str, Any]) -> dict[str, str]:
    """Return the titles that fields were given; libraries make up others of the names."""
    if _is_of_pydantic(kind):
        fields = kind.__pydantic_fields__.items()
        return {(f.alias or name): f.title for name, f in fields if f.title is not None}
    properties = schema.get("properties", {})
    return {name: field["title"] for name, field in properties.items() if "title" in field}


def _names(kind: Any) -> dict[str, str]:
    """Return the attribute of each field whose name in JSON is another one."""
    if isinstance(kind, type) and issubclass(kind, Struct):
        return {field.encode_name: field.name for field in msgspec.structs.fields(kind)}
    return {}


def _as_written(field: dict[str, Any], kind: Any) -> dict[str, Any]:
    """List choices as they were written, and name the format of a time; msgspec does neither."""
    if field.get("type") == "string" and _is_time(kind):
        field.setdefault("format", "date-time")
    holder = field.get("items") if field.get("type") == "array" else field
    if isinstance(holder, dict) and "enum" in holder:
        written = _choices(kind)
        if sorted(map(repr, written)) == sorted(map(repr, holder["enum"])):
            holder["enum"] = written
    return field


def _is_time(kind: Any) -> bool:
    return kind is datetime.datetime or any(map(_is_time, get_args(kind)))


def _choices(kind: Any) -> list[Any]:
    if get_origin(kind) is Literal:
        return list(get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [member.value for member in kind]
    return [choice for part in get_args(kind) for choice in _choices(part)]


def _hints(kind: Any) -> dict[str, Any]:
    try:
        hints = typing.get_type_hints(kind, include_extras=True)
    except NameError:  # pydantic has found what it needs elsewhere
        return {}
    return {name: _without_presence(hint) for name, hint in hints.items()}


def _without_presence(hint: Any) -> Any:
    """Leave out what a `TypedDict` says of whether a key must be there."""
    while get_origin(hint) in (typing.Required, typing.NotRequired):
        (hint,) = get_args(hint)
    return hint


def _title_in(kind: Any) -> str | None:
    titles = (getattr(item, "title", None) for item in getattr(kind, "__metadata__", ()))
    return next((title for title in titles if isinstance(title, str)), None)


def _is_of_pydantic(kind: Any) -> bool:
    return is_model(kind) or hasattr(kind, "__pydantic_validator__")


def _validated(kind: Any, content: Any) -> Any:
    try:
        return _adapter(kind).validate_python(content)
    except ValueError as error:
        # Its own text has a line for each field, and an address to read more.
        faults: list[Any] = getattr(error, "errors", list)()
        texts = [f"`{'.'.join(map(str, fault['loc']))}`: {fault['msg']}" for fault in faults]
        raise FormRefused("; ".join(texts) or str(error)) from None


@lru_cache(maxsize=256)
def _adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter  # noqa: PLC0415 - whose class it is has loaded it

    return TypeAdapter(kind)


def _name(kind: Any) -> str:
    return getattr(kind, "__name__", repr(kind))


def _first_line(error: BaseException) -> str:
    return str(error).split("\n", 1)[0]
