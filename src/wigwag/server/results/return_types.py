"""What the annotation of a function says of what it returns: content, text, or a structure."""

from __future__ import annotations

import sys
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

from msgspec import UNSET

from wigwag.schema import ContentBlock, InputRequiredResult
from wigwag.server.asking.input_required import InputRequired

BLOCKS: Final[tuple[type, ...]] = get_args(ContentBlock)
Types = tuple[type, ...]

# What these return is text, or anything: there is no structure to describe.
_UNSTRUCTURED: Final = (str, bytes, type(None), Any, UNSET)
_ASKS: Final = (InputRequired, InputRequiredResult)
_ANYTHING: Final = (list, tuple, list[Any], tuple[Any, ...])


def declared(annotation: Any, results: Types) -> Any:
    """Return what an annotation says of the value that a result is made from.

    It is not what a handler may return as well, to ask first; and of a result by hand, it is the
    type that its structured content is said to have: `Annotated[ToolResult, Weather]`.
    """
    if get_origin(annotation) is Annotated:
        kind, *metadata = get_args(annotation)
        if kind in results and metadata:
            return metadata[0]
    if get_origin(annotation) not in (Union, UnionType):
        return annotation
    rest = tuple(part for part in get_args(annotation) if part not in _ASKS)
    return Union[rest] if rest else annotation  # noqa: UP007 - the types are not known here


def is_structured(annotation: Any, results: Types) -> bool:
    """Tell whether what is returned is data, which a schema can describe."""
    if any(annotation is kind for kind in _UNSTRUCTURED):
        return False
    if annotation in _ANYTHING or _is_text_or_nothing(annotation):
        return False  # text; or what may hold anything, and so content as well
    return not has_content(annotation, results)


def has_content(annotation: Any, results: Types) -> bool:
    """Tell whether a type is content, a choice with content in it, or a list of such."""
    if annotation in (*BLOCKS, *results) or is_media(annotation):
        return True
    if get_origin(annotation) in (list, tuple, Union, UnionType, Annotated):
        return any(has_content(part, results) for part in get_args(annotation))
    return False


def _is_text_or_nothing(annotation: Any) -> bool:
    """Tell whether a type is `str | None` or the like, which is text."""
    if get_origin(annotation) not in (Union, UnionType):
        return False
    return all(part in (str, bytes, type(None)) for part in get_args(annotation))


def is_of_objects(schema: Any, root: dict[str, Any]) -> bool:
    """Tell whether a schema is one of objects alone, though it may not say so itself."""
    seen: set[str] = set()
    while isinstance(schema, dict) and "$ref" in schema:
        name = str(schema["$ref"])
        if name in seen:
            return False
        seen.add(name)
        schema = root.get("$defs", {}).get(name.removeprefix("#/$defs/"))
    if not isinstance(schema, dict):
        return False
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return all(is_of_objects(option, root) for option in options)
    return schema.get("type") == "object"


def is_media(kind: Any) -> bool:
    """Tell whether a type is `Image` or one of its like."""
    media = sys.modules.get("wigwag.server.results.media")  # nobody has one who has not loaded it
    return media is not None and isinstance(kind, type) and issubclass(kind, media.Media)
