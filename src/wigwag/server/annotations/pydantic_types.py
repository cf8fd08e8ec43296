"""Annotations that only pydantic reads: its types and validators, and its models.

Nothing here imports pydantic before somebody has an annotation of it, or a constraint that only it
can keep.
"""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable, Iterator
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from wigwag.server.annotations.flat_schema import flatten
from wigwag.server.annotations.foreign import is_model, is_of_pydantic
from wigwag.server.annotations.hooked import Describe, Faults, Hook, hooked
from wigwag.server.annotations.members import has_members, members_of, typed_dict

if TYPE_CHECKING:
    import pydantic


def adapt(annotation: Any, reason: str, *, strict: bool) -> Any:
    """Return a stand-in for an annotation, which pydantic reads.

    Args:
        annotation: The annotation.
        reason: What of it needs pydantic.
        strict: Whether nothing is ever read as something else; otherwise what is not right is read
            once more as pydantic usually does, if it has models or functions that validate.

    Raises:
        TypeError: Pydantic cannot read it either, or is not installed.
    """
    try:
        import pydantic  # noqa: F401, PLC0415 - only those who need it
    except ImportError:
        raise TypeError(f"only pydantic can keep {reason}, and it is not installed") from None
    native = _in_its_terms(annotation)
    parts = list(_parts(annotation))
    # It would decode once what the type decodes itself.
    is_encoded = any(type(part).__name__ == "EncodedBytes" for part in parts)
    adapter = _adapter(native, reason, bytes_as="utf8" if is_encoded else "base64")
    lost = next((part for part in parts if isinstance(part, msgspec.Meta)), None)
    if lost is not None:
        raise TypeError(f"only pydantic can keep {reason}, and it knows no msgspec.Meta")
    is_lenient = not strict and any(map(_has_a_say, parts))

    def read(value: Any, _hook: Hook) -> Any:
        return _validate(adapter.validate_json, value, is_lenient=is_lenient)

    def describe(_describe: Describe) -> dict[str, Any]:
        return flatten(adapter.json_schema(schema_generator=_schema_generator()))

    return hooked(getattr(annotation, "__name__", str(annotation)), read, describe)


def read_model(kind: Any, value: Any, *, strict: bool = False) -> Any:
    """Make a model.

    Raises:
        Faults: The value does not fit.
    """
    return _validate(kind.model_validate_json, value, is_lenient=not strict)


def describe_model(kind: Any, *, is_output: bool = False) -> dict[str, Any]:
    """Return the schema of a model: as it is read, or as it is written, with computed fields."""
    mode: Literal["serialization", "validation"] = "serialization" if is_output else "validation"
    return flatten(kind.model_json_schema(schema_generator=_schema_generator(), mode=mode))


def encode(value: Any) -> Any:
    """Return something of pydantic as what JSON has forms for."""
    from pydantic_core import to_jsonable_python  # noqa: PLC0415 - loaded already

    return to_jsonable_python(value, by_alias=True)


def _validate(validate: Callable[..., Any], value: Any, *, is_lenient: bool) -> Any:
    data = msgspec.json.encode(value)
    try:
        try:
            return validate(data, strict=True)
        except ValueError:
            if not is_lenient:
                raise
            return validate(data)
    except ValueError as error:
        found: list[Any] = getattr(error, "errors", list)()
        raise Faults([_fault(detail, value) for detail in found] or [("", str(error))]) from None


