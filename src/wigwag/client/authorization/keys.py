"""Private keys of clients: what signs assertions, and proofs that a token is in the right hands.

Nothing here shows a key, and no key leaves it but into the store.
Spec: RFC 7523 for assertions, RFC 9449 for proofs (DPoP)
"""

from __future__ import annotations

import os
import secrets
import time
import warnings
from base64 import urlsafe_b64encode
from collections.abc import Callable, Collection, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from wigwag.errors import AuthorizationFailed
from wigwag.oauth.client_authentication import SignAssertion, assertion_claims
from wigwag.oauth.dpop import MakeProof, proof_claims
from wigwag.oauth.secret import Secret
from wigwag.oauth.urls import canonical_resource, read_url
from wigwag.stores.contract import TokenStore
from wigwag.stores.threads import call_in_thread

if TYPE_CHECKING:
    from joserfc.jwk import ECKey, OKPKey, RSAKey

    AnyKey: TypeAlias = ECKey | OKPKey | RSAKey

__all__ = [
    "KeySource",
    "SigningKey",
    "assertion_signer",
    "kept_proof_key",
    "proof_maker",
    "read_signing_key",
]

KeySource: TypeAlias = "str | bytes | os.PathLike[str] | Mapping[str, Any] | SigningKey"
"""A private key: the text of a PEM or JWK, a file that holds one, or a JWK as a mapping."""

_MAX_FILE_BYTES: Final = 64 * 1024
_MIN_RSA_BITS: Final = 2048

# Of each kind of key, the most widely known first.
_ALGORITHMS: Final = {
    "RSA": ("RS256", "PS256"),
    "P-256": ("ES256",),
    "P-384": ("ES384",),
    "P-521": ("ES512",),
    "Ed25519": ("EdDSA", "Ed25519"),
}


class SigningKey:
    """A private key; `read_signing_key` reads one, `generate` makes one.

    Args:
        key: The key, as joserfc has it.

    Raises:
        ValueError: It cannot sign, is none that is used for this, or is too short.
    """

    def __init__(self, key: AnyKey) -> None:
        kind = str(key.as_dict(private=False).get("crv", key.key_type))
        if not key.is_private:
            raise ValueError("this is a public key: to sign takes the private one")
        if kind not in _ALGORITHMS:
            raise ValueError(f"keys of the kind {kind} are not used: make one of P-256 or RSA")
        if key.key_type == "RSA" and _bits_of(key) < _MIN_RSA_BITS:
            raise ValueError(f"an RSA key of less than {_MIN_RSA_BITS} bits protects nothing")
        self._key = key
        self._kind = kind

    @classmethod
    def generate(cls) -> SigningKey:
        """Make a new key, for ES256.

        Raises:
            AuthorizationFailed: joserfc is not installed.
        """
        return cls(_jwk().ECKey.generate_key("P-256"))

    def __repr__(self) -> str:
        return f"SigningKey({self._kind})"

    @property
    def thumbprint(self) -> str:
        """What tells the public key from all others (RFC 7638)."""
        return self._key.thumbprint()

    def public_jwk(self) -> dict[str, Any]:
        """Return the public key, for others to verify with."""
        return dict(self._key.as_dict(private=False))

    def to_bytes(self) -> bytes:
        """Return the private key as a JWK; for the store, and for nothing else."""
        return msgspec.json.encode(self._key.as_dict(private=True))

    def algorithm(self, listed: Collection[str] | None = None) -> str:
        """Return the algorithm to sign with.

        Args:
            listed: Those that whoever verifies knows, if it has said so.

        Raises:
            ValueError: They know none that this key can do.
        """
        able = _ALGORITHMS[self._kind]
        chosen = next((each for each in able if listed is None or each in listed), None)
        if chosen is None:
            raise ValueError(
                f"a key of the kind {self._kind} signs with {' or '.join(able)}, and only "
                f"{', '.join(sorted(listed or ()))} is taken: use another key"
            )
        return chosen

    def sign(self, header: Mapping[str, Any], claims: Mapping[str, Any], algorithm: str) -> Secret:
        """Return claims as a signed JWT."""
        from joserfc import jwt  # noqa: PLC0415 - only for who has a key, which it has made

        wanted = {**header, "alg": algorithm}
        with warnings.catch_warnings():
            if algorithm == "EdDSA":  # RFC 9864 has a new name for it, which few know yet
                warnings.simplefilter("ignore")
            return Secret(jwt.encode(wanted, dict(claims), self._key, algorithms=[algorithm]))


