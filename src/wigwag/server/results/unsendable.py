"""Finds what it is in a value that JSON has no form for; loaded when there is something."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any, Final

import msgspec
from msgspec import UNSET

Why = Callable[[Any], str | None]
"""Says why a value cannot be sent; `None` when it can."""

# Whoever contains itself does so earlier, and nobody reads a longer path.
_MAX_STEPS: Final = 100
_MAX_PLACE_CHARACTERS: Final = 120


def explain(value: Any, why: Why) -> str:
    """Say why a value cannot be sent, and where in it that is.

    Args:
        value: A value that cannot be sent.
        why: Says so of it, and of parts of it.
    """
    reason = why(value) or "JSON has no form for it"
    place = "$"
    around: list[Any] = []
    while len(around) < _MAX_STEPS:
        if any(value is outer for outer in around):
            return f"it contains itself{_at(place)}"
        around.append(value)
        for step, part in _parts(value):
            fault = why(part)
            if fault is not None:
                reason, place, value = fault, place + step, part
                break
        else:
            break
    return f"{reason}{_at(place)}"


def _at(place: str) -> str:
    if place == "$":
        return ""
    if len(place) > _MAX_PLACE_CHARACTERS:
        place = place[:_MAX_PLACE_CHARACTERS] + "…"
    return f" (at `{place}`)"


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a value is made of, each with what leads to it."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield _step(key), part
    elif isinstance(value, list | tuple | set | frozenset):
        for index, part in enumerate(value):
            yield f"[{index}]", part
    elif isinstance(value, Enum):
        yield "", value.value
    else:
        for name, attribute in _fields(value):
            part = getattr(value, attribute, UNSET)
            if part is not UNSET:  # that is left out
                yield f".{name}", part


def _fields(value: Any) -> list[tuple[str, str]]:
    """Return the fields of an object: what they are called in JSON, and in Python."""
    if isinstance(value, msgspec.Struct):
        return [(field.encode_name, field.name) for field in msgspec.structs.fields(value)]
    for names in ("__dataclass_fields__", "__pydantic_fields__"):
        fields = getattr(type(value), names, None)
        if isinstance(fields, dict):
            return [(name, name) for name in fields]
    return [(each.name, each.name) for each in getattr(type(value), "__attrs_attrs__", ())]


def _step(key: Any) -> str:
    if isinstance(key, str) and key.isidentifier():
        return f".{key}"
    if isinstance(key, str | int):
        return f"[{str(key)!r}]" if isinstance(key, str) else f"[{key}]"
    return f"[a {type(key).__name__}]"
