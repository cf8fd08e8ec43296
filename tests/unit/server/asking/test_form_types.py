import datetime
import enum
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, Required, TypedDict

import msgspec
import pydantic
import pydantic.dataclasses
import pytest

from wigwag.server.asking.form_types import (
    as_written,
    hints_of,
    is_of_pydantic,
    names_of,
    title_in,
    titles_of,
    validated,
    without_null,
)


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


def test_null_beside_one_type_means_that_it_may_be_left_out() -> None:
    either: Any = {"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}], "default": None}
    assert without_null(either, {}) == ({"type": "string", "minLength": 1}, True)
    assert without_null({"type": "string"}, {}) == ({"type": "string"}, False)
    several: Any = {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}
    assert without_null(several, {}) == (several, True)


def test_what_is_referred_to_is_written_out() -> None:
    definitions: Any = {"Color": {"enum": ["red"], "title": "Color"}}
    reference = {"$ref": "#/$defs/Color", "description": "d"}
    assert without_null(reference, definitions) == ({"enum": ["red"], "description": "d"}, False)
    items: Any = {"type": "array", "items": {"$ref": "#/$defs/Color"}}
    assert without_null(items, definitions) == (
        {"type": "array", "items": {"enum": ["red"]}},
        False,
    )


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        (Literal["b", "a"], ["b", "a"]),
        (Color, ["red", "blue"]),
        (Annotated[Color | None, "text"], ["red", "blue"]),
        (Literal["c"], ["a", "b"]),
    ],
    ids=str,
)
def test_choices_come_in_the_order_in_which_they_were_written(kind: Any, written: Any) -> None:
    assert as_written({"enum": sorted(written)}, kind)["enum"] == written
    several = {"type": "array", "items": {"enum": sorted(written)}}
    assert as_written(several, list[kind])["items"]["enum"] == written


def test_a_time_has_the_format_of_one() -> None:
    text = {"type": "string"}
    time = {"type": "string", "format": "date-time"}
    assert as_written(dict(text), datetime.datetime | None) == time
    assert as_written(dict(text), str) == text


def test_annotations_are_those_of_the_values() -> None:
    class Keys(TypedDict, total=False):
        a: Required[int]
        b: NotRequired[Annotated[str, "text"]]

    assert hints_of(Keys) == {"a": int, "b": Annotated[str, "text"]}


def test_names_and_titles_are_those_that_were_given() -> None:
    class Renamed(msgspec.Struct, rename="camel"):
        first_name: str

    class Model(pydantic.BaseModel):
        one: str = pydantic.Field(title="One", alias="uno")
        two: str

    assert names_of(Renamed) == {"firstName": "first_name"}
    assert names_of(Model) == {}
    assert titles_of(Model, {}) == {"uno": "One"}
    assert titles_of(Renamed, {"properties": {"a": {"title": "A"}, "b": {}}}) == {"a": "A"}
    assert title_in(Annotated[str, "text", msgspec.Meta(title="T")]) == "T"
    assert title_in(str) is None


def test_models_and_dataclasses_of_pydantic_are_read_by_it() -> None:
    @pydantic.dataclasses.dataclass
    class Bound:
        x: int = pydantic.Field(ge=1)

    @dataclass
    class Plain:
        x: int

    assert is_of_pydantic(Bound)
    assert not is_of_pydantic(Plain)
    assert validated(Bound, {"x": 1}) == Bound(1)
    with pytest.raises(ValueError, match=r"^`x`: Input should be greater than or equal to 1$"):
        validated(Bound, {"x": 0})
