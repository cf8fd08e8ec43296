"""The keys that an issuer signs with: fetched when needed, kept for a while, rarely asked for.

Spec: OpenID Connect Core section 10.1.1, rotation of signing keys
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from time import monotonic
from typing import Any, Final, Protocol

from wigwag.errors import VerifierUnavailable
from wigwag.oauth.issuers import find_in_metadata
from wigwag.oauth.jwk import public_key
from wigwag.oauth.key_sets import IssuerKey, candidates, key_lifetime, read_key_set
from wigwag.oauth.requests import get_request
from wigwag.oauth.urls import shown
from wigwag.server.authorization.fetching import Fetch, run_flow
from wigwag.server.authorization.joined import Joined
from wigwag.server.authorization.signatures import import_key

__all__ = ["FetchedKeys", "GivenKeys", "ImportedKey", "KeySource"]

_logger: Final = logging.getLogger("wigwag.server")

# Whoever sends tokens with made-up key names makes this server ask the issuer no more often.
_SECONDS_BETWEEN: Final = 10.0
# And after a failure, so that a token waits no longer than needed for an issuer that comes back.
_SECONDS_AFTER_FAILURE: Final = 2.0
# How long keys are used whose lifetime is over, while the issuer cannot be reached.
_STALE_SECONDS: Final = 3600.0
# Metadata is looked for in several places, and each may take its time.
_SECONDS_IN_ALL: Final = 15.0


class ImportedKey(IssuerKey, frozen=True):
    """A key of an issuer, ready to verify with."""

    imported: Any

    def __repr__(self) -> str:
        return f"ImportedKey({self.kid!r})"


class KeySource(Protocol):
    """Has the keys of an issuer."""

    async def find(self, kid: object, algorithm: str) -> tuple[ImportedKey, ...]:
        """Return the keys that a token may have been signed with.

        Raises:
            VerifierUnavailable: They cannot be had at the moment.
        """
        ...

    async def aclose(self) -> None:
        """Break off whatever is being done."""
        ...


class GivenKeys:
    """Keys that the author has given.

    Args:
        keys: JWKs.

    Raises:
        ValueError: None of them can be used to verify.
    """

    def __init__(self, keys: Iterable[Mapping[str, Any]]) -> None:
        self._keys = _imported(read_key_set({"keys": [dict(key) for key in keys]}))
        if not self._keys:
            raise ValueError(
                "none of the keys can verify signatures: they must be public keys, of RSA with "
                "2048 bits or more, P-256, P-384, P-521 or Ed25519"
            )

    async def find(self, kid: object, algorithm: str) -> tuple[ImportedKey, ...]:
        """Return the keys that a token may have been signed with."""
        return candidates(self._keys, kid, algorithm)

    async def aclose(self) -> None:
        """Do nothing: nothing is ever being done."""


class FetchedKeys:
    """Keys that an issuer publishes.

    They are fetched at the first token, again when their lifetime is over, and when a token names a
    key that is not among them. Old ones stay in use for a while if that fails.

    Args:
        issuer: Who signs with them.
        jwks_uri: Where they are; by default, as the metadata of the issuer says.
        fetch: Makes requests.
        hosts: From which hosts the author allows plain http; in lower case.
        clock: Tells the time in seconds.
    """

    def __init__(
        self,
        issuer: str,
        jwks_uri: str | None,
        fetch: Fetch,
        *,
        hosts: tuple[str, ...] = (),
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._issuer = issuer
        self._given_uri = jwks_uri
        self._fetch = fetch
        self._hosts = hosts
        self._clock = clock
        self._keys: tuple[ImportedKey, ...] | None = None
        self._good_until = 0.0
        self._next_attempt = float("-inf")
        self._failure: str | None = None
        self._joined: Joined[None] = Joined()

    async def find(self, kid: object, algorithm: str) -> tuple[ImportedKey, ...]:
        """Return the keys that a token may have been signed with.

        Raises:
            VerifierUnavailable: They cannot be had at the moment.
        """
        now = self._clock()
        if self._keys is None or now >= self._good_until + _STALE_SECONDS:
            await self._renew()
        elif now >= self._good_until and now >= self._next_attempt:
            self._joined.start(None, self._update)  # nobody need wait for it
        found = candidates(self._known(), kid, algorithm)
        if found:
            return found
        if self._clock() >= self._next_attempt or self._joined.is_running(None):
            await self._joined.run(None, self._update)
            found = candidates(self._known(), kid, algorithm)
        if not found and self._failure is not None:
            # It may be a new key.
            raise self._unavailable()
        return found

    def _known(self) -> tuple[ImportedKey, ...]:
        return self._keys or ()

    async def _renew(self) -> None:
        """Get keys in place of none, or of ones that are too old to be used."""
        self._keys = None
        if self._clock() >= self._next_attempt or self._joined.is_running(None):
            await self._joined.run(None, self._update)
        if self._keys is None:
            raise self._unavailable()

    def _unavailable(self) -> VerifierUnavailable:
        wait = max(self._next_attempt - self._clock(), 1.0)
        return VerifierUnavailable(self._failure or "there are no keys yet", wait)

    async def _update(self) -> None:
        """Fetch the keys; if that fails, the old ones stay."""
        self._next_attempt = self._clock() + _SECONDS_BETWEEN
        try:
            async with asyncio.timeout(_SECONDS_IN_ALL):
                keys, lifetime = await self._download()
        except (VerifierUnavailable, TimeoutError) as error:
            said = str(error) or f"it took more than {_SECONDS_IN_ALL:g} s"
            self._failure = f"the keys of {self._issuer} cannot be had: {said}"
            self._next_attempt = self._clock() + _SECONDS_AFTER_FAILURE
            _logger.warning("%s", self._failure)
            return
        self._failure = None
        self._keys = keys
        self._good_until = self._clock() + lifetime

    async def _download(self) -> tuple[tuple[ImportedKey, ...], float]:
        # Asked for anew each time: it may move.
        url = self._given_uri
        if url is None:
            flow = find_in_metadata(self._issuer, "jwks_uri", self._hosts)
            url = await run_flow(flow, self._fetch)
        response = await self._fetch(get_request(url))
        document = response.read_object()
        if response.status != 200 or document is None:
            raise VerifierUnavailable(
                f"{shown(url)} answered {response.status}, and with no JSON object"
                if response.status == 200
                else f"{shown(url)} answered {response.status}"
            )
        try:
            keys = _imported(read_key_set(document))
        except ValueError as error:
            raise VerifierUnavailable(f"{shown(url)}: {error}") from None
        return keys, key_lifetime(response)

    async def aclose(self) -> None:
        """Break off whatever is being done."""
        await self._joined.aclose()


def _imported(keys: Iterable[IssuerKey]) -> tuple[ImportedKey, ...]:
    found: list[ImportedKey] = []
    for key in keys:
        members = public_key(key.jwk)
        if members is None:
            continue
        try:
            found.append(ImportedKey(key.kid, key.jwk, import_key(members)))
        except ValueError:
            continue
    return tuple(found)
