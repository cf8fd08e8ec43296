"""Who the client is at an authorization server: given, a metadata document, or registered.

Spec: basic/authorization/client-registration
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from wigwag.errors import AuthorizationFailed, AuthorizationUnavailable, RegistrationFailed
from wigwag.oauth.client_authentication import method_to_register
from wigwag.oauth.metadata import AuthorizationServer
from wigwag.oauth.requests import HttpResponse, json_request, told
from wigwag.oauth.scopes import Scopes, write_scopes
from wigwag.oauth.secret import Secret
from wigwag.oauth.steps import Flow, fetch
from wigwag.oauth.storage import Registration, RegistrationKind
from wigwag.oauth.urls import Url, is_loopback, read_url, shown

__all__ = [
    "ClientMetadata",
    "PreRegistered",
    "as_metadata_document",
    "as_pre_registered",
    "check_document_url",
    "check_redirect_uri",
    "how_to_identify",
    "register",
]

_MAX_ID_CHARACTERS: Final = 4096


class ClientMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """What a client says about itself, to the authorization server and so to its user."""

    client_name: str
    client_uri: str | None = None
    application_type: Literal["native", "web"] = "native"
    """`web` for what runs on a server and is used from elsewhere, `native` for all else."""

    def document(
        self,
        redirect_uris: tuple[str, ...],
        *,
        auth_method: str = "none",
        scopes: Scopes = (),
        grant_types: tuple[str, ...] = ("authorization_code", "refresh_token"),
    ) -> dict[str, Any]:
        """Return it as registration requests and metadata documents have it."""
        document: dict[str, Any] = {
            "client_name": self.client_name,
            "redirect_uris": list(redirect_uris),
            "grant_types": list(grant_types),
            "response_types": ["code"] if "authorization_code" in grant_types else [],
            "token_endpoint_auth_method": auth_method,
            "application_type": self.application_type,
        }
        if self.client_uri is not None:
            document["client_uri"] = self.client_uri
        if scopes:
            document["scope"] = write_scopes(scopes)
        return document


class PreRegistered(msgspec.Struct, frozen=True, kw_only=True):
    """A client that somebody has registered by hand."""

    client_id: str
    client_secret: Secret | None = None
    issuer: str | None = None
    """Where; `None` for wherever the MCP server points to first, and nowhere else later."""
    token_endpoint_auth_method: str | None = None
    redirect_uris: tuple[str, ...] = ()


def check_redirect_uri(uri: str) -> Url:
    """Refuse a redirect URI that would carry the code over the open network.

    Spec: basic/authorization/security-considerations#communication-security

    Raises:
        ValueError: It is neither https nor http on a loopback address.
    """
    url = read_url(uri)
    if url.fragment or (url.scheme != "https" and not is_loopback(url)):
        raise ValueError("a redirect URI is https, or http on this machine, without a fragment")
    return url


def check_document_url(url: str) -> None:
    """Refuse a URL that cannot be that of a client ID metadata document.

    Spec: basic/authorization/client-registration#implementation-requirements

    Raises:
        ValueError: It is not https, or has no path, or one that can be read in two ways.
    """
    parts = read_url(url)
    segments = parts.path.split("/")
    if parts.scheme != "https" or not parts.bare_path or parts.fragment:
        raise ValueError("the URL of a client ID metadata document is https and has a path")
    if "." in segments or ".." in segments:
        raise ValueError("the URL of a client ID metadata document has no dots for folders")


def how_to_identify(
    server: AuthorizationServer,
    *,
    given: PreRegistered | None,
    document_url: str | None,
    may_register: bool,
    is_registered: bool,
    bound_to: str | None,
) -> RegistrationKind:
    """Decide how the client comes by its identity, in the order of the specification.

    Args:
        server: Where it needs one.
        given: The client that was registered by hand, if there is one.
        document_url: That of its metadata document, if it has one.
        may_register: Whether it may register itself.
        is_registered: Whether it has done that already.
        bound_to: The issuer at which `given` was used before.

    Raises:
        RegistrationFailed: There is no way; the text says what to give.
    """
    if given is not None:
        issuer = given.issuer or bound_to
        if issuer is not None and issuer != server.issuer:
            raise RegistrationFailed(
                f"the client {told(given.client_id)} is registered with {issuer}, but the MCP "
                "server wants tokens of another authorization server",
                server.issuer,
                "register the client there, if the change is meant",
            )
        return "pre-registered"
    if document_url is not None and server.client_id_metadata_document_supported:
        return "metadata-document"
    if is_registered or (may_register and server.registration_endpoint is not None):
        return "dynamic"
    raise RegistrationFailed(
        "the authorization server does not let clients register themselves",
        shown(server.issuer),
        "register one there by hand and give its client_id"
        + (
            ", or the URL of a client ID metadata document"
            if server.client_id_metadata_document_supported
            else ""
        ),
    )


def as_pre_registered(given: PreRegistered, server: AuthorizationServer) -> Registration:
    """Return the registration of a client that was registered by hand."""
    return Registration(
        issuer=server.issuer,
        kind="pre-registered",
        client_id=given.client_id,
        client_secret=given.client_secret,
        token_endpoint_auth_method=given.token_endpoint_auth_method,
        redirect_uris=given.redirect_uris,
    )


def as_metadata_document(url: str, server: AuthorizationServer, *, signs: bool) -> Registration:
    """Return the registration of a client whose id is the URL of its metadata document.

    Raises:
        ValueError: It cannot be such a URL.
    """
    check_document_url(url)
    return Registration(
        issuer=server.issuer,
        kind="metadata-document",
        client_id=url,
        token_endpoint_auth_method="private_key_jwt" if signs else "none",
    )


def register(
    server: AuthorizationServer, client: ClientMetadata, redirect_uri: str, scopes: Scopes
) -> Flow[Registration]:
    """Register the client (RFC 7591).

    Some authorization servers let nobody register for the scopes of a resource, though they issue
    tokens for them: where that may be why they say no, the client registers without.

    Spec: basic/authorization/client-registration#dynamic-client-registration

    Raises:
        RegistrationFailed: The authorization server said no.
        AuthorizationUnavailable: It cannot answer at the moment.
        AuthorizationFailed: It answered with something that is no registration.
    """
    endpoint = server.registration_endpoint or ""
    method = method_to_register(server)
    wanted = client.document((redirect_uri,), auth_method=method, scopes=scopes)
    response = yield from fetch(json_request(endpoint, wanted))
    document = response.read_object() or {}
    if scopes and document.get("error") == "invalid_client_metadata":
        del wanted["scope"]
        response = yield from fetch(json_request(endpoint, wanted))
        document = response.read_object() or {}
    _check_registered(response, document, endpoint)
    client_id, secret = document.get("client_id"), document.get("client_secret")
    if not isinstance(client_id, str) or not 0 < len(client_id) <= _MAX_ID_CHARACTERS:
        raise AuthorizationFailed(
            "the authorization server answered with something that is no registration",
            shown(endpoint),
            "tell its operator",
        )
    agreed = document.get("token_endpoint_auth_method")
    return Registration(
        issuer=server.issuer,
        kind="dynamic",
        client_id=client_id,
        client_secret=Secret(secret) if isinstance(secret, str) and secret else None,
        client_secret_expires_at=_expiry(document),
        token_endpoint_auth_method=agreed if isinstance(agreed, str) else None,
        redirect_uris=(redirect_uri,),
        scopes=scopes,
    )


def _check_registered(response: HttpResponse, document: Mapping[str, Any], endpoint: str) -> None:
    if response.is_temporary_failure:
        raise AuthorizationUnavailable(
            f"the registration endpoint answered with status {response.status}",
            shown(endpoint),
            "try again later",
        )
    if response.status in (200, 201) and "error" not in document:
        return
    error = told(document.get("error")) or f"status {response.status}"
    description = told(document.get("error_description"))
    raise RegistrationFailed(
        f"the authorization server does not register this client: {error}"
        f"{': ' if description else ''}{description}",
        shown(endpoint),
        "register one there by hand and give its client_id",
    )


def _expiry(document: Mapping[str, Any]) -> float | None:
    """Return when the secret expires; 0 stands for never."""
    expires_at = document.get("client_secret_expires_at")
    if isinstance(expires_at, bool) or not isinstance(expires_at, int | float):
        return None
    return float(expires_at) or None
