"""Every annotation that Python authors use, read by msgspec and by pydantic."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Final,
    Generic,
    Literal,
    LiteralString,
    NamedTuple,
    NewType,
    NotRequired,
    Required,
    TypedDict,
    TypeVar,
)
from uuid import UUID

import annotated_types as at
import attrs
import msgspec
import pydantic
import pytest
from pydantic import (
    AfterValidator,
    AwareDatetime,
    Base64Bytes,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    EmailStr,
    Field,
    HttpUrl,
    RootModel,
    Secret,
    SecretStr,
    StringConstraints,
    conint,
    field_validator,
)

from wigwag.server.annotations.hooked import Hooked
from wigwag.server.annotations.members import has_members
from wigwag.server.context import Context
from wigwag.server.parameters.signature import ArgumentsRefused, Parameters

T = TypeVar("T")
Small = TypeVar("Small", bound=int)
Either = TypeVar("Either", int, str)
UserId = NewType("UserId", int)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Size(StrEnum):
    LARGE = "l"
    SMALL = "s"


class Level(IntEnum):
    HIGH = 2
    LOW = 1


class Mixed(Enum):
    ONE = 1
    TWO = "two"
    HALF = 0.5
    NONE = None


@dataclass
class Point:
    """A place.

    Attributes:
        x: To the right.
    """

    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)


@dataclass
class Circle:
    radius: float


@dataclass
class Bounded:
    x: Annotated[int, Field(ge=1, description="How many.")]
    when: datetime | str = "now"
    mixed: Mixed | None = None
    shapes: list[Point | Circle] = field(default_factory=list)


@dataclass
class Validated:
    x: Annotated[int, AfterValidator(abs)]
    raw: bytes = b""


@dataclass
class Page(Generic[T]):
    items: list[T]


@dataclass
class Made:
    x: int
    double: int = field(init=False)

    def __post_init__(self) -> None:
        self.double = 2 * self.x


class Movie(TypedDict, total=False):
    title: Required[str]
    year: Annotated[int, msgspec.Meta(ge=1888)]
    seen: bool


class Rated(TypedDict):
    stars: Annotated[int, at.Ge(1), at.Le(5)]
    mixed: NotRequired[Mixed]


class Pair(NamedTuple):
    one: int
    two: str = "x"


class BoundedPair(NamedTuple):
    one: Annotated[int, at.Ge(1)]
    two: str = "x"


class Box(msgspec.Struct):
    at: Point
    name: str = "box"


class BoundedBox(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    the_size: Annotated[int, at.Gt(0)]
    more: list[int] = []


class Cat(msgspec.Struct, tag="cat"):
    lives: int = 9


class Dog(msgspec.Struct, tag="dog"):
    name: str


@attrs.define
class Attributes:
    x: int
    names: list[str] = attrs.field(factory=list)


@attrs.define
class BoundedAttributes:
    x: Annotated[int, at.Le(3)]
    _secret: str = "s"


class Item(BaseModel):
    """Something to buy."""

    price: float = Field(ge=0, description="In euro.")
    at: datetime | None = None
    tags: list[str] = []


class Exact(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str

    @field_validator("name")
    @classmethod
    def check(cls, name: str) -> str:
        if not name.islower():
            raise ValueError("a name has no capitals")
        return name


class Tabby(BaseModel):
    kind: Literal["tabby"]
    lives: int = 9


class Poodle(BaseModel):
    kind: Literal["poodle"]
    name: str


class Wrapper(BaseModel, Generic[T]):
    value: T


class Numbers(RootModel[list[int]]):
    pass


@pydantic.dataclasses.dataclass
class Checked:
    x: int
    colour: Colour = Colour.RED


@dataclass
class Order:
    item: Item
    count: int = 1


class StructOrder(msgspec.Struct):
    item: Item


@attrs.define
class AttrsOrder:
    item: Item


class DictOrder(TypedDict):
    item: Item


INTEGER = {"type": "integer"}
STRING = {"type": "string"}
NULL = {"type": "null"}
MOMENT = {"type": "string", "format": "date-time"}
POINT = {
    "type": "object",
    "description": "A place.",
    "properties": {
        "x": {"type": "integer", "description": "To the right."},
        "y": {"type": "integer", "default": 0},
        "tags": {"type": "array", "items": STRING, "default": []},
    },
    "required": ["x"],
}
CIRCLE = {
    "type": "object",
    "properties": {"radius": {"type": "number"}},
    "required": ["radius"],
}
ITEM = {
    "type": "object",
    "description": "Something to buy.",
    "properties": {
        "price": {"type": "number", "minimum": 0, "description": "In euro."},
        "at": {"anyOf": [MOMENT, NULL], "default": None},
        "tags": {"type": "array", "items": STRING, "default": []},
    },
    "required": ["price"],
}
TABBY = {
    "type": "object",
    "properties": {
        "kind": {"type": "string", "enum": ["tabby"]},
        "lives": {"type": "integer", "default": 9},
    },
    "required": ["kind"],
}
POODLE = {
    "type": "object",
    "properties": {"kind": {"type": "string", "enum": ["poodle"]}, "name": STRING},
    "required": ["kind", "name"],
}
ORDER_OF_ITEM = {"type": "object", "properties": {"item": ITEM}, "required": ["item"]}
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ID = UUID("12345678-1234-5678-1234-567812345678")


class Case(NamedTuple):
    annotation: Any
    schema: dict[str, Any]
    accepted: list[tuple[Any, Any]]
    refused: list[tuple[Any, str]] = []  # noqa: RUF012 - never changed
    """What is not taken, and a part of what is said of it."""


# What msgspec does, and pydantic if the annotation has something of pydantic in it.
BOTH: dict[str, Case] = {
    "bool": Case(bool, {"type": "boolean"}, [(True, True), ("true", True)], [(1, ""), ("yes", "")]),
    "int": Case(int, INTEGER, [(3, 3), (3.0, 3), ("3", 3)], [(3.5, ""), ("x", ""), (True, "")]),
    "float": Case(float, {"type": "number"}, [(1.5, 1.5), (3, 3.0), ("1.5", 1.5)], [("x", "")]),
    "str": Case(str, STRING, [("x", "x"), ("[1]", "[1]"), ("3", "3")], [(3, ""), (None, "")]),
    "bytes": Case(
        bytes, {"type": "string", "contentEncoding": "base64"}, [("AAE=", b"\x00\x01")], [("!", "")]
    ),
    "None": Case(None, NULL, [(None, None)], [(1, "")]),
    "Any": Case(Any, {}, [([1, "x"], [1, "x"]), ("[1]", "[1]")]),
    "optional": Case(int | None, {"anyOf": [INTEGER, NULL]}, [(None, None), (3, 3)], [("x", "")]),
    "union": Case(
        int | str | list[int],
        {"anyOf": [INTEGER, STRING, {"type": "array", "items": INTEGER}]},
        [(1, 1), ("1", "1"), ([1], [1])],
        [({}, "")],
    ),
    "literal": Case(
        Literal["b", "a"],
        {"type": "string", "enum": ["b", "a"]},
        [("a", "a")],
        [("c", "'b'"), (1, "")],
    ),
    "literal of numbers or nothing": Case(
        Literal[3, 1, None],
        {"anyOf": [{"type": "integer", "enum": [3, 1]}, NULL]},
        [(1, 1), (None, None), ("3", 3)],
        [(2, "3")],
    ),
    "enum": Case(
        Colour,
        {"type": "string", "enum": ["red", "blue"]},
        [("blue", Colour.BLUE)],
        [("green", "'red'"), (3, "")],
    ),
    "enum of text": Case(
        Size, {"type": "string", "enum": ["l", "s"]}, [("s", Size.SMALL)], [("x", "'l'")]
    ),
    "enum of numbers": Case(
        Level, {"type": "integer", "enum": [2, 1]}, [(2, Level.HIGH), ("1", Level.LOW)], [(3, "2")]
    ),
    "optional enum": Case(
        Colour | None,
        {"anyOf": [{"type": "string", "enum": ["red", "blue"]}, NULL]},
        [(None, None), ("red", Colour.RED)],
        [("green", "'red'")],
    ),
    "literals in a choice": Case(
        Literal["z", "a"] | Literal["c"] | None,
        {"anyOf": [{"type": "string", "enum": ["z", "a", "c"]}, NULL]},
        [("c", "c"), (None, None)],
        [("d", "'z'")],
    ),
    "values in a list": Case(
        list[Literal["z", "a"]],
        {"type": "array", "items": {"type": "string", "enum": ["z", "a"]}},
        [(["a"], ["a"]), ('["a"]', ["a"])],
        [(["b"], "'z'")],
    ),
    "datetime": Case(datetime, MOMENT, [("2026-01-02T03:04:05Z", NOW)], [("soon", ""), ([], "")]),
    "date": Case(
        date,
        {"type": "string", "format": "date"},
        [("2026-01-02", date(2026, 1, 2))],
        [("soon", "")],
    ),
    "time": Case(
        time, {"type": "string", "format": "time"}, [("03:04:05", time(3, 4, 5))], [("soon", "")]
    ),
    "timedelta": Case(
        timedelta,
        {"type": "string", "format": "duration"},
        [("PT90S", timedelta(seconds=90))],
        [("long", "")],
    ),
    "UUID": Case(UUID, {"type": "string", "format": "uuid"}, [(str(ID), ID)], [("x", "")]),
    "Decimal": Case(
        Decimal,
        {"type": "string", "format": "decimal"},
        [("1.10", Decimal("1.10")), (2, Decimal(2))],
        [("x", "")],
    ),
    "Path": Case(Path, {"type": "string", "format": "path"}, [("a/b", Path("a/b"))], [(3, "")]),
    "list": Case(
        list[int],
        {"type": "array", "items": INTEGER},
        [([1], [1]), ("[1, 2]", [1, 2]), ([1.0], [1])],
        [(["1"], "at `[0]`"), ("1, 2", "")],
    ),
    "bare list": Case(list, {"type": "array", "items": {}}, [([1, "x"], [1, "x"])], [({}, "")]),
    "set": Case(set[int], {"type": "array", "items": INTEGER}, [([1, 1], {1})], [(["x"], "[0]")]),
    "frozenset": Case(
        frozenset[str],
        {"type": "array", "items": STRING},
        [(["a"], frozenset("a"))],
        [([1], "[0]")],
    ),
    "sequence": Case(Sequence[int], {"type": "array", "items": INTEGER}, [([1], [1])], [(1, "")]),
    "tuple of any length": Case(
        tuple[int, ...], {"type": "array", "items": INTEGER}, [([1, 2], (1, 2))], [(["x"], "[0]")]
    ),
    "tuple": Case(
        tuple[int, str],
        {
            "type": "array",
            "prefixItems": [INTEGER, STRING],
            "items": {"anyOf": [INTEGER, STRING]},
            "minItems": 2,
            "maxItems": 2,
        },
        [([1, "a"], (1, "a"))],
        [([1], ""), ([1, 2], "[1]")],
    ),
    "tuple of one type": Case(
        tuple[int, int],
        {"type": "array", "items": INTEGER, "minItems": 2, "maxItems": 2},
        [([1, 2], (1, 2))],
        [([1, 2, 3], "")],
    ),
    "dict": Case(
        dict[str, int],
        {"type": "object", "additionalProperties": INTEGER},
        [({"a": 1}, {"a": 1}), ('{"a": 1}', {"a": 1})],
        [({"a": "x"}, "")],
    ),
    "dict of anything": Case(
        dict[str, Any], {"type": "object"}, [({"a": 1}, {"a": 1})], [([], "")]
    ),
    "dict with numbers as keys": Case(
        dict[int, str],
        {"type": "object", "additionalProperties": STRING},
        [({"1": "a"}, {1: "a"})],
        [({"x": "a"}, "")],
    ),
    "mapping": Case(
        Mapping[str, int],
        {"type": "object", "additionalProperties": INTEGER},
        [({"a": 1}, {"a": 1})],
        [(1, "")],
    ),
    "dataclass": Case(
        Point,
        POINT,
        [({"x": 1}, Point(1)), ('{"x": 1, "tags": ["a"]}', Point(1, 0, ["a"]))],
        [({}, "missing required field `x`"), ({"x": "a"}, "at `.x`"), ([], "")],
    ),
    "optional dataclass": Case(
        Point | None, {"anyOf": [POINT, NULL]}, [(None, None), ({"x": 1}, Point(1))], [(1, "")]
    ),
    "nested": Case(
        list[dict[str, Point]],
        {"type": "array", "items": {"type": "object", "additionalProperties": POINT}},
        [([{"a": {"x": 1}}], [{"a": Point(1)}])],
        [([{"a": {}}], "missing required field `x` at `[0]")],
    ),
    "generic dataclass": Case(
        Page[Point],
        {
            "type": "object",
            "properties": {"items": {"type": "array", "items": POINT}},
            "required": ["items"],
        },
        [({"items": [{"x": 1}]}, Page([Point(1)]))],
        [({"items": [1]}, "at `.items[0]`")],
    ),
    "NamedTuple": Case(
        Pair,
        {
            "type": "array",
            "prefixItems": [INTEGER, {"type": "string", "default": "x"}],
            "items": {"anyOf": [INTEGER, STRING]},
            "minItems": 1,
            "maxItems": 2,
        },
        [([1], Pair(1)), ([1, "a"], Pair(1, "a"))],
        [(["a"], "[0]"), ([], "")],
    ),
    "TypedDict": Case(
        Rated,
        {
            "type": "object",
            "properties": {
                "stars": {"type": "integer", "minimum": 1, "maximum": 5},
                "mixed": {"anyOf": [{"enum": [1, "two", 0.5]}, NULL]},
            },
            "required": ["stars"],
        },
        [
            ({"stars": 5}, {"stars": 5}),
            ({"stars": 1, "mixed": 1}, {"stars": 1, "mixed": Mixed.ONE}),
        ],
        [({"stars": 6}, "at `.stars`"), ({}, "missing required field `stars`")],
    ),
    "dataclass that fills in a member": Case(
        Made,
        {"type": "object", "properties": {"x": INTEGER}, "required": ["x"]},
        [({"x": 1}, Made(1)), ({"x": 1, "double": 7}, Made(1))],
        [({"x": "a"}, "at `.x`")],
    ),
    "NewType": Case(UserId, INTEGER, [(3, 3)], [("x", "")]),
    "bound variable": Case(Small, INTEGER, [(3, 3)], [("x", "")]),
    "variable of some types": Case(Either, {"anyOf": [INTEGER, STRING]}, [(3, 3), ("x", "x")]),
    "constraints of annotated_types": Case(
        Annotated[str, at.MinLen(2), at.MaxLen(3)],
        {"type": "string", "minLength": 2, "maxLength": 3},
        [("ab", "ab")],
        [("a", "2"), ("abcd", "3")],
    ),
    "Interval": Case(
        Annotated[int, at.Interval(ge=1, lt=9)],
        {"type": "integer", "minimum": 1, "exclusiveMaximum": 9},
        [(1, 1)],
        [(9, ""), (0, "")],
    ),
    "Meta": Case(
        Annotated[int, msgspec.Meta(ge=1, multiple_of=2, description="Even.", examples=[4])],
        {
            "type": "integer",
            "minimum": 1,
            "multipleOf": 2,
            "description": "Even.",
            "examples": [4],
        },
        [(2, 2)],
        [(0, ""), (3, "2")],
    ),
    "Field": Case(
        Annotated[int, Field(gt=0, description="Many.", examples=[3])],
        {"type": "integer", "exclusiveMinimum": 0, "description": "Many.", "examples": [3]},
        [(1, 1)],
        [(0, "")],
    ),
    "optional Field": Case(
        Annotated[int | None, Field(ge=1, description="Many.")],
        {"anyOf": [{"type": "integer", "minimum": 1}, NULL], "description": "Many."},
        [(None, None), (1, 1)],
        [(0, "")],
    ),
    "Field of an optional": Case(
        Annotated[int, Field(ge=1, description="Many.")] | None,
        {"anyOf": [{"type": "integer", "minimum": 1}, NULL], "description": "Many."},
        [(None, None), (1, 1)],
        [(0, "")],
    ),
    "Field with a pattern": Case(
        Annotated[str, Field(pattern="^a")],
        {"type": "string", "pattern": "^a"},
        [("ab", "ab")],
        [("b", "^a")],
    ),
    "conint": Case(
        conint(ge=1), {"type": "integer", "minimum": 1}, [(1, 1), ("1", 1)], [(0, "1"), (True, "")]
    ),
    "model": Case(
        Item,
        ITEM,
        [
            ({"price": 1}, Item(price=1)),
            ('{"price": 1, "at": "2026-01-02T03:04:05Z"}', Item(price=1, at=NOW)),
        ],
        [({}, "missing required field `price`"), ({"price": -1}, "at `.price`"), ("x", "")],
    ),
    "optional model": Case(
        Item | None, {"anyOf": [ITEM, NULL]}, [(None, None), ({"price": 1}, Item(price=1))]
    ),
    "list of models": Case(
        list[Item],
        {"type": "array", "items": ITEM},
        [([{"price": 1}], [Item(price=1)])],
        [([{"price": 1}, {}], "missing required field `price` at `[1]`")],
    ),
    "dict of models": Case(
        dict[str, Item],
        {"type": "object", "additionalProperties": ITEM},
        [({"a": {"price": 1}}, {"a": Item(price=1)})],
        [({"a": {}}, "missing required field `price` at `[...]`|.a`")],
    ),
    "model in a dataclass": Case(
        Order,
        {
            "type": "object",
            "properties": {"item": ITEM, "count": {"type": "integer", "default": 1}},
            "required": ["item"],
        },
        [({"item": {"price": 1}}, Order(Item(price=1)))],
        [({"item": {"price": -1}}, "at `.item.price`")],
    ),
    "model in a TypedDict": Case(
        DictOrder,
        ORDER_OF_ITEM,
        [({"item": {"price": 1}}, {"item": Item(price=1)})],
        [({}, "item")],
    ),
    "generic model": Case(
        Wrapper[int],
        {"type": "object", "properties": {"value": INTEGER}, "required": ["value"]},
        [({"value": 1}, Wrapper[int](value=1))],
        [({"value": "x"}, "at `.value`")],
    ),
    "root model": Case(
        Numbers, {"type": "array", "items": INTEGER}, [([1], Numbers([1]))], [(["x"], "at `[0]`")]
    ),
}

MSGSPEC: dict[str, Case] = {
    "enum of all kinds": Case(
        Mixed,
        {"anyOf": [{"enum": [1, "two", 0.5]}, NULL]},
        [(1, Mixed.ONE), ("two", Mixed.TWO), (0.5, Mixed.HALF), (None, Mixed.NONE)],
        [(True, "one of 1, 'two', 0.5, None"), ("1", "")],
    ),
    "literal of all kinds": Case(
        Literal[Colour.RED, True, 1],
        {"enum": ["red", True, 1]},
        [("red", Colour.RED), (True, True), (1, 1)],
        [(False, "one of 'red', True, 1")],
    ),
    "list of enums of all kinds": Case(
        list[Mixed],
        {"type": "array", "items": {"anyOf": [{"enum": [1, "two", 0.5]}, NULL]}},
        [([1, "two"], [Mixed.ONE, Mixed.TWO])],
        [([3], "at `[0]`")],
    ),
    "dataclasses to choose from": Case(
        Point | Circle,
        {"anyOf": [POINT, CIRCLE]},
        [({"x": 1}, Point(1)), ({"radius": 1}, Circle(1.0))],
        [
            (
                {},
                "as `Point`, object missing required field `x`; as `Circle`, object missing"
                " required field `radius`",
            )
        ],
    ),
    "text or moment": Case(
        datetime | str,
        {"anyOf": [MOMENT, STRING]},
        [("2026-01-02T03:04:05Z", NOW), ("soon", "soon")],
        [(3, "")],
    ),
    "lists or sets": Case(
        list[int] | set[str],
        {"anyOf": [{"type": "array", "items": INTEGER}, {"type": "array", "items": STRING}]},
        [([1], [1]), (["a"], {"a"})],
        [([None], "")],
    ),
    "path or nothing or number": Case(
        Path | int | None,
        {"anyOf": [{"type": "string", "format": "path"}, INTEGER, NULL]},
        [("a", Path("a")), (1, 1), (None, None)],
        [([], "")],
    ),
    "bounded dataclass": Case(
        Bounded,
        {
            "type": "object",
            "properties": {
                "x": {"type": "integer", "minimum": 1, "description": "How many."},
                "when": {"anyOf": [MOMENT, STRING], "default": "now"},
                "mixed": {"anyOf": [{"enum": [1, "two", 0.5]}, NULL], "default": None},
                "shapes": {
                    "type": "array",
                    "items": {"anyOf": [POINT, CIRCLE]},
                    "default": [],
                },
            },
            "required": ["x"],
        },
        [
            ({"x": 1}, Bounded(1)),
            (
                {"x": 1, "when": "2026-01-02T03:04:05Z", "mixed": 1, "shapes": [{"radius": 2}]},
                Bounded(1, NOW, Mixed.ONE, [Circle(2.0)]),
            ),
        ],
        [({"x": 0}, "expected `int` >= 1 at `.x`"), ({"x": 1, "shapes": [{}]}, "at `.shapes[0]`")],
    ),
    "bounded NamedTuple": Case(
        BoundedPair,
        {
            "type": "array",
            "prefixItems": [
                {"type": "integer", "minimum": 1},
                {"type": "string", "default": "x"},
            ],
            "items": {"anyOf": [{"type": "integer", "minimum": 1}, STRING]},
            "minItems": 1,
            "maxItems": 2,
        },
        [([1], BoundedPair(1)), ([1, "a"], BoundedPair(1, "a"))],
        [([0], "at `[0]`"), ([1, "a", 2], "")],
    ),
    "TypedDict that is not total": Case(
        Movie,
        {
            "type": "object",
            "properties": {
                "title": STRING,
                "year": {"type": "integer", "minimum": 1888},
                "seen": {"type": "boolean"},
            },
            "required": ["title"],
        },
        [({"title": "M"}, {"title": "M"}), ({"title": "M", "seen": True},) * 2],
        [({"title": "M", "year": 3}, "at `.year`"), ({}, "missing required field `title`")],
    ),
    "struct": Case(
        Box,
        {
            "type": "object",
            "properties": {"at": POINT, "name": {"type": "string", "default": "box"}},
            "required": ["at"],
        },
        [({"at": {"x": 1}}, Box(Point(1)))],
        [({"at": {}}, "missing required field `x` at `.at`")],
    ),
    "bounded struct": Case(
        BoundedBox,
        {
            "type": "object",
            "properties": {
                "theSize": {"type": "integer", "exclusiveMinimum": 0},
                "more": {"type": "array", "items": INTEGER, "default": []},
            },
            "required": ["theSize"],
            "additionalProperties": False,
        },
        [({"theSize": 1}, BoundedBox(1))],
        [({"theSize": 0}, "at `.theSize`"), ({"the_size": 1}, "unknown field `the_size`")],
    ),
    "tagged structs": Case(
        Cat | Dog,
        {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {
                        "type": {"type": "string", "enum": ["cat"]},
                        "lives": {"type": "integer", "default": 9},
                    },
                    "required": ["type"],
                },
                {
                    "type": "object",
                    "properties": {"type": {"type": "string", "enum": ["dog"]}, "name": STRING},
                    "required": ["type", "name"],
                },
            ]
        },
        [({"type": "cat"}, Cat()), ({"type": "dog", "name": "Rex"}, Dog("Rex"))],
        [({"type": "cow"}, "'cow'")],
    ),
    "attrs": Case(
        Attributes,
        {
            "type": "object",
            "properties": {
                "x": INTEGER,
                "names": {"type": "array", "items": STRING, "default": []},
            },
            "required": ["x"],
        },
        [({"x": 1}, Attributes(1)), ({"x": 1, "names": ["a"]}, Attributes(1, ["a"]))],
        [({"x": "a"}, "at `.x`")],
    ),
    "bounded attrs": Case(
        BoundedAttributes,
        {
            "type": "object",
            "properties": {
                "x": {"type": "integer", "maximum": 3},
                "_secret": {"type": "string", "default": "s"},
            },
            "required": ["x"],
        },
        [({"x": 1}, BoundedAttributes(1)), ({"x": 1, "_secret": "t"}, BoundedAttributes(1, "t"))],
        [({"x": 4}, "at `.x`")],
    ),
    "model in a struct": Case(
        StructOrder, ORDER_OF_ITEM, [({"item": {"price": 1}}, StructOrder(Item(price=1)))]
    ),
    "model in attrs": Case(
        AttrsOrder, ORDER_OF_ITEM, [({"item": {"price": 1}}, AttrsOrder(Item(price=1)))]
    ),
    "object": Case(object, {}, [(1, 1), ("[1]", "[1]")]),
    "LiteralString": Case(LiteralString, STRING, [("[1]", "[1]")], [(1, "")]),
    "Final": Case(Final[int], INTEGER, [(1, 1)], [("x", "")]),
    "iterable": Case(Iterable[int], {"type": "array", "items": INTEGER}, [([1], [1])], [(1, "")]),
    "generic of an enum of all kinds": Case(
        Page[Literal[True, "x"]],
        {
            "type": "object",
            "properties": {"items": {"type": "array", "items": {"enum": [True, "x"]}}},
            "required": ["items"],
        },
        [({"items": [True, "x"]}, Page([True, "x"]))],
        [({"items": [1]}, "at `.items[0]`")],
    ),
    "text as a description": Case(
        Annotated[int, "Many."], {"type": "integer", "description": "Many."}, [(1, 1)]
    ),
}

PYDANTIC: dict[str, Case] = {
    "EmailStr": Case(
        EmailStr,
        {"type": "string", "format": "email"},
        [("a@example.com", "a@example.com")],
        [("x", "value is not a valid email address"), (3, "valid string")],
    ),
    "HttpUrl": Case(
        HttpUrl,
        {"type": "string", "format": "uri", "minLength": 1, "maxLength": 2083},
        [("http://a.example/", HttpUrl("http://a.example/"))],
        [("x", "valid URL")],
    ),
    "SecretStr": Case(
        SecretStr,
        {"type": "string", "format": "password"},
        [("[1]", SecretStr("[1]"))],
        [(3, "valid string")],
    ),
    "Secret": Case(Secret[int], INTEGER, [(3, Secret(3))], [("x", "")]),
    "AwareDatetime": Case(
        AwareDatetime,
        MOMENT,
        [("2026-01-02T03:04:05Z", NOW)],
        [("2026-01-02T03:04:05", "timezone")],
    ),
    "Base64Bytes": Case(
        Base64Bytes, {"type": "string", "format": "base64"}, [("AAE=", b"\x00\x01")], [(3, "")]
    ),
    "AfterValidator": Case(
        Annotated[int, AfterValidator(abs)],
        INTEGER,
        [(-1, 1), ("-1", 1), (-1.0, 1)],
        [("x", "valid integer")],
    ),
    "BeforeValidator": Case(
        Annotated[
            list[int], BeforeValidator(lambda text: text.split(",") if "," in text else text)
        ],
        {"type": "array", "items": INTEGER},
        [("1,2", [1, 2]), ([1], [1]), ("[1]", [1])],
        [("x", "valid array"), (["x"], "at `[0]`")],
    ),
    "validator in a list": Case(
        list[Annotated[int, AfterValidator(abs)]],
        {"type": "array", "items": INTEGER},
        [([-1], [1])],
        [(["x"], "at `[0]`")],
    ),
    "validator in a dataclass": Case(
        Validated,
        {
            "type": "object",
            "properties": {
                "x": INTEGER,
                "raw": {"type": "string", "contentEncoding": "base64", "default": ""},
            },
            "required": ["x"],
        },
        [({"x": -1}, Validated(1)), ({"x": 1, "raw": "AAE="}, Validated(1, b"\x00\x01"))],
        [({"x": "a"}, "at `.x`")],
    ),
    "Meta with a validator": Case(
        Annotated[int, msgspec.Meta(ge=2, description="Many."), AfterValidator(abs)],
        {"type": "integer", "minimum": 2, "description": "Many."},
        [(2, 2)],
        [(1, "greater than or equal to 2")],
    ),
    "StringConstraints": Case(
        Annotated[str, StringConstraints(to_lower=True, max_length=3)],
        {"type": "string", "maxLength": 3},
        [("AB", "ab")],
        [("abcd", "at most 3")],
    ),
    "Predicate": Case(
        Annotated[int, at.Predicate(lambda number: number % 2 == 0)],
        INTEGER,
        [(2, 2)],
        [(3, "predicate")],
    ),
    "constrained Decimal": Case(
        Annotated[Decimal, Field(gt=0)],
        {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, STRING]},
        [("1.5", Decimal("1.5")), (2, Decimal(2))],
        [("-1", "greater than 0")],
    ),
    "model that forbids": Case(
        Exact,
        {
            "type": "object",
            "properties": {"name": STRING},
            "required": ["name"],
            "additionalProperties": False,
        },
        [({"name": "a"}, Exact(name="a"))],
        [
            ({"name": "A"}, "a name has no capitals at `.name`"),
            ({"name": "a", "nam": "b"}, "object contains unknown field `nam`"),
        ],
    ),
    "models to choose from": Case(
        Tabby | Poodle | None,
        {"anyOf": [TABBY, POODLE, NULL]},
        [({"kind": "tabby"}, Tabby(kind="tabby")), (None, None)],
        [({"kind": "poodle"}, "object missing required field `name`")],
    ),
    "discriminated union": Case(
        Annotated[Tabby | Poodle, Field(discriminator="kind", description="A pet.")],
        {"anyOf": [TABBY, POODLE], "description": "A pet."},
        [({"kind": "poodle", "name": "Rex"}, Poodle(kind="poodle", name="Rex"))],
        [
            ({"kind": "poodle"}, "object missing required field `name`"),
            ({"kind": "cow"}, "'cow' found using 'kind'"),
        ],
    ),
    "model or number": Case(
        Item | int,
        {"anyOf": [ITEM, INTEGER]},
        [({"price": 1}, Item(price=1)), (3, 3), ("3", 3)],
        [("x", "")],
    ),
    "dataclass of pydantic": Case(
        Checked,
        {
            "type": "object",
            "properties": {
                "x": INTEGER,
                "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
            },
            "required": ["x"],
        },
        [({"x": 1}, Checked(1)), ({"x": "3", "colour": "blue"}, Checked(3, Colour.BLUE))],
        [({"x": 1, "colour": "green"}, "'red' or 'blue' at `.colour`")],
    ),
    "list of dataclasses of pydantic": Case(
        list[Checked],
        {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "x": INTEGER,
                    "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
                },
                "required": ["x"],
            },
        },
        [([{"x": 1}], [Checked(1)])],
        [([{"x": 1}, {}], "object missing required field `x` at `[1]`")],
    ),
}


def by_pydantic(annotation: Any) -> Any:
    """Return the same annotation with something in it that only pydantic reads."""
    return Annotated[annotation, AfterValidator(lambda value: value)]


CASES = [
    *(pytest.param(case, id=f"msgspec-{name}") for name, case in (BOTH | MSGSPEC).items()),
    *(
        pytest.param(case._replace(annotation=by_pydantic(case.annotation)), id=f"pydantic-{name}")
        for name, case in BOTH.items()
    ),
    *(pytest.param(case, id=f"pydantic-{name}") for name, case in PYDANTIC.items()),
]


def taking(annotation: Any, *, strict: bool = False) -> Parameters:
    def take(value: Any) -> Any:
        return value

    take.__annotations__["value"] = annotation
    return Parameters(take, Context, strict=strict)


def call(known: Parameters, value: Any) -> Any:
    return known.call(known.read(json.dumps({"value": value}).encode()), None)


@pytest.mark.parametrize("case", CASES)
def test_an_annotation_is_described(case: Case) -> None:
    schema = taking(case.annotation).schema
    assert schema["properties"]["value"] == case.schema
    assert schema["required"] == ["value"]
    assert "$ref" not in json.dumps(schema)


@pytest.mark.parametrize("case", CASES)
def test_what_fits_an_annotation_is_accepted_and_returned(case: Case) -> None:
    known = taking(case.annotation)
    for given, expected in case.accepted:
        found = call(known, given)
        assert found == expected
        assert type(found) is type(expected)


@pytest.mark.parametrize("case", [case for case in CASES if case.values[0].refused])  # type: ignore[union-attr]  # a Case
def test_what_does_not_fit_is_refused_in_a_sentence_that_names_the_argument(case: Case) -> None:
    known = taking(case.annotation)
    for given, words in case.refused:
        with pytest.raises(ArgumentsRefused) as caught:
            call(known, given)
        text = str(caught.value)
        assert text.startswith("`value`: ")
        assert any(word in text for word in words.split("|"))
        assert "\n" not in text
        assert "http" not in text


@pytest.mark.parametrize("name", BOTH)
def test_pydantic_is_left_out_where_msgspec_will_do(name: str) -> None:
    kind = taking(BOTH[name].annotation).types["value"]
    assert not isinstance(kind, Hooked) or has_members(BOTH[name].annotation)
