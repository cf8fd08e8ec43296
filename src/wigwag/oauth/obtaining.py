"""Getting new tokens from an authorization server, in each of the ways there are.

Spec: basic/authorization#authorization-flow-steps; extensions/auth
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from wigwag.errors import AuthorizationRefused, RegistrationFailed
from wigwag.oauth.authorization import authorization_url, begin_attempt, read_redirect
from wigwag.oauth.client_authentication import SignAssertion
from wigwag.oauth.discovery import find_authorization_server
from wigwag.oauth.dpop import MakeProof
from wigwag.oauth.metadata import AuthorizationServer, check_pkce
from wigwag.oauth.pkce import RANDOM_BYTES
from wigwag.oauth.registration import (
    ClientMetadata,
    PreRegistered,
    as_metadata_document,
    as_pre_registered,
    check_redirect_uri,
    how_to_identify,
    register,
)
from wigwag.oauth.scopes import OFFLINE_ACCESS, Scopes, join_scopes
from wigwag.oauth.steps import AskUser, Flow, ask, assertion, listen
from wigwag.oauth.storage import (
    Registration,
    Tokens,
    forget_registration,
    keep_registration,
    load_registration,
)
from wigwag.oauth.tokens import (
    ID_TOKEN,
    Grant,
    TokenClient,
    assertion_grant,
    client_credentials_grant,
    code_grant,
    exchange_for_id_jag,
    identity_exchange_grant,
    lost_by,
    request_token,
    to_tokens,
)
from wigwag.oauth.urls import Url

__all__ = [
    "ByAssertion",
    "ByClientCredentials",
    "ByIdentityProvider",
    "ByUser",
    "ClientSettings",
    "Obtainer",
    "Place",
    "Way",
    "identify",
    "obtain_tokens",
    "proof_for",
]


class ByUser(msgspec.Struct, frozen=True):
    """The user consents in a browser."""

    redirect_uris: tuple[str, ...] = ()
    """Where the browser may come back to; empty for any free port of this machine."""


class ByClientCredentials(msgspec.Struct, frozen=True):
    """The client acts for itself. Spec: extensions/auth/oauth-client-credentials."""


class ByAssertion(msgspec.Struct, frozen=True):
    """A JWT from elsewhere says which workload this is. Nothing else is tried if it is refused."""


class ByIdentityProvider(msgspec.Struct, frozen=True, kw_only=True):
    """The identity provider of an enterprise speaks for a user who is logged in there.

    Spec: extensions/auth/enterprise-managed-authorization
    """

    issuer: str
    client: PreRegistered
    """Who the client is at the identity provider."""
    token_endpoint: str | None = None
    """`None` to find it in the metadata."""
    subject_token_type: str = ID_TOKEN


Way: TypeAlias = ByUser | ByClientCredentials | ByAssertion | ByIdentityProvider


class ClientSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Who the client is, and what it may do."""

    client: ClientMetadata
    way: Way = ByUser()
    given: PreRegistered | None = None
    """A client that was registered by hand."""
    document_url: str | None = None
    """The URL of the client's metadata document."""
    may_register: bool = True
    """Whether it may register itself."""
    scopes: Scopes = ()
    """What is asked for in any case."""
    wants_refresh_token: bool = True
    """Whether to ask for `offline_access` where the authorization server knows that."""
    sign: SignAssertion | None = None
    """Signs assertions with the client's private key."""
    proof: MakeProof | None = None
    """Makes proofs that the client holds the key of its tokens, where the others can do that."""
    revision: str = "2026-07-28"
    """The revision of the protocol that MCP servers are told."""
    is_strict: bool = True
    """Whether metadata must name the very issuer that was asked for, letter for letter."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where tokens for an MCP server come from."""

    mcp_server: Url
    resource: str
    server: AuthorizationServer
    scopes_supported: Scopes | None = None
    """Those of the resource."""
    needs_proof: bool = False
    bound_to: str | None = None
    """The issuer at which the client that was registered by hand was used before."""


class Obtainer(msgspec.Struct):
    """What `obtain_tokens` works with."""

    settings: ClientSettings
    place: Place
    entropy: Callable[[int], bytes]
    now: float
    registration: Registration | None = None
    """Who the client turned out to be."""


