"""Classes with members: which members they have, and stand-ins with members of other types."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from wigwag.server.annotations.hooked import Describe, Hook, convert, hooked


def has_members(kind: Any) -> bool:
    """Tell whether a type is a dataclass, an attrs class, a struct, a `TypedDict` or the like."""
    return isinstance(kind, type) and (
        dataclasses.is_dataclass(kind)
        or issubclass(kind, msgspec.Struct)
        or hasattr(kind, "__attrs_attrs__")
        or _is_named_tuple(kind)
        or typing.is_typeddict(kind)
        or _is_typed_dict(kind)
    )


def _is_named_tuple(kind: type) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def _is_typed_dict(kind: type) -> bool:
    return issubclass(kind, dict) and hasattr(kind, "__total__")  # of typing_extensions as well


def members_of(kind: type, names: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return the annotations of a class's members, and whether they stand for themselves.

    Args:
        kind: The class.
        names: What annotations that are text may name as well, such as classes that are local to
            a function. Members that do stand for nothing without it.

    Raises:
        TypeError: An annotation names what cannot be found.
    """
    try:
        hints, alone = typing.get_type_hints(kind, include_extras=True), True
    except NameError:
        try:
            local = {**names, **vars(kind)}
            hints, alone = typing.get_type_hints(kind, None, local, include_extras=True), False
        except NameError as error:
            text = f"an annotation of {kind.__name__} cannot be understood: {error}"
            raise TypeError(text) from None
    known = _fields_of(kind)
    if known is None:
        return hints, alone
    # Msgspec would read those too that the class fills in itself.
    alone = alone and all(is_given for is_given in known.values())
    return {name: hints.get(name, Any) for name in known if known[name]}, alone


def has_defaults_of_pydantic(kind: Any) -> bool:
    """Tell whether pydantic's `Field` stands in the place of a default, in a dataclass."""
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    return any(type(each.default).__name__ == "FieldInfo" for each in fields)


def _fields_of(kind: Any) -> dict[str, bool] | None:
    """Return the members of a class, and whether objects are made with them."""
    if dataclasses.is_dataclass(kind):
        return {field.name: field.init for field in dataclasses.fields(kind)}
    if issubclass(kind, msgspec.Struct):
        return dict.fromkeys(kind.__struct_fields__, True)
    if _is_named_tuple(kind):
        return dict.fromkeys(kind._fields, True)
    attributes = getattr(kind, "__attrs_attrs__", None)
    return None if attributes is None else {field.name: field.init for field in attributes}


def with_members(kind: Any, hints: Mapping[str, Any]) -> Any:
    """Return a stand-in for a class: its members are read as other types than they are declared.

    Raises:
        TypeError: It is of a kind that there is no stand-in for.
    """
    if issubclass(kind, dict):
        return typed_dict(kind, hints)
    fields = [_field(kind, name, hint) for name, hint in hints.items()]
    options: dict[str, Any] = {"kw_only": True}
    if _is_named_tuple(kind):
        options = {"array_like": True, "forbid_unknown_fields": True}
    elif issubclass(kind, msgspec.Struct):
        config = kind.__struct_config__
        if config.tag is not None or config.array_like:
            raise TypeError(
                f"{kind.__name__} has members that msgspec cannot read; in a struct, take"
                " msgspec.Meta for constraints"
            )
        encoded = dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
        options |= {"forbid_unknown_fields": config.forbid_unknown_fields, "rename": encoded}
    struct = msgspec.defstruct(kind.__name__, fields, **options)
    struct.__doc__ = _own_doc(kind)
    arguments = _argument_names(kind)

    def read(value: Any, hook: Hook) -> Any:
        members = msgspec.structs.asdict(convert(value, struct, hook))
        return kind(**{arguments.get(name, name): member for name, member in members.items()})

    def describe(schema_of: Describe) -> dict[str, Any]:
        return schema_of(struct)

    stand_in = hooked(kind.__name__, read, describe)
    stand_in.__struct_encode_fields__ = struct.__struct_encode_fields__
    return stand_in


def typed_dict(kind: Any, hints: Mapping[str, Any], make: Any = typing.TypedDict) -> Any:
    """Return a `TypedDict` whose members have other types."""
    members = {
        name: hint if name in kind.__required_keys__ else typing.NotRequired[hint]
        for name, hint in hints.items()
    }
    made = make(kind.__name__, members)
    made.__doc__ = kind.__doc__
    return made


def _field(kind: Any, name: str, hint: Any) -> tuple[Any, ...]:
    default, factory = _default_of(kind, name)
    if factory is not None:
        return name, hint, msgspec.field(default_factory=factory)
    if default is msgspec.NODEFAULT:
        return name, hint
    if isinstance(default, list | dict | set | bytearray):
        return name, hint, msgspec.field(default_factory=partial(_identity, default))
    return name, hint, msgspec.field(default=default)


def _default_of(kind: Any, name: str) -> tuple[Any, Any]:
    """Return the default of a member, or what makes it."""
    if dataclasses.is_dataclass(kind):
        field = next(field for field in dataclasses.fields(kind) if field.name == name)
        if field.default_factory is not dataclasses.MISSING:
            return msgspec.NODEFAULT, field.default_factory
        missing = field.default is dataclasses.MISSING
        return msgspec.NODEFAULT if missing else field.default, None
    if issubclass(kind, msgspec.Struct):
        # Not `msgspec.structs.fields`: that wants to understand all annotations.
        names, defaults = kind.__struct_fields__, kind.__struct_defaults__
        given = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
        default = given.get(name, msgspec.NODEFAULT)
        return default, getattr(default, "factory", None)
    if _is_named_tuple(kind):
        return kind._field_defaults.get(name, msgspec.NODEFAULT), None
    attribute: Any = next(field for field in kind.__attrs_attrs__ if field.name == name)
    if type(attribute.default).__name__ == "Factory":
        return msgspec.NODEFAULT, attribute.default.factory
    is_set = getattr(attribute.default, "name", "") != "NOTHING"
    return attribute.default if is_set else msgspec.NODEFAULT, None


def _argument_names(kind: Any) -> dict[str, str]:
    """Return how attrs calls its members where objects are made, which may be another name."""
    return {field.name: field.alias for field in getattr(kind, "__attrs_attrs__", ())}


def _own_doc(kind: type) -> str | None:
    """Return the docstring that somebody wrote for a class."""
    doc = vars(kind).get("__doc__")
    is_made = isinstance(doc, str) and doc.startswith(f"{kind.__name__}(") and doc.endswith(")")
    return None if is_made else doc


def _identity(value: Any) -> Any:
    return value
