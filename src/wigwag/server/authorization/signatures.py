"""Verifies signatures, by joserfc; which key and which algorithm was decided before."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["check_installed", "import_key", "is_signed_by", "jwk_of_pem"]

_INSTALL: Final = (
    "verifying signatures needs joserfc, which is not installed: pip install 'wigwag[auth]'"
)


def check_installed() -> None:
    """See to it that signatures can be verified.

    Raises:
        RuntimeError: joserfc is not installed.
    """
    try:
        import joserfc  # noqa: F401, PLC0415 - only for who verifies
    except ImportError:
        raise RuntimeError(_INSTALL) from None


def jwk_of_pem(pem: str | bytes) -> dict[str, Any]:
    """Return a public key as a JWK.

    Raises:
        ValueError: It is none.
    """
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_public_key  # noqa: PLC0415
    from joserfc import errors, jwk  # noqa: PLC0415

    raw = pem.encode() if isinstance(pem, str) else pem
    try:
        loaded = load_pem_public_key(raw)
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError(
            "a key is no public key in PEM, which begins with -----BEGIN PUBLIC KEY-----"
        ) from None
    kinds: tuple[tuple[type[Any], Any], ...] = (
        (rsa.RSAPublicKey, jwk.RSAKey),
        (ec.EllipticCurvePublicKey, jwk.ECKey),
        (ed25519.Ed25519PublicKey, jwk.OKPKey),
    )
    for kind, key in kinds:
        if isinstance(loaded, kind):
            try:
                return dict(key.import_key(raw).as_dict(private=False))
            except (errors.JoseError, ValueError, KeyError):
                break
    raise ValueError("a key is of a kind that signs no tokens")


def import_key(key: Mapping[str, str]) -> Any:
    """Return a key that `is_signed_by` takes.

    Args:
        key: What makes it, and nothing else: `public_key` returns that.

    Raises:
        ValueError: Its numbers are not those of a key.
        RuntimeError: joserfc is not installed.
    """
    check_installed()
    from joserfc import errors, jwk  # noqa: PLC0415 - only for who verifies

    try:
        imported = jwk.import_key(dict(key))
        imported.public_key  # noqa: B018 - an impossible point shows here
    except (errors.JoseError, ValueError) as error:
        raise ValueError("its numbers are not those of a key") from error
    return imported


def is_signed_by(text: str, algorithm: str, key: Any) -> bool:
    """Tell whether a JWT was signed with a key.

    Args:
        text: All of the JWT.
        algorithm: How: one of `ALGORITHMS`, and one that the key is made for.
        key: What `import_key` returned.
    """
    from joserfc import errors  # noqa: PLC0415 - only for who verifies
    from joserfc.jws import JWSRegistry  # noqa: PLC0415

    signed, _, signature = text.rpartition(".")
    try:
        decoded = urlsafe_b64decode(signature + "=" * (-len(signature) % 4))
        # Taken from the table, not by the header of the token: no token decides what is checked.
        # An older joserfc knows Ed25519 by the name of its family only.
        known = JWSRegistry.algorithms
        is_old = algorithm == "Ed25519" and algorithm not in known
        method = known["EdDSA" if is_old else algorithm]
        method.check_key(key)
        return method.verify(signed.encode(), decoded, key)
    except (errors.JoseError, ValueError):
        return False
