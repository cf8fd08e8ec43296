"""What a protected MCP server says about itself (RFC 9728), for clients to find its issuer.

Spec: basic/authorization/authorization-server-discovery
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from wigwag.oauth.scopes import OFFLINE_ACCESS, join_scopes
from wigwag.oauth.urls import read_url

__all__ = ["check_resource", "create_resource_document"]


def check_resource(resource: str) -> None:
    """Refuse what cannot name a resource.

    Raises:
        ValueError: It is no http or https URL, or has a fragment.
    """
    try:
        url = read_url(resource)
    except ValueError as error:
        raise ValueError(f"the resource {resource!r} cannot be used: {error}") from None
    if url.fragment or "#" in resource:
        raise ValueError(f"the resource {resource!r} has a fragment, which no resource may have")


def create_resource_document(
    resource: str,
    authorization_servers: Sequence[str],
    *,
    scopes: Iterable[str] = (),
    name: str | None = None,
    documentation: str | None = None,
    dpop_algorithms: Sequence[str] = (),
    is_dpop_required: bool = False,
) -> dict[str, Any]:
    """Return the document, to be served as JSON at the well-known paths.

    Members that would say nothing are left out.

    Args:
        resource: The URI of the server, exactly as tokens are to name it.
        authorization_servers: The issuers of tokens that it accepts, letter for letter.
        scopes: What clients ask for at first. `offline_access` is never among them: whether it
            may be asked for is between the client and the authorization server.
        name: What people call the server.
        documentation: The URL of a page for developers.
        dpop_algorithms: What proofs may be signed with; none if it takes no bound tokens.
        is_dpop_required: Whether it takes bound tokens only.

    Raises:
        ValueError: The resource is no URL, or there is no authorization server.
    """
    check_resource(resource)
    if not authorization_servers:
        raise ValueError("a protected server needs an authorization server: name its issuer")
    listed = [scope for scope in join_scopes(scopes) if scope != OFFLINE_ACCESS]
    document: dict[str, Any] = {
        "resource": resource,
        "authorization_servers": list(authorization_servers),
        "scopes_supported": listed,
        "bearer_methods_supported": ["header"],
        "resource_name": name,
        "resource_documentation": documentation,
        "dpop_signing_alg_values_supported": list(dpop_algorithms),
        "dpop_bound_access_tokens_required": is_dpop_required,
    }
    return {member: value for member, value in document.items() if value}
