"""Proofs that whoever sends a token holds the key that it is bound to, as a server checks them.

Spec: RFC 9449 section 4.3, whose numbers the comments have
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from hmac import compare_digest
from typing import Any, Final
from urllib.parse import quote, unquote

import msgspec

from wigwag.oauth.jwk import PRIVATE_MEMBERS, can_verify, public_key, thumbprint
from wigwag.oauth.jwt import check_header, read_jwt, read_time, type_of
from wigwag.oauth.secret import Secret
from wigwag.oauth.urls import read_url

__all__ = [
    "DEFAULT_PROOF_ALGORITHMS",
    "PROOF_SECONDS",
    "InvalidProof",
    "Proof",
    "check_proof",
    "read_proof",
    "token_hash",
]

PROOF_SECONDS: Final = 300.0
"""How far the time in a proof may be from that of the server, either way."""

DEFAULT_PROOF_ALGORITHMS: Final = ("ES256", "ES384", "ES512", "EdDSA", "Ed25519", "PS256", "RS256")

_MAX_PROOF_CHARACTERS: Final = 8192
_MAX_JTI_CHARACTERS: Final = 256
# Verifying with a longer key, which its sender chooses, would cost too much.
_MAX_RSA_MODULUS: Final = 683  # 4096 bits

_TYPE: Final = "dpop+jwt"
_unreserved: Final = re.compile(r"[A-Za-z0-9._~-]")


class InvalidProof(Exception):
    """A proof proves nothing; the text says why, and has nothing of it."""


class Proof(msgspec.Struct, frozen=True):
    """A proof that is well-formed; its signature is yet to be verified."""

    algorithm: str
    key: Mapping[str, str]
    """Only what makes the key."""

    thumbprint: str
    claims: Mapping[str, Any]

    def __repr__(self) -> str:
        return "Proof(…)"

    @property
    def nonce(self) -> object:
        """What it has of the server."""
        return self.claims.get("nonce")

    @property
    def replay_key(self) -> str:
        """What tells it from all other proofs."""
        told_apart = f"{self.thumbprint}.{self.claims['jti']}"
        return sha256(told_apart.encode()).hexdigest()

    @property
    def good_until(self) -> float:
        """When it can no longer be used, in seconds since 1970."""
        issued_at: float = self.claims["iat"]
        return issued_at + PROOF_SECONDS


def read_proof(values: Sequence[str], algorithms: Collection[str]) -> Proof:
    """Read the lines of a `DPoP` header.

    Args:
        values: The lines.
        algorithms: What proofs may be signed with.

    Raises:
        InvalidProof: There is none, or more than one, or it is not well-formed.
    """
    if len(values) != 1:  # 1
        raise InvalidProof("there is no proof" if not values else "there is more than one proof")
    text = values[0].strip(" \t")
    if len(text) > _MAX_PROOF_CHARACTERS:
        raise InvalidProof(f"the proof has more than {_MAX_PROOF_CHARACTERS} characters")
    try:
        jwt = read_jwt(text)  # 2
        if type_of(jwt) != _TYPE:  # 4
            raise ValueError(f"its typ is not {_TYPE}")
        algorithm = check_header(jwt, algorithms)  # 5
    except ValueError as error:
        raise InvalidProof(f"the proof cannot be used: {error}") from None
    key = _key(jwt.header.get("jwk"), algorithm)
    _check_claims(jwt.claims)
    return Proof(algorithm, key, thumbprint(key), jwt.claims)


def _key(jwk: object, algorithm: str) -> Mapping[str, str]:
    key = public_key(jwk)
    if key is None or not isinstance(jwk, dict) or not can_verify(jwk, algorithm):
        raise InvalidProof("the proof has no public key for its algorithm")
    if PRIVATE_MEMBERS & jwk.keys():  # 7
        raise InvalidProof("the proof has a private key in it, which is now known to others")
    if len(key.get("n", "")) > _MAX_RSA_MODULUS:
        raise InvalidProof("the key of the proof has more than 4096 bits")
    return key


def _check_claims(claims: Mapping[str, Any]) -> None:  # 3
    for name in ("jti", "htm", "htu"):
        if not isinstance(claims.get(name), str) or not claims[name]:
            raise InvalidProof(f"the proof has no {name}")
    if len(claims["jti"]) > _MAX_JTI_CHARACTERS:
        raise InvalidProof(f"the jti of the proof has more than {_MAX_JTI_CHARACTERS} characters")
    if read_time(claims.get("iat")) is None:
        raise InvalidProof("the proof has no iat")


def check_proof(
    proof: Proof, *, method: str, url: str, token: Secret, key_thumbprint: str, now: float
) -> None:
    """Refuse a proof for another request, another token, another key or another time.

    Whether it was signed with its key (6), has the nonce that it must have (10) and was never seen
    before is for the caller to find out.

    Args:
        proof: The proof.
        method: The method of the request.
        url: Its URL, as the client sees it.
        token: The token that came with it.
        key_thumbprint: The key that the token is bound to.
        now: Seconds since 1970.

    Raises:
        InvalidProof: It is.
    """
    claims = proof.claims
    if claims["htm"] != method:  # 8
        raise InvalidProof("the proof is for another method")
    if not _is_same_target(claims["htu"], url):  # 9
        raise InvalidProof("the proof is for another URL")
    if abs(now - claims["iat"]) > PROOF_SECONDS:  # 11
        raise InvalidProof("the proof was made too long ago, or in the future: compare the clocks")
    said = claims.get("ath")  # 12
    if not isinstance(said, str) or not _is_equal(said, token_hash(token)):
        raise InvalidProof("the proof is for another token")
    if not _is_equal(proof.thumbprint, key_thumbprint):
        raise InvalidProof("the proof was made with another key than that of the token")


def token_hash(token: Secret) -> str:
    """Return what a proof calls a token: `ath`."""
    digest = sha256(token.reveal().encode()).digest()
    return urlsafe_b64encode(digest).rstrip(b"=").decode()


def _is_equal(one: str, other: str) -> bool:
    return compare_digest(one.encode(), other.encode())


def _is_same_target(named: str, url: str) -> bool:
    """Compare URLs without query and fragment, after what RFC 3986 says means the same."""
    try:
        one, other = read_url(named), read_url(url)
    except ValueError:
        return False
    return one.origin == other.origin and _normal(one.path) == _normal(other.path)


def _normal(path: str) -> str:
    return re.sub(r"%[0-9A-Fa-f]{2}", _normal_escape, path) or "/"


def _normal_escape(escape: re.Match[str]) -> str:
    character = unquote(escape[0], "latin-1")
    return character if _unreserved.fullmatch(character) else quote(character, "", "latin-1")
