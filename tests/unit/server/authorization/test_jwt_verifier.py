import time
from typing import Any

import pytest

from tests.unit.oauth.signing import SigningKey, edwards, elliptic, rsa
from tests.unit.server.authorization.issuer_server import issuer_server
from wigwag import InvalidToken, JwtVerifier, VerifierUnavailable
from wigwag.oauth.secret import Secret
from wigwag.server.authorization.fetching import fetch_from
from wigwag.server.authorization.issuer_keys import FetchedKeys

pytestmark = pytest.mark.anyio

RESOURCE = "https://mcp.example/mcp"
ISSUER = "https://as.example"


def claims(**changes: Any) -> dict[str, Any]:
    now = time.time()
    good = {"iss": ISSUER, "sub": "ada", "aud": RESOURCE, "exp": now + 300, "iat": now}
    return {name: value for name, value in {**good, **changes}.items() if value is not ...}


async def test_the_issuer_is_all_that_is_needed() -> None:
    async with issuer_server() as server:
        server.keys = [elliptic("a").jwk, rsa("b").jwk, edwards("c").jwk]
        verifier = JwtVerifier(server.issuer)
        for key, alg in ((elliptic("a"), "ES256"), (rsa("b"), "RS256"), (edwards("c"), "EdDSA")):
            found = await verifier.verify(Secret(server.sign(key, alg, roles=["x"])), RESOURCE)
            assert found is not None
            assert found.principal.subject == "ada"
            assert found.principal.issuer == server.issuer == verifier.issuer
            assert found.principal.scopes == {"read", "write"}
            assert found.principal.roles == {"x"}
            assert found.client_id == "c1"
            assert found.key_thumbprint is None
            assert found.expires_at == found.principal.claims["exp"]
            assert found.max_age is None
        assert server.asked == ["/.well-known/oauth-authorization-server", "/jwks"]


async def test_an_issuer_without_metadata_may_have_its_keys_at_a_known_place() -> None:
    async with issuer_server() as server:
        server.keys = [elliptic("a").jwk]
        verifier = JwtVerifier("urn:example:issuer", jwks_uri=f"{server.url}/jwks")
        token = server.sign(elliptic("a"), iss="urn:example:issuer")
        assert await verifier.verify(Secret(token), RESOURCE) is not None
        assert server.asked == ["/jwks"]


PEM = elliptic().key.as_pem(private=False)


@pytest.mark.parametrize(
    "keys",
    [
        {"keys": [elliptic().jwk]},
        elliptic().jwk,
        [rsa().jwk, elliptic().jwk],
        PEM,
        PEM.decode(),
        [rsa().key.as_pem(private=False), PEM.decode()],
        [edwards().key.as_pem(private=False), elliptic().jwk],
    ],
)
async def test_keys_may_be_given_in_many_forms(keys: Any) -> None:
    verifier = JwtVerifier(ISSUER, keys=keys)
    assert await verifier.verify(Secret(elliptic().sign(claims())), RESOURCE) is not None
    with pytest.raises(InvalidToken, match="not signed"):
        await verifier.verify(Secret(elliptic("other").sign(claims())), RESOURCE)
    await verifier.aclose()


async def test_what_is_no_jwt_or_of_another_issuer_is_left_to_others() -> None:
    verifier = JwtVerifier(ISSUER, keys=elliptic().jwk)
    for text in (
        "opaque",
        "a.b.c",
        elliptic().sign(claims(iss=f"{ISSUER}/")),
        elliptic().sign(claims(iss=...)),
        elliptic().sign(["iss"]),
    ):
        assert await verifier.verify(Secret(text), RESOURCE) is None


async def test_where_scopes_and_roles_are_can_be_said() -> None:
    verifier = JwtVerifier(
        ISSUER,
        keys=elliptic().jwk,
        audience=["files", "other"],
        scopes_claim="permissions",
        roles_claim="realm_access.roles",
        leeway=0,
    )
    token = elliptic().sign(
        claims(aud="files", permissions=["a"], realm_access={"roles": ["x"]}, scope="no")
    )
    found = await verifier.verify(Secret(token), RESOURCE)
    assert found is not None
    assert found.principal.scopes == {"a"}
    assert found.principal.roles == {"x"}
    with pytest.raises(InvalidToken, match="not for files or other"):
        await verifier.verify(Secret(elliptic().sign(claims())), RESOURCE)


