"""Tokens and proofs of whoever likes: each is refused with a status, and nothing else happens."""

import json
import time
from collections.abc import Coroutine
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.oauth.signing import b64, elliptic, prove
from wigwag import JwtVerifier, Principal, VerifiedToken
from wigwag.oauth.proofs import DEFAULT_PROOF_ALGORITHMS, InvalidProof, read_proof
from wigwag.oauth.secret import Secret
from wigwag.server.authorization.authenticator import Authenticator
from wigwag.server.authorization.refusals import AuthenticationRefused

ISSUER, RESOURCE = "https://as.example", "https://mcp.example/mcp"
KEY = elliptic("a")

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=10**300, max_value=10**310),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.sampled_from([ISSUER, RESOURCE, "ES256", "none", "at+jwt", "dpop+jwt", "a", "POST"]),
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
HEADERS = st.dictionaries(
    st.sampled_from(["alg", "typ", "kid", "jwk", "jku", "crit", "x5c", "b64", "enc"]), JSON
)
CLAIMS = st.dictionaries(
    st.sampled_from(
        [
            "iss",
            "sub",
            "aud",
            "exp",
            "nbf",
            "iat",
            "typ",
            "nonce",
            "scope",
            "roles",
            "cnf",
            "azp",
            "jti",
            "htm",
            "htu",
            "ath",
        ]
    ),
    JSON,
)


def written(header: Any, claims: Any, signature: bytes) -> str:
    parts = (json.dumps(header).encode(), json.dumps(claims).encode(), signature)
    return ".".join(b64(part) for part in parts)


def finish(work: Coroutine[Any, Any, VerifiedToken]) -> VerifiedToken:
    """Run what waits for nothing, with no need of an event loop."""
    try:
        work.send(None)
    except StopIteration as end:
        found: VerifiedToken = end.value
        return found
    raise AssertionError("it waits for something")


def refused(who: Authenticator, authorization: list[str], proofs: list[str]) -> int:
    try:
        finish(who.authenticate(authorization, proofs, "POST", RESOURCE, RESOURCE))
    except AuthenticationRefused as refusal:
        lines = who.response_headers(refusal, resource_metadata=RESOURCE)
        assert all(value.isprintable() and value.isascii() for _, value in lines)
        return refusal.status
    raise AssertionError("somebody was let in")


@given(HEADERS, CLAIMS, st.binary(max_size=80))
def test_a_token_that_nobody_signed_is_refused(
    header: dict[str, Any], claims: dict[str, Any], signature: bytes
) -> None:
    who = Authenticator([JwtVerifier(ISSUER, keys=KEY.jwk)])
    sound = {"iss": ISSUER, "aud": RESOURCE, "exp": time.time() + 99, "sub": "ada"}
    for head in (header, {"alg": "ES256", **header}):
        for said in (claims, {**sound, **claims}, claims | sound):
            token = written(head, said, signature)
            assert refused(who, [f"Bearer {token}"], []) == 401


@given(CLAIMS)
def test_a_token_that_the_issuer_signed_says_something_or_is_refused(
    claims: dict[str, Any],
) -> None:
    who = Authenticator([JwtVerifier(ISSUER, keys=KEY.jwk)])
    sound = {"iss": ISSUER, "aud": RESOURCE, "exp": time.time() + 99, "sub": "ada"}
    token = KEY.sign({**sound, **claims})
    lines = [f"Bearer {token}"]
    try:
        found = finish(who.authenticate(lines, [], "POST", RESOURCE, RESOURCE))
    except AuthenticationRefused:
        pass
    else:
        assert isinstance(found.principal.subject, str)
        assert found.principal.issuer == ISSUER
        assert found.expires_at is not None
        assert found.expires_at > time.time() - 61


class Bound:
    """Takes any token for one that is bound to the key."""

    async def verify(self, token: Secret, resource: str) -> VerifiedToken:
        return VerifiedToken(principal=Principal("ada"), key_thumbprint=KEY.thumbprint)


@given(HEADERS, CLAIMS)
def test_a_proof_that_differs_from_a_good_one_proves_as_much_or_nothing(
    header: dict[str, Any], claims: dict[str, Any]
) -> None:
    who = Authenticator([Bound()])
    proof = prove(KEY, RESOURCE, "t", now=time.time(), header=header, **claims)
    changed = {**header, **claims}
    try:
        finish(who.authenticate(["DPoP t"], [proof], "POST", RESOURCE, RESOURCE))
    except AuthenticationRefused:
        pass
    else:
        assert "ath" not in changed
        assert "htu" not in changed or changed["htu"] == RESOURCE
        assert changed.get("htm", "POST") == "POST"
        assert changed.get("alg", "ES256") == "ES256"


@given(st.lists(st.text(max_size=40), max_size=3), st.lists(st.text(max_size=40), max_size=2))
def test_headers_that_say_anything_let_nobody_in(lines: list[str], proofs: list[str]) -> None:
    who = Authenticator([JwtVerifier(ISSUER, keys=KEY.jwk)])
    assert refused(who, lines, proofs) in (400, 401)
    assert refused(who, [f"DPoP {line}" for line in lines], proofs) in (400, 401)


@given(HEADERS, CLAIMS, st.binary(max_size=80))
def test_a_proof_can_be_read_or_not_and_that_is_all(
    header: dict[str, Any], claims: dict[str, Any], signature: bytes
) -> None:
    for head in (header, {**header, "typ": "dpop+jwt", "alg": "ES256", "jwk": KEY.jwk}):
        try:
            found = read_proof([written(head, claims, signature)], DEFAULT_PROOF_ALGORITHMS)
        except InvalidProof:
            pass
        else:
            assert found.thumbprint == KEY.thumbprint
            assert len(found.replay_key) == 64
