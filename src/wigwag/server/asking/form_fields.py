"""The fields of forms: what their schemas may say, and whether a value fits.

Spec: client/elicitation#supported-schema-types
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_COMMON: Final = ("type", "title", "description", "default")
_ALLOWED: Final = {
    "string": (*_COMMON, "minLength", "maxLength", "format", "enum", "enumNames", "oneOf"),
    "number": (*_COMMON, "minimum", "maximum"),
    "integer": (*_COMMON, "minimum", "maximum"),
    "boolean": _COMMON,
    "array": (*_COMMON, "minItems", "maxItems", "items"),
}
_FORMATS: Final = ("email", "uri", "date", "date-time")
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list,),
}


def checked_field(name: str, field: Any) -> dict[str, Any]:
    """Return the schema of a field as forms have it.

    Raises:
        TypeError: No form can have such a field.
    """
    if not isinstance(field, Mapping):
        raise TypeError(f"field `{name}` of a form needs a schema, not {field!r}")
    field = dict(field)
    if "const" in field:
        field["enum"] = [field.pop("const")]
    if "type" not in field and _are_texts(field.get("enum")):
        field["type"] = "string"
    kind = field.get("type")
    if not isinstance(kind, str) or kind not in _ALLOWED or not _is_flat(field):
        raise TypeError(
            f"field `{name}` cannot be in a form: forms are flat, of texts, numbers, booleans and "
            "choices of texts"
        )
    if field.get("format") not in _FORMATS:
        field.pop("format", None)
    if kind == "integer":
        _include_bounds(field)
    if kind == "array" and "enum" in field["items"]:
        field["items"] = {"type": "string", "enum": field["items"]["enum"]}
    allowed = _ALLOWED[kind]
    return {key: value for key, value in field.items() if key in allowed}


def _is_flat(field: Mapping[str, Any]) -> bool:
    if "contentEncoding" in field:
        return False
    if "enum" in field and not _are_texts(field["enum"]):
        return False
    if "oneOf" in field and not _are_options(field["oneOf"]):
        return False
    if field["type"] != "array":
        return True
    items = field.get("items")
    return isinstance(items, Mapping) and (
        _are_texts(items.get("enum")) or _are_options(items.get("anyOf"))
    )


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def _are_options(options: Any) -> bool:
    return isinstance(options, list) and all(
        isinstance(option, Mapping)
        and isinstance(option.get("const"), str)
        and isinstance(option.get("title"), str)
        for option in options
    )


def _include_bounds(field: dict[str, Any]) -> None:
    """Say in the words of forms what an integer's bounds are: they know no exclusive ones."""
    if "exclusiveMinimum" in field:
        field.setdefault("minimum", field["exclusiveMinimum"] + 1)
    if "exclusiveMaximum" in field:
        field.setdefault("maximum", field["exclusiveMaximum"] - 1)


def as_field_has_it(field: Mapping[str, Any], value: Any) -> Any:
    """Return a value that means the same to the field in the one form that it is checked in.

    3.0 is an integer in JSON Schema; and 2025-06-18 has no lists, so that they come as texts.
    """
    match field.get("type"):
        case "integer" if isinstance(value, float) and value.is_integer():
            return int(value)
        case "array" if isinstance(value, str):
            return [part for text in value.split(",") if (part := text.strip())]
    return value


def fault_of(field: Mapping[str, Any], value: Any) -> str | None:
    """Say what is wrong with what a user filled in, if anything is."""
    kind = field.get("type", "")
    types = _TYPES.get(kind)
    if types is None:
        return None  # nobody asked for it
    if not isinstance(value, types) or (isinstance(value, bool) and kind != "boolean"):
        return f"expected {kind}, got {type(value).__name__}"
    if isinstance(value, str):
        return _fault_of_length(field, len(value), "Length") or _fault_of_choice(field, value)
    if isinstance(value, list):
        faults = [_fault_of_choice(field["items"], item) for item in value]
        return _fault_of_length(field, len(value), "Items") or next(filter(None, faults), None)
    return _fault_of_size(field, value)


def _fault_of_size(field: Mapping[str, Any], value: Any) -> str | None:
    if value < field.get("minimum", value):
        return f"must be {field['minimum']} or more"
    if value > field.get("maximum", value):
        return f"must be {field['maximum']} or less"
    return None


def _fault_of_length(field: Mapping[str, Any], length: int, what: str) -> str | None:
    if not field.get(f"min{what}", 0) <= length <= field.get(f"max{what}", length):
        return f"{length} {what.lower()} is too few or too many"
    return None


def _fault_of_choice(field: Mapping[str, Any], value: Any) -> str | None:
    options = field.get("oneOf", field.get("anyOf"))
    choices = field.get("enum") if options is None else [option["const"] for option in options]
    if choices is not None and value not in choices:
        return f"must be one of {', '.join(map(repr, choices))}"
    return None
