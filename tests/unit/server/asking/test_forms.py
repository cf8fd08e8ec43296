import dataclasses
import datetime
import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import attrs
import msgspec
import pydantic
import pydantic.dataclasses
import pytest

from wigwag.schema import EnumOption, NumberSchema, StringSchema, TitledMultiSelectEnumSchema
from wigwag.schema.elicitation import TitledEnumItems
from wigwag.server.asking.forms import FormRefused, form_of


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class AsStruct(msgspec.Struct):
    name: Annotated[str, msgspec.Meta(title="Your name", description="In full", min_length=1)]
    color: Color
    size: Literal["s", "m", "l"]
    likes: list[Literal["tea", "cake"]]
    born: datetime.date
    age: int | None
    score: float = 1.5
    sure: bool = False
    note: str | None = None


@dataclass
class AsDataclass:
    name: Annotated[str, msgspec.Meta(title="Your name", description="In full", min_length=1)]
    color: Color
    size: Literal["s", "m", "l"]
    likes: list[Literal["tea", "cake"]]
    born: datetime.date
    age: int | None
    score: float = 1.5
    sure: bool = False
    note: str | None = None


class AsModel(pydantic.BaseModel):
    name: str = pydantic.Field(title="Your name", description="In full", min_length=1)
    color: Color
    size: Literal["s", "m", "l"]
    likes: list[Literal["tea", "cake"]]
    born: datetime.date
    age: int | None
    score: float = 1.5
    sure: bool = False
    note: str | None = None


class AsDict(TypedDict):
    name: Annotated[str, msgspec.Meta(title="Your name", min_length=1)]
    size: NotRequired[Literal["s", "m", "l"]]


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {
            "type": "string",
            "title": "Your name",
            "description": "In full",
            "minLength": 1,
        },
        "color": {"type": "string", "enum": ["red", "blue"]},
        "size": {"type": "string", "enum": ["s", "m", "l"]},
        "likes": {"type": "array", "items": {"type": "string", "enum": ["tea", "cake"]}},
        "born": {"type": "string", "format": "date"},
        "age": {"type": "integer"},
        "score": {"type": "number", "default": 1.5},
        "sure": {"type": "boolean", "default": False},
        "note": {"type": "string"},
    },
    "required": ["name", "color", "size", "likes", "born"],
}
CONTENT: dict[str, Any] = {
    "name": "Ada",
    "color": "blue",
    "size": "m",
    "likes": ["cake"],
    "born": "1815-12-10",
    "score": 3,
}


@pytest.mark.parametrize("kind", [AsStruct, AsDataclass, AsModel])
def test_a_class_becomes_the_flat_schema_of_its_fields_and_content_the_class(kind: Any) -> None:
    form = form_of(kind)
    schema = {**form.schema, "required": list(form.schema["required"])}
    # Only the order of words that say nothing may differ.
    assert schema == SCHEMA
    assert list(schema["properties"]) == list(SCHEMA["properties"])
    value = form.read(CONTENT)
    assert isinstance(value, kind)
    assert value.name == "Ada"
    assert value.color is Color.BLUE
    assert value.likes == ["cake"]
    assert value.born == datetime.date(1815, 12, 10)
    assert (value.age, value.score, value.sure, value.note) == (None, 3.0, False, None)


def test_a_typed_dict_stays_a_dict() -> None:
    form = form_of(AsDict)
    assert form.schema == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Your name", "minLength": 1},
            "size": {"type": "string", "enum": ["s", "m", "l"]},
        },
        "required": ["name"],
    }
    assert form.read({"name": "Ada"}) == {"name": "Ada"}


def test_a_mapping_names_types_or_schemas() -> None:
    titled = TitledMultiSelectEnumSchema(
        items=TitledEnumItems(any_of=[EnumOption(const="a", title="A")]), max_items=2
    )
    form = form_of(
        {
            "name": str,
            "age": int | None,
            "when": datetime.date,
            "mail": StringSchema(format="email", default="a@b.c"),
            "size": NumberSchema(type="integer", minimum=1, maximum=3),
            "many": titled,
            "raw": {"type": "string", "enum": ["x"], "enumNames": ["X"]},
        }
    )
    assert form.schema == {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "age": {"type": "integer"},
            "when": {"type": "string", "format": "date"},
            "mail": {"type": "string", "format": "email", "default": "a@b.c"},
            "size": {"type": "integer", "minimum": 1, "maximum": 3},
            "many": {
                "type": "array",
                "maxItems": 2,
                "items": {"anyOf": [{"const": "a", "title": "A"}]},
            },
            "raw": {"type": "string", "enum": ["x"], "enumNames": ["X"]},
        },
        "required": ["name", "when", "size", "many", "raw"],
    }
    content = {"name": "Ada", "when": "2026-01-02", "size": 2.0, "many": ["a"], "raw": "x"}
    assert form.read(content) == {
        **content,
        "when": datetime.date(2026, 1, 2),
        "mail": "a@b.c",
        "size": 2,
    }


