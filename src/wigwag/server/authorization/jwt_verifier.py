"""Verifies access tokens that are JWTs, with the keys of their issuer.

Spec: basic/authorization#token-handling, and RFC 9068
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import time
from typing import TYPE_CHECKING, Any, TypeAlias

from wigwag.errors import InvalidToken
from wigwag.oauth.access_tokens import (
    DEFAULT_LEEWAY,
    ClaimNames,
    check_claims,
    check_leeway,
    check_token_type,
    read_access_token,
)
from wigwag.oauth.issuers import check_issuer_url
from wigwag.oauth.jwk import ALGORITHMS
from wigwag.oauth.jwt import check_header, read_jwt
from wigwag.oauth.secret import Secret
from wigwag.oauth.urls import is_usable
from wigwag.server.authorization.contract import VerifiedToken
from wigwag.server.authorization.fetching import fetch_from
from wigwag.server.authorization.issuer_keys import FetchedKeys, GivenKeys, KeySource
from wigwag.server.authorization.reading import names_of, verified_token
from wigwag.server.authorization.signatures import check_installed, is_signed_by, jwk_of_pem

if TYPE_CHECKING:
    from wigwag.transports.http_client_engine import TLS

__all__ = ["DEFAULT_ALGORITHMS", "JwtVerifier", "Keys"]

DEFAULT_ALGORITHMS = tuple(ALGORITHMS)
"""Those of RSA, of elliptic curves and of Ed25519: no algorithm whose key both sides know."""

Keys: TypeAlias = Mapping[str, Any] | str | bytes | Sequence[Mapping[str, Any] | str | bytes]
"""Public keys: a JWK set, a JWK, PEM, or several of these."""


class JwtVerifier:
    """Verifies access tokens that are JWTs of one issuer.

    The issuer is all it needs. It finds the keys by the metadata of the issuer (RFC 8414, or that
    of OpenID Connect), keeps them as long as the issuer says, and fetches them again when a token
    names a key that it does not know, though never more often than every ten seconds.

    A token is good if its issuer has signed it, letter for letter the one that is named here, if it
    is meant for this server (`aud`), if it is good at this time (`exp`, which it must have, `nbf`,
    `iat`), and if it is an access token: no ID token, no assertion, no proof. Tokens of other
    issuers are left to other verifiers.

    >>> JwtVerifier("https://login.example/realms/staff", roles_claim="realm_access.roles")
    JwtVerifier('https://login.example/realms/staff')

    Spec: basic/authorization#token-handling

    Args:
        issuer: Who issues the tokens, exactly as it calls itself in `iss`.
        audience: What tokens call this server in `aud`, if not by its URL: one name or several.
        jwks_uri: Where the keys are, if the issuer has no metadata that says so.
        keys: The public keys themselves, in place of fetching them: a JWK set, a JWK, PEM, or
            several of these.
        algorithms: What tokens may be signed with.
        leeway: How many seconds the clock of the issuer may be ahead or behind; 120 at most.
        scopes_claim: The claim that has the scopes; by default `scope`, or else `scp`.
        roles_claim: The claim that has the roles, such as `realm_access.roles`.
        only_at_jwt: Whether tokens must say that they are access tokens (`typ` is `at+jwt`,
            RFC 9068). Not every issuer writes that.
        allowed_hosts: Hosts that may be asked for keys although they have private addresses, and
            by plain http. That of the issuer may have a private address anyway.
        ssl: Whom to trust when fetching: a context, or a file with certificates.
        clock: Tells the time in seconds since 1970.

    Raises:
        ValueError: The issuer is no https URL, or no algorithm, no key or no leeway makes sense.
        RuntimeError: joserfc is not installed.
    """

    def __init__(  # noqa: PLR0913 - each is optional, and said in one place
        self,
        issuer: str,
        *,
        audience: str | Sequence[str] | None = None,
        jwks_uri: str | None = None,
        keys: Keys | None = None,
        algorithms: Sequence[str] = DEFAULT_ALGORITHMS,
        leeway: float = DEFAULT_LEEWAY,
        scopes_claim: str | None = None,
        roles_claim: str = "roles",
        only_at_jwt: bool = False,
        allowed_hosts: Sequence[str] = (),
        ssl: TLS | None = None,
        clock: Callable[[], float] = time,
    ) -> None:
        check_installed()
        self.issuer = issuer
        self._audience = names_of(audience)
        self._algorithms = _checked(algorithms)
        self._leeway = check_leeway(leeway)
        self._claims = ClaimNames(roles=roles_claim, scopes=scopes_claim)
        self._only_at_jwt = only_at_jwt
        self._clock = clock
        hosts = tuple(host.lower() for host in allowed_hosts)
        self._keys = _key_source(issuer, jwks_uri, keys, hosts, ssl)

    def __repr__(self) -> str:
        return f"JwtVerifier({self.issuer!r})"

    async def verify(self, token: Secret, resource: str) -> VerifiedToken | None:
        """Return what a token says; `None` if it is no JWT, or of another issuer.

        Raises:
            InvalidToken: It is not good here.
            VerifierUnavailable: The keys of the issuer cannot be had at the moment.
        """
        text = token.reveal()
        try:
            jwt = read_jwt(text)
        except ValueError:
            return None
        if jwt.claims.get("iss") != self.issuer:
            return None
        try:
            algorithm = check_header(jwt, self._algorithms)
        except ValueError as error:
            raise InvalidToken(str(error)) from None
        check_token_type(jwt, is_strict=self._only_at_jwt)
        # Before its signature: nobody makes this server fetch keys with what is worth nothing.
        check_claims(
            jwt.claims,
            audience=self._audience or (resource,),
            now=self._clock(),
            leeway=self._leeway,
        )
        keys = await self._keys.find(jwt.header.get("kid"), algorithm)
        if not keys:
            raise InvalidToken("it names a key that its issuer does not have for its algorithm")
        if not any(is_signed_by(text, algorithm, key.imported) for key in keys):
            raise InvalidToken("its issuer has not signed it")
        return verified_token(read_access_token(jwt.claims, self.issuer, self._claims))

    async def aclose(self) -> None:
        """Break off whatever is being fetched."""
        await self._keys.aclose()


def _checked(algorithms: Sequence[str]) -> frozenset[str]:
    unknown = [name for name in algorithms if name not in ALGORITHMS]
    if unknown or not algorithms or isinstance(algorithms, str):
        raise ValueError(
            f"tokens cannot be signed with {', '.join(unknown) or 'nothing'}: the algorithms are "
            f"{', '.join(ALGORITHMS)}"
        )
    return frozenset(algorithms)


def _key_source(
    issuer: str,
    jwks_uri: str | None,
    keys: Keys | None,
    hosts: tuple[str, ...],
    ssl: TLS | None,
) -> KeySource:
    if keys is not None:
        if jwks_uri is not None:
            raise ValueError("give the keys, or where they are, not both")
        return GivenKeys(_jwks(keys))
    # An issuer that only lends its name need not be reached, nor be a URL.
    if jwks_uri is None:
        check_issuer_url(issuer, hosts)
    elif not is_usable(jwks_uri, None, hosts):
        raise ValueError(f"jwks_uri {jwks_uri!r} is not https: anybody could answer in its place")
    return FetchedKeys(issuer, jwks_uri, fetch_from([jwks_uri or issuer], hosts, ssl), hosts=hosts)


def _jwks(keys: Keys) -> list[Mapping[str, Any]]:
    if isinstance(keys, Mapping):
        listed = keys.get("keys")
        return list(listed) if isinstance(listed, list) else [keys]
    if isinstance(keys, str | bytes):
        return [jwk_of_pem(keys)]
    return [key if isinstance(key, Mapping) else jwk_of_pem(key) for key in keys]
