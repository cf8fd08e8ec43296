"""Choices that msgspec does not offer: between types that look alike, and of values of any kind."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from types import NoneType
from typing import Any, get_origin

from wigwag.server.annotations.flat_schema import values as values_schema
from wigwag.server.annotations.hooked import Describe, Faults, Hook, convert, hooked


def is_plain_enum(kind: type[enum.Enum]) -> bool:
    """Tell whether msgspec reads an enumeration: its values are all text or all integers."""
    values = [member.value for member in kind]
    return all(isinstance(value, str) for value in values) or all(
        isinstance(value, int) and not isinstance(value, bool) for value in values
    )


def choice_of_values(name: str, values: Sequence[Any]) -> Any:
    """Return a stand-in for an enumeration of any values, or a `Literal` of such."""
    plain = [value.value if isinstance(value, enum.Enum) else value for value in values]
    options = ", ".join(map(repr, plain))
    for value in plain:
        if type(value) not in (str, int, float, bool, NoneType):
            raise TypeError(f"{value!r} of {name} has no form in JSON; take text or numbers")

    def read(value: Any, _hook: Hook) -> Any:
        for option, member in zip(plain, values, strict=True):
            if option == value and isinstance(option, bool) == isinstance(value, bool):
                return member
        raise ValueError(f"invalid value {value!r}; it must be one of {options}")

    return hooked(name, read, lambda _describe: values_schema(plain))


def choice_of_types(kinds: Sequence[Any]) -> Any:
    """Return a stand-in for a union of types that msgspec cannot tell apart.

    The first type that fits is taken; among types with members, the one that knows most of those
    that are there.
    """
    names = [_name(kind) for kind in kinds]

    def read(value: Any, hook: Hook) -> Any:
        best, most = None, -1
        faults: list[str] = []
        for name, kind in zip(names, kinds, strict=True):
            try:
                found = convert(value, kind, hook)
            except Faults as error:
                faults.append(f"as `{name}`, {error}")
                continue
            known = _count_known(kind, value)
            if known > most:
                best, most = found, known
        if most < 0:
            raise ValueError(f"it fits none of its types: {'; '.join(faults)}")
        return best

    def describe(schema_of: Describe) -> dict[str, Any]:
        return {"anyOf": [schema_of(kind) for kind in kinds]}

    return hooked("Choice", read, describe)


def _name(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind).replace("typing.", "")


def _count_known(kind: Any, value: Any) -> int:
    if not isinstance(value, dict):
        return 0
    kind = get_origin(kind) or kind
    fields: Any = getattr(kind, "__struct_encode_fields__", None) or getattr(
        kind, "__dataclass_fields__", getattr(kind, "__annotations__", ())
    )
    return sum(name in fields for name in value)
