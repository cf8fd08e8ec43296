"""Stand-ins that know themselves how they are read from JSON."""

from typing import Any

import msgspec
import pytest

from wigwag.server.annotations.hooked import Faults, convert, faults_of, hooked, in_words
from wigwag.server.annotations.plain_schema import decode_hook


def odd(value: Any, _hook: Any) -> Any:
    if not isinstance(value, int):
        raise ValueError("No number")
    if value % 2 == 0:
        raise Faults([(".units", "it is even"), ("", "it is no good"), (".units", "it is even")])
    return f"odd {value}"


Odd: Any = hooked("Odd", odd, lambda describe: {"type": "integer", "not": describe(str)})


class Box(msgspec.Struct):
    numbers: list[Odd]
    other: Odd | None = None


def test_msgspec_takes_whatever_a_stand_in_returns() -> None:
    box = msgspec.json.decode(b'{"numbers": [1, 3]}', type=Box, dec_hook=decode_hook)
    assert box == Box(["odd 1", "odd 3"])


def test_faults_have_their_places_put_together() -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(b'{"numbers": [1, 2]}', type=Box, dec_hook=decode_hook)
    assert faults_of(caught.value) == [
        (".numbers[1].units", "it is even"),
        (".numbers[1]", "it is no good"),
    ]


def test_an_error_of_msgspec_is_one_fault() -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(b'{"numbers": ["x"]}', type=Box, dec_hook=decode_hook)
    assert faults_of(caught.value) == [(".numbers[0]", "no number")]
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(b'"x"', type=int)
    assert faults_of(caught.value) == [("", "expected `int`, got `str`")]


def test_converting_says_what_is_wrong_in_the_same_way() -> None:
    assert convert({"1": 2}, dict[int, int], decode_hook) == {1: 2}
    with pytest.raises(Faults, match=r"it is even at `.numbers\[0\].units`; it is no good at"):
        convert({"numbers": [4]}, Box, decode_hook)


def test_a_fault_is_a_sentence() -> None:
    assert in_words(".x[0]", "it is even") == "it is even at `.x[0]`"
    assert in_words("", "it is even") == "it is even"
