"""PKCE with S256: proof that who redeems a code is who asked for it.

Spec: basic/authorization/security-considerations#authorization-code-protection
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import Final

from wigwag.oauth.secret import Secret

__all__ = ["RANDOM_BYTES", "challenge_of", "unguessable"]

RANDOM_BYTES: Final = 32
"""How many random bytes a code verifier and a `state` are made of."""


def unguessable(random: bytes) -> str:
    """Write random bytes as a text for a URL: of 32 bytes, 43 characters.

    Raises:
        ValueError: There are too few of them.
    """
    if len(random) < RANDOM_BYTES:
        raise ValueError(f"{RANDOM_BYTES} random bytes are needed")
    return urlsafe_b64encode(random).rstrip(b"=").decode()


def challenge_of(verifier: Secret) -> str:
    """Return the S256 challenge of a code verifier.

    >>> challenge_of(Secret("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"))
    'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
    """
    digest = sha256(verifier.reveal().encode("ascii")).digest()
    return urlsafe_b64encode(digest).rstrip(b"=").decode()
