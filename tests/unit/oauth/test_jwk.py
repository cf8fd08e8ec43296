from typing import Any

import pytest

from wigwag.oauth.jwk import ALGORITHMS, can_verify, public_key, thumbprint

# RFC 7638 section 3.1.
RSA = {
    "kty": "RSA",
    "n": "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1"
    "L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4"
    "QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbO"
    "pbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csF"
    "Cur-kEgU8awapJzKnqDKgw",
    "e": "AQAB",
    "alg": "RS256",
    "kid": "2011-04-29",
}
# RFC 9449 figure 2.
EC = {
    "kty": "EC",
    "x": "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs",
    "y": "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA",
    "crv": "P-256",
}
# RFC 8037 appendix A.
OKP = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}


@pytest.mark.parametrize(
    ("jwk", "expected"),
    [
        (RSA, "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"),
        (EC, "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"),
        (OKP, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"),
    ],
)
def test_thumbprints_are_those_of_the_standards(jwk: dict[str, str], expected: str) -> None:
    key = public_key(jwk)
    assert key is not None
    assert thumbprint(key) == expected


@pytest.mark.parametrize(
    "jwk",
    [
        None,
        [],
        {},
        {"kty": "oct", "k": "c2VjcmV0"},
        {"kty": ["RSA"]},
        {**RSA, "n": "AQAB"},
        {**RSA, "n": RSA["n"][:-20]},
        {**RSA, "n": "A" * 1400},
        {**RSA, "n": RSA["n"] + "="},
        {**RSA, "n": 7},
        {**RSA, "e": "A" * 342},
        {**RSA, "e": ""},
        {**EC, "crv": "P-384"},
        {**EC, "crv": "secp256k1"},
        {**EC, "crv": "Ed25519"},
        {**EC, "x": EC["x"][:-1]},
        {"kty": "EC", "crv": "P-256", "x": EC["x"]},
        {**OKP, "crv": "P-256"},
        {**OKP, "crv": "Ed448"},
    ],
)
def test_what_is_no_public_key_that_can_be_used_is_none(jwk: Any) -> None:
    assert public_key(jwk) is None


def test_of_a_key_only_what_makes_it_is_taken() -> None:
    assert public_key({**EC, "d": "s3cret", "x5u": "https://evil.example"}) == EC


def test_each_algorithm_takes_keys_of_its_kind_only() -> None:
    able = {
        name: [alg for alg in ALGORITHMS if can_verify(jwk, alg)]
        for name, jwk in (("RSA", {**RSA, "alg": "RS256"}), ("EC", EC), ("OKP", OKP))
    }
    assert able == {"RSA": ["RS256"], "EC": ["ES256"], "OKP": ["EdDSA", "Ed25519"]}
    bare = {name: value for name, value in RSA.items() if name != "alg"}
    assert [alg for alg in ALGORITHMS if can_verify(bare, alg)] == list(ALGORITHMS)[:6]
    assert not any(can_verify(jwk, alg) for jwk in (RSA, EC, OKP) for alg in ("none", "HS256"))


@pytest.mark.parametrize("meant", ["EdDSA", "Ed25519"])
def test_an_edwards_key_may_be_meant_for_either_name_of_its_algorithm(meant: str) -> None:
    jwk = {**OKP, "alg": meant}
    assert can_verify(jwk, "EdDSA")
    assert can_verify(jwk, "Ed25519")


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"use": "sig"}, True),
        ({"use": "enc"}, False),
        ({"key_ops": ["verify"]}, True),
        ({"key_ops": ["sign"]}, False),
        ({"key_ops": "verify"}, False),
        ({"alg": "ES256"}, True),
        ({"alg": "ES384"}, False),
        ({"alg": None}, False),
    ],
)
def test_a_key_is_used_only_for_what_it_is_meant_for(
    members: dict[str, Any],
    expected: bool,  # noqa: FBT001
) -> None:
    assert can_verify({**EC, **members}, "ES256") is expected
