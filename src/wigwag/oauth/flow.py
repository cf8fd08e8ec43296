"""What a client does about authorization: before a request, and when the server refuses one.

Nothing is done here: the flows yield what is to be done (`wigwag.oauth.steps`). Flows of one server
must not run at the same time, in this process or another: whoever runs them holds a lock. Each
begins by looking at what is kept, so that who waited finds what the other one got.
Spec: basic/authorization
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from wigwag.errors import (
    AuthorizationFailed,
    AuthorizationRefused,
    AuthorizationUnavailable,
    AuthorizationUntrusted,
)
from wigwag.oauth.attempts import Attempts, Refusal, check_refusal, check_step_up, is_step_up
from wigwag.oauth.challenges import Demand, demand_of, parse_challenges
from wigwag.oauth.discovery import (
    find_authorization_server,
    find_legacy_server,
    find_protected_resource,
)
from wigwag.oauth.metadata import ProtectedResource
from wigwag.oauth.obtaining import (
    ByIdentityProvider,
    ClientSettings,
    Obtainer,
    Place,
    identify,
    obtain_tokens,
)
from wigwag.oauth.registration import check_document_url
from wigwag.oauth.scopes import FailedStepUps, Scopes, choose_scopes
from wigwag.oauth.steps import Flow
from wigwag.oauth.storage import (
    KnownServer,
    Tokens,
    forget_registration,
    forget_tokens,
    keep_known_server,
    keep_tokens,
    load_known_server,
    load_registration,
    load_tokens,
)
from wigwag.oauth.tokens import (
    TokenClient,
    lost_by,
    refresh_grant,
    request_token,
    revoke,
    to_tokens,
)
from wigwag.oauth.urls import canonical_resource, is_loopback, read_url, shown

__all__ = ["ClientAuthorization"]


class ClientAuthorization:
    """The flows by which a client gets and keeps tokens for one MCP server.

    Args:
        server_url: The URL of the MCP server.
        settings: Who the client is.
        entropy: Returns as many random bytes as it is told, such as `secrets.token_bytes`.

    Raises:
        ValueError: The URL cannot be used, or that of the client's metadata document.
    """

    def __init__(
        self, server_url: str, settings: ClientSettings, *, entropy: Callable[[int], bytes]
    ) -> None:
        self._server = read_url(server_url)
        self._settings = settings
        self._entropy = entropy
        self._failed = FailedStepUps()
        if settings.document_url is not None:
            check_document_url(settings.document_url)
        if isinstance(settings.way, ByIdentityProvider):
            _check_provider(settings.way)

    @property
    def lock_name(self) -> str:
        """The name of what to hold while a flow runs, across all processes of the user."""
        return canonical_resource(self._server)

    def current(self, now: float) -> Flow[Tokens | None]:
        """Return the tokens to send with the next request, refreshed if they have run out.

        Args:
            now: Seconds since 1970.

        Returns:
            `None` if there are none: send the request without, and see.

        Raises:
            AuthorizationUnavailable: They have expired and cannot be refreshed at the moment.
            AuthorizationRefused: The client is no longer known to the authorization server.
        """
        known = yield from load_known_server(self._server)
        tokens = yield from self._kept(known)
        if known is None or tokens is None or tokens.is_fresh(now):
            return tokens
        try:
            renewed = yield from self._refresh(self._place_of(known), tokens, now)
        except AuthorizationUnavailable:
            if tokens.has_expired(now):
                raise
            return tokens
        except AuthorizationRefused:
            raise
        except AuthorizationFailed:
            # Endpoints may have moved; a refusal makes us look where they are now.
            renewed = None
        if renewed is not None:
            return renewed
        return None if tokens.has_expired(now) else (yield from self._kept(known))

    def refused(self, refusal: Refusal, attempts: Attempts, now: float) -> Flow[Tokens]:
        """Return the tokens with which to repeat a request that was refused.

        A demand for a DPoP nonce (`demanded_nonce`) is none of this: repeat the request with it.

        Args:
            refusal: What the server said.
            attempts: One for each request, the same when it is refused again.
            now: Seconds since 1970.

        Raises:
            AuthorizationFailed: There are none; the kinds of it say why.
        """
        where = canonical_resource(self._server)
        demand = demand_of(parse_challenges(refusal.challenges))
        check_refusal(refusal, demand, attempts, where)
        known = yield from load_known_server(self._server)
        kept = yield from self._kept(known)
        steps_up = is_step_up(demand, refusal)
        if kept is not None and _is_better(kept, refusal.used, demand if steps_up else None, now):
            return kept
        if steps_up and demand.scopes is not None:
            check_step_up(refusal, demand.scopes, attempts, self._failed, where)
        place = yield from self._find(demand, known)
        if steps_up and demand.scopes is None:
            # Not told what is missing, we can only ask for all there is.
            demand = msgspec.structs.replace(demand, scopes=place.scopes_supported or ())
            check_step_up(refusal, demand.scopes or (), attempts, self._failed, where)
        kept = yield from self._without_foreign(kept, place)
        if kept is not None and not steps_up and not attempts.has_refreshed:
            renewed = yield from self._refresh(place, kept, now)
            if renewed is not None:
                attempts.has_refreshed = True
                return renewed
        before = _requested_there(place, kept or refusal.used)
        try:
            tokens = yield from self._obtain(place, demand.scopes, before, now)
        except AuthorizationRefused:
            if steps_up:  # who has said no is not asked again by the next call
                self._failed.add(where, refusal.operation, demand.scopes or ())
            raise
        attempts.grants += 1
        return tokens

    def log_in(self, challenges: tuple[str, ...], now: float) -> Flow[Tokens]:
        """Get new tokens because the user wants to, whatever is kept.

        Args:
            challenges: The lines of `WWW-Authenticate`, if the server has refused something.
            now: Seconds since 1970.

        Raises:
            AuthorizationFailed: It did not work; the kinds of it say why.
        """
        self._failed.clear()
        known = yield from load_known_server(self._server)
        demand = demand_of(parse_challenges(challenges))
        place = yield from self._find(demand, known)
        kept = yield from self._without_foreign((yield from self._kept(known)), place)
        before = _requested_there(place, kept)
        return (yield from self._obtain(place, demand.scopes, before, now))

    def log_out(self, *, forget_client: bool = False) -> Flow[None]:
        """Forget the tokens, and tell the authorization server.

        Args:
            forget_client: Also forget how the client has registered itself there.

        Raises:
            RegistrationFailed: The client cannot tell it who it is; the tokens are forgotten.
        """
        known = yield from load_known_server(self._server)
        if known is None:
            return
        issuer = known.authorization_server.issuer
        tokens = yield from load_tokens(issuer, known.resource)
        yield from forget_tokens(issuer, known.resource)
        client_id = None if tokens is None else tokens.client_id
        place = self._place_of(known)
        registration = yield from identify(self._settings, place, 0.0, client_id=client_id)
        if forget_client:
            if client_id is not None:
                yield from forget_registration(issuer, client_id)
            yield from forget_registration(issuer)
        if registration is not None and tokens is not None:
            client = TokenClient(place.server, registration, self._settings.sign)
            yield from revoke(client, tokens)

    def kept(self) -> Flow[tuple[KnownServer | None, Tokens | None]]:
        """Return what is kept about the server, to be shown; asks nobody."""
        known = yield from load_known_server(self._server)
        return known, (yield from self._kept(known))

    def _kept(self, known: KnownServer | None) -> Flow[Tokens | None]:
        if known is None:
            return None
        tokens = yield from load_tokens(known.authorization_server.issuer, known.resource)
        if tokens is not None and tokens.token_type == "DPoP" and self._settings.proof is None:
            return None  # nothing can be done with them without the key
        return tokens

    def _place_of(self, known: KnownServer) -> Place:
        return Place(
            mcp_server=self._server,
            resource=known.resource,
            server=known.authorization_server,
            bound_to=self._bound_to(known),
        )

    def _bound_to(self, known: KnownServer | None) -> str | None:
        """Return the issuer at which the client that was registered by hand was used before."""
        given = self._settings.given
        if known is None or given is None or known.client_id != given.client_id:
            return None
        return known.authorization_server.issuer

    def _find(self, demand: Demand, known: KnownServer | None) -> Flow[Place]:
        """Find out, each time anew, where tokens come from: that may have changed."""
        server, settings = self._server, self._settings
        if server.scheme != "https" and not is_loopback(server):
            raise AuthorizationUntrusted(
                "a token would travel to the MCP server in the clear", server.origin, "use https"
            )
        found = yield from find_protected_resource(
            server, demand.resource_metadata, settings.revision
        )
        if found is None:
            legacy = yield from find_legacy_server(
                server, settings.revision, is_strict=settings.is_strict
            )
            return Place(
                mcp_server=server,
                resource=canonical_resource(server),
                server=legacy,
                bound_to=self._bound_to(known),
            )
        issuer = yield from self._choose_issuer(found, known)
        return Place(
            mcp_server=server,
            resource=found.resource,
            server=(
                yield from find_authorization_server(issuer, server, is_strict=settings.is_strict)
            ),
            scopes_supported=found.scopes_supported,
            needs_proof=found.dpop_bound_access_tokens_required,
            bound_to=self._bound_to(known),
        )

    def _choose_issuer(self, found: ProtectedResource, known: KnownServer | None) -> Flow[str]:
        """Choose among authorization servers: where the client is known, or else the first."""
        issuers = found.authorization_servers
        if len(issuers) == 1:
            return issuers[0]
        given = self._settings.given
        for issuer in (
            None if known is None else known.authorization_server.issuer,
            None if given is None else given.issuer,
        ):
            if issuer in issuers:
                return issuer
        for issuer in issuers:
            if (yield from load_registration(issuer)) is not None:
                return issuer
        return issuers[0]

    def _without_foreign(self, kept: Tokens | None, place: Place) -> Flow[Tokens | None]:
        """Forget tokens of an authorization server that the MCP server no longer names.

        Spec: basic/authorization/client-registration#authorization-server-binding
        """
        if kept is None or (kept.issuer, kept.resource) == (place.server.issuer, place.resource):
            return kept
        yield from forget_tokens(kept.issuer, kept.resource)
        return (yield from load_tokens(place.server.issuer, place.resource))

    def _refresh(self, place: Place, tokens: Tokens, now: float) -> Flow[Tokens | None]:
        """Refresh tokens, and keep the new ones; `None` if that is no longer possible.

        Spec: basic/authorization#refresh-tokens
        """
        if tokens.refresh_token is None:
            return None
        settings = self._settings
        registration = yield from identify(settings, place, now, client_id=tokens.client_id)
        if registration is None:
            return None
        proof = settings.proof if tokens.token_type == "DPoP" else None
        client = TokenClient(place.server, registration, settings.sign, proof)
        try:
            issued = yield from request_token(
                client, refresh_grant(tokens.refresh_token, tokens.resource)
            )
        except AuthorizationRefused as error:
            lost = lost_by(error)
            if lost == "tokens":
                yield from forget_tokens(tokens.issuer, tokens.resource)
            elif lost == "registration":
                if registration.kind != "dynamic":
                    raise
                yield from forget_registration(tokens.issuer, tokens.client_id)
            return None
        renewed = to_tokens(
            issued, client, tokens.resource, requested=tokens.requested_scopes, old=tokens
        )
        if issued.scopes is None:
            renewed = msgspec.structs.replace(renewed, scopes=tokens.scopes)
        yield from keep_tokens(renewed)
        return renewed

    def _obtain(
        self, place: Place, challenged: Scopes | None, before: Scopes, now: float
    ) -> Flow[Tokens]:
        scopes = choose_scopes(
            challenged=challenged,
            of_resource=place.scopes_supported,
            before=before,
            wanted=self._settings.scopes,
        )
        obtainer = Obtainer(self._settings, place, self._entropy, now)
        tokens = yield from obtain_tokens(obtainer, scopes)
        known = KnownServer(
            resource=place.resource,
            authorization_server=place.server,
            client_id=tokens.client_id,
        )
        yield from keep_tokens(tokens)
        yield from keep_known_server(self._server, known)
        return tokens


def _check_provider(way: ByIdentityProvider) -> None:
    for text in (way.issuer, way.token_endpoint or way.issuer):
        url = read_url(text)
        if url.scheme != "https" and not is_loopback(url):
            raise ValueError(f"the identity provider is not reached by https: {shown(text)}")


def _is_better(kept: Tokens, used: Tokens | None, demand: Demand | None, now: float) -> bool:
    """Tell whether another request, or another process, has meanwhile got what is needed."""
    if used is not None and kept.access_token == used.access_token:
        return False
    if demand is not None and not set(demand.scopes or ()) <= set(kept.scopes):
        return False
    return kept.is_fresh(now)


def _requested_there(place: Place, tokens: Tokens | None) -> Scopes:
    """Return what was asked for before at the same place: to ask for less would lose it."""
    if tokens is None:
        return ()
    is_same = (tokens.issuer, tokens.resource) == (place.server.issuer, place.resource)
    return tokens.requested_scopes if is_same else ()
