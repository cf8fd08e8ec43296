"""What a comparison of schemas calls harmless, a validator agrees is harmless."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from wigwag.testing.schema_changes import breaks_between

NAMES = ("a", "b")

texts = st.sampled_from(["", "x", "xy", "xyz"])
numbers = st.sampled_from([-1, 0, 1, 1.5, 2, 3, 4])
scalars = st.one_of(texts, numbers, st.booleans(), st.none())
instances = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.sampled_from(NAMES), inner, max_size=2)
    ),
    max_leaves=4,
)


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


def is_valid(schema: Any, instance: Any) -> bool:
    return jsonschema_rs.is_valid(schema, instance)


@pytest.mark.parametrize("direction", ["input", "output"])
@given(data=st.data())
def test_what_breaks_nothing_lets_all_pass_that_passed(direction: Any, data: st.DataObject) -> None:
    old, instance = data.draw(schemas), data.draw(instances)
    # Often the same with one more alternative, or less, as changes are.
    new = data.draw(st.one_of(schemas, schemas.map(lambda more: {"anyOf": [old, more]})))
    narrow, wide = (old, new) if direction == "input" else (new, old)
    assume(is_valid(narrow, instance))
    if not breaks_between(old, new, direction) and direction == "input":
        assert is_valid(wide, instance)
    elif not breaks_between(old, new, direction):
        # Whoever receives a member that it does not know passes over it.
        assert is_valid(opened(wide), instance)


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
