"""Annotations as users of pydantic write them, in the terms of msgspec.

Pydantic itself is looked at only when the user has loaded it: nobody has an annotation of a library
that was never imported.
"""

from __future__ import annotations

import sys
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

import msgspec

MISSING: Final = object()

# Constraints of `annotated_types`, which pydantic's `Field` turns into as well.
_CONSTRAINTS: Final = ("gt", "ge", "lt", "le", "multiple_of", "min_length", "max_length", "pattern")


def translate(annotation: Any) -> Any:
    """Return an annotation whose metadata msgspec understands, at every depth.

    Text in it is a description. `Field(...)` and the constraints of `annotated_types` become
    `msgspec.Meta`.

    Raises:
        TypeError: A constraint has no counterpart, and would silently not hold.
    """
    origin = get_origin(annotation)
    if origin is Annotated:
        return _translate_annotated(annotation)
    arguments = get_args(annotation)
    parts = tuple(translate(part) for part in arguments)
    if all(new is old for new, old in zip(parts, arguments, strict=True)):
        return annotation
    if origin in (Union, UnionType):
        return Union[parts]  # noqa: UP007 - the types are not known here
    return origin[parts]


def _translate_annotated(annotation: Any) -> Any:
    kind, *metadata = get_args(annotation)
    kind = translate(kind)
    constraints: dict[str, Any] = {}
    kept: list[Any] = []
    for item in metadata:
        if isinstance(item, str):
            constraints["description"] = item
        elif _is_foreign(item):
            constraints |= _constraints_of(item)
        else:
            kept.append(item)
    description = constraints.pop("description", None)
    if constraints:
        kind = _constrained(kind, msgspec.Meta(**constraints))
    if description is not None:
        kept.append(msgspec.Meta(description=description))
    for item in kept:
        kind = Annotated[kind, item]
    return kind


def _constrained(kind: Any, meta: msgspec.Meta) -> Any:
    """Apply constraints; of `int | None` they bound the integer."""
    if get_origin(kind) not in (Union, UnionType):
        return Annotated[kind, meta]
    parts = tuple(part if part is type(None) else Annotated[part, meta] for part in get_args(kind))
    return Union[parts]  # noqa: UP007 - the types are not known here


def split_default(default: Any) -> tuple[Any, Any]:
    """Return the default of a parameter and the metadata that came in its place.

    `a: int = Field(1, ge=0)` has both; `MISSING` stands for what is not there.
    """
    if type(default).__name__ != "FieldInfo" or not _is_foreign(default):
        return default, MISSING
    factory = getattr(default, "default_factory", None)
    value = factory() if callable(factory) else default.default
    if value is ... or type(value).__name__ == "PydanticUndefinedType":
        value = MISSING
    return value, default


def is_model(kind: Any) -> bool:
    """Tell whether a type is a model of pydantic."""
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and isinstance(kind, type) and issubclass(kind, pydantic.BaseModel)


def _is_foreign(item: Any) -> bool:
    return type(item).__module__.partition(".")[0] in ("pydantic", "annotated_types")


def _constraints_of(item: Any) -> dict[str, Any]:
    if isinstance(getattr(item, "alias", None), str):
        raise TypeError("an argument cannot have an alias: name the parameter so")
    meta: dict[str, Any] = {}
    description = getattr(item, "description", None)
    if isinstance(description, str):
        meta["description"] = description
    parts = getattr(item, "metadata", None)  # of a Field
    if isinstance(parts, list):
        for part in parts:
            meta |= _constraints_of(part)
        return meta
    found = {name: getattr(item, name, None) for name in _CONSTRAINTS}
    known = {name: value for name, value in found.items() if value is not None}
    if not known and not meta:
        raise TypeError(f"{item!r} is a constraint that cannot be kept")
    return meta | known
