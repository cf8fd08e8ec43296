"""Seals what the client carries for the server, so that nobody but the server can have made it.

With `cryptography` installed a seal hides and authenticates (AES-256-GCM); without, it only
authenticates (HMAC-SHA256), and the client could read what it says.
Spec: basic/utilities/mrtr#request-state
"""

from __future__ import annotations

import base64
import binascii
import hmac
import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

MIN_KEY_BYTES: Final = 32

_ENCRYPTED: Final = "e1."
_SIGNED: Final = "s1."
_NONCE_BYTES: Final = 12
_MAC_BYTES: Final = 32


class SealBroken(Exception):
    """It was not sealed with any of the keys, not for this, or it was changed."""


class Seal:
    """A seal.

    Args:
        keys: The first one seals, and all of them open. Each has at least 32 bytes, which should
            be random. Without any, one is made: then nobody else can open what this one sealed.
        hides: Whether to encrypt: `None` for wherever `cryptography` is installed.

    Raises:
        ValueError: A key is too short.
    """

    def __init__(self, keys: Sequence[bytes | str] = (), *, hides: bool | None = None) -> None:
        self._secrets = [_checked(key) for key in keys] or [os.urandom(MIN_KEY_BYTES)]
        self._mac_keys = [_derive(secret, b"sign") for secret in self._secrets]
        self._hides = hides

    @cached_property
    def _ciphers(self) -> list[Any]:
        """What encrypts, for each key; none where nothing can or shall."""
        ciphers = [] if self._hides is False else _ciphers(self._secrets)
        if self._hides and not ciphers:
            raise RuntimeError("cryptography is not installed: pip install 'wigwag[http]'")
        return ciphers

    def seal(self, content: bytes, purpose: bytes) -> str:
        """Seal something for a purpose: without knowing that, nobody can open it."""
        if self._ciphers:
            nonce = os.urandom(_NONCE_BYTES)
            sealed = self._ciphers[0].encrypt(nonce, content, purpose)
            return _ENCRYPTED + _to_text(nonce + sealed)
        return _SIGNED + _to_text(_mac(self._mac_keys[0], content, purpose) + content)

    def open(self, text: str, purpose: bytes) -> bytes:
        """Return what was sealed for this very purpose.

        Raises:
            SealBroken: It was not.
        """
        kind, data = text[: len(_ENCRYPTED)], _from_text(text[len(_ENCRYPTED) :])
        content = None
        if kind == _ENCRYPTED:
            content = self._decrypt(data, purpose)
        elif kind == _SIGNED:
            content = self._verify(data, purpose)
        if content is None:
            raise SealBroken
        return content

    def _decrypt(self, data: bytes, purpose: bytes) -> bytes | None:
        if not self._ciphers:
            return None
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - optional

        nonce, sealed = data[:_NONCE_BYTES], data[_NONCE_BYTES:]
        for cipher in self._ciphers:
            try:
                content: bytes = cipher.decrypt(nonce, sealed, purpose)
            except (InvalidTag, ValueError):
                continue
            return content
        return None

    def _verify(self, data: bytes, purpose: bytes) -> bytes | None:
        mac, content = data[:_MAC_BYTES], data[_MAC_BYTES:]
        for key in self._mac_keys:
            if hmac.compare_digest(mac, _mac(key, content, purpose)):
                return content
        return None


def _checked(key: bytes | str) -> bytes:
    data = key.encode() if isinstance(key, str) else bytes(key)
    if len(data) < MIN_KEY_BYTES:
        raise ValueError(
            f"a key for states has at least {MIN_KEY_BYTES} random bytes, not {len(data)}; "
            "make one with secrets.token_urlsafe(32)"
        )
    return data


def _ciphers(secrets: Sequence[bytes]) -> list[Any]:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - optional
    except ImportError:
        return []
    return [AESGCM(_derive(secret, b"encrypt")) for secret in secrets]


def _derive(secret: bytes, use: bytes) -> bytes:
    """Return a key of 32 bytes for one use: HKDF with SHA-256, RFC 5869, in its first block."""
    extracted = hmac.digest(bytes(32), secret, "sha256")
    return hmac.digest(extracted, b"wigwag request state: %b\x01" % use, "sha256")


def _mac(key: bytes, content: bytes, purpose: bytes) -> bytes:
    return hmac.digest(key, b"%d:%b%b" % (len(purpose), purpose, content), "sha256")


def _to_text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _from_text(text: str) -> bytes:
    """Read what `_to_text` wrote, and nothing that merely resembles it."""
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        raise SealBroken from None
    if _to_text(data) != text:
        raise SealBroken
    return data
