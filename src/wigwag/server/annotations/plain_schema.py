"""JSON Schemas of Python types, in the plain form that every host and model API takes.

What is plain about them: `flat_schema` says it.
Spec: basic#json-schema-usage
"""

from __future__ import annotations

import math
import os
import re
import sys
import typing
from collections.abc import Callable, Iterable
from inspect import cleandoc
from typing import Any, Final

import msgspec

from wigwag.server.annotations.flat_schema import (
    PREFIX,
    choice,
    fixed_items,
    tidy_description,
    values,
)
from wigwag.server.annotations.foreign import is_model, is_of_pydantic
from wigwag.server.annotations.hooked import Hooked

if typing.TYPE_CHECKING:
    from msgspec import inspect as mi


def schema_of(kind: Any) -> dict[str, Any]:
    """Return the schema of what a type looks like in JSON.

    Raises:
        TypeError: The type has no form in JSON; the text names it.
    """
    writer = SchemaWriter()
    schema = writer.write(kind)
    if writer.definitions:
        schema = {**schema, "$defs": writer.definitions}
    return schema


def decode_hook(kind: type, value: Any) -> Any:
    """Build the types that msgspec does not know itself."""
    if isinstance(kind, Hooked):
        return kind.read(value, decode_hook)
    return _build(kind, value, strict=False)


def strict_decode_hook(kind: type, value: Any) -> Any:
    """Build them from nothing but what they are exactly."""
    if isinstance(kind, Hooked):
        return kind.read(value, strict_decode_hook)
    return _build(kind, value, strict=True)


def _build(kind: type, value: Any, *, strict: bool) -> Any:
    if _is_path(kind):
        if isinstance(value, str):
            return kind(value)
        raise TypeError(f"expected a path as text, got {value!r}")
    if is_model(kind):
        from wigwag.server.annotations.pydantic_types import read_model  # noqa: PLC0415 - few have models

        return read_model(kind, value, strict=strict)
    raise NotImplementedError(f"{kind.__name__} cannot be read from JSON")


def encode_hook(value: Any) -> Any:
    """Write the types that msgspec does not know itself."""
    if _is_path(type(value)):
        return os.fspath(value)
    if is_of_pydantic(value):
        from wigwag.server.annotations.pydantic_types import encode  # noqa: PLC0415 - few have models

        return encode(value)
    raise NotImplementedError(f"{type(value).__name__} has no form in JSON")


def default_of(value: Any) -> dict[str, Any]:
    """Return the `default` of a schema; empty if JSON has no form for it."""
    try:
        plain = msgspec.to_builtins(value, str_keys=True, enc_hook=encode_hook)
        msgspec.json.encode(plain)
    except (TypeError, ValueError, NotImplementedError):
        return {}
    if isinstance(plain, float) and not math.isfinite(plain):
        return {}
    return {"default": plain}


def _is_path(kind: type) -> bool:
    # Nobody has a path who has not loaded the module, and loading it takes long.
    pathlib = sys.modules.get("pathlib")
    return pathlib is not None and issubclass(kind, pathlib.PurePath)


