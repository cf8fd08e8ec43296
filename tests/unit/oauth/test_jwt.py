import base64
import json
from typing import Any

import pytest

from wigwag.oauth.jwt import Jwt, check_header, read_jwt, type_of


def part(value: Any) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def test_a_jwt_is_taken_apart() -> None:
    found = read_jwt(f"{part({'alg': 'ES256'})}.{part({'sub': 'é'})}.c2ln")
    assert (found.header, found.claims) == ({"alg": "ES256"}, {"sub": "é"})
    assert "é" not in repr(found)


NOT_A_NUMBER = b'{"a": NaN}'
NOT_UTF8 = b'{"a": "\xff"}'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "abc",
        "a.b.c.d.e",
        f"{part({})}.{part({})}",
        f"{part({})}.{part({})}.x.y",
        f"{part({})}.{part({})}.a b",
        f"{part({})}=.{part({})}.x",
        f" {part({})}.{part({})}.x",
        f"{part([])}.{part({})}.x",
        f"{part({})}.{part('text')}.x",
        f"{part(b'{')}.{part({})}.x",
        f"{part({})}.{part(NOT_A_NUMBER)}.x",
        f"{part({})}.{part(NOT_UTF8)}.x",
        f"a.{part({})}.x",
        f"{part({})}.{part(b'[' * 100_000)}.x",
    ],
)
def test_what_is_no_jwt_is_no_jwt(text: str) -> None:
    with pytest.raises(ValueError, match="it is no JWT"):
        read_jwt(text)


@pytest.mark.parametrize(
    ("typ", "expected"),
    [
        ("at+jwt", "at+jwt"),
        ("application/AT+jwt", "at+jwt"),
        ("JWT", "jwt"),
        (None, None),
    ],
)
def test_the_kind_is_read_in_any_case_and_length(typ: str | None, expected: str | None) -> None:
    assert type_of(Jwt({} if typ is None else {"typ": typ}, {})) == expected


def test_a_kind_that_is_no_text_is_refused() -> None:
    with pytest.raises(ValueError, match="no text"):
        type_of(Jwt({"typ": 1}, {}))


@pytest.mark.parametrize("alg", ["none", "HS256", "rs256", "RS1", None, 7, ["RS256"]])
def test_only_algorithms_that_were_named_are_accepted(alg: Any) -> None:
    with pytest.raises(ValueError, match="algorithm"):
        check_header(Jwt({"alg": alg}, {}), ("RS256", "ES256"))
    with pytest.raises(ValueError, match="algorithm"):
        check_header(Jwt({}, {}), ("RS256", "ES256"))
    assert check_header(Jwt({"alg": "ES256"}, {}), ("RS256", "ES256")) == "ES256"


@pytest.mark.parametrize("crit", [["b64"], [], ["exp"], None])
def test_what_must_be_understood_is_not(crit: Any) -> None:
    with pytest.raises(ValueError, match="critical"):
        check_header(Jwt({"alg": "ES256", "crit": crit}, {}), ("ES256",))
