from typing import Any

import pytest

from tests.unit.oauth.test_jwk import EC, OKP, RSA
from wigwag.oauth.key_sets import candidates, key_lifetime, read_key_set
from wigwag.oauth.requests import HttpResponse


def test_keys_that_cannot_verify_are_passed_over_and_private_members_dropped() -> None:
    keys = read_key_set(
        {
            "keys": [
                {**EC, "kid": "a", "d": "s3cret"},
                {"kty": "oct", "k": "s3cret", "kid": "b"},
                "nonsense",
                {**EC, "kid": 7},
                {**EC, "kid": "x" * 2000},
                OKP,
            ]
        }
    )
    assert [key.kid for key in keys] == ["a", None]
    assert "s3cret" not in repr(keys)


@pytest.mark.parametrize("document", [{}, {"keys": None}, {"keys": {"a": EC}}])
def test_what_is_no_key_set_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no JWK set"):
        read_key_set(document)


def test_an_enormous_key_set_is_not_read_to_its_end() -> None:
    assert len(read_key_set({"keys": [{**EC, "kid": str(n)} for n in range(1000)]})) == 100


def names(kid: object, algorithm: str, *jwks: dict[str, Any]) -> list[str | None]:
    return [key.kid for key in candidates(read_key_set({"keys": list(jwks)}), kid, algorithm)]


def test_the_key_is_the_one_that_the_token_names() -> None:
    named = ({**EC, "kid": "a"}, {**EC, "kid": "b"}, {**RSA, "kid": "b"})
    assert names("b", "ES256", *named) == ["b"]
    assert names("c", "ES256", *named) == []
    assert names("a", "RS256", *named) == []
    assert names(None, "ES256", *named) == ["a", "b"]
    assert names(7, "ES256", *named) == []


def test_a_key_without_a_name_may_be_the_one() -> None:
    assert names("b", "ES256", EC, {**EC, "kid": "a"}) == [None]
    assert names("a", "ES256", EC, {**EC, "kid": "a"}) == ["a"]


def test_not_all_keys_are_tried_for_a_token_that_names_none() -> None:
    assert len(names(None, "ES256", *({**EC, "kid": str(n)} for n in range(50)))) == 8


@pytest.mark.parametrize(
    ("control", "expected"),
    [
        (None, 900.0),
        ("max-age=3600", 3600.0),
        ("public, Max-Age = 120, must-revalidate", 120.0),
        ('max-age="600"', 600.0),
        ("max-age=1", 60.0),
        ("max-age=0", 60.0),
        ("max-age=999999999", 86_400.0),
        ("s-maxage=7200", 900.0),
        ("max-age=-5", 900.0),
        ("no-store, max-age=3600", 60.0),
        ("no-cache", 60.0),
    ],
)
def test_keys_hold_as_long_as_the_issuer_says_within_bounds(
    control: str | None, expected: float
) -> None:
    headers = () if control is None else (("Cache-Control", control),)
    assert key_lifetime(HttpResponse(200, headers)) == expected
