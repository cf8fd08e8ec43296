"""Aliases and generic types in the syntax of Python 3.12."""

import sys
import types
from typing import Any

import pytest

from wigwag.server.context import Context
from wigwag.server.parameters.signature import ArgumentsRefused, Parameters

if sys.version_info < (3, 12):
    pytest.skip("the syntax is that of Python 3.12", allow_module_level=True)

SOURCE = """
from dataclasses import dataclass
from typing import Annotated, Literal, TypedDict

import msgspec
from pydantic import AfterValidator, BaseModel

type Ids = list[int]
type ByName[T] = dict[str, T]
type Odd = Literal[True, "x"]
type Json = dict[str, Json] | list[Json] | str | int | None
type Numbers = int | list[Numbers]

@dataclass
class Page[T]:
    items: list[T]
    more: "Page[T] | None" = None

class Box[T](msgspec.Struct):
    value: T

class Typed[T](TypedDict):
    value: T

class Model[T](BaseModel):
    value: T

@dataclass
class Place:
    ids: Ids
    names: ByName[int]
    odd: Odd = "x"

def plain(value: Ids): return value
def generic(value: ByName[int] | None): return value
def odd(value: list[Odd]): return value
def member(value: Place): return value
def page(value: Page[int]): return value
def variable[T: int](value: T): return value
def box(value: Box[int]): return value
def typed(value: Typed[int]): return value
def model(value: Model[int]): return value
def validated(value: Annotated[Ids, AfterValidator(len)]): return value
def json(value: Json, other: Json = None): return value
def numbers(value: list[Numbers]): return value
def numbers_of_pydantic(value: Annotated[Numbers, AfterValidator(lambda n: n)]): return value
"""
MODULE = types.ModuleType("of_the_new_syntax")
sys.modules[MODULE.__name__] = MODULE  # where annotations that are text are looked up
NAMES = vars(MODULE)
exec(SOURCE, NAMES)


def parameters(name: str) -> Parameters:
    return Parameters(NAMES[name], Context)


def read(name: str, value: bytes) -> Any:
    known = parameters(name)
    return known.call(known.read(b'{"value": %b}' % value), None)


@pytest.mark.parametrize(
    ("name", "schema", "accepted", "expected", "refused"),
    [
        ("plain", {"type": "array", "items": {"type": "integer"}}, b"[1]", [1], b'["x"]'),
        (
            "generic",
            {
                "anyOf": [
                    {"type": "object", "additionalProperties": {"type": "integer"}},
                    {"type": "null"},
                ]
            },
            b'{"a": 1}',
            {"a": 1},
            b'{"a": "x"}',
        ),
        ("odd", {"type": "array", "items": {"enum": [True, "x"]}}, b"[true]", [True], b"[1]"),
        ("variable", {"type": "integer"}, b"1", 1, b'"x"'),
        ("validated", {"type": "array", "items": {"type": "integer"}}, b"[1, 2]", 2, b'["x"]'),
    ],
)
def test_an_alias_is_what_it_stands_for(
    name: str, schema: Any, accepted: bytes, expected: Any, refused: bytes
) -> None:
    assert parameters(name).schema["properties"]["value"] == schema
    assert read(name, accepted) == expected
    with pytest.raises(ArgumentsRefused, match="`value`: "):
        read(name, refused)


@pytest.mark.parametrize("name", ["box", "typed", "model"])
def test_a_generic_type_is_filled_in(name: str) -> None:
    assert parameters(name).schema["properties"]["value"] == {
        "type": "object",
        "properties": {"value": {"type": "integer"}},
        "required": ["value"],
    }
    value = read(name, b'{"value": 1}')
    assert (value["value"] if name == "typed" else value.value) == 1


def test_members_may_be_aliases() -> None:
    place = NAMES["Place"]
    assert read("member", b'{"ids": [1], "names": {"a": 1}, "odd": true}') == place(
        ids=[1], names={"a": 1}, odd=True
    )
    assert list(parameters("member").schema["properties"]["value"]["properties"]) == [
        "ids", "names", "odd",
    ]  # fmt: skip


def test_a_generic_type_may_contain_itself() -> None:
    page = NAMES["Page"]
    assert read("page", b'{"items": [1], "more": {"items": []}}') == page([1], page([]))
    assert list(parameters("page").schema["$defs"]) == ["Page"]


def test_an_alias_may_contain_itself_and_is_defined_once() -> None:
    value = b'[1, {"a": [null, "x"]}]'
    assert read("json", value) == [1, {"a": [None, "x"]}]
    assert read("json", b'"[1]"') == "[1]"
    schema = parameters("json").schema
    reference = {"$ref": "#/$defs/Json"}
    assert list(schema["$defs"]) == ["Json"]
    assert schema["$defs"]["Json"]["anyOf"][:2] == [
        {"type": "object", "additionalProperties": reference},
        {"type": "array", "items": reference},
    ]
    with pytest.raises(ArgumentsRefused, match=r"at `\[1\]\.a`|at `\[1\]\[\.\.\.\]`"):
        read("json", b'[1, {"a": 1.5}]')


@pytest.mark.parametrize("name", ["numbers", "numbers_of_pydantic"])
def test_an_alias_that_contains_itself_may_stand_in_another_type(name: str) -> None:
    assert read(name, b"[1, [2, [3]]]") == [1, [2, [3]]]
    definition = {
        "anyOf": [
            {"type": "integer"},
            {"type": "array", "items": {"$ref": "#/$defs/Numbers"}},
        ]
    }
    assert parameters(name).schema["$defs"] == {"Numbers": definition}
