"""Requests to the token endpoint, what comes back, and what a refusal says about what is kept.

Spec: basic/authorization, OAuth 2.1 section 3.2
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal, NoReturn, TypeAlias

import msgspec

from wigwag.errors import (
    AuthorizationFailed,
    AuthorizationRefused,
    AuthorizationUnavailable,
    AuthorizationUntrusted,
)
from wigwag.oauth.client_authentication import SignAssertion, client_proof
from wigwag.oauth.dpop import MakeProof, demanded_nonce
from wigwag.oauth.metadata import AuthorizationServer
from wigwag.oauth.requests import HttpResponse, form_request, told
from wigwag.oauth.scopes import Scopes, read_scopes, write_scopes
from wigwag.oauth.secret import Secret
from wigwag.oauth.steps import Flow, fetch
from wigwag.oauth.storage import Registration, Tokens
from wigwag.oauth.urls import shown

__all__ = [
    "Grant",
    "IssuedToken",
    "TokenClient",
    "assertion_grant",
    "client_credentials_grant",
    "code_grant",
    "exchange_for_id_jag",
    "identity_exchange_grant",
    "lost_by",
    "refresh_grant",
    "request_token",
    "revoke",
    "to_tokens",
]

ID_TOKEN: Final = "urn:ietf:params:oauth:token-type:id_token"
SAML2: Final = "urn:ietf:params:oauth:token-type:saml2"
ID_JAG: Final = "urn:ietf:params:oauth:token-type:id-jag"

_TOKEN_EXCHANGE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
_JWT_BEARER: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"

# What fits into a header without ending it.
_is_sendable: Final = re.compile(r"[!-~]{1,65536}").fullmatch
_is_error_code: Final = re.compile(r"[a-zA-Z0-9_.:/-]{1,100}").fullmatch

_MAX_LIFETIME_SECONDS: Final = 10 * 365 * 86400.0


class Grant(msgspec.Struct, frozen=True):
    """What a token is asked for on the strength of."""

    fields: Mapping[str, str]
    secrets: tuple[Secret, ...] = ()
    """What of it must not be seen."""

    def __repr__(self) -> str:
        return f"Grant({self.fields.get('grant_type')!r})"


class TokenClient(msgspec.Struct, frozen=True):
    """Who asks, and where."""

    server: AuthorizationServer
    registration: Registration
    sign: SignAssertion | None = None
    proof: MakeProof | None = None


class IssuedToken(msgspec.Struct, frozen=True):
    """What a token endpoint answered."""

    access_token: Secret
    token_type: str
    """In lower case."""
    expires_at: float | None
    refresh_token: Secret | None
    scopes: Scopes | None
    """What was granted; `None` if it is what was asked for."""
    issued_token_type: str | None


def code_grant(code: Secret, verifier: Secret, redirect_uri: str, resource: str) -> Grant:
    """Redeem the code that the user's consent has brought."""
    fields = {
        "grant_type": "authorization_code",
        "code": code.reveal(),
        "redirect_uri": redirect_uri,
        "code_verifier": verifier.reveal(),
        "resource": resource,
    }
    return Grant(fields, (code, verifier))


def refresh_grant(refresh_token: Secret, resource: str) -> Grant:
    """Renew an access token, with the scopes that it has."""
    fields = {
        "grant_type": "refresh_token",
        "refresh_token": refresh_token.reveal(),
        "resource": resource,
    }
    return Grant(fields, (refresh_token,))


def client_credentials_grant(resource: str, scopes: Scopes) -> Grant:
    """Ask for a token for the client itself.

    Spec: extensions/auth/oauth-client-credentials
    """
    return Grant(_scoped({"grant_type": "client_credentials", "resource": resource}, scopes))


def assertion_grant(assertion: Secret, resource: str, scopes: Scopes) -> Grant:
    """Ask for a token for whom a JWT names: a workload, or the user of an enterprise.

    Spec: RFC 7523 section 2.1
    """
    fields = {"grant_type": _JWT_BEARER, "assertion": assertion.reveal(), "resource": resource}
    return Grant(_scoped(fields, scopes), (assertion,))


