"""Tokens that only the holder of a key can use (DPoP, RFC 9449), as far as a client goes.

Making a proof needs a key, a clock and chance: it comes in as a callable.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

from wigwag.oauth.requests import HttpResponse
from wigwag.oauth.secret import Secret
from wigwag.oauth.storage import Tokens
from wigwag.oauth.urls import read_url

__all__ = [
    "MakeProof",
    "authorization_headers",
    "demanded_nonce",
    "is_nonce",
    "nonce_of",
    "proof_claims",
]

_MAX_NONCE_CHARACTERS: Final = 1024


class MakeProof(Protocol):
    """Signs a proof for one request, with `proof_claims` and the public key in its header."""

    def __call__(
        self, method: str, url: str, *, nonce: str | None, access_token: Secret | None
    ) -> Secret:
        """Return the signed JWT; a new one each time."""
        ...


def proof_claims(
    method: str, url: str, *, now: float, jti: str, nonce: str | None, token_hash: str | None
) -> dict[str, Any]:
    """Return the claims of a proof, to be signed.

    Spec: RFC 9449 section 4.2

    Args:
        method: The method of the request.
        url: Its URL; query and fragment are left out.
        now: Seconds since 1970.
        jti: Unguessable, and never used before.
        nonce: What the server last wanted in it.
        token_hash: The SHA-256 of the access token in Base64url, when one is sent along.
    """
    parts = read_url(url)
    claims: dict[str, Any] = {
        "jti": jti,
        "htm": method,
        "htu": f"{parts.origin}{parts.path}",
        "iat": int(now),
    }
    if nonce is not None:
        claims["nonce"] = nonce
    if token_hash is not None:
        claims["ath"] = token_hash
    return claims


def is_nonce(text: str) -> bool:
    """Tell whether a text that a server sends can be what it wants in the next proof."""
    return text.isascii() and text.isprintable() and 0 < len(text) <= _MAX_NONCE_CHARACTERS


def nonce_of(response: HttpResponse) -> str | None:
    """Return the nonce that a server wants in the next proof."""
    return next(filter(is_nonce, response.values("dpop-nonce")), None)


def demanded_nonce(response: HttpResponse, error: str | None) -> str | None:
    """Return the nonce with which the refused request may be made once more.

    Spec: RFC 9449 sections 8 and 9
    """
    return nonce_of(response) if error == "use_dpop_nonce" else None


def authorization_headers(
    tokens: Tokens, proof: MakeProof | None, method: str, url: str, *, nonce: str | None = None
) -> dict[str, str]:
    """Return the headers with which a request to the MCP server is authorized.

    Spec: basic/authorization#token-requirements

    Raises:
        ValueError: The token needs proofs, and nothing is there to make them.
    """
    token = tokens.access_token
    if tokens.token_type == "Bearer":
        return {"authorization": f"Bearer {token.reveal()}"}
    if proof is None:
        raise ValueError("this token is bound to a key, which is not there")
    signed = proof(method, url, nonce=nonce, access_token=token)
    return {"authorization": f"DPoP {token.reveal()}", "dpop": signed.reveal()}
