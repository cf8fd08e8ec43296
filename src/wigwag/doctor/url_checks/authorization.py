"""What a server says when it wants a token, up to where the token comes from.

Spec: basic/authorization/authorization-server-discovery
"""

from __future__ import annotations

from typing import Any, Final

from wigwag.doctor.findings import Facts, Finding
from wigwag.doctor.url_checks.documents import Document, Documents
from wigwag.doctor.url_checks.exchanges import Asker, Exchange
from wigwag.doctor.url_checks.issuers import check_issuer
from wigwag.oauth.challenges import Challenge, Demand, demand_of, parse_challenges
from wigwag.oauth.urls import is_resource_of, is_usable, read_url
from wigwag.oauth.well_known import resource_metadata_urls, server_metadata_urls

__all__ = ["check_authorization"]

# So many issuers are looked at.
_MAX_ISSUERS: Final = 3
_TOKEN_SCHEMES: Final = ("bearer", "dpop")
_OPERATOR: Final = "let the server say"


async def check_authorization(asker: Asker, refusal: Exchange, facts: Facts) -> list[Finding]:
    """Follow the way that a client takes after a 401, up to the authorization server.

    Nothing is registered, nobody is asked to log in, and no token goes anywhere.

    Args:
        asker: What was refused.
        refusal: The 401.
        facts: Takes what else is found out.
    """
    facts["wants_token"] = True
    challenges = parse_challenges([refusal.headers.get("www-authenticate", "")])
    demand = demand_of(challenges)
    findings = _judge_challenge(asker, refusal, challenges, demand)
    if any(finding.severity == "error" for finding in findings):
        return findings
    documents = await Documents.around(asker)
    found, faults = await _find_resource(asker, documents, demand)
    findings += faults
    if found is not None:
        findings += await _check_resource(asker, documents, found, facts)
    if any(finding.is_fault for finding in findings):
        return findings
    return [*findings, _wanted(asker, refusal)]


def _judge_challenge(
    asker: Asker, refusal: Exchange, challenges: tuple[Challenge, ...], demand: Demand
) -> list[Finding]:
    sent = any(name.lower() == "authorization" for name in asker.headers)
    evidence = f"{asker.shown(refusal)}\nWWW-Authenticate: " + (
        asker.told(refusal.headers.get("www-authenticate", "")) or "none"
    )
    if sent:
        said = asker.told(demand.error_description or "")
        return [
            Finding(
                "token-refused",
                "error",
                "the server refuses the token that it was sent" + (f": {said}" if said else ""),
                evidence,
                "see whether it has expired, whether it was issued for this very server (audience, "
                "resource), and whether a proxy drops the header Authorization",
            )
        ]
    if not challenges:
        return [
            Finding(
                "challenge-missing",
                "warning",
                "a 401 does not say what is wanted, so that few hosts begin to log in",
                evidence,
                f'{_OPERATOR} `WWW-Authenticate: Bearer resource_metadata="…"`',
            )
        ]
    if not any(one.scheme in _TOKEN_SCHEMES for one in challenges):
        schemes = ", ".join(asker.told(one.scheme) for one in challenges)
        return [
            Finding(
                "challenge-not-bearer",
                "error",
                f"the server, or a proxy before it, wants {schemes}, which MCP hosts do not have",
                evidence,
                "give the host a header for it, if it lets you; otherwise take the login of the "
                "proxy away from this path and let the server take Bearer tokens",
            )
        ]
    return []


async def _find_resource(
    asker: Asker, documents: Documents, demand: Demand
) -> tuple[Document | None, list[Finding]]:
    """Get what the server says about itself."""
    server = read_url(asker.url)
    named = demand.resource_metadata
    if named is not None and not is_usable(named, server):
        return None, [
            Finding(
                "metadata-not-https",
                "error",
                "the URL of the metadata is not https, so that clients do not fetch it",
                f"resource_metadata={asker.told(named)!r}",
                "the server does not know by which URL it is reached: tell it, or let the proxy "
                "send X-Forwarded-Proto and the server believe it",
            )
        ]
    urls = (named,) if named is not None else resource_metadata_urls(server)
    tried = [await documents.get(url) for url in urls]
    for document in tried:
        if document.members is not None:
            return document, []
    return None, [await _no_metadata(asker, documents, tried, is_named=named is not None)]


async def _no_metadata(
    asker: Asker, documents: Documents, tried: list[Document], *, is_named: bool
) -> Finding:
    evidence = "\n".join(document.outcome for document in tried)
    if any(document.status in (401, 403) for document in tried):
        return Finding(
            "metadata-wants-token",
            "error",
            "the metadata, by which a client learns where tokens come from, wants a token itself",
            evidence,
            "let everybody read what is below /.well-known/",
        )
    if any(document.status == 200 for document in tried):
        return Finding(
            "metadata-broken",
            "error",
            "what is at the place of the metadata is no JSON object",
            evidence,
            "let the proxy pass /.well-known/oauth-protected-resource to the MCP server; a page "
            "for every path that is not known hides that it does not",
        )
    issuer = read_url(asker.url)
    for url in server_metadata_urls(read_url(issuer.origin)):
        if not is_named and (await documents.get(url)).members is not None:
            return Finding(
                "resource-metadata-missing",
                "warning",
                "only the metadata of an authorization server is there, as 2025-03-26 had it; "
                "newer clients look for that of the MCP server",
                f"{evidence}\n{url} → 200",
                "serve /.well-known/oauth-protected-resource too, and name it in WWW-Authenticate",
            )
    return Finding(
        "resource-metadata-missing",
        "error",
        "a client cannot find out where tokens come from: the server has no metadata",
        evidence,
        "serve /.well-known/oauth-protected-resource followed by the path of the server, and name "
        "its URL in WWW-Authenticate as resource_metadata; or, if tokens are given out by hand, "
        "put one into the host's configuration",
    )


async def _check_resource(
    asker: Asker, documents: Documents, found: Document, facts: Facts
) -> list[Finding]:
    """Judge the metadata of the server, and go on to the issuers that it names."""
    members = found.members or {}
    server = read_url(asker.url)
    findings = []
    resource = members.get("resource")
    if not isinstance(resource, str) or not is_resource_of(resource, server):
        findings.append(
            Finding(
                "resource-mismatch",
                "error",
                "the metadata is that of another resource, so that clients do not trust it",
                f"{found.url} says resource={asker.told(resource or 'nothing')!r}; the URL is "
                f"{asker.name}",
                "let `resource` be the URL that clients use, letter for letter; or use the URL "
                "that it says",
            )
        )
    issuers = _texts(members.get("authorization_servers"))[:_MAX_ISSUERS]
    facts["authorization_servers"] = issuers
    if not issuers:
        findings.append(
            Finding(
                "no-authorization-server",
                "error",
                "the metadata names no authorization server",
                f"{found.url} has: {asker.told(', '.join(map(str, members)))}",
                "let it name the issuer of the tokens in `authorization_servers`, a list",
            )
        )
    for issuer in issuers:
        findings += await check_issuer(asker, documents, issuer, server)
    return findings


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _wanted(asker: Asker, refusal: Exchange) -> Finding:
    return Finding(
        "token-wanted",
        "note",
        "the server wants a token; what says where it comes from is sound",
        asker.shown(refusal).splitlines()[0],
        "to see what is behind it, run this again with `--auth oauth`, or `--auth` and a token",
    )
