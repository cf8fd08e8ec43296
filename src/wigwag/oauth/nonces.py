"""Nonces that a server demands in proofs, and recognises without having kept them.

Spec: RFC 9449 section 9
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

__all__ = ["DEFAULT_NONCE_SECONDS", "MIN_KEY_BYTES", "Nonces"]

DEFAULT_NONCE_SECONDS: Final = 300.0
MIN_KEY_BYTES: Final = 16

_TIME_BYTES: Final = 8
_TAG_BYTES: Final = 16
_CHARACTERS: Final = 32  # of Base64, for both
_PURPOSE: Final = b"dpop nonce"


class Nonces:
    """Makes nonces, and tells whether one is its own and still good.

    A nonce is a time, and what only who has the key can make of it.

    Args:
        keys: Secrets of this server, the same ones in all of its processes; the first makes nonces,
            and all of them recognise those that were made with them.
        seconds: How long a nonce is good.

    Raises:
        ValueError: There is no key, or one can be guessed.
    """

    def __init__(self, keys: Sequence[bytes], seconds: float = DEFAULT_NONCE_SECONDS) -> None:
        if not keys or any(len(key) < MIN_KEY_BYTES for key in keys):
            raise ValueError(f"keys for nonces need {MIN_KEY_BYTES} bytes or more, kept secret")
        self._keys = tuple(keys)
        self._seconds = seconds

    def create(self, now: float) -> str:
        """Return a nonce.

        Args:
            now: Seconds since 1970.
        """
        made_at = int(now).to_bytes(_TIME_BYTES, "big")
        return urlsafe_b64encode(made_at + _tag(self._keys[0], made_at)).decode()

    def is_good(self, nonce: object, now: float) -> bool:
        """Tell whether a nonce is one of these, and was made not too long ago."""
        age = self._age(nonce, now)
        return age is not None and -1 <= age < self._seconds

    def next_after(self, nonce: object, now: float) -> str | None:
        """Return what a client should use from now on; `None` if what it has will do for a while.

        Told in time, it is never refused for its nonce again.
        """
        age = self._age(nonce, now)
        return None if age is not None and age < self._seconds / 2 else self.create(now)

    def _age(self, nonce: object, now: float) -> float | None:
        if not isinstance(nonce, str) or len(nonce) != _CHARACTERS or not nonce.isascii():
            return None
        try:
            raw = urlsafe_b64decode(nonce)
        except ValueError:
            return None
        made_at, tag = raw[:_TIME_BYTES], raw[_TIME_BYTES:]
        if not any(hmac.compare_digest(tag, _tag(key, made_at)) for key in self._keys):
            return None
        return now - int.from_bytes(made_at, "big")


def _tag(key: bytes, made_at: bytes) -> bytes:
    return hmac.digest(key, _PURPOSE + made_at, sha256)[:_TAG_BYTES]
