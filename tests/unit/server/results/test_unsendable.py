"""What it is in a value that cannot be sent, and where."""

import math
from dataclasses import dataclass
from enum import Enum
from typing import Any

import attrs
import msgspec
import pytest
from msgspec import UNSET, UnsetType
from pydantic import BaseModel

from wigwag.server.results.unsendable import explain


@dataclass
class Shelf:
    top: Any = None
    bottom: Any = None


class Box(msgspec.Struct, rename="camel"):
    left_over: UnsetType = UNSET
    the_lid: Any = None


@attrs.define
class Crate:
    lid: Any


class Model(BaseModel):
    lid: Any


class Odd(Enum):
    NUMBER = math.nan


def why(value: Any) -> str | None:
    """Find fault with NaN, wherever it is; without one all is well."""
    try:
        found = "NaN" in repr(value) or "nan" in repr(value)
    except RecursionError:
        return "too deep"
    return "it is none" if found else None


NAN = math.nan


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ([1, [2, NAN]], "$[1][1]"),
        ((1, NAN), "$[1]"),
        ({"a": {"b c": NAN}}, "$.a['b c']"),
        ({3: [NAN]}, "$[3][0]"),
        ({1.5: NAN}, "$[a float]"),
        (Shelf(top=1, bottom=[NAN]), "$.bottom[0]"),
        (Box(the_lid=NAN), "$.theLid"),
        (Crate(NAN), "$.lid"),
        (Model(lid=[NAN]), "$.lid[0]"),
        ([Odd.NUMBER], "$[0]"),
        ({NAN}, "$[0]"),
    ],
)
def test_the_place_is_named_as_in_the_json(value: Any, place: str) -> None:
    assert explain(value, why) == f"it is none (at `{place}`)"


def test_the_value_itself_needs_no_place() -> None:
    assert explain(NAN, why) == "it is none"


def test_the_first_fault_is_named() -> None:
    assert explain([1, NAN, {"a": NAN}], why) == "it is none (at `$[1]`)"


def test_what_contains_itself_is_found_out() -> None:
    def of_cycles(value: Any) -> str | None:
        return "too deep" if isinstance(value, list | dict) else None

    inner: dict[str, Any] = {}
    inner["list"] = [inner]
    assert explain({"a": inner}, of_cycles) == "it contains itself (at `$.a.list[0]`)"


def test_a_long_way_is_shortened() -> None:
    deep: Any = NAN
    for _ in range(500):
        deep = [deep]
    text = explain(deep, lambda value: "too deep")
    assert text.startswith("too deep (at `$[0][0][0]")
    assert text.endswith("…`)")
    assert len(text) < 150
