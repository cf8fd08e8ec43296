"""Tests of keys: what they sign is verified with what others are given to verify it with."""

import asyncio
import json
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from joserfc import jwt
from joserfc.jwk import ECKey, OKPKey, RSAKey

from wigwag.client.authorization.keys import (
    SigningKey,
    assertion_signer,
    kept_proof_key,
    proof_maker,
    read_signing_key,
)
from wigwag.errors import AuthorizationFailed
from wigwag.oauth.secret import Secret
from wigwag.stores.memory_tokens import MemoryTokenStore

pytestmark = pytest.mark.anyio

NOW = 1_700_000_000.0
P256 = ec.generate_private_key(ec.SECP256R1())


@cache
def rsa_2048() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


def pem_of(key: Any, password: bytes | None = None) -> str:
    return str(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption()
            if password is None
            else serialization.BestAvailableEncryption(password),
        ).decode()
    )


def public_pem_of(key: Any) -> str:
    return str(
        key.public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        .decode()
    )


def verified(token: Secret, key: Any, algorithm: str) -> Any:
    """Return a JWT that others have verified."""
    found = jwt.decode(token.reveal(), key, algorithms=[algorithm])
    assert found.header["alg"] == algorithm
    return found


@pytest.mark.parametrize(
    ("make", "kind", "algorithm"),
    [
        (lambda: P256, ECKey, "ES256"),
        (lambda: ec.generate_private_key(ec.SECP384R1()), ECKey, "ES384"),
        (lambda: ec.generate_private_key(ec.SECP521R1()), ECKey, "ES512"),
        (rsa_2048, RSAKey, "RS256"),
    ],
)
async def test_the_kind_of_the_key_says_how_it_signs(
    make: Callable[[], Any], kind: Any, algorithm: str
) -> None:
    pem = pem_of(key := make())
    sign = assertion_signer(await read_signing_key(pem), clock=lambda: NOW)
    found = verified(
        sign("my-client", "https://as.example"), kind.import_key(public_pem_of(key)), algorithm
    )
    assert found.header == {"typ": "JWT", "alg": algorithm}
    jti = found.claims.pop("jti")
    assert len(jti) == 32
    assert found.claims == {
        "iss": "my-client",
        "sub": "my-client",
        "aud": "https://as.example",
        "iat": NOW,
        "exp": NOW + 60,
    }
    again = jwt.decode(
        sign("my-client", "https://as.example").reveal(),
        kind.import_key(public_pem_of(key)),
        algorithms=[algorithm],
    )
    assert again.claims["jti"] != jti


async def test_ed25519_signs_too_under_both_its_names() -> None:
    pem = pem_of(key := ed25519.Ed25519PrivateKey.generate())
    signing = await read_signing_key(pem)
    assert (signing.algorithm(), signing.algorithm(["Ed25519"])) == ("EdDSA", "Ed25519")
    sign = assertion_signer(signing, algorithms=["ES256", "Ed25519"])
    assert verified(sign("a", "b"), OKPKey.import_key(public_pem_of(key)), "Ed25519")
    head = assertion_signer(signing)("a", "b").reveal().partition(".")[0]
    assert json.loads(_decoded(head))["alg"] == "EdDSA"


def _decoded(part: str) -> bytes:
    import base64  # noqa: PLC0415 - for this alone

    return base64.urlsafe_b64decode(part + "==")


async def test_what_is_listed_decides_where_a_key_can_do_several() -> None:
    key = await read_signing_key(pem_of(rsa_2048()))
    assert key.algorithm() == "RS256"
    assert key.algorithm(["PS256", "ES256"]) == "PS256"
    sign = assertion_signer(key, algorithms=["PS256"])
    assert verified(sign("a", "b"), RSAKey.import_key(public_pem_of(rsa_2048())), "PS256")
    with pytest.raises(ValueError, match=r"signs with RS256 or PS256, and only ES256 is taken"):
        assertion_signer(key, algorithms=["ES256"])


async def test_a_key_may_be_a_jwk_and_then_its_name_goes_along(tmp_path: Path) -> None:
    jwk = ECKey.generate_key("P-256").as_dict(private=True) | {"kid": "key-1"}
    (tmp_path / "key.json").write_text(json.dumps(jwk))
    for source in (jwk, json.dumps(jwk), f"\n {json.dumps(jwk)}", tmp_path / "key.json"):
        key = await read_signing_key(source)
        found = verified(
            assertion_signer(key)("a", "b"), ECKey.import_key(key.public_jwk()), "ES256"
        )
        assert found.header["kid"] == "key-1"
        assert "d" not in key.public_jwk()
        assert await read_signing_key(key) is key


async def test_a_key_may_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    path.write_text(pem_of(P256))
    for source in (path, str(path)):
        assert (await read_signing_key(source)).algorithm() == "ES256"
    assert (await read_signing_key(path.read_bytes())).algorithm() == "ES256"


