"""Choices that msgspec does not offer."""

from dataclasses import dataclass
from datetime import date
from enum import Enum, Flag
from typing import Any

import msgspec
import pytest

from wigwag.server.annotations.choices import choice_of_types, choice_of_values, is_plain_enum
from wigwag.server.annotations.hooked import Faults
from wigwag.server.annotations.plain_schema import decode_hook, schema_of


class Words(Enum):
    A = "a"
    B = "b"


class Truth(Enum):
    YES = True
    NO = False


class Odd(Enum):
    OBJECT = (1, 2)


class Bits(Flag):
    ONE = 1
    TWO = 2


@dataclass
class Small:
    x: int = 0


@dataclass
class Large:
    x: int = 0
    y: int = 0


class Renamed(msgspec.Struct, rename="upper"):
    x: int = 0
    z: int = 0


def read(kind: Any, value: Any) -> Any:
    return kind.read(value, decode_hook)


def test_msgspec_reads_enumerations_of_one_kind_of_values() -> None:
    assert is_plain_enum(Words)
    assert is_plain_enum(Bits)
    assert not is_plain_enum(Truth)
    assert not is_plain_enum(Odd)


def test_a_value_is_told_from_another_that_python_takes_for_the_same() -> None:
    kind = choice_of_values("Literal", [1, True, 0.0])
    assert read(kind, value=True) is True
    assert type(read(kind, 1)) is int
    assert read(kind, 0) == 0.0
    with pytest.raises(ValueError, match=r"invalid value False; it must be one of 1, True, 0\.0"):
        read(kind, value=False)
    assert schema_of(choice_of_values("Truth", list(Truth))) == {
        "type": "boolean",
        "enum": [True, False],
    }


def test_a_value_that_json_has_no_form_for_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match=r"\(1, 2\) of Odd has no form in JSON; take text"):
        choice_of_values("Odd", list(Odd))


def test_the_type_that_knows_most_members_is_taken_and_else_the_first() -> None:
    kind = choice_of_types([Small, Large, Renamed])
    assert read(kind, {"x": 1}) == Small(1)
    assert read(kind, {"x": 1, "y": 2}) == Large(1, 2)
    assert read(kind, {"X": 1}) == Renamed(1)
    assert read(kind, {}) == Small()


def test_the_first_type_that_fits_a_text_is_taken() -> None:
    assert read(choice_of_types([date, str]), "2026-01-02") == date(2026, 1, 2)
    assert read(choice_of_types([str, date]), "2026-01-02") == "2026-01-02"


def test_what_fits_no_type_is_refused_with_the_reason_of_each() -> None:
    with pytest.raises(
        ValueError, match="it fits none of its types: as `Small`, expected"
    ) as error:
        read(choice_of_types([Small, list[int]]), "x")
    assert str(error.value) == (
        "it fits none of its types: as `Small`, expected `object`, got `str`; "
        "as `list[int]`, expected `array`, got `str`"
    )
    assert not isinstance(error.value, Faults)
