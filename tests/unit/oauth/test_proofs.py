from typing import Any

import pytest

from tests.unit.oauth.signing import SigningKey, edwards, elliptic, prove, rsa, unsigned
from wigwag.oauth.proofs import (
    DEFAULT_PROOF_ALGORITHMS,
    InvalidProof,
    check_proof,
    read_proof,
    token_hash,
)
from wigwag.oauth.secret import Secret

URL = "https://mcp.example/mcp"
NOW = 1_000_000.0
TOKEN = "s3cret-token"
KEY = elliptic()


def check(proof: str, *, key: SigningKey = KEY, url: str = URL, method: str = "POST") -> None:
    check_proof(
        read_proof([proof], DEFAULT_PROOF_ALGORITHMS),
        method=method,
        url=url,
        token=Secret(TOKEN),
        key_thumbprint=key.thumbprint,
        now=NOW,
    )


def test_the_hash_of_a_token_is_that_of_the_standard() -> None:
    # RFC 9449 figure 12 and 13.
    token = Secret("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU")
    assert token_hash(token) == "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo"


@pytest.mark.parametrize(
    ("key", "alg"), [(elliptic(), "ES256"), (edwards(), "Ed25519"), (rsa(), "PS256")]
)
def test_a_proof_for_this_request_is_one(key: SigningKey, alg: str) -> None:
    check(prove(key, URL, TOKEN, now=NOW, alg=alg), key=key)


@pytest.mark.parametrize(
    ("htu", "url"),
    [
        (URL, f"{URL}?session=1"),
        (f"{URL}?x=1#y", URL),
        ("HTTPS://MCP.example:443/mcp", URL),
        ("https://mcp.example", "https://mcp.example/"),
        ("https://mcp.example/%7Ea/%c3%a9", "https://mcp.example/~a/%C3%A9"),
    ],
)
def test_urls_that_mean_the_same_are_the_same(htu: str, url: str) -> None:
    check(prove(KEY, URL, TOKEN, now=NOW, htu=htu), url=url)


@pytest.mark.parametrize("off", [-300, -299.5, 0, 300])
def test_clocks_may_be_five_minutes_apart(off: float) -> None:
    check(prove(KEY, URL, TOKEN, now=NOW, iat=NOW + off))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"htm": "GET"}, "another method"),
        ({"htm": "post"}, "another method"),
        ({"htm": ...}, "no htm"),
        ({"htu": "https://mcp.example/other"}, "another URL"),
        ({"htu": "https://mcp.example/mcp/"}, "another URL"),
        ({"htu": "https://mcp.example/a%2Fb"}, "another URL"),
        ({"htu": "http://mcp.example/mcp"}, "another URL"),
        ({"htu": "https://evil.example/mcp"}, "another URL"),
        ({"htu": "/mcp"}, "another URL"),
        ({"htu": 7}, "no htu"),
        ({"iat": NOW - 301}, "too long ago"),
        ({"iat": NOW + 301}, "too long ago"),
        ({"iat": ...}, "no iat"),
        ({"iat": "now"}, "no iat"),
        ({"iat": True}, "no iat"),
        ({"iat": 10**400}, "no iat"),
        ({"jti": ...}, "no jti"),
        ({"jti": ""}, "no jti"),
        ({"jti": "x" * 257}, "jti of the proof has more than 256"),
        ({"ath": ...}, "another token"),
        ({"ath": token_hash(Secret("another"))}, "another token"),
        ({"ath": "é"}, "another token"),
        ({"ath": "\ud800"}, "no JWT"),
    ],
)
def test_a_proof_for_something_else_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidProof, match=said):
        check(prove(KEY, URL, TOKEN, now=NOW, **changes))


def test_a_proof_with_another_key_than_that_of_the_token_is_refused() -> None:
    with pytest.raises(InvalidProof, match="another key"):
        check(prove(edwards(), URL, TOKEN, now=NOW, alg="Ed25519"))


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ({"typ": "JWT"}, "typ"),
        ({"typ": None}, "typ"),
        ({"alg": "HS256"}, "algorithm"),
        ({"alg": "none"}, "algorithm"),
        ({"alg": "ES384"}, "no public key for its algorithm"),
        ({"alg": "RS256"}, "no public key for its algorithm"),
        ({"jwk": None}, "no public key"),
        ({"jwk": {"kty": "oct", "k": "c2VjcmV0"}}, "no public key"),
        ({"jwk": KEY.private_jwk}, "private key"),
        ({"jwk": {**KEY.jwk, "crv": "P-384"}}, "no public key"),
        ({"jwk": {**KEY.jwk, "use": "enc"}}, "no public key"),
        ({"jwk": {"kty": "RSA", "e": "AQAB", "n": "x" * 700}, "alg": "RS256"}, "4096 bits"),
        ({"crit": ["x"]}, "critical"),
    ],
)
def test_a_proof_that_is_not_well_formed_is_refused(header: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidProof, match=said) as caught:
        check(prove(KEY, URL, TOKEN, now=NOW, header=header))
    assert KEY.private_jwk["d"] not in str(caught.value)


def test_there_is_one_proof_and_it_is_not_enormous() -> None:
    proof = prove(KEY, URL, TOKEN, now=NOW)
    for values, said in (
        ([], "there is no proof"),
        ([proof, proof], "more than one proof"),
        ([f"{proof}, {proof}"], "no JWT"),
        ([""], "no JWT"),
        (["x" * 9000], "more than 8192 characters"),
        ([unsigned({}, typ="dpop+jwt")], "algorithm"),
    ):
        with pytest.raises(InvalidProof, match=said):
            read_proof(values, DEFAULT_PROOF_ALGORITHMS)


def test_only_algorithms_that_were_named_are_accepted() -> None:
    proof = prove(KEY, URL, TOKEN, now=NOW)
    assert read_proof([f" {proof} "], ["ES256"]).algorithm == "ES256"
    with pytest.raises(InvalidProof, match="algorithm"):
        read_proof([proof], ["PS256"])


def test_proofs_are_told_apart_by_key_and_jti() -> None:
    def replay_key(key: SigningKey, jti: str, alg: str = "ES256") -> str:
        made = prove(key, URL, TOKEN, now=NOW, jti=jti, alg=alg)
        return read_proof([made], DEFAULT_PROOF_ALGORITHMS).replay_key

    assert replay_key(KEY, "a") == replay_key(KEY, "a")
    assert replay_key(KEY, "a") != replay_key(KEY, "b")
    assert replay_key(KEY, "a") != replay_key(edwards(), "a", "Ed25519")
    assert len(replay_key(KEY, "é" * 200)) == 64


def test_a_proof_is_good_until_its_time_is_too_long_ago() -> None:
    proof = read_proof([prove(KEY, URL, TOKEN, now=NOW)], DEFAULT_PROOF_ALGORITHMS)
    assert proof.good_until == NOW + 300
    assert proof.nonce is None
    assert "jti" not in repr(proof)
