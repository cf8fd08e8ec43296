"""Client ID metadata documents: what to host under the URL that is a client's id.

Spec: basic/authorization/client-registration#client-id-metadata-documents
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from wigwag.oauth.registration import ClientMetadata, check_document_url, check_redirect_uri
from wigwag.oauth.requests import told

__all__ = ["create_document", "find_faults"]

# Whoever can read the document would know the secret.
_SHARED_SECRET_METHODS: Final = (
    "client_secret_basic",
    "client_secret_post",
    "client_secret_jwt",
)
_SECRET_MEMBERS: Final = ("client_secret", "client_secret_expires_at")


def create_document(
    url: str,
    client: ClientMetadata,
    redirect_uris: tuple[str, ...],
    *,
    jwks_uri: str | None = None,
) -> dict[str, Any]:
    """Return the document, to be written as JSON and served at the URL.

    Args:
        url: Where it will be served: https, with a path. It is the client's id.
        client: What it says about the client.
        redirect_uris: Where browsers may come back to.
        jwks_uri: Where the public keys are, if the client proves who it is by signing.

    Raises:
        ValueError: The URL cannot be that of such a document, or a redirect URI is not safe.
    """
    check_document_url(url)
    if not redirect_uris:
        raise ValueError("a client needs a redirect URI")
    for uri in redirect_uris:
        check_redirect_uri(uri)
    method = "none" if jwks_uri is None else "private_key_jwt"
    document = {"client_id": url, **client.document(redirect_uris, auth_method=method)}
    return document if jwks_uri is None else {**document, "jwks_uri": jwks_uri}


def find_faults(url: str, document: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a document, a sentence each; nothing for a sound one.

    Args:
        url: Where it is served.
        document: What is served there.
    """
    faults: list[str] = []
    try:
        check_document_url(url)
    except ValueError as error:
        faults.append(f"its URL cannot be used: {error}")
    client_id = document.get("client_id")
    if client_id != url:
        faults.append(f"client_id must be {told(url)}, letter for letter: it is {_said(client_id)}")
    if not isinstance(document.get("client_name"), str) or not document["client_name"]:
        faults.append("client_name is missing: users are shown it")
    faults += _redirect_faults(document.get("redirect_uris"))
    faults += [f"{name} must not be in it" for name in _SECRET_MEMBERS if name in document]
    return faults + _method_faults(document)


def _redirect_faults(uris: object) -> list[str]:
    if not isinstance(uris, list) or not uris:
        return ["redirect_uris is missing: there must be at least one"]
    faults: list[str] = []
    for uri in uris:
        try:
            check_redirect_uri(uri if isinstance(uri, str) else "")
        except ValueError as error:
            faults.append(f"the redirect URI {_said(uri)} cannot be used: {error}")
    return faults


def _method_faults(document: Mapping[str, Any]) -> list[str]:
    # Left out, it means client_secret_basic: RFC 7591.
    method = document.get("token_endpoint_auth_method", "client_secret_basic")
    if method in _SHARED_SECRET_METHODS:
        return [f"token_endpoint_auth_method is {method}: say none, or private_key_jwt"]
    if method == "private_key_jwt" and not {"jwks", "jwks_uri"} & document.keys():
        return ["private_key_jwt needs jwks_uri or jwks, to verify what is signed"]
    return []


def _said(value: object) -> str:
    return told(value) if isinstance(value, str) and value else "no text"
