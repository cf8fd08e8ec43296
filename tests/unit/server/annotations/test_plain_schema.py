"""JSON Schemas of Python types in the plain form that every host takes."""

from collections import namedtuple
from dataclasses import dataclass
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import pytest
from pydantic import BaseModel

from wigwag.server.annotations.plain_schema import decode_hook, encode_hook, schema_of


class Leaf(msgspec.Struct):
    """A leaf."""

    title: str
    size: int = 1


class Branch(msgspec.Struct):
    left: Leaf
    right: Leaf | None = None


class Tree(msgspec.Struct):
    parts: list["Tree"]
    by_name: dict[str, "Tree"]


class Man(msgspec.Struct):
    wife: "Woman | None" = None


class Woman(msgspec.Struct):
    husband: "Man | None" = None


class Pair(NamedTuple):
    one: int
    two: str


class Number(Enum):
    ONE = 1
    TWO = 2


class Model(BaseModel):
    title: str
    inner: "Inner"


class Inner(BaseModel):
    leaf: list[int] = []


LEAF = {
    "type": "object",
    "description": "A leaf.",
    "properties": {"title": {"type": "string"}, "size": {"type": "integer", "default": 1}},
    "required": ["title"],
}


def test_references_are_written_out_where_they_stand() -> None:
    assert schema_of(Branch) == {
        "type": "object",
        "properties": {
            "left": LEAF,
            "right": {"anyOf": [LEAF, {"type": "null"}], "default": None},
        },
        "required": ["left"],
    }


def test_titles_go_and_a_property_named_title_stays() -> None:
    assert schema_of(Leaf) == LEAF
    assert list(schema_of(Leaf)["properties"]) == ["title", "size"]


def test_data_that_looks_like_a_schema_is_left_as_it_is() -> None:
    class Settings(msgspec.Struct):
        value: dict[str, str] = msgspec.field(default_factory=dict)
        sort: Literal["title", "$ref"] = "title"

    example = {"title": "x", "$ref": "y"}
    kind = Annotated[dict[str, str], msgspec.Meta(examples=[example])]
    assert schema_of(kind)["examples"] == [example]
    assert schema_of(Settings)["properties"]["sort"]["default"] == "title"


def test_a_type_that_contains_itself_keeps_one_definition() -> None:
    tree = {"$ref": "#/$defs/Tree"}
    definition = {
        "type": "object",
        "properties": {
            "parts": {"type": "array", "items": tree},
            "by_name": {"type": "object", "additionalProperties": tree},
        },
        "required": ["parts", "by_name"],
    }
    assert schema_of(Tree) == {**definition, "$defs": {"Tree": definition}}
    assert schema_of(list[Tree])["$defs"] == {"Tree": definition}


def references(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return {name for item in schema for name in references(item)}
    if not isinstance(schema, dict):
        return set()
    found = {name for value in schema.values() for name in references(value)}
    return found | ({schema["$ref"]} if "$ref" in schema else set())


@pytest.mark.parametrize("kind", [Man, Woman, Tree, list[Man], tuple[Man, Woman]])
def test_every_reference_leads_to_a_definition_and_every_definition_is_used(kind: Any) -> None:
    schema = schema_of(kind)
    assert references(schema) == {f"#/$defs/{name}" for name in schema["$defs"]}


@pytest.mark.parametrize("kind", [list, list[Any], tuple, set, frozenset, tuple[Any, ...]])
def test_an_array_of_anything_says_so(kind: Any) -> None:
    assert schema_of(kind)["type"] == "array"
    assert schema_of(kind)["items"] == {}


def test_an_array_of_something_says_of_what() -> None:
    assert schema_of(list[int])["items"] == {"type": "integer"}
    assert schema_of(list[list[int]])["items"]["items"] == {"type": "integer"}
    pair = schema_of(tuple[int, str])
    assert pair["prefixItems"] == [{"type": "integer"}, {"type": "string"}]
    assert pair["items"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert pair["minItems"] == pair["maxItems"] == 2


def test_a_named_tuple_is_an_array_of_its_fields() -> None:
    schema = schema_of(Pair)
    assert schema["prefixItems"] == [{"type": "integer"}, {"type": "string"}]
    assert schema_of(namedtuple("Loose", "a b"))["type"] == "array"


@pytest.mark.parametrize(
    ("kind", "type_"),
    [
        (Number, "integer"),
        (Literal["a", "b"], "string"),
        (Literal[1, 2], "integer"),
        (Literal[1, "a"], None),
    ],
)
def test_an_enumeration_says_the_type_of_its_values_if_they_have_one(kind: Any, type_: str) -> None:
    schema = schema_of(kind)
    assert schema.get("type") == type_
    assert len(schema["enum"]) == 2


def test_of_two_types_with_one_name_each_stays_what_it_is() -> None:
    def make(kind: type) -> Any:
        @dataclass
        class Same:
            value: kind  # type: ignore[valid-type]  # differs from call to call

        return Same

    both: Any = (make(int), make(str))
    schema = schema_of(tuple[both])
    assert [part["properties"]["value"]["type"] for part in schema["prefixItems"]] == [
        "integer", "string",
    ]  # fmt: skip


def test_a_path_is_text() -> None:
    assert schema_of(Path) == {"type": "string", "format": "path"}
    assert schema_of(list[PurePosixPath])["items"] == {"type": "string", "format": "path"}
    assert decode_hook(Path, "a/b") == Path("a/b")
    assert encode_hook(Path("a/b")) == "a/b"


def test_a_model_of_pydantic_is_written_out_as_well() -> None:
    schema = schema_of(Model)
    assert "$defs" not in schema
    assert schema["properties"]["title"] == {"type": "string"}
    assert schema["properties"]["inner"]["properties"]["leaf"]["items"] == {"type": "integer"}
    model = decode_hook(Model, {"title": "x", "inner": {}})
    assert encode_hook(model) == {"title": "x", "inner": {"leaf": []}}


def test_a_type_that_json_has_no_form_for_is_a_type_error() -> None:
    class Socket:
        pass

    with pytest.raises(TypeError, match="Socket"):
        schema_of(Socket)
    with pytest.raises(NotImplementedError, match="Socket cannot be read from JSON"):
        decode_hook(Socket, {})
    with pytest.raises(NotImplementedError, match="Socket has no form in JSON"):
        encode_hook(Socket())