def proof_for(settings: ClientSettings, place: Place) -> MakeProof | None:
    """Return what makes proofs, if tokens of this place are to be bound to a key."""
    is_known = bool(place.server.dpop_signing_alg_values_supported)
    return settings.proof if is_known or place.needs_proof else None


def obtain_tokens(obtainer: Obtainer, scopes: Scopes) -> Flow[Tokens]:
    """Get new tokens; they are not kept yet, but a new registration is.

    A client that registered itself and is no longer known, or not for these scopes, registers once
    more.

    Raises:
        AuthorizationFailed: It did not work; the kinds of it say why.
    """
    try:
        return (yield from _try_to_obtain(obtainer, scopes))
    except AuthorizationRefused as error:
        if not _is_registration_lost(error, obtainer.registration, scopes):
            raise
        lost = obtainer.registration if lost_by(error) == "registration" else None
    client_id = None if lost is None else lost.client_id
    yield from forget_registration(obtainer.place.server.issuer, client_id)
    return (yield from _try_to_obtain(obtainer, scopes))


def _try_to_obtain(obtainer: Obtainer, scopes: Scopes) -> Flow[Tokens]:
    way = _WAYS[type(obtainer.settings.way)]
    client, grant = yield from way(obtainer, scopes)
    issued = yield from request_token(client, grant)
    return to_tokens(issued, client, obtainer.place.resource, requested=scopes, old=None)


def _is_registration_lost(
    error: AuthorizationRefused, registration: Registration | None, scopes: Scopes
) -> bool:
    """Tell whether to register anew may help."""
    if registration is None or registration.kind != "dynamic":
        return False
    if error.error == "invalid_scope":
        return not set(scopes) <= set(registration.scopes)
    return lost_by(error) == "registration"


def _ask_user(obtainer: Obtainer, scopes: Scopes) -> Flow[tuple[TokenClient, Grant]]:
    settings, place = obtainer.settings, obtainer.place
    check_pkce(place.server)
    wanted = _with_offline_access(settings, place, scopes)
    registration, redirect_uri = yield from _identify_with_redirect(obtainer, wanted)
    obtainer.registration = registration
    attempt = begin_attempt(
        place.server,
        registration,
        redirect_uri=redirect_uri,
        resource=place.resource,
        scopes=wanted,
        randoms=(obtainer.entropy(RANDOM_BYTES), obtainer.entropy(RANDOM_BYTES)),
    )
    url = authorization_url(attempt)
    question = AskUser(url, redirect_uri, place.resource, place.server.issuer)
    code = read_redirect((yield from ask(question)), attempt)
    grant = code_grant(code, attempt.verifier, redirect_uri, place.resource)
    return _token_client(obtainer, registration), grant


def _act_for_itself(obtainer: Obtainer, scopes: Scopes) -> Flow[tuple[TokenClient, Grant]]:
    registration = yield from _identify_machine(obtainer)
    grant = client_credentials_grant(obtainer.place.resource, scopes)
    return _token_client(obtainer, registration), grant


def _show_assertion(obtainer: Obtainer, scopes: Scopes) -> Flow[tuple[TokenClient, Grant]]:
    place = obtainer.place
    registration = yield from _identify_machine(obtainer)
    shown = yield from assertion(place.server.issuer)
    grant = assertion_grant(shown, place.resource, scopes)
    return _token_client(obtainer, registration), grant


def _go_by_provider(obtainer: Obtainer, scopes: Scopes) -> Flow[tuple[TokenClient, Grant]]:
    place, way = obtainer.place, obtainer.settings.way
    assert isinstance(way, ByIdentityProvider)
    registration = yield from _identify_machine(obtainer)
    provider = yield from _provider(way, obtainer)
    subject = yield from assertion(way.issuer)
    exchange = identity_exchange_grant(
        subject,
        way.subject_token_type,
        audience=place.server.issuer,
        resource=place.resource,
        scopes=scopes,
    )
    client = TokenClient(provider, as_pre_registered(way.client, provider))
    id_jag = yield from exchange_for_id_jag(client, exchange)
    grant = assertion_grant(id_jag, place.resource, scopes)
    return _token_client(obtainer, registration), grant


