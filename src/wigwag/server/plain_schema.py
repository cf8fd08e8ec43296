"""JSON Schemas of Python types, in the plain form that every host and model API takes.

References are written out where they stand, titles are left out, and every array says what is in
it. Only a type that contains itself keeps a `$ref`, into the `$defs` of the same schema.
Spec: basic#json-schema-usage
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec

from wigwag.server.annotations import is_model

_PREFIX: Final = "#/$defs/"


def schema_of(kind: Any) -> dict[str, Any]:
    """Return the schema of what a type looks like in JSON.

    Raises:
        TypeError: The type has no form in JSON; the text names it.
    """
    others: dict[str, Any] = {}  # what models of pydantic are made of

    def describe(kind: type) -> dict[str, Any]:
        if _is_path(kind):
            return {"type": "string", "format": "path"}
        if is_model(kind):
            schema: dict[str, Any] = cast("Any", kind).model_json_schema()
            others.update(schema.pop("$defs", {}))
            return schema
        raise NotImplementedError

    (root,), components = msgspec.json.schema_components(
        (kind,), ref_template=_PREFIX + "{name}", schema_hook=describe
    )
    return _Inliner({**components, **others}).inline_root(root)


def decode_hook(kind: type, value: Any) -> Any:
    """Build the types that msgspec does not know itself."""
    if _is_path(kind) and isinstance(value, str):
        return kind(value)
    if is_model(kind):
        return _validate(kind, value)
    raise NotImplementedError(f"{kind.__name__} cannot be read from JSON")


def _validate(kind: Any, value: Any) -> Any:
    try:
        return kind.model_validate(value)
    except ValueError as error:
        # Pydantic's own text has a line for each field, and an address to read more.
        found: list[Any] = getattr(error, "errors", list)()
        places = [".".join(map(str, fault["loc"])) for fault in found]
        texts = [f"{place}: {fault['msg']}" for place, fault in zip(places, found, strict=True)]
        raise ValueError("; ".join(texts) or str(error)) from None


def encode_hook(value: Any) -> Any:
    """Write the types that msgspec does not know itself."""
    if _is_path(type(value)):
        return os.fspath(value)
    if is_model(type(value)):
        return value.model_dump(mode="json", by_alias=True)
    raise NotImplementedError(f"{type(value).__name__} has no form in JSON")


def _is_path(kind: type) -> bool:
    # Nobody has a path who has not loaded the module, and loading it takes long.
    pathlib = sys.modules.get("pathlib")
    return pathlib is not None and issubclass(kind, pathlib.PurePath)


class _Inliner:
    def __init__(self, components: Mapping[str, dict[str, Any]]) -> None:
        self._components = components
        self._open: list[str] = []  # what is being written out, outermost first
        self._recursive: set[str] = set()

    def inline_root(self, root: dict[str, Any]) -> dict[str, Any]:
        schema: dict[str, Any] = self._inline(root)
        done: dict[str, Any] = {}
        while self._recursive - done.keys():
            name = min(self._recursive - done.keys())
            self._open = [name]
            done[name] = self._inline(self._components[name])
        if done:
            schema = {**schema, "$defs": dict(sorted(done.items()))}
        return schema

    def _inline(self, schema: Any) -> Any:
        if not isinstance(schema, dict):
            return schema
        reference = schema.get("$ref")
        if reference is not None:
            return self._resolve(reference.removeprefix(_PREFIX), schema)
        result = {
            key: self._inline_member(key, value) for key, value in schema.items() if key != "title"
        }
        _add_type(result)
        if result.get("type") == "array" and "items" not in result and "prefixItems" not in result:
            result["items"] = {}
        return result

    def _inline_member(self, key: str, value: Any) -> Any:
        match key:
            case "properties" | "patternProperties":
                return {name: self._inline(schema) for name, schema in value.items()}
            case "anyOf" | "oneOf" | "allOf" | "prefixItems":
                return [self._inline(schema) for schema in value]
            case "items" | "additionalProperties" | "propertyNames":
                return self._inline(value)
            case _:
                return value  # `default`, `enum` and the like are data, not schemas

    def _resolve(self, name: str, schema: dict[str, Any]) -> dict[str, Any]:
        beside = {key: value for key, value in schema.items() if key not in ("$ref", "title")}
        if name in self._open:
            self._recursive.add(name)
            return {"$ref": _PREFIX + name, **beside}
        self._open.append(name)
        try:
            return {**self._inline(self._components[name]), **beside}
        finally:
            self._open.pop()


def _add_type(schema: dict[str, Any]) -> None:
    """Say of an enumeration what type its values have: some hosts refuse it otherwise."""
    values = schema.get("enum")
    if not isinstance(values, list) or "type" in schema:
        return
    if all(isinstance(value, str) for value in values):
        schema["type"] = "string"
    elif all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        schema["type"] = "integer"