async def test_a_key_may_be_encrypted() -> None:
    pem = pem_of(P256, b"secret")
    assert (await read_signing_key(pem, password="secret")).algorithm() == "ES256"
    with pytest.raises(ValueError, match="is encrypted: give its password"):
        await read_signing_key(pem)
    with pytest.raises(ValueError, match="or the password is wrong"):
        await read_signing_key(pem, password="another")
    with pytest.raises(ValueError, match="is not encrypted"):
        await read_signing_key(pem_of(P256), password="secret")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (public_pem_of(P256), "this is a public key"),
        (json.dumps(ECKey.import_key(public_pem_of(P256)).as_dict()), "this is a public key"),
        ("-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----", "no private key"),
        ("{secret", "no private key"),
        ('{"kty":"EC","crv":"P-256","d":"secret"}', "no private key"),
        ('{"kty":"EC","crv":"P-256","x":["secret"]}', "no private key"),
        ({"kty": "oct", "k": "secret"}, "its kty must be EC, RSA or OKP"),
        ({"secret": 1}, "its kty must be EC, RSA or OKP"),
        ("{" * 100_000, "no private key"),
        (b"\xff\0secret", "no private key"),
        (pem_of(ec.generate_private_key(ec.SECP256K1())), "secp256k1 are not used"),
        (pem_of(rsa.generate_private_key(65537, 1024)), "less than 2048 bits"),
        (pem_of(ed448.Ed448PrivateKey.generate()), "keys of this kind are not used"),
    ],
)
@pytest.mark.filterwarnings("ignore:Key size should be >= 2048 bits")
async def test_what_is_no_key_to_sign_with_is_refused_and_not_shown(source: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said) as refused:
        await read_signing_key(source)
    assert "secret" not in str(refused.value)
    assert refused.value.__cause__ is None


async def test_a_file_that_is_no_key_is_named(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    with pytest.raises(AuthorizationFailed, match=r"read from .*key.pem: No such file"):
        await read_signing_key(path)
    path.write_text("secret")
    with pytest.raises(ValueError, match=r"key.pem: this is no private key") as refused:
        await read_signing_key(path)
    assert "secret" not in str(refused.value)
    with pytest.raises(AuthorizationFailed) as failed:  # a key that has lost its first line
        await read_signing_key("MIGHAgEAMBMGByqGSM49secret" * 20)
    assert str(failed.value).startswith("the private key cannot be read from what `key` names: ")
    with pytest.raises(AuthorizationFailed) as failed:  # no key at all
        await read_signing_key("hunter2")
    assert "hunter2" not in str(failed.value)


async def test_a_key_shows_nothing_of_itself() -> None:
    key = await read_signing_key(pem_of(P256))
    assert repr(key) == str(key) == "SigningKey(P-256)"


def test_a_proof_is_for_one_request_and_one_token() -> None:
    key = SigningKey.generate()
    make = proof_maker(key, clock=lambda: NOW)
    first = make("POST", "https://as.example/token?x=1", nonce=None, access_token=None)
    found = verified(first, ECKey.import_key(key.public_jwk()), "ES256")
    assert found.header == {"typ": "dpop+jwt", "alg": "ES256", "jwk": key.public_jwk()}
    assert set(key.public_jwk()) == {"kty", "crv", "x", "y"}
    jti = found.claims.pop("jti")
    assert found.claims == {"htm": "POST", "htu": "https://as.example/token", "iat": NOW}
    second = make("GET", "https://mcp.example/mcp", nonce="n", access_token=Secret("abc"))
    found = verified(second, ECKey.import_key(key.public_jwk()), "ES256")
    assert found.claims.pop("jti") != jti
    assert found.claims == {
        "htm": "GET",
        "htu": "https://mcp.example/mcp",
        "iat": NOW,
        "nonce": "n",
        # The SHA-256 of "abc", of FIPS 180, in Base64url.
        "ath": "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0",
    }


def test_a_proof_says_of_the_key_no_more_than_it_must() -> None:
    jwk = ECKey.generate_key("P-256", {"kid": "mine", "use": "sig"})
    made = proof_maker(SigningKey(jwk))("GET", "https://a.example", nonce=None, access_token=None)
    header = json.loads(_decoded(made.reveal().partition(".")[0]))
    assert set(header["jwk"]) == {"kty", "crv", "x", "y"}


def test_the_thumbprint_is_that_of_the_standard() -> None:
    key = SigningKey.generate()
    assert key.thumbprint == ECKey.import_key(key.public_jwk()).thumbprint()


async def test_the_key_of_tokens_outlives_the_process_and_is_of_one_server() -> None:
    store = MemoryTokenStore()
    key = await kept_proof_key(store, "https://mcp.example/mcp?key=1")
    again = await kept_proof_key(store, "https://MCP.example/mcp/")
    assert again.to_bytes() == key.to_bytes()
    other = await kept_proof_key(store, "https://mcp.example/other")
    assert other.thumbprint != key.thumbprint
    assert await store.keys() == (
        "key https://mcp.example/mcp",
        "key https://mcp.example/other",
    )


async def test_one_key_is_made_however_many_want_it_first() -> None:
    store = MemoryTokenStore()
    keys = await asyncio.gather(*(kept_proof_key(store, "https://mcp.example") for _ in range(5)))
    assert len({key.thumbprint for key in keys}) == 1


@pytest.mark.parametrize("kept", [b"\xff", b"{}", b"", b'{"kty":"oct","k":"c2VjcmV0"}'])
async def test_a_key_that_is_damaged_is_made_anew(kept: bytes) -> None:
    store = MemoryTokenStore()
    await store.save("key https://mcp.example", kept)
    key = await kept_proof_key(store, "https://mcp.example")
    assert await store.load("key https://mcp.example") == key.to_bytes()


async def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "joserfc", None)
    with pytest.raises(AuthorizationFailed, match=r"joserfc.*pip install 'wigwag\[auth\]'"):
        SigningKey.generate()
    with pytest.raises(AuthorizationFailed, match="joserfc"):
        await read_signing_key(os.fsencode(pem_of(P256)))