_WAYS: Final = {
    ByUser: _ask_user,
    ByClientCredentials: _act_for_itself,
    ByAssertion: _show_assertion,
    ByIdentityProvider: _go_by_provider,
}


def _provider(way: ByIdentityProvider, obtainer: Obtainer) -> Flow[AuthorizationServer]:
    if way.token_endpoint is not None:
        return AuthorizationServer(issuer=way.issuer, token_endpoint=way.token_endpoint)
    return (
        yield from find_authorization_server(
            way.issuer, obtainer.place.mcp_server, is_strict=obtainer.settings.is_strict
        )
    )


def _token_client(obtainer: Obtainer, registration: Registration) -> TokenClient:
    settings, place = obtainer.settings, obtainer.place
    return TokenClient(place.server, registration, settings.sign, proof_for(settings, place))


def _with_offline_access(settings: ClientSettings, place: Place, scopes: Scopes) -> Scopes:
    """Add what refresh tokens are asked for with, but only where it is known.

    Spec: basic/authorization#refresh-tokens
    """
    if settings.wants_refresh_token and OFFLINE_ACCESS in (place.server.scopes_supported or ()):
        return join_scopes(scopes, (OFFLINE_ACCESS,))
    return scopes


def identify(
    settings: ClientSettings, place: Place, now: float, *, client_id: str | None = None
) -> Flow[Registration | None]:
    """Return who the client is at a place, as far as that is known already.

    Args:
        settings: Who the client is in general.
        place: Where.
        now: Seconds since 1970.
        client_id: Who it must be; `None` for anyone.

    Raises:
        RegistrationFailed: There is no way to become known there.
    """
    stored = yield from _stored_registration(settings, place, now)
    kind = how_to_identify(
        place.server,
        given=settings.given,
        document_url=settings.document_url,
        may_register=settings.may_register,
        is_registered=stored is not None,
        bound_to=place.bound_to,
    )
    found: Registration | None
    if kind == "pre-registered" and settings.given is not None:
        found = as_pre_registered(settings.given, place.server)
    elif kind == "metadata-document" and settings.document_url is not None:
        signs = settings.sign is not None
        found = as_metadata_document(settings.document_url, place.server, signs=signs)
    elif client_id is not None and (stored is None or stored.client_id != client_id):
        found = yield from _stored_registration(settings, place, now, client_id)
    else:
        found = stored
    if found is not None and client_id is not None and found.client_id != client_id:
        return None
    return found


def _stored_registration(
    settings: ClientSettings, place: Place, now: float, client_id: str | None = None
) -> Flow[Registration | None]:
    """Return how the client has registered itself, if it may do that and that is still good."""
    if not settings.may_register:
        return None
    found = yield from load_registration(place.server.issuer, client_id)
    return None if found is None or found.has_expired(now) else found


def _identify_machine(obtainer: Obtainer) -> Flow[Registration]:
    """Return who a client without a user is: it was registered by hand, or has a document."""
    settings, place = obtainer.settings, obtainer.place
    machine = msgspec.structs.replace(settings, may_register=False)
    registration = yield from identify(machine, place, obtainer.now)
    if registration is None:
        raise RegistrationFailed("a machine needs a client_id", place.server.issuer, "give one")
    return registration


def _identify_with_redirect(obtainer: Obtainer, scopes: Scopes) -> Flow[tuple[Registration, str]]:
    settings, place = obtainer.settings, obtainer.place
    assert isinstance(settings.way, ByUser)
    registration = yield from identify(settings, place, obtainer.now)
    known = registration.redirect_uris if registration is not None else ()
    redirect_uri = yield from listen(known or settings.way.redirect_uris)
    check_redirect_uri(redirect_uri)
    is_new = registration is None or (
        registration.kind == "dynamic" and redirect_uri not in registration.redirect_uris
    )
    if registration is None or is_new:
        may_ask = join_scopes(scopes, place.scopes_supported or ())
        registration = yield from register(place.server, settings.client, redirect_uri, may_ask)
        yield from keep_registration(registration)
    return registration, redirect_uri