def test_a_schema_by_hand_is_used_as_it_is() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"code": {"type": "string", "pattern": "^x", "title": "Code"}},
        "$comment": "kept",
    }
    form = form_of(schema)
    assert form.schema == schema
    assert form.read({"code": "x1", "more": 1}) == {"code": "x1", "more": 1}
    assert form_of({"type": "object"}).schema == {"type": "object", "properties": {}}


def test_nothing_is_a_form_without_fields() -> None:
    form = form_of(None)
    assert form.schema == {"type": "object", "properties": {}}
    assert form.read({}) == {}


@pytest.mark.parametrize(
    ("kind", "field", "given", "value"),
    [
        (str, {"type": "string"}, "x", "x"),
        (int, {"type": "integer"}, 3.0, 3),
        (float, {"type": "number"}, 3, 3.0),
        (bool, {"type": "boolean"}, True, True),
        (Color, {"type": "string", "enum": ["red", "blue"]}, "red", Color.RED),
        (Literal["b", "a"], {"type": "string", "enum": ["b", "a"]}, "a", "a"),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, "a", "a"),
        (["y", "x"], {"type": "string", "enum": ["y", "x"]}, "x", "x"),
        (
            [EnumOption(const="r", title="Red")],
            {"type": "string", "oneOf": [{"const": "r", "title": "Red"}]},
            "r",
            "r",
        ),
        (
            list[Color],
            {"type": "array", "items": {"type": "string", "enum": ["red", "blue"]}},
            ["blue"],
            [Color.BLUE],
        ),
        (
            Annotated[int, msgspec.Meta(gt=0, lt=5, title="N")],
            {"type": "integer", "title": "N", "minimum": 1, "maximum": 4},
            4,
            4,
        ),
        (
            Annotated[str, pydantic.Field(max_length=2, description="d")],
            {"type": "string", "maxLength": 2, "description": "d"},
            "ab",
            "ab",
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_single_value_is_a_form_of_one_field(
    kind: Any, field: Any, given: Any, value: Any
) -> None:
    form = form_of(kind)
    assert form.schema == {
        "type": "object",
        "properties": {"value": field},
        "required": ["value"],
    }
    found = form.read({"value": given})
    assert (found, type(found)) == (value, type(value))


class Fruit(enum.StrEnum):
    PLUM = "plum"
    FIG = "fig"


# Of these nothing is required, and the defaults are those of the type.
@attrs.define
class OfAttrs:
    many: set[Color] = attrs.field(factory=lambda: {Color.RED})
    few: tuple[Fruit, ...] = (Fruit.FIG,)
    none: frozenset[Literal["b", "a"]] | None = None
    one: Color = Color.BLUE
    at: datetime.datetime | None = None


@dataclass
class OfDataclass:
    many: set[Color] = dataclasses.field(default_factory=lambda: {Color.RED})
    few: tuple[Fruit, ...] = (Fruit.FIG,)
    none: frozenset[Literal["b", "a"]] | None = None
    one: Color = Color.BLUE
    at: datetime.datetime | None = None


class OfStruct(msgspec.Struct):
    many: set[Color] = msgspec.field(default_factory=lambda: {Color.RED})
    few: tuple[Fruit, ...] = (Fruit.FIG,)
    none: frozenset[Literal["b", "a"]] | None = None
    one: Color = Color.BLUE
    at: datetime.datetime | None = None


class OfPydantic(pydantic.BaseModel):
    many: set[Color] = pydantic.Field(default_factory=lambda: {Color.RED})
    few: tuple[Fruit, ...] = (Fruit.FIG,)
    none: frozenset[Literal["b", "a"]] | None = None
    one: Color = Color.BLUE
    at: datetime.datetime | None = None


@pydantic.dataclasses.dataclass
class OfPydanticDataclass:
    many: set[Color] = dataclasses.field(default_factory=lambda: {Color.RED})
    few: tuple[Fruit, ...] = (Fruit.FIG,)
    none: frozenset[Literal["b", "a"]] | None = None
    one: Color = Color.BLUE
    at: datetime.datetime | None = None


@pytest.mark.parametrize(
    "kind",
    [OfAttrs, OfDataclass, OfStruct, OfPydantic, OfPydanticDataclass],
    ids=lambda k: k.__name__,
)
def test_choices_of_several_and_defaults_are_those_of_the_class(kind: Any) -> None:
    form = form_of(kind)
    fields = {
        name: {key: value for key, value in field.items() if key != "default"}
        for name, field in form.schema["properties"].items()
    }
    assert fields == {
        "many": {"type": "array", "items": {"type": "string", "enum": ["red", "blue"]}},
        "few": {"type": "array", "items": {"type": "string", "enum": ["plum", "fig"]}},
        "none": {"type": "array", "items": {"type": "string", "enum": ["b", "a"]}},
        "one": {"type": "string", "enum": ["red", "blue"]},
        "at": {"type": "string", "format": "date-time"},
    }
    defaults = {name: field.get("default") for name, field in form.schema["properties"].items()}
    assert (list(defaults["few"]), defaults["one"], defaults["at"]) == (["fig"], "blue", None)
    assert "required" not in form.schema
    nothing = form.read({})
    assert type(nothing) is kind
    assert (nothing.many, nothing.few, nothing.none) == ({Color.RED}, (Fruit.FIG,), None)
    assert (nothing.one, nothing.at) == (Color.BLUE, None)
    filled = form.read(
        {
            "many": ["blue", "red"],
            "few": ["plum"],
            "none": ["a"],
            "one": "red",
            "at": "2026-01-02T03:04:05Z",
        }
    )
    assert (filled.many, filled.few, filled.none) == (set(Color), (Fruit.PLUM,), frozenset("a"))
    utc = datetime.UTC
    assert (filled.one, filled.at) == (
        Color.RED,
        datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=utc),
    )
    for name in ("many", "few", "none"):
        with pytest.raises(FormRefused, match=f"`{name}`: must be one of"):
            form.read({name: ["green"]})


@dataclass
class WithField:
    age: Annotated[int, pydantic.Field(title="Age", description="In years", ge=18, lt=100)]
    name: Annotated[str, pydantic.Field(min_length=2, pattern="^A")] = "Ada"


@pydantic.dataclasses.dataclass
class OfPydanticWithField:
    age: int = pydantic.Field(title="Age", description="In years", ge=18, lt=100)
    name: str = pydantic.Field("Ada", min_length=2, pattern="^A")


class ModelWithField(pydantic.BaseModel):
    age: int = pydantic.Field(title="Age", description="In years", ge=18, lt=100)
    name: str = pydantic.Field("Ada", min_length=2, pattern="^A")


class DictWithField(TypedDict):
    age: Annotated[int, pydantic.Field(title="Age", description="In years", ge=18, lt=100)]
    name: NotRequired[Annotated[str, pydantic.Field(min_length=2, pattern="^A")]]


@pytest.mark.parametrize(
    "kind",
    [WithField, OfPydanticWithField, ModelWithField, DictWithField],
    ids=lambda k: k.__name__,
)
def test_what_fields_of_pydantic_say_is_said_and_holds_wherever_they_stand(kind: Any) -> None:
    form = form_of(kind)
    age, name = form.schema["properties"].values()
    assert age == {
        "type": "integer",
        "title": "Age",
        "description": "In years",
        "minimum": 18,
        "maximum": 99,
    }
    assert name == {
        "type": "string",
        "minLength": 2,
        **({} if kind is DictWithField else {"default": "Ada"}),
    }
    assert form.schema["required"] == ["age"]
    for bad in ({"age": 17}, {"age": 100}, {"age": 20, "name": "A"}, {"age": 20, "name": "Bob"}):
        with pytest.raises(FormRefused):
            form.read(bad)
    found = form.read({"age": 20, "name": "Al"})
    values = found if kind is DictWithField else vars(found)
    assert (values["age"], values["name"]) == (20, "Al")


def test_a_default_in_a_schema_stands_for_what_was_left_out() -> None:
    several = {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}, "default": ["y"]}
    fields: dict[str, Any] = {
        "text": StringSchema(default="t"),
        "number": {"type": "integer", "default": 0},
        "yes": {"type": "boolean", "default": False},
        "one": {"type": "string", "enum": ["x", "y"], "default": "x"},
        "several": several,
        "free": {"type": "string"},
    }
    expected = {"text": "t", "number": 0, "yes": False, "one": "x", "several": ["y"]}
    assert form_of(fields).read({"free": "f"}) == {**expected, "free": "f"}
    assert form_of(fields).read({"free": "f", "number": 3}) == {
        **expected, "number": 3, "free": "f",
    }  # fmt: skip
    fields["text"] = {"type": "string", "default": "t"}
    assert form_of({"type": "object", "properties": fields}).read({}) == expected