def _bits_of(key: AnyKey) -> int:
    return int(getattr(key.raw_value, "key_size", 0))


async def read_signing_key(source: KeySource, *, password: str | None = None) -> SigningKey:
    """Read a private key.

    Args:
        source: The text of a PEM or JWK, a file that holds one, or a JWK as a mapping.
        password: What a PEM is encrypted with, if it is.

    Raises:
        ValueError: It is no private key, or none that can be used; the text says why, and shows
            nothing of it.
        AuthorizationFailed: The file cannot be read, or joserfc is not installed.
    """
    if isinstance(source, SigningKey):
        return source
    if isinstance(source, Mapping):
        return _from_jwk(dict(source))
    if isinstance(source, bytes):
        return _from_text(source, password)
    if isinstance(source, str) and source.lstrip()[:1] in ("-", "{"):
        return _from_text(source.encode(), password)
    path = Path(source)
    try:
        data = await call_in_thread(lambda: _bytes_of(path))
    except (OSError, ValueError) as error:  # a text that can be no path
        reason = getattr(error, "strerror", None) or type(error).__name__
        # A text may be the key itself, or some other secret, by mistake.
        where = path if isinstance(source, os.PathLike) else "what `key` names"
        raise AuthorizationFailed(
            f"the private key cannot be read from {where}: {reason}",
            "",
            "give the file, or the text, of a PEM or JWK",
        ) from None
    try:
        return _from_text(data, password)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _bytes_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_MAX_FILE_BYTES)


def _from_text(data: bytes, password: str | None) -> SigningKey:
    if data.lstrip().startswith(b"{"):
        try:
            found = msgspec.json.decode(data, type=dict[str, Any])
        except (msgspec.MsgspecError, RecursionError):
            raise ValueError(_NO_KEY) from None
        return _from_jwk(found)
    return _from_pem(data, password)


_NO_KEY: Final = "this is no private key in the form of a PEM or JWK"


def _from_jwk(found: dict[str, Any]) -> SigningKey:
    kinds = _jwk()
    classes = {"EC": kinds.ECKey, "RSA": kinds.RSAKey, "OKP": kinds.OKPKey}
    kind = found.get("kty")
    if kind not in classes:
        raise ValueError("this JWK is no private key: its kty must be EC, RSA or OKP")
    try:
        key = classes[kind].import_key(found)
    except Exception:  # noqa: BLE001 - what a library makes of it may hold what is in it
        raise ValueError(_NO_KEY) from None
    return SigningKey(key)


def _from_pem(data: bytes, password: str | None) -> SigningKey:
    kinds = _jwk()
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - as joserfc
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

    if b"PUBLIC KEY-----" in data:
        raise ValueError("this is a public key: to sign takes the private one")
    given = None if password is None else password.encode()
    try:
        found = load_pem_private_key(data, given)
    except TypeError:
        said = "is encrypted: give its password" if given is None else "is not encrypted"
        raise ValueError(f"this private key {said}") from None
    except (ValueError, UnsupportedAlgorithm):
        wrong = "" if given is None else ", or the password is wrong"
        raise ValueError(f"{_NO_KEY}{wrong}") from None
    match found:
        case ec.EllipticCurvePrivateKey():
            return SigningKey(kinds.ECKey.import_key(found))
        case rsa.RSAPrivateKey():
            return SigningKey(kinds.RSAKey.import_key(found))
        case ed25519.Ed25519PrivateKey():
            return SigningKey(kinds.OKPKey.import_key(found))
    raise ValueError("keys of this kind are not used: make one of P-256 or RSA")