def identity_exchange_grant(
    subject_token: Secret, subject_token_type: str, *, audience: str, resource: str, scopes: Scopes
) -> Grant:
    """Ask an identity provider for a JWT that speaks for its user at another issuer (an ID-JAG).

    Spec: extensions/auth/enterprise-managed-authorization, RFC 8693
    """
    fields = {
        "grant_type": _TOKEN_EXCHANGE,
        "requested_token_type": ID_JAG,
        "subject_token": subject_token.reveal(),
        "subject_token_type": subject_token_type,
        "audience": audience,
        "resource": resource,
    }
    return Grant(_scoped(fields, scopes), (subject_token,))


def _scoped(fields: dict[str, str], scopes: Scopes) -> dict[str, str]:
    return {**fields, "scope": write_scopes(scopes)} if scopes else fields


def request_token(client: TokenClient, grant: Grant) -> Flow[IssuedToken]:
    """Ask a token endpoint for a token.

    A server that wants a nonce in the proof is asked once more, with it.

    Raises:
        AuthorizationRefused: It said no; `lost_by` tells what that means for what is kept.
        AuthorizationUnavailable: It cannot answer at the moment.
        AuthorizationUntrusted: What it answered cannot be used safely.
        AuthorizationFailed: It answered with something that is no token, or has no such endpoint.
    """
    endpoint = client.server.token_endpoint
    if endpoint is None:
        raise AuthorizationFailed(
            "the authorization server has no token endpoint",
            shown(client.server.issuer),
            "tell its operator",
        )
    response, secrets = yield from _post(client, grant, endpoint, None)
    nonce = None if client.proof is None else demanded_nonce(response, _error_in(response))
    if nonce is not None:
        response, secrets = yield from _post(client, grant, endpoint, nonce)
    issued = read_token_response(response, endpoint, secrets)
    _check_type(issued, client, endpoint)
    return issued


def _post(
    client: TokenClient, grant: Grant, endpoint: str, nonce: str | None
) -> Flow[tuple[HttpResponse, tuple[Secret, ...]]]:
    """Make the request; return the response, and what was sent in secret."""
    proof = client_proof(client.registration, client.server, client.sign)
    headers = dict(proof.headers)
    if client.proof is not None:
        signed = client.proof("POST", endpoint, nonce=nonce, access_token=None)
        headers["dpop"] = signed.reveal()
    request = form_request(endpoint, {**grant.fields, **proof.fields}, headers)
    return (yield from fetch(request)), (*grant.secrets, *proof.secrets)


def read_token_response(
    response: HttpResponse, endpoint: str, secrets: tuple[Secret, ...]
) -> IssuedToken:
    """Read what a token endpoint answered.

    Raises:
        AuthorizationRefused: It is a refusal.
        AuthorizationUnavailable: The endpoint cannot answer at the moment.
        AuthorizationFailed: It is no token.
    """
    where = shown(endpoint)
    document = response.read_object()
    if response.is_temporary_failure:
        raise AuthorizationUnavailable(
            f"the token endpoint answered with status {response.status}", where, "try again later"
        )
    # Some answer with status 200 and an error.
    if response.status not in (200, 201) or document is None or "error" in document:
        _refuse(response, document or {}, where, secrets)
    token = _secret(document.get("access_token"))
    kind = document.get("token_type")
    if token is None or not isinstance(kind, str):
        raise AuthorizationFailed(
            "the token endpoint answered with something that is no token",
            where,
            "tell the operator of the authorization server",
        )
    scope, issued_type = document.get("scope"), document.get("issued_token_type")
    return IssuedToken(
        token,
        kind.lower(),
        _expiry(document.get("expires_in"), response.received_at),
        _secret(document.get("refresh_token")),
        read_scopes(scope) if isinstance(scope, str) else None,
        issued_type if isinstance(issued_type, str) else None,
    )


def _error_in(response: HttpResponse) -> str | None:
    error = (response.read_object() or {}).get("error")
    return error if isinstance(error, str) and _is_error_code(error) else None


def _refuse(
    response: HttpResponse, document: Mapping[str, Any], where: str, secrets: tuple[Secret, ...]
) -> NoReturn:
    error = _error_in(response)
    description = told(document.get("error_description"), secrets)
    said = f": {description}" if description else ""
    if error is None:
        raise AuthorizationFailed(
            f"the token endpoint answered with status {response.status} and no reason",
            where,
            "tell the operator of the authorization server",
        )
    raise AuthorizationRefused(
        f"the token endpoint refused with {error}{said}", where, _ADVICE.get(error, ""), error
    )


