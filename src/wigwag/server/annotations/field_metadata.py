"""What `Field`, `annotated_types` and `Doc` say in an annotation, as `msgspec.Meta` has it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

MISSING: Final = object()

# Constraints of `annotated_types`, which pydantic's `Field` turns into as well.
_CONSTRAINTS: Final = ("gt", "ge", "lt", "le", "multiple_of", "min_length", "max_length", "pattern")
# What else a `Field` may say that changes nothing about what is read.
_IDLE: Final = frozenset({
    "allow_mutation", "annotation", "deprecated", "description", "examples", "exclude", "frozen",
    "init", "init_var", "json_schema_extra", "kw_only", "metadata", "repr", "title",
})  # fmt: skip


class PydanticNeeded(Exception):
    """Only pydantic can read an annotation; the text says what of it."""


def split_default(default: Any) -> tuple[Any, Any]:
    """Return the default of a parameter and the metadata that came in its place.

    `a: int = Field(1, ge=0)` has both; `MISSING` stands for what is not there.
    """
    if type(default).__name__ != "FieldInfo" or not is_foreign(default):
        return default, MISSING
    factory = getattr(default, "default_factory", None)
    value = factory() if callable(factory) else default.default
    if value is ... or type(value).__name__ == "PydanticUndefinedType":
        value = MISSING
    return value, default


def default_in(metadata: Iterable[Any]) -> Any:
    """Return the default that a `Field` in `Annotated` has; `MISSING` if there is none."""
    defaults = [split_default(item)[0] for item in metadata if type(item).__name__ == "FieldInfo"]
    return next((default for default in defaults if default is not MISSING), MISSING)


def is_foreign(item: Any) -> bool:
    """Tell whether something in `Annotated` is one of those."""
    if type(item).__name__ in ("Doc", "DocInfo"):  # PEP 727, in typing_extensions and elsewhere
        return True
    return type(item).__module__.partition(".")[0] in ("pydantic", "annotated_types")


def constraints_of(item: Any) -> dict[str, Any]:
    """Return the constraints of something in `Annotated`.

    Raises:
        PydanticNeeded: It has others than msgspec knows.
    """
    if type(item).__name__ in ("Doc", "DocInfo"):
        return {}
    said = {name: value for name, value in _attributes(item).items() if value is not None}
    if type(item).__name__ == "FieldInfo":
        found: dict[str, Any] = {}
        for part in item.metadata:
            found |= constraints_of(part)
        if item.discriminator is not None:
            raise PydanticNeeded("a discriminator")
        return found
    known: dict[str, Any] = {name: said[name] for name in _CONSTRAINTS if name in said}
    if said.keys() - known.keys() - _IDLE or type(item).__name__ == "Timezone":
        raise PydanticNeeded(repr(item))
    if hasattr(known.get("pattern"), "pattern"):
        known["pattern"] = known["pattern"].pattern
    return known


def _attributes(item: Any) -> dict[str, Any]:
    slots = [name for kind in type(item).__mro__ for name in getattr(kind, "__slots__", ())]
    return {name: getattr(item, name, None) for name in (*slots, *getattr(item, "__dict__", ()))}


def descriptions_of(item: Any) -> dict[str, Any]:
    """Return what something in `Annotated` says to the reader of the schema.

    Raises:
        PydanticNeeded: It is a function that changes the schema.
    """
    found = {
        "description": getattr(item, "documentation", None) or getattr(item, "description", None),
        "examples": getattr(item, "examples", None),
        "extra_json_schema": getattr(item, "json_schema_extra", None),
    }
    if callable(found["extra_json_schema"]):
        raise PydanticNeeded("a function that changes the schema")
    return {name: value for name, value in found.items() if value is not None}
