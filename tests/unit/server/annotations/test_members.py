"""Classes with members, and stand-ins for them."""

from collections import namedtuple
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from typing import Any, ClassVar, NamedTuple, NotRequired, TypedDict

import attrs
import msgspec
import pytest
import typing_extensions

from wigwag.server.annotations.hooked import Faults
from wigwag.server.annotations.members import has_members, members_of, with_members
from wigwag.server.annotations.plain_schema import decode_hook, schema_of


@dataclass
class Place:
    """A place."""

    x: int
    y: int = 2
    names: list[str] = field(default_factory=lambda: ["n"])
    known: list[str] = field(default_factory=list)
    made: int = field(default=0, init=False)
    shared: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if self.y > 9:
            raise ValueError("y is too large")
        self.made = self.x + self.y


class Movie(TypedDict):
    title: str
    year: NotRequired[int]


class Other(typing_extensions.TypedDict):
    title: str


class Pair(NamedTuple):
    one: int
    two: int = 2


class Box(msgspec.Struct, kw_only=True, rename="camel"):
    the_name: str = "n"
    the_sizes: list[int] = msgspec.field(default_factory=list)
    must: int


class Tagged(msgspec.Struct, tag=True):
    x: int


@attrs.define
class Thing:
    x: int
    _y: int = 2
    names: list[str] = attrs.field(factory=lambda: ["n"])


def read(kind: Any, value: Any) -> Any:
    return kind.read(value, decode_hook)


def test_classes_with_members_are_told_from_others() -> None:
    for kind in (Place, Movie, Other, Pair, namedtuple("Loose", "a b"), Box, Thing):
        assert has_members(kind)
    for other in (int, dict, tuple, Callable, list[Place], Place(1)):
        assert not has_members(other)


def test_members_are_what_objects_are_made_with() -> None:
    hints, alone = members_of(Place, {})
    assert list(hints) == ["x", "y", "names", "known"]
    assert not alone  # for `made` is not among them
    assert list(members_of(Movie, {})[0]) == ["title", "year"]
    assert members_of(Pair, {}) == ({"one": int, "two": int}, True)
    assert list(members_of(Box, {})[0]) == ["the_name", "the_sizes", "must"]
    assert list(members_of(Thing, {})[0]) == ["x", "_y", "names"]
    assert members_of(namedtuple("Loose", "a b"), {})[0] == {"a": Any, "b": Any}


def test_annotations_that_are_text_may_name_what_is_local() -> None:
    @dataclass
    class Local:
        x: "Hidden"  # type: ignore[name-defined]  # noqa: F821 - the point

    assert members_of(Local, {"Hidden": int}) == ({"x": int}, False)
    with pytest.raises(TypeError, match=r"an annotation of Local cannot be understood: .*Hidden"):
        members_of(Local, {})


def test_a_stand_in_makes_objects_of_the_class_itself() -> None:
    place = with_members(Place, {"x": int, "y": int, "names": list[str], "known": list[str]})
    assert read(place, {"x": 1}) == Place(1)
    assert read(place, {"x": 1}).made == 3
    assert read(with_members(Pair, {"one": int, "two": int}), [1]) == Pair(1)
    thing = with_members(Thing, {"x": int, "_y": int, "names": list[str]})
    assert read(thing, {"x": 1, "_y": 3}) == Thing(1, 3)
    box = with_members(Box, {"the_name": str, "the_sizes": list[int], "must": int})
    assert read(box, {"must": 1, "theName": "b"}) == Box(must=1, the_name="b")


def test_a_stand_in_reads_members_as_it_is_told() -> None:
    pair = with_members(Pair, {"one": list[int], "two": int})
    assert read(pair, [[1]]) == ([1], 2)
    place = with_members(Place, {"x": str})
    with pytest.raises(Faults, match=r"expected `str`, got `int` at `.x`"):
        read(place, {"x": 1})


def test_what_the_class_itself_refuses_is_refused() -> None:
    place = with_members(Place, {"x": int, "y": int})
    with pytest.raises(ValueError, match="y is too large"):
        read(place, {"x": 1, "y": 10})


def test_a_stand_in_is_described_as_the_class_is() -> None:
    place = with_members(Place, {"x": int, "y": int, "names": list[str], "known": list[str]})
    schema = schema_of(Place)
    del schema["properties"]["made"]
    assert schema_of(place) == schema
    assert schema["description"] == "A place."
    movie = with_members(Movie, {"title": str, "year": int})
    assert schema_of(movie) == schema_of(Movie)
    assert schema_of(with_members(Pair, {"one": int, "two": int})) == schema_of(Pair)


def test_there_is_no_stand_in_for_a_struct_with_a_tag() -> None:
    with pytest.raises(TypeError, match=r"Tagged has members that .* take msgspec\.Meta"):
        with_members(Tagged, {"x": int})


def test_what_only_makes_an_object_is_no_member() -> None:
    @dataclass
    class Made:
        x: int
        start: InitVar[int] = 0

    assert list(members_of(Made, {})[0]) == ["x"]