_ADVICE: Final = {
    "invalid_grant": "log in again",
    "invalid_client": "register the client anew, or correct its id and secret",
    "unauthorized_client": "allow this kind of grant to the client",
    "unsupported_grant_type": "use another way to authorize: this server does not have it",
    "invalid_scope": "ask for other scopes",
    "invalid_target": "the authorization server does not know the MCP server: tell its operator",
}


def _expiry(lifetime: object, received_at: float) -> float | None:
    if isinstance(lifetime, str) and lifetime.isascii() and lifetime.isdigit():
        lifetime = int(lifetime[:12])  # some write it as a text
    if isinstance(lifetime, bool) or not isinstance(lifetime, int | float):
        return None
    return received_at + min(max(float(lifetime), 0.0), _MAX_LIFETIME_SECONDS)


def _secret(value: object) -> Secret | None:
    return Secret(value) if isinstance(value, str) and _is_sendable(value) else None


def _check_type(issued: IssuedToken, client: TokenClient, endpoint: str) -> None:
    """Check that the token is of the kind that was asked for.

    A token without its key where one was proven would be good for whoever steals it.
    """
    expected = "bearer" if client.proof is None else "dpop"
    if issued.token_type != expected and issued.issued_token_type != ID_JAG:
        raise AuthorizationUntrusted(
            f"the token endpoint issued a token of the type {told(issued.token_type)}, not "
            f"{expected}",
            shown(endpoint),
            "it is not used; tell the operator of the authorization server",
        )


def to_tokens(
    issued: IssuedToken,
    client: TokenClient,
    resource: str,
    *,
    requested: Scopes,
    old: Tokens | None,
) -> Tokens:
    """Return what to keep of an answer.

    Args:
        issued: The answer.
        client: Who asked.
        resource: What it is for.
        requested: The scopes that were asked for.
        old: The tokens that were refreshed; a refresh token that was not replaced stays good.
    """
    refresh_token = issued.refresh_token
    if refresh_token is None and old is not None:
        refresh_token = old.refresh_token
    return Tokens(
        issuer=client.server.issuer,
        resource=resource,
        client_id=client.registration.client_id,
        access_token=issued.access_token,
        token_type="Bearer" if client.proof is None else "DPoP",
        expires_at=issued.expires_at,
        refresh_token=refresh_token,
        scopes=requested if issued.scopes is None else issued.scopes,
        requested_scopes=requested,
    )


Lost: TypeAlias = Literal["tokens", "registration"]


def lost_by(error: AuthorizationFailed) -> Lost | None:
    """Tell which of what is kept a refusal makes worthless.

    Nothing else does: not a server that is down, and not one that answers nonsense.
    """
    if not isinstance(error, AuthorizationRefused):
        return None
    if error.error == "invalid_grant":
        return "tokens"
    return "registration" if error.error == "invalid_client" else None


def exchange_for_id_jag(identity_provider: TokenClient, grant: Grant) -> Flow[Secret]:
    """Have an identity provider make an ID-JAG.

    Spec: extensions/auth/enterprise-managed-authorization

    Raises:
        AuthorizationFailed: It did not; `request_token` says what the kinds of it mean.
    """
    issued = yield from request_token(identity_provider, grant)
    if issued.issued_token_type != ID_JAG:
        raise AuthorizationFailed(
            "the identity provider answered with another token than was asked for",
            shown(identity_provider.server.issuer),
            "it must support identity assertion grants (ID-JAG): tell its operator",
        )
    return issued.access_token


def revoke(client: TokenClient, tokens: Tokens) -> Flow[None]:
    """Tell an authorization server that tokens are no longer wanted, if it takes such news.

    Spec: RFC 7009. What it answers does not matter: the tokens are not used again in any case.

    Raises:
        RegistrationFailed: The client cannot prove who it is.
    """
    endpoint = client.server.revocation_endpoint
    if endpoint is None:
        return
    kept = {"refresh_token": tokens.refresh_token, "access_token": tokens.access_token}
    for kind, token in kept.items():
        if token is not None:
            proof = client_proof(client.registration, client.server, client.sign)
            fields = {"token": token.reveal(), "token_type_hint": kind, **proof.fields}
            yield from fetch(form_request(endpoint, fields, proof.headers))
