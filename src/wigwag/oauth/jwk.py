"""Public keys as JSON (RFC 7517): which are sound, what each may verify, and their thumbprints."""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

import msgspec

__all__ = ["ALGORITHMS", "PRIVATE_MEMBERS", "can_verify", "public_key", "thumbprint"]

# Only those of which the verifier need not know a secret: what each needs for a key.
ALGORITHMS: Final[Mapping[str, tuple[str, str | None]]] = {
    "RS256": ("RSA", None),
    "RS384": ("RSA", None),
    "RS512": ("RSA", None),
    "PS256": ("RSA", None),
    "PS384": ("RSA", None),
    "PS512": ("RSA", None),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
    "Ed25519": ("OKP", "Ed25519"),
}

PRIVATE_MEMBERS: Final = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})

# What makes the key, in the order of its thumbprint: RFC 7638 section 3.2.
_MEMBERS: Final[Mapping[str, tuple[str, ...]]] = {
    "RSA": ("e", "kty", "n"),
    "EC": ("crv", "kty", "x", "y"),
    "OKP": ("crv", "kty", "x"),
}

_is_base64url: Final = re.compile(r"[A-Za-z0-9_-]++").fullmatch

# Characters of Base64url. Shorter keys of RSA can be broken, longer ones take long to use, and so
# do large exponents.
_RSA_MODULUS: Final = (342, 1366)  # 2048 to 8192 bits
_RSA_EXPONENT: Final = (2, 6)
_SIZES: Final[Mapping[str, int]] = {"P-256": 43, "P-384": 64, "P-521": 88, "Ed25519": 43}


def public_key(jwk: object) -> dict[str, str] | None:
    """Return the members that make a public key; `None` if it is none that can be used.

    Whether its numbers are those of a key shows only when it is used.
    """
    if not isinstance(jwk, dict):
        return None
    members = _MEMBERS.get(jwk["kty"]) if isinstance(jwk.get("kty"), str) else None
    if members is None:
        return None
    key = {name: jwk.get(name) for name in members}
    if not all(isinstance(value, str) and len(value) <= _RSA_MODULUS[1] for value in key.values()):
        return None
    return key if _has_sound_numbers(key) else None  # type: ignore[return-value]


def _has_sound_numbers(key: Mapping[str, Any]) -> bool:
    if key["kty"] == "RSA":
        return (
            _is_number(key["n"], *_RSA_MODULUS) and _is_number(key["e"], *_RSA_EXPONENT)
        )  # fmt: skip
    size = _SIZES.get(key["crv"])
    if size is None or (key["kty"] == "OKP") != (key["crv"] == "Ed25519"):
        return False
    return all(_is_number(key[name], size, size) for name in ("x", "y") if name in key)


def _is_number(text: str, least: int, most: int) -> bool:
    return least <= len(text) <= most and _is_base64url(text) is not None


def can_verify(jwk: Mapping[str, Any], algorithm: str) -> bool:
    """Tell whether a key is made for an algorithm, and meant for it."""
    needed = ALGORITHMS.get(algorithm)
    if needed is None or jwk.get("kty") != needed[0] or jwk.get("crv") != needed[1]:
        return False
    if jwk.get("use", "sig") != "sig":
        return False
    operations = jwk.get("key_ops", ["verify"])
    if not isinstance(operations, list) or "verify" not in operations:
        return False
    meant = jwk.get("alg", algorithm)
    return isinstance(meant, str) and (
        meant == algorithm or ALGORITHMS.get(meant, ("", ""))[0] == needed[0] == "OKP"
    )


def thumbprint(key: Mapping[str, str]) -> str:
    """Return the SHA-256 thumbprint of a key (RFC 7638), as tokens name it in `cnf.jkt`.

    Args:
        key: What `public_key` returns.
    """
    ordered = {name: key[name] for name in _MEMBERS[key["kty"]]}
    digest = sha256(msgspec.json.encode(ordered)).digest()
    return urlsafe_b64encode(digest).rstrip(b"=").decode()
