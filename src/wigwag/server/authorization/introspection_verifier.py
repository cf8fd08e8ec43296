"""Asks the authorization server about each token (RFC 7662).

Spec: basic/authorization#token-handling
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from hashlib import sha256
from time import time
from typing import TYPE_CHECKING, Final

from wigwag.errors import InvalidToken, VerifierUnavailable
from wigwag.oauth.access_tokens import DEFAULT_LEEWAY, ClaimNames, check_leeway
from wigwag.oauth.introspection import (
    ClientAuthentication,
    introspection_request,
    read_introspection,
)
from wigwag.oauth.issuers import check_issuer_url, find_in_metadata
from wigwag.oauth.jwt import read_jwt
from wigwag.oauth.secret import Secret
from wigwag.oauth.urls import is_usable
from wigwag.server.authorization.contract import VerifiedToken
from wigwag.server.authorization.fetching import fetch_from, run_flow
from wigwag.server.authorization.joined import Joined
from wigwag.server.authorization.reading import names_of, verified_token

if TYPE_CHECKING:
    from wigwag.transports.http_client_engine import TLS

__all__ = ["IntrospectionVerifier"]

_logger: Final = logging.getLogger("wigwag.server")

_SECONDS_KEPT: Final = 30.0


class IntrospectionVerifier:
    """Asks the authorization server whether tokens are good, of whatever kind they are.

    Where to ask is found by the metadata of the issuer. What it answers holds for a short time,
    which is how long a token that was revoked stays good. While it cannot be asked, clients are
    told to come back (503), and keep their tokens.

    >>> IntrospectionVerifier("https://login.example", client_id="files", client_secret="…")
    IntrospectionVerifier('https://login.example')

    Spec: basic/authorization#token-handling

    Args:
        issuer: Who issues the tokens, exactly as it calls itself. JWTs of other issuers are left to
            other verifiers, and never shown to this one.
        endpoint: Where to ask, if the issuer has no metadata that says so.
        client_id: As whom this server is registered there.
        client_secret: How it proves that.
        client_authentication: Where the secret stands: in the header, or in the form.
        audience: What tokens call this server in `aud`, if not by its URL: one name or several.
        requires_audience: Whether the answer must say whom a token is for. Without it, only the
            authorization server can see to it that a token is not meant for another server.
        leeway: How many seconds its clock may be ahead or behind; 120 at most.
        kept_for: Seconds for which an answer holds; 0 to ask at every request.
        scopes_claim: The member that has the scopes; by default `scope`, or else `scp`.
        roles_claim: The member that has the roles, such as `realm_access.roles`.
        allowed_hosts: Hosts that may be asked although they have private addresses, and by plain
            http. Those of issuer and endpoint may have private addresses anyway.
        ssl: Whom to trust when asking: a context, or a file with certificates.
        clock: Tells the time in seconds since 1970.

    Raises:
        ValueError: There is neither issuer nor endpoint, or it is not https.
    """

    def __init__(  # noqa: PLR0913 - each is optional, and said in one place
        self,
        issuer: str | None = None,
        *,
        endpoint: str | None = None,
        client_id: str,
        client_secret: str,
        client_authentication: ClientAuthentication = "client_secret_basic",
        audience: str | Sequence[str] | None = None,
        requires_audience: bool = True,
        leeway: float = DEFAULT_LEEWAY,
        kept_for: float = _SECONDS_KEPT,
        scopes_claim: str | None = None,
        roles_claim: str = "roles",
        allowed_hosts: Sequence[str] = (),
        ssl: TLS | None = None,
        clock: Callable[[], float] = time,
    ) -> None:
        self._hosts = tuple(host.lower() for host in allowed_hosts)
        self.issuer = issuer
        self._endpoint = endpoint
        self._fetch = fetch_from([_place(issuer, endpoint, self._hosts)], self._hosts, ssl)
        self._client_id = client_id
        self._client_secret = Secret(client_secret)
        self._authentication: ClientAuthentication = client_authentication
        self._audience = names_of(audience)
        self._requires_audience = requires_audience
        self._leeway = check_leeway(leeway)
        self._kept_for = kept_for
        self._claims = ClaimNames(roles=roles_claim, scopes=scopes_claim)
        self._clock = clock
        self._is_failing = False
        self._joined: Joined[VerifiedToken | None] = Joined()

    def __repr__(self) -> str:
        return f"IntrospectionVerifier({self.issuer or self._endpoint!r})"

    async def verify(self, token: Secret, resource: str) -> VerifiedToken | None:
        """Return what the authorization server says of a token; `None` if it does not know it.

        Raises:
            InvalidToken: It is not good here.
            VerifierUnavailable: The authorization server cannot be asked at the moment.
        """
        is_own = self._is_own(token)
        if is_own is False:
            return None
        key = (sha256(token.reveal().encode()).digest(), resource)
        found = await self._joined.run(key, lambda: self._ask(token, resource))
        if found is None and is_own:
            raise InvalidToken("its issuer says that it is not good", "the token is not good")
        return found

    def _is_own(self, token: Secret) -> bool | None:
        """Tell whether a token says that the issuer has issued it; `None` if it does not say."""
        if self.issuer is None:
            return None
        try:
            claims = read_jwt(token.reveal()).claims
        except ValueError:
            return None
        return claims.get("iss") == self.issuer

    async def _ask(self, token: Secret, resource: str) -> VerifiedToken | None:
        try:
            found = read_introspection(
                await self._fetch(
                    introspection_request(
                        await self._find_endpoint(),
                        token,
                        client_id=self._client_id,
                        client_secret=self._client_secret,
                        method=self._authentication,
                    )
                ),
                issuer=self.issuer,
                audience=self._audience or (resource,),
                now=self._clock(),
                leeway=self._leeway,
                names=self._claims,
                is_audience_required=self._requires_audience,
            )
        except VerifierUnavailable as error:
            if not self._is_failing:
                self._is_failing = True
                _logger.warning("tokens cannot be verified: %s", error)
            raise
        self._is_failing = False
        return None if found is None else verified_token(found, max_age=self._kept_for)

    async def _find_endpoint(self) -> str:
        if self._endpoint is None:
            assert self.issuer is not None  # one of the two there is
            flow = find_in_metadata(self.issuer, "introspection_endpoint", self._hosts)
            self._endpoint = await run_flow(flow, self._fetch)
        return self._endpoint

    async def aclose(self) -> None:
        """Break off whatever is being asked."""
        await self._joined.aclose()


def _place(issuer: str | None, endpoint: str | None, hosts: tuple[str, ...]) -> str:
    if endpoint is not None:
        if not is_usable(endpoint, None, hosts):
            raise ValueError(
                f"the endpoint {endpoint!r} is not https: tokens would go there in the clear"
            )
        return endpoint
    if issuer is None:
        raise ValueError("name the issuer, or the endpoint where tokens are asked about")
    check_issuer_url(issuer, hosts)
    return issuer
