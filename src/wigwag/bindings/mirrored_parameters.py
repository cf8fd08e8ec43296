"""Which arguments of a tool are repeated in headers, read from the tool's input schema.

A property of the schema says `"x-mcp-header": "Region"`, and over HTTP its value travels in the
header `Mcp-Param-Region` too, where gateways can see it without reading bodies.
Spec: server/tools#x-mcp-header
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

__all__ = ["MCP_PARAM_PREFIX", "MirroredParameter", "mirrored_parameters"]

MCP_PARAM_PREFIX: Final = b"mcp-param-"

_ANNOTATION: Final = "x-mcp-header"
_TYPES: Final = ("string", "integer", "boolean")

# What RFC 9110 calls a token.
_is_token: Final = re.compile(r"[A-Za-z0-9!#$%&'*+\-.^_`|~]+").fullmatch

# Each call looks up each path; nobody nests parameters so deeply.
_MAX_DEPTH: Final = 100

# Keywords that hold a schema or a list of them, and those that hold schemas by name. What other
# keywords hold is data, even where it looks like a schema.
_HOLD_SCHEMAS: Final = frozenset({
    "additionalItems", "additionalProperties", "allOf", "anyOf", "contains", "contentSchema",
    "else", "if", "items", "not", "oneOf", "prefixItems", "propertyNames", "then",
    "unevaluatedItems", "unevaluatedProperties",
})  # fmt: skip
_HOLD_NAMED_SCHEMAS: Final = frozenset({
    "$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties",
})  # fmt: skip


class MirroredParameter(msgspec.Struct, frozen=True):
    """An argument that a header repeats."""

    header: str
    """The name of the header as it is sent, for example `Mcp-Param-Region`."""

    key: bytes
    """The name as an ASGI server gives it, in lower case."""

    path: tuple[str, ...]
    """The names of the properties that lead to the argument, the outermost first."""

    type: str
    """`string`, `integer` or `boolean`."""

    def value_in(self, arguments: Mapping[str, Any]) -> Any:
        """Return the argument; `None` where it is absent."""
        value: Any = arguments
        for name in self.path:
            if not isinstance(value, Mapping):
                return None
            value = value.get(name)
        return value


class _Place(NamedTuple):
    """Where in the schema a schema is."""

    schema: Any
    above: _Place | None
    step: str  # the property, or the keyword, that led here
    depth: int
    astray: str | None  # the first keyword other than `properties` on the way

    def steps(self) -> tuple[str, ...]:
        steps = []
        place = self
        while place.above is not None:
            steps.append(place.step)
            place = place.above
        return tuple(reversed(steps))


def mirrored_parameters(input_schema: Mapping[str, Any]) -> tuple[MirroredParameter, ...]:
    """Return what the headers of calls repeat, the outer properties first.

    Raises:
        ValueError: An annotation breaks a rule. Clients that speak HTTP must not use such a tool.
    """
    found: dict[bytes, MirroredParameter] = {}
    places = [_Place(input_schema, None, "", 0, None)]
    for place in places:  # it grows meanwhile
        if not isinstance(place.schema, Mapping):
            continue
        if _ANNOTATION in place.schema:
            parameter = _parameter_at(place)
            if parameter.key in found:
                message = (
                    f"{_title(place)}: {parameter.header} is taken by the property"
                    f" {'.'.join(found[parameter.key].path)!r} (upper and lower case count as one)"
                )
                raise ValueError(message)
            found[parameter.key] = parameter
        places.extend(_places_below(place))
    return tuple(found.values())


def _places_below(place: _Place) -> Iterable[_Place]:
    depth = place.depth + 1
    for keyword, value in place.schema.items():
        if keyword == "properties":
            if isinstance(value, Mapping):
                for name, schema in value.items():
                    yield _Place(schema, place, name, depth, place.astray)
        elif keyword in _HOLD_SCHEMAS:
            for schema in value if isinstance(value, list | tuple) else (value,):
                yield _Place(schema, place, keyword, depth, place.astray or keyword)
        elif keyword in _HOLD_NAMED_SCHEMAS and isinstance(value, Mapping):
            for name, schema in value.items():
                yield _Place(schema, place, name, depth, place.astray or keyword)


def _parameter_at(place: _Place) -> MirroredParameter:
    """Make the parameter of an annotated schema.

    Raises:
        ValueError: The annotation breaks a rule.
    """
    name, type_ = place.schema[_ANNOTATION], place.schema.get("type")
    if place.above is None:
        fault = "only properties can have one"
    elif place.astray is not None:
        fault = f"it is under {place.astray!r}; only `properties` may lead to it"
    elif place.depth > _MAX_DEPTH:
        fault = f"it is more than {_MAX_DEPTH} properties deep"
    elif not isinstance(name, str) or not _is_token(name):
        fault = (
            f"{_brief(name)} cannot be part of a header's name; take letters, digits and any of"
            " !#$%&'*+-.^_`|~"
        )
    elif type_ not in _TYPES:
        fault = f"the property's type must be string, integer or boolean, not {_brief(type_)}"
    else:
        key = MCP_PARAM_PREFIX + name.lower().encode()
        return MirroredParameter(f"Mcp-Param-{name}", key, place.steps(), type_)
    raise ValueError(f"{_title(place)}: {fault}")


def _title(place: _Place) -> str:
    steps = ".".join(map(str, place.steps()))
    return f"{_ANNOTATION} of {_brief(steps)}" if steps else f"{_ANNOTATION} of the whole schema"


def _brief(value: Any) -> str:
    if not isinstance(value, str | int | float | bool | list | None):
        return f"a {type(value).__name__}"
    if isinstance(value, str) and len(value) > 100:
        return repr(value[:100]) + "…"
    return repr(value) if not isinstance(value, list) else repr(value[:5])
