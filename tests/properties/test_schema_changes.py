"""What a comparison of schemas calls harmless, a validator agrees is harmless."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wigwag.testing.schema_changes import breaks_between

NAMES = ("a", "b")

SCALARS: list[Any] = ["", "x", "xy", "yxy", -1, 0, 1, 1.5, 2, 3, 4, True, False, None]
SHALLOW: list[Any] = [
    *SCALARS,
    *([], *([value] for value in SCALARS), [0, "x"], [1, 2, 3]),
    *({}, *({name: value} for name in NAMES for value in SCALARS), {"a": 1, "b": "x"}),
]
VALUES: list[Any] = [
    *SHALLOW,
    *([value] for value in SHALLOW[len(SCALARS) :]),
    *({name: value} for name in NAMES for value in SHALLOW[len(SCALARS) :]),
]

scalars = st.sampled_from(SCALARS)


def some(**members: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=members)


small = st.integers(0, 3)
plain = st.one_of(
    st.just({}),
    st.sampled_from([{"type": name} for name in ("boolean", "null", "number")]),
    st.lists(scalars, min_size=1, max_size=3).map(lambda values: {"enum": values}),
    scalars.map(lambda value: {"const": value}),
    some(minLength=small, maxLength=small, pattern=st.sampled_from(["^x", "y"])).map(
        lambda more: {"type": "string", **more}
    ),
    st.builds(
        lambda name, more: {"type": name, **more},
        st.sampled_from(["integer", "number"]),
        some(minimum=small, exclusiveMaximum=small, multipleOf=st.integers(1, 3)),
    ),
    st.just({"type": ["string", "null"]}),
)


def composed(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    properties = st.dictionaries(st.sampled_from(NAMES), inner, max_size=2)
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda either: {"anyOf": either}),
        some(items=inner, minItems=small, maxItems=small).map(
            lambda more: {"type": "array", **more}
        ),
        st.builds(
            lambda members, required: {
                "type": "object",
                "properties": members,
                "required": [name for name in required if name in members],
                "additionalProperties": False,
            },
            properties,
            st.lists(st.sampled_from(NAMES), unique=True),
        ),
    )


schemas = st.recursive(plain, composed, max_leaves=4)


def altered(schema: Any) -> st.SearchStrategy[Any]:
    """Return schemas that differ from one in a single place, as changes do, or in all."""
    ways: list[st.SearchStrategy[Any]] = [
        schemas,
        schemas.map(lambda more: {"anyOf": [schema, more]}),
        plain.map(lambda more: {**schema, **more}),
    ]
    for name, value in schema.items():
        rest = {each: schema[each] for each in schema if each != name}
        ways.append(st.just(rest))
        if name == "items":
            ways.append(_with(rest, name, altered(value)))
        elif isinstance(value, list) and value:
            ways.append(st.just({**rest, name: value[1:]}))
            if name == "anyOf":
                ways.append(_with(rest, name, altered(value[0]), partial(_in_front, value)))
        elif name == "properties" and value:
            first, *_ = value
            change = altered(value[first])
            ways.append(_with(rest, name, change, partial(_as_member, value, first)))
        elif type(value) is int:
            ways.append(st.just({**rest, name: max(value - 1, 1)}))
            ways.append(st.just({**rest, name: value + 1}))
    return st.deferred(lambda: st.one_of(ways))


def _in_front(schemas: list[Any], new: Any) -> list[Any]:
    return [new, *schemas[1:]]


def _as_member(members: dict[str, Any], name: str, new: Any) -> dict[str, Any]:
    return {**members, name: new}


def _with(
    rest: dict[str, Any],
    name: str,
    values: st.SearchStrategy[Any],
    make: Callable[[Any], Any] = lambda value: value,
) -> st.SearchStrategy[Any]:
    return values.map(lambda value: {**rest, name: make(value)})


@pytest.mark.parametrize("direction", ["input", "output"])
@settings(max_examples=5 * settings().max_examples)  # most changes say little
@given(data=st.data())
def test_what_breaks_nothing_lets_all_pass_that_passed(direction: Any, data: st.DataObject) -> None:
    old = data.draw(schemas)
    new = data.draw(altered(old))
    if breaks_between(old, new, direction):
        return
    narrow, wide = (old, new) if direction == "input" else (new, old)
    if direction == "output":  # whoever receives a member that it does not know passes over it
        wide = opened(wide)
    narrowly, widely = (jsonschema_rs.validator_for(schema) for schema in (narrow, wide))
    assert [v for v in VALUES if narrowly.is_valid(v) and not widely.is_valid(v)] == []


def opened(schema: Any) -> Any:
    """Return a schema that allows all other members, at every depth."""
    if isinstance(schema, list):
        return [opened(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: opened(value) if name not in ("enum", "const") else value
        for name, value in schema.items()
        if name != "additionalProperties"
    }


@pytest.mark.parametrize("direction", ["input", "output"])
@given(schema=schemas)
def test_nothing_breaks_where_nothing_changes(direction: Any, schema: Any) -> None:
    assert breaks_between(schema, schema, direction) == []
    assert breaks_between(schema, {"anyOf": [schema]}, direction) == []