def test_choices_may_stand_in_a_mapping() -> None:
    form = form_of({"a": ["y", "x"], "b": [EnumOption(const="r", title="Red")]})
    assert form.schema["properties"] == {
        "a": {"type": "string", "enum": ["y", "x"]},
        "b": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}]},
    }
    assert form.read({"a": "x", "b": "r"}) == {"a": "x", "b": "r"}
    with pytest.raises(FormRefused, match="`b`: must be one of 'r'"):
        form.read({"a": "x", "b": "Red"})


def test_titles_of_choices_may_be_given_where_the_type_is() -> None:
    options = {"oneOf": [{"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}]}

    class Paint(pydantic.BaseModel):
        color: str = pydantic.Field("b", json_schema_extra=options)  # type: ignore[arg-type]

    @dataclass
    class Wall:
        color: Annotated[str, msgspec.Meta(extra_json_schema=options)] = "b"

    for kind in (Paint, Wall):
        form = form_of(kind)
        assert form.schema["properties"] == {
            "color": {"type": "string", "default": "b", **options},
        }
        assert form.read({"color": "r"}).color == "r"
        with pytest.raises(FormRefused, match="`color`: must be one of 'r', 'b'"):
            form.read({"color": "Red"})


def test_a_single_value_may_be_left_out_where_none_is_one() -> None:
    form = form_of(int | None)
    assert "required" not in form.schema
    assert form.read({}) is None
    assert form.read({"value": 3}) == 3


@dataclass
class Nested:
    inner: AsDataclass


@dataclass
class Free:
    words: list[str]


class NestedModel(pydantic.BaseModel):
    inner: AsModel


@dataclass
class Unfinished:
    x: "Missing"  # type: ignore[name-defined]  # noqa: F821


class UnfinishedModel(pydantic.BaseModel):
    x: "Missing"  # type: ignore[name-defined]  # noqa: F821


@attrs.define
class NestedAttrs:
    inner: AsDataclass


class Pair(NamedTuple):
    x: int


REFUSED: list[tuple[Any, str]] = [
    (Nested, "inner"),
    (NestedModel, "inner"),
    (Free, "words"),
    ({"a": dict[str, int]}, "a"),
    ({"a": Literal[1, 2]}, "a"),
    ({"a": int | str}, "a"),
    ({"a": bytes}, "a"),
    ({"a": Any}, "a"),
    ({"a": {"type": ["string", "null"]}}, "a"),
    ({"a": {"type": "array"}}, "a"),
    ({"a": {"type": "string", "oneOf": [{"const": "x"}]}}, "a"),
    ({"type": "object", "properties": {"a": {"type": "object"}}}, "a"),
    ({"type": "object", "properties": {"a": True}}, "a"),
    (list[str], "value"),
    (set[int], "value"),
    (tuple[Color, Color], "value"),
    (Pair, "value"),
    (NestedAttrs, "inner"),
    (enum.IntEnum("Numbers", "ONE TWO"), "value"),
]


@pytest.mark.parametrize(("kind", "field"), REFUSED, ids=lambda value: str(value)[:40])
def test_what_no_form_can_have_is_refused_by_the_name_of_its_field(kind: Any, field: str) -> None:
    with pytest.raises(TypeError, match=f"field `{field}`"):
        form_of(kind)


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ({"type": "array"}, "the schema of a form is one of an object"),
        ({"type": "object", "properties": []}, "the schema of a form is one of an object"),
        ({3: str}, "the fields of a form have names"),
        ([], "choices are texts"),
        ([1], "choices are texts"),
        ({"a": object}, "a form cannot ask for object"),
        ({"a": []}, "choices are texts"),
        (Unfinished, "a form cannot ask for Unfinished: name 'Missing' is not defined"),
        (UnfinishedModel, "a form cannot ask for UnfinishedModel: .* you should define `Missing`"),
    ],
    ids=str,
)
def test_what_is_no_form_at_all_is_refused(wanted: Any, why: str) -> None:
    with pytest.raises(TypeError, match=why):
        form_of(wanted)


BAD: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (lambda c: c.pop("name"), "`name` is missing"),
    (lambda c: c.update(name=3), "`name`: expected string, got int"),
    (lambda c: c.update(name=""), "`name`: 0 length is too few or too many"),
    (lambda c: c.update(color="green"), "`color`: must be one of 'red', 'blue'"),
    (lambda c: c.update(likes=["gin"]), "`likes`: must be one of 'tea', 'cake'"),
    (lambda c: c.update(score=True), "`score`: expected number, got bool"),
    (lambda c: c.update(age=1.5), "`age`: expected integer, got float"),
    (lambda c: c.update(born="soon"), "born"),
]


@pytest.mark.parametrize(("spoil", "why"), BAD, ids=[why for _, why in BAD])
@pytest.mark.parametrize("kind", [AsStruct, AsDataclass, AsModel])
def test_content_that_does_not_fit_is_refused_by_the_name_of_the_field(
    kind: Any, spoil: Callable[[dict[str, Any]], Any], why: str
) -> None:
    content = dict(CONTENT)
    spoil(content)
    with pytest.raises(FormRefused, match=why):
        form_of(kind).read(content)


def test_a_class_is_described_once() -> None:
    made = dataclasses.make_dataclass("Made", [("x", int)])
    assert form_of(made) is form_of(made)
