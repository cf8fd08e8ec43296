"""What `Field` and its like say."""

import re
from typing import Any

import annotated_types as at
import msgspec
import pytest
from pydantic import Field, StringConstraints
from typing_extensions import Doc

from wigwag.server.annotations.field_metadata import (
    MISSING,
    PydanticNeeded,
    constraints_of,
    default_in,
    descriptions_of,
    is_foreign,
    split_default,
)


def test_a_field_in_the_place_of_a_default_is_both() -> None:
    default, metadata = split_default(Field(3, le=9))
    assert default == 3
    assert metadata is not MISSING
    assert split_default(Field(le=9))[0] is MISSING
    assert split_default(Field(default_factory=list))[0] == []
    assert split_default(7) == (7, MISSING)


def test_a_default_may_stand_in_an_annotation() -> None:
    assert default_in(["text", Field(ge=1), Field(default=3)]) == 3
    assert default_in([Field(default_factory=list)]) == []
    assert default_in(["text", Field(ge=1)]) is MISSING


def test_msgspec_understands_its_own_metadata() -> None:
    for item in (Field(), at.Ge(1), Doc("D."), StringConstraints()):
        assert is_foreign(item)
    for item in ("text", msgspec.Meta(ge=1), 3, None):
        assert not is_foreign(item)


@pytest.mark.parametrize(
    ("item", "constraints"),
    [
        (at.Ge(1), {"ge": 1}),
        (at.Interval(gt=1, le=9), {"gt": 1, "le": 9}),
        (at.Len(1, 3), {"min_length": 1, "max_length": 3}),
        (at.MultipleOf(2), {"multiple_of": 2}),
        (Field(gt=0, max_length=3, description="D.", title="T"), {"gt": 0, "max_length": 3}),
        (Field(pattern=re.compile("^a")), {"pattern": "^a"}),
        (StringConstraints(min_length=1), {"min_length": 1}),
        (Doc("D."), {}),
        (Field(description="D."), {}),
    ],
)
def test_constraints_are_those_of_msgspec(item: Any, constraints: dict[str, Any]) -> None:
    assert constraints_of(item) == constraints


@pytest.mark.parametrize(
    "item",
    [
        at.Predicate(str.isdigit),
        at.Timezone(None),
        Field(strict=True),
        Field(discriminator="kind"),
        Field(allow_inf_nan=False),
        StringConstraints(to_lower=True, min_length=1),
    ],
)
def test_a_constraint_that_msgspec_has_not_needs_pydantic(item: Any) -> None:
    with pytest.raises(PydanticNeeded):
        constraints_of(item)


def test_what_is_said_to_the_reader_is_kept() -> None:
    assert descriptions_of(Doc("D.")) == {"description": "D."}
    assert descriptions_of(Field(description="D.", examples=[1], json_schema_extra={"a": 1})) == {
        "description": "D.",
        "examples": [1],
        "extra_json_schema": {"a": 1},
    }
    assert descriptions_of(at.Ge(1)) == {}
    with pytest.raises(PydanticNeeded, match="a function that changes the schema"):
        descriptions_of(Field(json_schema_extra=lambda schema: None))
