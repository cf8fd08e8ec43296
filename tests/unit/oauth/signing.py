"""Real keys, and JWTs signed with them, right or wrong."""

import base64
import hashlib
import hmac
import json
import secrets
from functools import cache
from typing import Any

from joserfc import jwk
from joserfc.jws import JWSRegistry

from wigwag.oauth.dpop import proof_claims
from wigwag.oauth.jwk import public_key, thumbprint
from wigwag.oauth.proofs import token_hash
from wigwag.oauth.secret import Secret


def b64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


class SigningKey:
    """A key pair."""

    def __init__(self, kind: Any, size: Any, kid: str | None = None) -> None:
        self.key: Any = jwk.generate_key(kind, size, auto_kid=False)
        self.kid = kid

    @property
    def jwk(self) -> dict[str, Any]:
        public: dict[str, Any] = dict(self.key.as_dict(private=False))
        return public if self.kid is None else {**public, "kid": self.kid}

    @property
    def private_jwk(self) -> dict[str, Any]:
        return dict(self.key.as_dict(private=True))

    @property
    def thumbprint(self) -> str:
        public = public_key(self.jwk)
        assert public is not None
        return thumbprint(public)

    def sign(self, claims: Any, alg: str = "ES256", /, **header: Any) -> str:
        """Sign claims; the header says what it is told."""
        names = {} if self.kid is None else {"kid": self.kid}
        head = {"alg": alg, **names, **header}
        signed = f"{b64(json.dumps(head).encode())}.{b64(json.dumps(claims).encode())}"
        signature = JWSRegistry.algorithms[alg].sign(signed.encode(), self.key)
        return f"{signed}.{b64(signature)}"


@cache
def elliptic(kid: str | None = None) -> SigningKey:
    return SigningKey("EC", "P-256", kid)


@cache
def rsa(kid: str | None = None) -> SigningKey:
    return SigningKey("RSA", 2048, kid)


@cache
def edwards(kid: str | None = None) -> SigningKey:
    return SigningKey("OKP", "Ed25519", kid)


def unsigned(claims: Any, **header: Any) -> str:
    head = {"alg": "none", **header}
    return f"{b64(json.dumps(head).encode())}.{b64(json.dumps(claims).encode())}."


def with_secret(secret: bytes, claims: Any, **header: Any) -> str:
    """Sign with HMAC, as who confuses keys would have it."""
    head = {"alg": "HS256", **header}
    signed = f"{b64(json.dumps(head).encode())}.{b64(json.dumps(claims).encode())}"
    tag = hmac.digest(secret, signed.encode(), hashlib.sha256)
    return f"{signed}.{b64(tag)}"


def prove(
    key: SigningKey,
    url: str,
    token: str,
    *,
    now: float,
    method: str = "POST",
    nonce: str | None = None,
    alg: str = "ES256",
    header: dict[str, Any] | None = None,
    **changes: Any,
) -> str:
    """Make a proof; changes replace claims, and `...` leaves one out."""
    claims = proof_claims(
        method,
        url,
        now=now,
        jti=secrets.token_urlsafe(),
        nonce=nonce,
        token_hash=token_hash(Secret(token)),
    )
    claims = {name: value for name, value in {**claims, **changes}.items() if value is not ...}
    head = {"typ": "dpop+jwt", "jwk": key.jwk, **(header or {})}
    return key.sign(claims, alg, **head)
