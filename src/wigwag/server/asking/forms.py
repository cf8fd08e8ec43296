"""Forms for users: from the type that a handler wants to the schema of a form, and back.

Spec: client/elicitation#requested-schema
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any, Final, TypedDict

import msgspec
from msgspec import Struct

from wigwag.jsonrpc.codec import UNDECODABLE
from wigwag.schema import EnumOption, TitledSingleSelectEnumSchema
from wigwag.server.annotations.plain_schema import decode_hook
from wigwag.server.annotations.translation import is_model, translate_metadata
from wigwag.server.asking.form_fields import as_field_has_it, checked_field, fault_of
from wigwag.server.asking.form_types import (
    as_written,
    describe,
    field_of_type,
    hints_of,
    is_of_pydantic,
    names_of,
    title_in,
    titles_of,
    validated,
    without_null,
)

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
    field, accepts_none = field_of_type(_SINGLE, kind)
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
    schema, definitions = describe(kind)
    titles = titles_of(kind, schema)
    hints = hints_of(kind)
    names = names_of(kind)
    required = list(schema.get("required", ()))
    fields: dict[str, Any] = {}
    nullable: list[str] = []
    translated: dict[str, Any] = {}
    properties: dict[str, dict[str, Any]] = schema.get("properties", {})
    for name, described in properties.items():
        hint = hints.get(names.get(name, name))
        meant = hint if is_of_pydantic(kind) else translate_metadata(hint)
        if meant is not hint:  # `Field` where msgspec does not look for it
            translated[name] = typing.NotRequired[meant]
            described = {**described, **describe(meant)[0]}
            title = title_in(hint)
            titles |= {name: title} if title is not None else {}
        described = {key: value for key, value in described.items() if key != "title"}
        if name in titles:
            described["title"] = titles[name]
        plain, accepts_none = without_null(described, definitions)
        if accepts_none and name in required:
            required.remove(name)
            nullable.append(name)
        fields[name] = checked_field(name, as_written(plain, hint))

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
            fields[name], is_optional = field_of_type(name, types[name])
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
    if is_of_pydantic(kind):
        return validated(kind, content)
    return msgspec.convert(content, kind, dec_hook=decode_hook)
