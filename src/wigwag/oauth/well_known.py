"""Where metadata is looked for, in the order of the specification.

Spec: basic/authorization/authorization-server-discovery
"""

from __future__ import annotations

from wigwag.oauth.urls import Url

__all__ = ["resource_metadata_urls", "server_metadata_urls"]


def resource_metadata_urls(server: Url) -> tuple[str, ...]:
    """Return where the metadata of an MCP server may be, if it does not say where it is.

    >>> resource_metadata_urls(Url("https", "a.example", 443, "/mcp", "", ""))[0]
    'https://a.example/.well-known/oauth-protected-resource/mcp'
    """
    root = f"{server.origin}/.well-known/oauth-protected-resource"
    return (f"{root}{server.bare_path}", root) if server.bare_path else (root,)


def server_metadata_urls(issuer: Url) -> tuple[str, ...]:
    """Return where the metadata of an authorization server may be.

    What is at the root of its host belongs to another issuer than one with a path.

    >>> server_metadata_urls(Url("https", "a.example", 443, "", "", ""))[1]
    'https://a.example/.well-known/openid-configuration'
    """
    origin, path = issuer.origin, issuer.bare_path
    inserted = (
        f"{origin}/.well-known/oauth-authorization-server{path}",
        f"{origin}/.well-known/openid-configuration{path}",
    )
    return (*inserted, f"{origin}{path}/.well-known/openid-configuration") if path else inserted