def _fault(detail: Any, value: Any) -> tuple[str, str]:
    """Return where an error is, and what, without the names of branches that pydantic has tried."""
    path = ""
    for step in detail["loc"]:
        if isinstance(value, dict) and step in value:
            path += f".{step}"
            value = value[step]
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            path += f"[{step}]"
            value = value[step]
    last = detail["loc"][-1] if detail["loc"] else ""
    if detail["type"] == "missing":
        return path, f"object missing required field `{last}`"
    if detail["type"] == "extra_forbidden":
        return path.removesuffix(f".{last}"), f"object contains unknown field `{last}`"
    text = detail["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    text = " ".join(text.split())
    return path, text[:1].lower() + text[1:]


def _in_its_terms(annotation: Any) -> Any:
    """Return an annotation with what msgspec calls `Meta`, and plain text, as a `Field`."""
    arguments = get_args(annotation)
    origin = get_origin(annotation)
    if origin is Annotated:
        return Annotated[(_in_its_terms(arguments[0]), *map(_field, arguments[1:]))]
    if origin is Literal:
        return annotation
    if typing.is_typeddict(annotation) and sys.version_info < (3, 12):
        return _typed_dict(annotation)
    parts = tuple(_in_its_terms(part) for part in arguments)
    if all(new is old for new, old in zip(parts, arguments, strict=True)):
        return annotation
    if origin in (Union, UnionType):
        return Union[parts]  # noqa: UP007 - the types are not known here
    return origin[parts]


def _typed_dict(kind: Any) -> Any:
    """Return a `TypedDict` as one that pydantic takes in Python 3.11."""
    from typing_extensions import TypedDict  # noqa: PLC0415 - pydantic has brought it

    return typed_dict(kind, members_of(kind, {})[0], TypedDict)


def _field(item: Any) -> Any:
    from pydantic import Field  # noqa: PLC0415 - only those who need it

    if isinstance(item, str):
        return Field(description=item)
    if not isinstance(item, msgspec.Meta):
        return item
    options = {
        name: getattr(item, name)
        for name in (
            "gt", "ge", "lt", "le", "multiple_of", "pattern", "min_length", "max_length",
            "title", "description", "examples",
        )
        if getattr(item, name) is not None
    }  # fmt: skip
    return Field(**options, json_schema_extra=item.extra_json_schema)


def _adapter(
    native: Any, reason: str, *, bytes_as: Literal["utf8", "base64"]
) -> pydantic.TypeAdapter[Any]:
    from pydantic import ConfigDict, TypeAdapter  # noqa: PLC0415 - only those who need it
    from typing_extensions import TypeAliasType  # noqa: PLC0415 - pydantic has brought it

    config = ConfigDict(ser_json_bytes=bytes_as, val_json_bytes=bytes_as)
    try:
        # A class that may have a configuration of its own allows no other by its own name.
        alias: Any = TypeAliasType
        adapter: TypeAdapter[Any] = TypeAdapter(alias("Argument", native), config=config)
        adapter.rebuild(raise_errors=True)
        return adapter
    except (TypeError, NameError, RuntimeError) as error:
        why = str(error).split("\n", 1)[0].split(". ", 1)[0].rstrip(".")
        raise TypeError(
            f"only pydantic can keep {reason}, but it says: {why}; take dataclasses or models"
        ) from None


def _parts(annotation: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """Yield all that an annotation is made of, members of classes and their metadata included."""
    seen = set() if seen is None else seen
    origin = get_origin(annotation)
    if origin is Annotated:
        if seen:  # in a class, where it stays as it is
            yield from annotation.__metadata__
        else:
            yield from (i for i in annotation.__metadata__ if not isinstance(i, msgspec.Meta))
        annotation = annotation.__origin__
        yield from _parts(annotation, seen)
        return
    for part in get_args(annotation):
        yield from _parts(part, seen)
    kind = origin or annotation
    yield kind
    if has_members(kind) and not is_of_pydantic(kind) and id(kind) not in seen:
        inner = {*seen, id(kind)}
        for hint in members_of(kind, {})[0].values():
            yield from _parts(hint, inner)


def _has_a_say(part: Any) -> bool:
    """Tell whether a part decides itself what it takes: a model, or a function asked first."""
    if isinstance(part, type):
        return is_model(part) or hasattr(part, "__pydantic_validator__")
    return type(part).__name__ in ("BeforeValidator", "PlainValidator", "WrapValidator")


def _schema_generator() -> Any:
    from pydantic.json_schema import GenerateJsonSchema  # noqa: PLC0415 - only those who need it

    class Generator(GenerateJsonSchema):
        def decimal_schema(self, schema: Any) -> dict[str, Any]:
            if len(schema) > 1 and schema.keys() & {"gt", "ge", "lt", "le", "multiple_of"}:
                return super().decimal_schema(schema)
            return {"type": "string", "format": "decimal"}

        def default_schema(self, schema: Any) -> dict[str, Any]:
            made = super().default_schema(schema)
            factory = schema.get("default_factory")
            return {**made, "default": list(factory())} if factory in (list, set) else made

        def bytes_schema(self, schema: Any) -> dict[str, Any]:
            made = super().bytes_schema(schema)
            if made.get("format") == "base64url" or self._config.val_json_bytes == "base64":
                made.pop("format", None)
                made["contentEncoding"] = "base64"
            return made

    return Generator
