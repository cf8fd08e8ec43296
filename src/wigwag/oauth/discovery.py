"""Finding out who issues the tokens that an MCP server accepts.

Spec: basic/authorization/authorization-server-discovery
"""

from __future__ import annotations

from typing import Any

from wigwag.errors import AuthorizationFailed, AuthorizationUnavailable, AuthorizationUntrusted
from wigwag.oauth.metadata import (
    AuthorizationServer,
    ProtectedResource,
    presumed_server,
    read_authorization_server,
    read_protected_resource,
)
from wigwag.oauth.requests import HttpResponse, get_request
from wigwag.oauth.steps import Flow, fetch
from wigwag.oauth.urls import Url, is_usable, read_url, shown
from wigwag.oauth.well_known import resource_metadata_urls, server_metadata_urls

__all__ = ["find_authorization_server", "find_legacy_server", "find_protected_resource"]


def find_protected_resource(
    server: Url, metadata_url: str | None, revision: str
) -> Flow[ProtectedResource | None]:
    """Get the metadata of an MCP server.

    Args:
        server: The URL of the server.
        metadata_url: Where it says that the metadata is, when it refused a request.
        revision: The revision of the protocol that is spoken, which it is told.

    Returns:
        `None` if it has none, as servers of 2025-03-26.

    Raises:
        AuthorizationFailed: There is none where it says, or it names no authorization server.
        AuthorizationUntrusted: It is the metadata of something else, or not reached by https.
        AuthorizationUnavailable: It cannot be had at the moment.
    """
    headers = {"mcp-protocol-version": revision}
    if metadata_url is None:
        candidates = resource_metadata_urls(server)
    elif is_usable(metadata_url, server):
        candidates = (metadata_url,)
        headers = headers if read_url(metadata_url).origin == server.origin else {}
    else:
        raise AuthorizationUntrusted(
            "the URL that the MCP server gives for its metadata is not https",
            shown(metadata_url),
            "tell its operator",
        )
    failed: str | None = None
    for url in candidates:
        response = yield from fetch(get_request(url, headers))
        document = _document(response)
        if document is not None:
            return read_protected_resource(document, url, server)
        if response.is_temporary_failure:
            failed = url
    if failed is not None:
        raise _unavailable("the metadata of the MCP server", failed)
    if metadata_url is not None:
        raise AuthorizationFailed(
            "there is no metadata where the MCP server says that it is",
            shown(metadata_url),
            "tell its operator",
        )
    return None


def find_authorization_server(
    issuer: str, server: Url, *, is_strict: bool = True
) -> Flow[AuthorizationServer]:
    """Get the metadata of an authorization server.

    Args:
        issuer: Its identifier, exactly as the MCP server names it.
        server: The URL of the MCP server.
        is_strict: Whether the metadata must name that very issuer.

    Raises:
        AuthorizationFailed: It has none.
        AuthorizationUntrusted: All there is belongs to another issuer, or an endpoint is not https.
        AuthorizationUnavailable: It cannot be had at the moment.
    """
    found = yield from _search(issuer, (issuer,), server, {}, is_strict=is_strict)
    if found is None:
        raise AuthorizationFailed(
            "the authorization server has no metadata",
            shown(issuer),
            "tell its operator, or that of the MCP server",
        )
    return found


def find_legacy_server(
    server: Url, revision: str, *, is_strict: bool = True
) -> Flow[AuthorizationServer]:
    """Get what serves as authorization server where an MCP server has no metadata.

    It is at the origin of the server; where there is no metadata either, its endpoints are.

    Spec: 2025-03-26 basic/authorization#server-metadata-discovery

    Raises:
        AuthorizationUntrusted: Its metadata belongs to another issuer, or an endpoint is not https.
        AuthorizationUnavailable: The metadata cannot be had at the moment.
    """
    headers = {"mcp-protocol-version": revision}
    # Nobody has named this issuer, so either spelling is one that could have been meant.
    spellings = (server.origin, f"{server.origin}/")
    found = yield from _search(server.origin, spellings, server, headers, is_strict=is_strict)
    return presumed_server(server) if found is None else found


def _search(
    issuer: str,
    spellings: tuple[str, ...],
    server: Url,
    headers: dict[str, str],
    *,
    is_strict: bool,
) -> Flow[AuthorizationServer | None]:
    untrusted: AuthorizationUntrusted | None = None
    failed: str | None = None
    for url in server_metadata_urls(read_url(issuer)):
        response = yield from fetch(get_request(url, headers))
        document = _document(response)
        if document is None:
            failed = url if response.is_temporary_failure else failed
            continue
        try:
            return read_authorization_server(
                document, spellings, url=url, server=server, is_strict=is_strict
            )
        except AuthorizationUntrusted as error:
            # Another document may be sound; this one is not used.
            untrusted = untrusted or error
    if untrusted is not None:
        raise untrusted
    if failed is not None:
        raise _unavailable("the metadata of the authorization server", failed)
    return None


def _document(response: HttpResponse) -> dict[str, Any] | None:
    """Return the metadata in a response; a page for people, with status 200, is none."""
    return response.read_object() if response.status == 200 else None


def _unavailable(what: str, url: str) -> AuthorizationUnavailable:
    return AuthorizationUnavailable(
        f"{what} cannot be had at the moment", shown(url), "try again later"
    )