def _jwk() -> Any:
    try:
        from joserfc import jwk  # noqa: PLC0415 - only for who has a key
    except ImportError:
        raise AuthorizationFailed(
            "to sign takes joserfc, which is not installed", "", "pip install 'wigwag[auth]'"
        ) from None
    return jwk


def assertion_signer(
    key: SigningKey,
    *,
    algorithms: Collection[str] | None = None,
    clock: Callable[[], float] = time.time,
) -> SignAssertion:
    """Return what proves by assertions who the client is (`private_key_jwt`).

    Args:
        key: Its private key.
        algorithms: Those that the authorization server knows, if that is known.
        clock: Tells the seconds since 1970.

    Raises:
        ValueError: The key can do none of the algorithms.
    """
    algorithm = key.algorithm(algorithms)
    key_id = key.public_jwk().get("kid")
    header = {"typ": "JWT"} if key_id is None else {"typ": "JWT", "kid": key_id}

    def sign(client_id: str, audience: str) -> Secret:
        claims = assertion_claims(client_id, audience, now=clock(), jti=_unguessable())
        return key.sign(header, claims, algorithm)

    return sign


def proof_maker(
    key: SigningKey,
    *,
    algorithms: Collection[str] | None = None,
    clock: Callable[[], float] = time.time,
) -> MakeProof:
    """Return what makes proofs that the client holds the key of its tokens (DPoP).

    Args:
        key: The private key.
        algorithms: Those that the authorization server knows, if that is known.
        clock: Tells the seconds since 1970.

    Raises:
        ValueError: The key can do none of the algorithms.
    """
    algorithm = key.algorithm(algorithms)
    public = {name: value for name, value in key.public_jwk().items() if name in _PUBLIC}
    header = {"typ": "dpop+jwt", "jwk": public}

    def make(method: str, url: str, *, nonce: str | None, access_token: Secret | None) -> Secret:
        token_hash = None if access_token is None else _hash_of(access_token)
        claims = proof_claims(
            method, url, now=clock(), jti=_unguessable(), nonce=nonce, token_hash=token_hash
        )
        return key.sign(header, claims, algorithm)

    return make


# What of a JWK is the public key itself.
_PUBLIC: Final = ("kty", "crv", "x", "y", "n", "e")


def _unguessable() -> str:
    return secrets.token_urlsafe(24)


def _hash_of(token: Secret) -> str:
    digest = sha256(token.reveal().encode("ascii")).digest()
    return urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def proof_key_key(server_url: str) -> str:
    """Return where the key of the tokens for an MCP server is kept."""
    return f"key {canonical_resource(read_url(server_url))}"


async def kept_proof_key(store: TokenStore, server_url: str) -> SigningKey:
    """Return the key that tokens for an MCP server are bound to, and make it if there is none.

    Each server has one of its own, so that servers cannot tell that they have the same client.

    Args:
        store: Where it is kept, so that tokens stay good after a restart.
        server_url: The URL of the MCP server.

    Raises:
        ValueError: The URL cannot be used.
        AuthorizationFailed: The store cannot be used, or joserfc is not installed.
    """
    name = proof_key_key(server_url)
    found = _from_store(await store.load(name))
    if found is not None:
        return found
    async with store.lock(name):  # two processes must not make two
        found = _from_store(await store.load(name))
        if found is None:
            found = SigningKey.generate()
            await store.save(name, found.to_bytes())
    return found


def _from_store(value: bytes | None) -> SigningKey | None:
    """Read what is kept; what a broken disk has left of it counts as nothing."""
    if value is None:
        return None
    try:
        return _from_text(value, None)
    except ValueError:
        return None
