"""Metadata of MCP servers (RFC 9728) and of authorization servers (RFC 8414, OpenID Connect).

Documents are read leniently: a member of another type than it should have counts as absent. What
must hold is checked strictly. Issuers and resources stay the texts that they are: a library that
normalises a URL makes two different ones equal, or equal ones different.
Spec: basic/authorization/authorization-server-discovery
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from wigwag.errors import AuthorizationFailed, AuthorizationUntrusted
from wigwag.oauth.requests import told
from wigwag.oauth.scopes import Scopes, join_scopes
from wigwag.oauth.urls import MAX_URL_CHARACTERS, Url, is_resource_of, is_usable, shown

__all__ = [
    "AuthorizationServer",
    "ProtectedResource",
    "check_pkce",
    "presumed_server",
    "read_authorization_server",
    "read_protected_resource",
]

# More than anyone lists; whoever lists more has the rest ignored.
_MAX_ISSUERS: Final = 16
_MAX_LISTED: Final = 256

S256: Final = "S256"


class ProtectedResource(msgspec.Struct, frozen=True, kw_only=True):
    """What an MCP server says about itself."""

    resource: str
    """Exactly as it says; the value of `resource` in all requests."""

    authorization_servers: tuple[str, ...]
    """Issuers, at least one."""

    scopes_supported: Scopes | None = None
    dpop_bound_access_tokens_required: bool = False


class AuthorizationServer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an authorization server says about itself; kept with the tokens that it issued."""

    issuer: str
    authorization_endpoint: str | None = None
    token_endpoint: str | None = None
    registration_endpoint: str | None = None
    revocation_endpoint: str | None = None
    scopes_supported: Scopes | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] | None = None
    code_challenge_methods_supported: tuple[str, ...] | None = None
    dpop_signing_alg_values_supported: tuple[str, ...] | None = None
    client_id_metadata_document_supported: bool = False
    authorization_response_iss_parameter_supported: bool = False
    is_presumed: bool = False
    """Whether it has no metadata, and its endpoints are where 2025-03-26 says they are."""


def read_protected_resource(
    document: Mapping[str, Any], url: str, server: Url
) -> ProtectedResource:
    """Read and check the metadata of an MCP server.

    Args:
        document: The JSON.
        url: Where it came from.
        server: The URL of the MCP server.

    Raises:
        AuthorizationUntrusted: It is the metadata of another resource, or names an authorization
            server that cannot be spoken to safely.
        AuthorizationFailed: It names no authorization server.
    """
    resource = _text(document, "resource")
    if resource is None or not is_resource_of(resource, server):
        named = "no resource" if resource is None else f"the resource {shown(resource)}"
        raise AuthorizationUntrusted(
            f"the metadata names {named}, not the MCP server {server.origin}{server.path}",
            shown(url),
            "use the URL that the server calls itself by, or tell its operator",
        )
    issuers = (_texts(document, "authorization_servers") or ())[:_MAX_ISSUERS]
    if not issuers:
        raise AuthorizationFailed(
            "the metadata of the MCP server names no authorization server",
            shown(url),
            "tell its operator",
        )
    usable = tuple(issuer for issuer in issuers if is_usable(issuer, server) and "?" not in issuer)
    if not usable:
        raise AuthorizationUntrusted(
            f"the authorization server {shown(issuers[0])} is not reached by https",
            shown(url),
            "tell the operator of the MCP server",
        )
    scopes = _texts(document, "scopes_supported")
    return ProtectedResource(
        resource=resource,
        authorization_servers=usable,
        scopes_supported=None if scopes is None else join_scopes(scopes) or None,
        dpop_bound_access_tokens_required=document.get("dpop_bound_access_tokens_required") is True,
    )


def read_authorization_server(
    document: Mapping[str, Any],
    issuers: tuple[str, ...],
    *,
    url: str,
    server: Url,
    is_strict: bool = True,
) -> AuthorizationServer:
    """Read and check the metadata of an authorization server.

    Args:
        document: The JSON.
        issuers: Whose metadata was asked for: one, or ways to write one.
        url: Where it came from.
        server: The URL of the MCP server.
        is_strict: Whether the document must name one of them, letter for letter.

    Raises:
        AuthorizationUntrusted: It is the metadata of another issuer, or an endpoint is not https.
    """
    named = _text(document, "issuer")
    if named is None or (is_strict and named not in issuers):
        raise AuthorizationUntrusted(
            f"the metadata of {told(issuers[0])} says that it is that of "
            f"{'nobody' if named is None else told(named)}",
            shown(url),
            "nothing was sent there; tell the operator of the authorization server",
        )

    def endpoint(name: str) -> str | None:
        value = _text(document, name)
        if value is not None and not is_usable(value, server):
            raise AuthorizationUntrusted(
                f"the {name} {shown(value)} is not https",
                shown(url),
                "nothing was sent there; tell the operator of the authorization server",
            )
        return value

    return AuthorizationServer(
        issuer=named,
        authorization_endpoint=endpoint("authorization_endpoint"),
        token_endpoint=endpoint("token_endpoint"),
        registration_endpoint=endpoint("registration_endpoint"),
        revocation_endpoint=endpoint("revocation_endpoint"),
        scopes_supported=_texts(document, "scopes_supported"),
        token_endpoint_auth_methods_supported=_texts(
            document, "token_endpoint_auth_methods_supported"
        ),
        code_challenge_methods_supported=_texts(document, "code_challenge_methods_supported"),
        dpop_signing_alg_values_supported=_texts(document, "dpop_signing_alg_values_supported"),
        client_id_metadata_document_supported=(
            document.get("client_id_metadata_document_supported") is True
        ),
        authorization_response_iss_parameter_supported=(
            document.get("authorization_response_iss_parameter_supported") is True
        ),
    )


def presumed_server(server: Url) -> AuthorizationServer:
    """Return what 2025-03-26 takes for granted where there is no metadata at all.

    Spec: 2025-03-26 basic/authorization#fallbacks-for-servers-without-metadata-discovery
    """
    base = server.origin
    return AuthorizationServer(
        issuer=base,
        authorization_endpoint=f"{base}/authorize",
        token_endpoint=f"{base}/token",
        registration_endpoint=f"{base}/register",
        token_endpoint_auth_methods_supported=("none", "client_secret_basic", "client_secret_post"),
        code_challenge_methods_supported=(S256,),
        is_presumed=True,
    )


def check_pkce(authorization_server: AuthorizationServer) -> None:
    """Refuse an authorization server that does not say that it verifies codes with S256.

    Spec: basic/authorization/security-considerations#authorization-code-protection

    Raises:
        AuthorizationUntrusted: It does not.
    """
    methods = authorization_server.code_challenge_methods_supported
    if methods is None or S256 not in methods:
        raise AuthorizationUntrusted(
            "the authorization server does not say that it supports PKCE with S256, without which "
            "codes can be stolen",
            told(authorization_server.issuer),
            "its metadata must list S256 in code_challenge_methods_supported: tell its operator",
        )


def _text(document: Mapping[str, Any], name: str) -> str | None:
    value = document.get(name)
    if not isinstance(value, str) or not value or len(value) > MAX_URL_CHARACTERS:
        return None
    return value


def _texts(document: Mapping[str, Any], name: str) -> tuple[str, ...] | None:
    value = document.get(name)
    if not isinstance(value, list):
        return None
    return tuple(each for each in value[:_MAX_LISTED] if isinstance(each, str))
