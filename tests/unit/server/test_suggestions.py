"""What a parameter can be, where its type has few values."""

from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, Optional

import pytest
from msgspec import Meta

from wigwag.server.suggestions import choose, suggestions_for


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (Literal["b", "a"], ["b", "a"]),
        (Literal[1, "x", True, None], ["1", "x", "true"]),
        (Colour, ["red", "blue"]),
        (Level, ["1", "2"]),
        (bool, ["true", "false"]),
        (Literal["a"] | None, ["a"]),
        (Optional[Colour], ["red", "blue"]),  # noqa: UP045 - as some write it
        (Literal["a", "b"] | Literal["b", "c"], ["a", "b", "c"]),
        (Annotated[Literal["a"], Meta(description="An A.")], ["a"]),
    ],
)
def test_a_type_of_few_values_has_suggestions(kind: Any, values: list[str]) -> None:
    assert suggestions_for({"x": kind, "y": bool}, ["x"]) == {"x": values}


@pytest.mark.parametrize("kind", [str, int, Any, Literal["a"] | str, list[Colour], None, "text"])
def test_a_type_of_any_number_of_values_has_none(kind: Any) -> None:
    assert suggestions_for({"x": kind}, ["x", "without annotation"]) == {}


def test_what_begins_so_comes_before_what_has_it_elsewhere() -> None:
    values = ["Stone", "tea", "Toast", "rugs"]
    assert choose(values, "t") == ["tea", "Toast", "Stone"]
    assert choose(values, "TO") == ["Toast", "Stone"]
    assert choose(values, "") == values
    assert choose(values, "x") == []
