"""What a parameter can be, as text to choose from, where its type has few values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin


def suggestions_for(types: Mapping[str, Any], names: Iterable[str]) -> dict[str, list[str]]:
    """Return the values that parameters can have, of those that have few.

    Args:
        types: The types, as they were annotated.
        names: The parameters that are asked for.
    """
    found = {name: _values_of(types.get(name)) for name in names}
    return {name: values for name, values in found.items() if values}


def choose(values: Iterable[str], typed: str) -> list[str]:
    """Return the values that begin with what was typed, then those that have it elsewhere.

    Upper and lower case are the same.
    """
    typed = typed.casefold()
    begin: list[str] = []
    have: list[str] = []
    for value in values:
        place = value.casefold().find(typed)
        if place >= 0:
            (have if place else begin).append(value)
    return begin + have


def _values_of(kind: Any) -> list[str]:
    """Return the values of a type; none, where there are any number."""
    origin = get_origin(kind)
    if origin is Annotated:
        return _values_of(get_args(kind)[0])
    if origin is Literal:
        return [as_text(value) for value in get_args(kind) if value is not None]
    if origin in (Union, UnionType):
        parts = [_values_of(part) for part in get_args(kind) if part is not type(None)]
        return list(dict.fromkeys(value for part in parts for value in part)) if all(parts) else []
    if kind is bool:
        return ["true", "false"]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [as_text(member) for member in kind]
    return []


def as_text(value: Any) -> str:
    """Return a value as it is written in the text of an argument."""
    value = value.value if isinstance(value, Enum) else value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
