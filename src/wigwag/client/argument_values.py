"""Values of arguments that a person has typed as text, as the schema of each has them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from wigwag.schema.json_schema import follow

__all__ = ["read_json", "read_value", "shape_of"]

_INTEGER: Final = re.compile(r"[+-]?\d{1,300}", re.ASCII)
_NUMBER: Final = re.compile(r"[+-]?(\d{1,300}(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_NAMED: Final[Mapping[str, Mapping[str, Any]]] = {
    "boolean": {
        **dict.fromkeys(("true", "yes", "on", "1"), True),
        **dict.fromkeys(("false", "no", "off", "0"), False),
    },
    "null": {"null": None},
}
_MISSING: Final = object()

_WORDS: Final = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "array": "a list: one item, the argument once for each, or all as JSON",
    "object": "an object, written as JSON",
}


def read_value(text: str, schema: Any, root: Any = None) -> Any:
    """Return the value that a text stands for.

    Where a schema takes text, text it stays: nothing that looks like a number is made one. So it
    does where the schema does not say what it takes. A list may be given as its only item.

    >>> read_value("5", {"type": "integer"}), read_value("5", {"type": ["string", "integer"]})
    (5, '5')

    Args:
        text: What was typed.
        schema: The JSON Schema of the argument.
        root: The schema that references in it are about; by default itself.

    Raises:
        ValueError: It stands for nothing that fits; the text says what would.
    """
    try:
        return _value(text, schema, schema if root is None else root)
    except RecursionError:  # a list of itself
        raise ValueError("a list within lists, written as JSON") from None


def _value(text: str, schema: Any, root: Any) -> Any:
    shapes = list(_alternatives(schema, root))
    options = [option for shape in shapes for option in _options(shape)]
    for option in options:
        if text == _spelt(option):
            return option
    kinds = [kind for shape in shapes if not _options(shape) for kind in _kinds(shape)]
    if "string" in kinds or (not kinds and not options):
        return text
    for shape in shapes:
        for kind in _kinds(shape):
            value = _MISSING if _options(shape) else _read(text, kind, shape, root)
            if value is not _MISSING:
                return value
    raise ValueError(_expected(options, kinds))


def shape_of(schema: Any, root: Any) -> dict[str, Any]:
    """Return the first alternative of a schema that is not `null`, with references followed."""
    shapes = list(_alternatives(schema, root))
    return next((shape for shape in shapes if shape.get("type") != "null"), {})


def read_json(text: str) -> Any:
    """Return what a JSON text holds.

    Raises:
        ValueError: It is not JSON; the text says where it stops being it.
    """
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error}") from None


def _refuse(constant: str) -> Any:
    raise ValueError(f"it is not JSON: there is no {constant} in it")


def _alternatives(
    schema: Any, root: Any, followed: set[str] | None = None
) -> Iterator[dict[str, Any]]:
    """Iterate over the schemas that a value has to fit one of; each reference is followed once."""
    followed = set() if followed is None else followed
    if not isinstance(schema, Mapping):
        return
    reference = schema.get("$ref")
    if isinstance(reference, str):
        if reference not in followed:
            followed.add(reference)
            yield from _alternatives(_referred(reference, root), root, followed)
        return
    for keyword in ("anyOf", "oneOf", "allOf"):
        parts = schema.get(keyword)
        if isinstance(parts, list) and "type" not in schema:
            for part in parts:
                yield from _alternatives(part, root, followed)
            return
    yield dict(schema)


def _referred(reference: str, root: Any) -> Any:
    """Return what a reference inside of the same document refers to."""
    if not reference.startswith("#"):
        return None
    try:
        return follow(reference.split("/")[1:], root)
    except LookupError:
        return None


def _options(shape: Mapping[str, Any]) -> list[Any]:
    """Return all values of an alternative, where it lists them."""
    if "const" in shape:
        return [shape["const"]]
    values = shape.get("enum")
    return values if isinstance(values, list) else []


def _kinds(shape: Mapping[str, Any]) -> list[str]:
    kind = shape.get("type")
    return [kind] if isinstance(kind, str) else kind if isinstance(kind, list) else []


def _spelt(option: Any) -> str:
    return option if isinstance(option, str) else json.dumps(option, ensure_ascii=False)


def _expected(options: list[Any], kinds: list[str]) -> str:
    words = ["one of " + ", ".join(map(_spelt, options))] if options else []
    words += [_WORDS[kind] for kind in dict.fromkeys(kinds) if kind in _WORDS]
    return " or ".join(words) or "it takes nothing that can be typed"


def _read(text: str, kind: str, shape: Mapping[str, Any], root: Any) -> Any:
    """Return the value of a kind that a text stands for, or that there is none."""
    text = text.strip()
    if kind in ("object", "array") and text.startswith("{" if kind == "object" else "["):
        return read_json(text)
    if kind == "array":
        return _items(text, shape.get("items", {}), root)
    is_whole = _INTEGER.fullmatch(text) is not None
    if kind in ("integer", "number") and is_whole:
        return int(text)
    if kind == "number" and _NUMBER.fullmatch(text):
        return float(text)
    return _NAMED.get(kind, {}).get(text.lower(), _MISSING)


def _items(text: str, schema: Any, root: Any) -> list[Any]:
    """Return the items that a text stands for: commas divide what cannot have any inside."""
    shapes = list(_alternatives(schema, root))
    is_plain = all(
        _options(shape) or set(_kinds(shape)) & {"integer", "number", "boolean"} for shape in shapes
    )
    pieces = text.split(",") if shapes and is_plain else [text]
    try:
        return [_value(piece, schema, root) for piece in pieces]
    except ValueError as error:
        raise ValueError(f"a list, of which each item is {error}") from None
