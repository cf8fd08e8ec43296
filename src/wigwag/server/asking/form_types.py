"""What a type says of the fields of a form, whichever library it is of.

Spec: client/elicitation#requested-schema
"""

from __future__ import annotations

import datetime
import typing
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, Final, Literal, get_args, get_origin

import msgspec
from msgspec import Struct

from wigwag.server.annotations.translation import is_model
from wigwag.server.asking.form_fields import checked_field

_REFERENCE: Final = "#/$defs/"


def describe(kind: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the schema of a type as it comes, and what it refers to.

    Raises:
        TypeError: It has none.
    """
    try:
        if is_of_pydantic(kind):
            model = is_model(kind)
            schema: dict[str, Any] = (
                kind.model_json_schema() if model else _adapter(kind).json_schema()
            )
            return schema, schema.get("$defs", {})
        (root,), definitions = msgspec.json.schema_components(
            (kind,), ref_template=_REFERENCE + "{name}"
        )
    except NameError as error:
        raise TypeError(
            f"a form cannot ask for {_name(kind)}: {error}; what its fields are of must be defined "
            "where the module can see it"
        ) from None
    except (TypeError, RuntimeError) as error:  # pydantic's are of either kind
        raise TypeError(f"a form cannot ask for {_name(kind)}: {_first_line(error)}") from None
    return _resolved(root, definitions), definitions


def field_of_type(name: str, kind: Any) -> tuple[dict[str, Any], bool]:
    """Return the schema of a field, and whether it may be left out.

    Raises:
        TypeError: No form can have such a field.
    """
    described, definitions = describe(kind)
    plain, accepts_none = without_null(described, definitions)
    title = described.get("title") if get_origin(kind) is typing.Annotated else None
    plain.pop("title", None)
    if title is not None:
        plain["title"] = title
    return checked_field(name, as_written(plain, kind)), accepts_none


def _resolved(schema: dict[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    reference = schema.get("$ref")
    if reference is None:
        return dict(schema)
    beside = {key: value for key, value in schema.items() if key != "$ref"}
    target = definitions[reference.removeprefix(_REFERENCE)]
    own = {key: value for key, value in target.items() if key != "title"}
    return {**own, **beside}


def without_null(
    schema: dict[str, Any], definitions: Mapping[str, Any]
) -> tuple[dict[str, Any], bool]:
    """Return the schema of `X | None` as that of X, and whether it was one."""
    schema = _resolved(schema, definitions)
    if "items" in schema and isinstance(schema["items"], dict):
        schema["items"] = _resolved(schema["items"], definitions)
    choices = schema.get("anyOf")
    if not isinstance(choices, list) or {"type": "null"} not in choices:
        return schema, False
    rest = [choice for choice in choices if choice != {"type": "null"}]
    if schema.get("default", ...) is None:
        del schema["default"]
    if len(rest) != 1:
        return schema, True
    del schema["anyOf"]
    inner, _ = without_null(rest[0], definitions)
    return {**inner, **schema}, True


def titles_of(kind: Any, schema: Mapping[str, Any]) -> dict[str, str]:
    """Return the titles that fields were given; libraries make up others of the names."""
    if is_of_pydantic(kind):
        fields = kind.__pydantic_fields__.items()
        return {(f.alias or name): f.title for name, f in fields if f.title is not None}
    properties = schema.get("properties", {})
    return {name: field["title"] for name, field in properties.items() if "title" in field}


def names_of(kind: Any) -> dict[str, str]:
    """Return the attribute of each field whose name in JSON is another one."""
    if isinstance(kind, type) and issubclass(kind, Struct):
        return {field.encode_name: field.name for field in msgspec.structs.fields(kind)}
    return {}


def as_written(field: dict[str, Any], kind: Any) -> dict[str, Any]:
    """List choices as they were written, and name the format of a time; msgspec does neither."""
    if field.get("type") == "string" and _is_time(kind):
        field.setdefault("format", "date-time")
    holder = field.get("items") if field.get("type") == "array" else field
    if isinstance(holder, dict) and "enum" in holder:
        written = _choices(kind)
        if sorted(map(repr, written)) == sorted(map(repr, holder["enum"])):
            holder["enum"] = written
    return field


def _is_time(kind: Any) -> bool:
    return kind is datetime.datetime or any(map(_is_time, get_args(kind)))


def _choices(kind: Any) -> list[Any]:
    if get_origin(kind) is Literal:
        return list(get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [member.value for member in kind]
    return [choice for part in get_args(kind) for choice in _choices(part)]


def hints_of(kind: Any) -> dict[str, Any]:
    """Return the annotations of the fields of a class, as far as they can be found."""
    try:
        hints = typing.get_type_hints(kind, include_extras=True)
    except NameError:  # pydantic has found what it needs elsewhere
        return {}
    return {name: _without_presence(hint) for name, hint in hints.items()}


def _without_presence(hint: Any) -> Any:
    """Leave out what a `TypedDict` says of whether a key must be there."""
    while get_origin(hint) in (typing.Required, typing.NotRequired):
        (hint,) = get_args(hint)
    return hint


def title_in(kind: Any) -> str | None:
    """Return the title that an annotation gives."""
    titles = (getattr(item, "title", None) for item in getattr(kind, "__metadata__", ()))
    return next((title for title in titles if isinstance(title, str)), None)


def is_of_pydantic(kind: Any) -> bool:
    """Tell whether pydantic reads a class: one of its models or dataclasses."""
    return is_model(kind) or hasattr(kind, "__pydantic_validator__")


def validated(kind: Any, content: Any) -> Any:
    """Return a value of a type of pydantic.

    Raises:
        ValueError: The content is none; the text says where.
    """
    try:
        return _adapter(kind).validate_python(content)
    except ValueError as error:
        # Its own text has a line for each field, and an address to read more.
        faults: list[Any] = getattr(error, "errors", list)()
        texts = [f"`{'.'.join(map(str, fault['loc']))}`: {fault['msg']}" for fault in faults]
        raise ValueError("; ".join(texts) or str(error)) from None


@lru_cache(maxsize=256)
def _adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter  # noqa: PLC0415 - whose class it is has loaded it

    return TypeAdapter(kind)


def _name(kind: Any) -> str:
    return getattr(kind, "__name__", repr(kind))


def _first_line(error: BaseException) -> str:
    return str(error).split("\n", 1)[0]