class SchemaWriter:
    """Writes the schemas of several types, with one set of definitions for all of them."""

    def __init__(self) -> None:
        self.definitions: dict[str, Any] = {}
        """The schemas of types that contain themselves, by the names that references have."""
        self._open: list[Any] = []  # the classes that are being written out, outermost first
        self._names: dict[Any, str] = {}  # of those that contain themselves
        self._orders: dict[frozenset[Any], tuple[Any, ...]] = {}  # of the values of a `Literal`

    def write(self, kind: Any) -> dict[str, Any]:
        """Return the schema of a type, without its definitions.

        Raises:
            TypeError: The type has no form in JSON; the text names it.
        """
        if type(kind) is type and kind in _SIMPLE:
            return dict(_SIMPLE[kind])
        from msgspec import inspect  # noqa: PLC0415 - loads much, and only this needs it

        self._note_orders(kind)
        return self._write(inspect.type_info(kind))

    def _write(self, info: Any) -> dict[str, Any]:
        name = type(info).__name__
        if name == "Metadata":
            return {**self._write(info.type), **_without_title(info.extra_json_schema or {})}
        if name in _SCALARS:
            return {**_SCALARS[name], **_constraints(info)}
        writer = _WRITERS.get(name)
        if writer is None:
            raise TypeError(f"{name} has no form in JSON")
        return writer(self, info)

    # --- kinds of types

    def _write_text(self, info: Any) -> dict[str, Any]:
        sizes = _constraints(info)
        if not isinstance(info, _inspect().StrType):  # bytes
            sizes = {key: 4 * ((size + 2) // 3) for key, size in sizes.items()}
            return {"type": "string", "contentEncoding": "base64", **sizes}
        return {"type": "string", **sizes}

    def _write_moment(self, info: Any) -> dict[str, Any]:
        if info.tz is False:
            return {"type": "string"}
        is_time = type(info).__name__ == "TimeType"
        return {"type": "string", "format": "time" if is_time else "date-time"}

    def _write_enum(self, info: mi.EnumType) -> dict[str, Any]:
        schema = values([member.value for member in info.cls])
        return {**schema, **_description(info.cls)}

    def _write_literal(self, info: mi.LiteralType) -> dict[str, Any]:
        return values(self._orders.get(_key(info.values), info.values))

    def _write_array(self, info: mi.CollectionType) -> dict[str, Any]:
        sizes = _constraints(info, "Items")
        return {"type": "array", "items": self._write(info.item_type), **sizes}

    def _write_tuple(self, info: mi.TupleType) -> dict[str, Any]:
        count = len(info.item_types)
        items = fixed_items([self._write(item) for item in info.item_types])
        return {"type": "array", **items, "minItems": count, "maxItems": count}

    def _write_dict(self, info: mi.DictType) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "object"}
        names = self._write(info.key_type)
        if names.pop("type", None) == "string" and names:
            schema["propertyNames"] = names
        members = self._write(info.value_type)
        if members:
            schema["additionalProperties"] = members
        return {**schema, **_constraints(info, "Properties")}

    def _write_union(self, info: mi.UnionType) -> dict[str, Any]:
        parts = sorted(info.types, key=lambda part: type(part).__name__ == "NoneType")
        return choice([self._write(part) for part in parts])

    def _write_custom(self, info: mi.CustomType) -> dict[str, Any]:
        kind = info.cls
        if isinstance(kind, Hooked):
            return self._write_once(kind, lambda: self._adopt(kind.describe(self.write)))
        if _is_path(kind):
            return {"type": "string", "format": "path"}
        if is_model(kind):
            from wigwag.server.annotations.pydantic_types import describe_model  # noqa: PLC0415 - likewise

            return self._adopt(describe_model(kind))
        name = getattr(kind, "__name__", repr(kind))
        raise TypeError(f"{name} has no form in JSON; take a dataclass, a model or plain types")

    def _write_class(self, info: Any) -> dict[str, Any]:
        self._note_orders_of_members(info.cls)
        return self._write_once(info.cls, lambda: self._write_members(info))

    def _write_once(self, kind: Any, write: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Write what may contain itself; there, a reference to its definition is written."""
        if kind in self._open:
            return {"$ref": PREFIX + self._name(kind)}
        self._open.append(kind)
        schema = write()
        self._open.pop()
        if kind in self._names:
            self.definitions[self._names[kind]] = schema
        return dict(schema)

    def _write_members(self, info: Any) -> dict[str, Any]:
        fields: dict[str, dict[str, Any]] = {}
        if getattr(info, "tag_field", None) is not None:
            fields[info.tag_field] = values([info.tag])
        required = list(fields)
        for field in info.fields:
            fields[field.encode_name] = self._write(field.type) | _default_of_field(field)
            if field.required:
                required.append(field.encode_name)
        described = _description(info.cls)
        if type(info).__name__ == "NamedTupleType" or getattr(info, "array_like", False):
            items = fixed_items(list(fields.values()))
            sizes = {"minItems": len(required), "maxItems": len(fields)}
            return {"type": "array", **described, **items, **sizes}
        schema: dict[str, Any] = {"type": "object", **described, "properties": fields}
        if required:
            schema["required"] = required
        if getattr(info, "forbid_unknown_fields", False):
            schema["additionalProperties"] = False
        tidy_description(schema)
        return schema

    # --- names

    def _name(self, kind: Any) -> str:
        """Return the name of a class that contains itself, which no other one has."""
        if kind not in self._names:
            plain = re.sub(r"[^\w.-]+", "_", getattr(kind, "__name__", str(kind)))
            self._names[kind] = self._free_name(plain)
        return self._names[kind]

    def _free_name(self, plain: str) -> str:
        taken = {*self._names.values(), *self.definitions}
        name, number = plain, 2
        while name in taken:
            name, number = f"{plain}_{number}", number + 1
        return name

    def _adopt(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Take the definitions of a schema that was written elsewhere; their names may be taken."""
        others: dict[str, Any] = schema.pop("$defs", {})
        names: dict[str, str] = {}
        for name, definition in others.items():
            is_the_same = self.definitions.get(name) == definition
            names[name] = name if is_the_same else self._free_name(name)
            self.definitions[names[name]] = definition
        changed = {PREFIX + old: PREFIX + new for old, new in names.items() if old != new}
        if changed:
            for name in names.values():
                self.definitions[name] = _with_references(self.definitions[name], changed)
            schema = _with_references(schema, changed)
        return schema

    # --- the order of values

    def _note_orders(self, kind: Any) -> None:
        """Remember how a `Literal` was written: msgspec sorts its values."""
        kind = getattr(kind, "__value__", kind)
        arguments = typing.get_args(kind)
        if typing.get_origin(kind) is typing.Literal:
            self._orders.setdefault(_key(arguments), arguments)
            return
        for part in arguments:
            self._note_orders(part)

    def _note_orders_of_members(self, kind: Any) -> None:
        try:
            hints = typing.get_type_hints(
                typing.get_origin(kind) or kind, include_extras=True
            ).values()
        except (NameError, TypeError):
            return  # only the order
        for hint in hints:
            self._note_orders(hint)


def _inspect() -> Any:
    return msgspec.inspect  # loaded by whoever has a type to describe


def _key(allowed: Iterable[Any]) -> frozenset[Any]:
    return frozenset((type(value), value) for value in allowed)


_SIMPLE: Final[dict[type, dict[str, Any]]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
}

_SCALARS: Final[dict[str, dict[str, Any]]] = {
    "AnyType": {},
    "RawType": {},
    "NoneType": {"type": "null"},
    "BoolType": {"type": "boolean"},
    "IntType": {"type": "integer"},
    "FloatType": {"type": "number"},
    "DateType": {"type": "string", "format": "date"},
    "TimeDeltaType": {"type": "string", "format": "duration"},
    "UUIDType": {"type": "string", "format": "uuid"},
    "DecimalType": {"type": "string", "format": "decimal"},
}

_WRITERS: Final[dict[str, Callable[[SchemaWriter, Any], dict[str, Any]]]] = {
    "StrType": SchemaWriter._write_text,
    "BytesType": SchemaWriter._write_text,
    "ByteArrayType": SchemaWriter._write_text,
    "MemoryViewType": SchemaWriter._write_text,
    "DateTimeType": SchemaWriter._write_moment,
    "TimeType": SchemaWriter._write_moment,
    "EnumType": SchemaWriter._write_enum,
    "LiteralType": SchemaWriter._write_literal,
    "ListType": SchemaWriter._write_array,
    "SetType": SchemaWriter._write_array,
    "FrozenSetType": SchemaWriter._write_array,
    "VarTupleType": SchemaWriter._write_array,
    "TupleType": SchemaWriter._write_tuple,
    "DictType": SchemaWriter._write_dict,
    "FrozenDictType": SchemaWriter._write_dict,
    "UnionType": SchemaWriter._write_union,
    "CustomType": SchemaWriter._write_custom,
    "StructType": SchemaWriter._write_class,
    "DataclassType": SchemaWriter._write_class,
    "TypedDictType": SchemaWriter._write_class,
    "NamedTupleType": SchemaWriter._write_class,
}

_CONSTRAINTS: Final = {
    "ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf", "pattern": "pattern",
}  # fmt: skip


def _constraints(info: Any, of: str = "Length") -> dict[str, Any]:
    keywords = {**_CONSTRAINTS, "min_length": f"min{of}", "max_length": f"max{of}"}
    found = {keyword: getattr(info, name, None) for name, keyword in keywords.items()}
    return {keyword: value for keyword, value in found.items() if value is not None}


def _default_of_field(field: mi.Field) -> dict[str, Any]:
    if field.default is not msgspec.NODEFAULT:
        return default_of(field.default)
    factory = field.default_factory
    return default_of(factory()) if factory in (list, dict, set, bytearray) else {}


def _description(kind: Any) -> dict[str, Any]:
    """Return the docstring of a class, if somebody wrote it."""
    kind = typing.get_origin(kind) or kind
    doc = vars(kind).get("__doc__")
    if not isinstance(doc, str) or (doc.startswith(f"{kind.__name__}(") and doc.endswith(")")):
        return {}
    text = cleandoc(doc)
    return {"description": text} if text else {}


def _without_title(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != "title"}


def _with_references(schema: Any, changed: dict[str, str]) -> Any:
    """Return a schema whose references lead elsewhere."""
    if isinstance(schema, list):
        return [_with_references(part, changed) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: changed.get(value, value)
        if key == "$ref" and isinstance(value, str)
        else _with_references(value, changed)
        for key, value in schema.items()
    }