async def test_a_token_that_is_bound_to_a_key_says_to_which() -> None:
    verifier = JwtVerifier(ISSUER, keys=elliptic().jwk)
    token = elliptic().sign(claims(cnf={"jkt": edwards().thumbprint}))
    found = await verifier.verify(Secret(token), RESOURCE)
    assert found is not None
    assert found.key_thumbprint == edwards().thumbprint


async def test_an_issuer_that_writes_at_jwt_can_be_held_to_it() -> None:
    verifier = JwtVerifier(ISSUER, keys=elliptic().jwk, only_at_jwt=True)
    token = elliptic().sign(claims(), typ="at+jwt")
    assert await verifier.verify(Secret(token), RESOURCE) is not None
    with pytest.raises(InvalidToken, match="typ says jwt"):
        await verifier.verify(Secret(elliptic().sign(claims(), typ="JWT")), RESOURCE)


async def test_keys_are_changed_without_a_restart() -> None:
    async with issuer_server() as server:
        now = 0.0
        server.keys = [elliptic("a").jwk]
        verifier = JwtVerifier(server.issuer)
        fetch = fetch_from([server.url], (), None)
        verifier._keys = FetchedKeys(server.issuer, None, fetch, clock=lambda: now)
        assert await verifier.verify(Secret(server.sign(elliptic("a"))), RESOURCE) is not None
        server.keys = [elliptic("b").jwk]
        with pytest.raises(InvalidToken, match="names a key"):  # asked a moment ago
            await verifier.verify(Secret(server.sign(elliptic("b"))), RESOURCE)
        assert server.count("/jwks") == 1
        now += 11
        assert await verifier.verify(Secret(server.sign(elliptic("b"))), RESOURCE) is not None
        assert server.count("/jwks") == 2
        with pytest.raises(InvalidToken, match="names a key"):
            await verifier.verify(Secret(server.sign(elliptic("a"))), RESOURCE)


async def test_an_issuer_that_is_away_costs_nobody_his_token() -> None:
    async with issuer_server() as server:
        verifier = JwtVerifier(server.issuer)
        token = Secret(server.sign(elliptic("a")))
    with pytest.raises(VerifierUnavailable, match="nobody listens"):
        await verifier.verify(token, RESOURCE)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"issuer": "http://as.example"}, "allowed_hosts"),
        ({"issuer": "as.example"}, "cannot be used"),
        ({"jwks_uri": "http://as.example/jwks"}, "not https"),
        ({"jwks_uri": "https://as.example/jwks", "keys": {"keys": []}}, "not both"),
        ({"keys": []}, "none of the keys"),
        ({"keys": "-----BEGIN CERTIFICATE-----"}, "no public key in PEM"),
        ({"keys": [b"nonsense"]}, "no public key in PEM"),
        ({"algorithms": ["HS256"]}, "HS256"),
        ({"algorithms": ["none"]}, "none"),
        ({"algorithms": []}, "nothing"),
        ({"algorithms": "ES256"}, "cannot be signed with"),
        ({"leeway": 121}, "set the clocks"),
        ({"leeway": -1}, "set the clocks"),
        ({"audience": ""}, "name"),
    ],
)
def test_what_makes_no_sense_is_refused_at_the_start(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        JwtVerifier(**{"issuer": ISSUER, **options})


def test_a_key_that_signs_no_tokens_is_refused() -> None:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import x25519  # noqa: PLC0415

    pem = (
        x25519.X25519PrivateKey.generate()
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    with pytest.raises(ValueError, match=r"none of the keys|signs no tokens"):
        JwtVerifier(ISSUER, keys=pem)
    with pytest.raises(ValueError, match="none of the keys"):
        JwtVerifier(ISSUER, keys=SigningKey("EC", "secp256k1").key.as_pem(private=False))


def test_an_issuer_in_a_private_network_by_http_must_be_allowed() -> None:
    issuer = "http://keycloak:8080/realms/a"
    assert JwtVerifier(issuer, allowed_hosts=["Keycloak"]).issuer == issuer
