"""What an authorization server says about itself, as a client of MCP needs it.

Spec: basic/authorization/authorization-server-discovery, basic/authorization/client-registration
"""

from __future__ import annotations

from typing import Any, Final

from wigwag.doctor.findings import Finding
from wigwag.doctor.url_checks.documents import Document, Documents
from wigwag.doctor.url_checks.exchanges import Asker
from wigwag.oauth.urls import Url, is_usable, read_url
from wigwag.oauth.well_known import server_metadata_urls

__all__ = ["check_issuer"]

_ENDPOINTS: Final = ("authorization_endpoint", "token_endpoint", "registration_endpoint")


async def check_issuer(
    asker: Asker, documents: Documents, issuer: str, server: Url
) -> list[Finding]:
    """Get the metadata of an issuer and tell what of it keeps clients from using it.

    Args:
        asker: What asks at the MCP server.
        documents: Gets the metadata.
        issuer: The issuer, as the MCP server names it.
        server: The URL of the MCP server.
    """
    named = asker.told(issuer)
    if not is_usable(issuer, server) or "?" in issuer:
        return [
            Finding(
                "issuer-not-https",
                "error",
                "the authorization server is not reached by https, so that clients do not use it",
                f"authorization_servers has {named!r}",
                "name it by its https URL; plain http is for one machine alone",
                named,
            )
        ]
    tried = [await documents.get(url) for url in server_metadata_urls(read_url(issuer))]
    found = next((one for one in tried if one.members is not None), None)
    if found is None:
        return [_missing(named, tried)]
    members = found.members or {}
    findings = _judge_issuer(asker, issuer, found)
    findings += _judge_endpoints(asker, members, found, server)
    findings += _judge_flow(members, found)
    return [
        Finding(one.code, one.severity, one.what, one.evidence, one.change, named)
        for one in findings
    ]


def _missing(named: str, tried: list[Document]) -> Finding:
    evidence = "\n".join(document.outcome for document in tried)
    if not any(document.status for document in tried):
        return Finding(
            "authorization-server-unreachable",
            "error",
            "the authorization server that the MCP server names does not answer",
            evidence,
            "let the MCP server name it by the URL by which clients reach it, not by one that only "
            "the server can reach",
            named,
        )
    return Finding(
        "server-metadata-missing",
        "error",
        "the authorization server has no metadata where clients look for it",
        evidence,
        "serve it at one of these; name the issuer in the MCP server letter for letter (a tenant "
        "or realm is a part of its path)",
        named,
    )


def _judge_issuer(asker: Asker, issuer: str, found: Document) -> list[Finding]:
    stated = (found.members or {}).get("issuer")
    if stated == issuer:
        return []
    slash = isinstance(stated, str) and stated.rstrip("/") == issuer.rstrip("/")
    return [
        Finding(
            "issuer-mismatch",
            "error",
            "the metadata is that of another issuer"
            + (": one of the two has a slash at its end" if slash else ""),
            f"the MCP server names {asker.told(issuer)!r}; {found.url} says "
            f"issuer={asker.told(stated or 'nothing')!r}",
            "write the issuer in `authorization_servers` of the MCP server letter for letter as it "
            "calls itself",
        )
    ]


def _judge_endpoints(
    asker: Asker, members: dict[str, Any], found: Document, server: Url
) -> list[Finding]:
    findings = []
    missing = [name for name in _ENDPOINTS[:2] if not isinstance(members.get(name), str)]
    if missing:
        findings.append(
            Finding(
                "endpoint-missing",
                "error",
                f"the authorization server names no {' and no '.join(missing)}",
                f"{found.url} has: {asker.told(', '.join(map(str, members)))}",
                "let its metadata name them; one that has no users to ask (client credentials "
                "only) cannot be used by hosts of people",
            )
        )
    plain = [
        f"{name}={asker.told(members[name])!r}"
        for name in _ENDPOINTS
        if isinstance(members.get(name), str) and not is_usable(members[name], server)
    ]
    if plain:
        findings.append(
            Finding(
                "endpoint-not-https",
                "error",
                "endpoints of the authorization server are not https, so that clients refuse them",
                "\n".join(plain),
                "let it know by which URL it is reached (behind a proxy: X-Forwarded-Proto)",
            )
        )
    return findings


def _judge_flow(members: dict[str, Any], found: Document) -> list[Finding]:
    findings = []
    methods = members.get("code_challenge_methods_supported")
    if not isinstance(methods, list) or "S256" not in methods:
        findings.append(
            Finding(
                "pkce-not-declared",
                "error",
                "the authorization server does not say that it does PKCE; clients refuse it",
                f"{found.url}: code_challenge_methods_supported is {_shown(methods)}",
                'let it say `code_challenge_methods_supported: ["S256"]`, and do it',
            )
        )
    if not _may_be(members, "response_types_supported", "code") or not _may_be(
        members, "grant_types_supported", "authorization_code"
    ):
        findings.append(
            Finding(
                "code-flow-missing",
                "error",
                "the authorization server does not give out codes, by which people log in",
                f"{found.url}: response_types_supported is "
                f"{_shown(members.get('response_types_supported'))}, grant_types_supported is "
                f"{_shown(members.get('grant_types_supported'))}",
                "turn the authorization code flow on, or say that it is",
            )
        )
    has_registration = isinstance(members.get("registration_endpoint"), str)
    has_documents = members.get("client_id_metadata_document_supported") is True
    if not has_registration and not has_documents:
        findings.append(
            Finding(
                "no-registration",
                "warning",
                "hosts cannot make themselves known to the authorization server",
                f"{found.url} has neither registration_endpoint nor "
                "client_id_metadata_document_supported",
                "turn on client ID metadata documents or dynamic registration; otherwise every "
                "user has to register a client by hand and give its id to the host, which not "
                "every host can take",
            )
        )
    elif (
        has_documents
        and not has_registration
        and not _may_be(members, "token_endpoint_auth_methods_supported", "none")
    ):
        findings.append(
            Finding(
                "public-clients-refused",
                "warning",
                "programs on people's machines, which keep no secrets, cannot get tokens",
                f"{found.url}: token_endpoint_auth_methods_supported is "
                f"{_shown(members.get('token_endpoint_auth_methods_supported'))}",
                "take clients without a secret: let it say `none` as well",
            )
        )
    return findings


def _may_be(members: dict[str, Any], name: str, wanted: str) -> bool:
    """Tell whether a list has a value; one that is not there says nothing against it."""
    value = members.get(name)
    return not isinstance(value, list) or wanted in value


def _shown(value: Any) -> str:
    if not isinstance(value, list):
        return "missing"
    return (
        ", ".join(one for one in value if isinstance(one, str) and one.isprintable())[:200] or "[]"
    )
