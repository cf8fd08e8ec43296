"""Demands proofs with tokens that are bound to keys, and lets each proof be used once.

Spec: RFC 9449 sections 7 and 9
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from time import time
from typing import Any, Final

from msgspec import Struct

from wigwag.errors import VerifierUnavailable
from wigwag.oauth.jwk import ALGORITHMS
from wigwag.oauth.nonces import Nonces
from wigwag.oauth.proofs import (
    DEFAULT_PROOF_ALGORITHMS,
    InvalidProof,
    Proof,
    check_proof,
    read_proof,
)
from wigwag.oauth.secret import Secret
from wigwag.server.authorization.signatures import import_key, is_signed_by
from wigwag.stores.contract import ReplayStore
from wigwag.stores.memory_replays import MemoryReplays

__all__ = ["DPoPRules", "NonceDemanded", "ProofChecker"]

_KEY_BYTES: Final = 32
_MAX_KEYS: Final = 1024


class DPoPRules(Struct, frozen=True, kw_only=True):
    """What a server wants of tokens that only the holder of a key can use (DPoP, RFC 9449).

    Whatever is said here, a token that is bound to a key needs a proof, and none is used twice.

    Attributes:
        required: Whether plain bearer tokens are refused.
        algorithms: What proofs may be signed with.
        nonces: Whether proofs must contain a nonce of this server, which makes it impossible to
            make proofs beforehand, and costs each client one more request now and then.
        nonce_keys: Secrets that nonces are made with, of 16 bytes or more; the first one makes
            them, the others are still recognised. Several processes need the same ones. By default
            one is made at the start.
    """

    required: bool = False
    algorithms: tuple[str, ...] = DEFAULT_PROOF_ALGORITHMS
    nonces: bool = False
    nonce_keys: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        unknown = [name for name in self.algorithms if name not in ALGORITHMS]
        if unknown or not self.algorithms:
            raise ValueError(
                f"proofs cannot be signed with {', '.join(unknown) or 'nothing'}: the algorithms "
                f"are {', '.join(ALGORITHMS)}"
            )

    def __repr__(self) -> str:
        return f"DPoPRules(required={self.required}, nonces={self.nonces})"


class NonceDemanded(Exception):
    """A proof has no nonce of this server, or an old one.

    Args:
        nonce: The one to use.
    """

    def __init__(self, nonce: str) -> None:
        super().__init__("the proof has no nonce of this server, or an old one")
        self.nonce = nonce


class ProofChecker:
    """Checks the proofs that come with tokens.

    Args:
        rules: What the server wants.
        replays: Where used proofs are remembered.
        clock: Tells the time in seconds since 1970.
    """

    def __init__(
        self,
        rules: DPoPRules | None = None,
        replays: ReplayStore | None = None,
        *,
        clock: Callable[[], float] = time,
    ) -> None:
        self.rules = rules or DPoPRules()
        self._replays = MemoryReplays() if replays is None else replays
        self._clock = clock
        keys = self.rules.nonce_keys or (secrets.token_bytes(_KEY_BYTES),)
        self._nonces = Nonces(keys) if self.rules.nonces else None
        # By thumbprint: importing one takes as long as verifying with it.
        self._imported: OrderedDict[str, Any] = OrderedDict()

    async def check(
        self, values: Sequence[str], *, method: str, url: str, token: Secret, key_thumbprint: str
    ) -> None:
        """Refuse whatever is no proof for this request.

        Args:
            values: The lines of the `DPoP` header.
            method: The method of the request.
            url: Its URL, as the client sees it.
            token: The token that came with it.
            key_thumbprint: The key that the token is bound to.

        Raises:
            InvalidProof: It is none, or was used before.
            NonceDemanded: It needs a nonce.
            VerifierUnavailable: The store cannot tell whether it was used before.
        """
        now = self._clock()
        proof = read_proof(values, self.rules.algorithms)
        check_proof(
            proof, method=method, url=url, token=token, key_thumbprint=key_thumbprint, now=now
        )
        if self._nonces is not None and not self._nonces.is_good(proof.nonce, now):
            raise NonceDemanded(self._nonces.create(now))
        if not is_signed_by(values[0].strip(" \t"), proof.algorithm, self._key_of(proof)):
            raise InvalidProof("the proof was not signed with its key")
        if not await self._remember(proof, now):
            raise InvalidProof("the proof was used before")

    def _key_of(self, proof: Proof) -> Any:
        key = self._imported.get(proof.thumbprint)
        if key is None:
            try:
                key = self._imported[proof.thumbprint] = import_key(proof.key)
            except ValueError:
                raise InvalidProof("the proof has no public key for its algorithm") from None
            if len(self._imported) > _MAX_KEYS:
                self._imported.popitem(last=False)
        else:
            self._imported.move_to_end(proof.thumbprint)
        return key

    async def _remember(self, proof: Proof, now: float) -> bool:
        try:
            return await self._replays.remember(proof.replay_key, proof.good_until - now)
        except Exception as error:
            raise VerifierUnavailable(
                "the store cannot tell whether a proof was used before"
            ) from error

    def next_nonce(self, values: Sequence[str]) -> str | None:
        """Return the nonce that a client should use next; `None` if what it has will do.

        Args:
            values: The lines of the `DPoP` header of a request that was let in.
        """
        if self._nonces is None:
            return None
        try:
            nonce = read_proof(values, self.rules.algorithms).nonce
        except InvalidProof:
            return None
        return self._nonces.next_after(nonce, self._clock())
