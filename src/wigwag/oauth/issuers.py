"""Finding what a server needs of an issuer whose tokens it verifies: its keys, or whom to ask.

Spec: basic/authorization/authorization-server-discovery
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from wigwag.errors import AuthorizationFailed, AuthorizationUnavailable, AuthorizationUntrusted
from wigwag.oauth.requests import get_request, told
from wigwag.oauth.steps import Flow, fetch
from wigwag.oauth.urls import Url, is_usable, read_url, shown
from wigwag.oauth.well_known import server_metadata_urls

__all__ = ["check_issuer_url", "find_in_metadata"]


def check_issuer_url(issuer: str, hosts: Collection[str]) -> Url:
    """Return an issuer's URL in parts.

    Raises:
        ValueError: It can be none, or anybody could answer in its place.
    """
    try:
        url = read_url(issuer)
    except ValueError as error:
        raise ValueError(f"the issuer {issuer!r} cannot be used: {error}") from None
    if url.query or url.fragment:
        raise ValueError(f"the issuer {issuer!r} cannot be used: it has a query or a fragment")
    if not is_usable(issuer, url, hosts):
        raise ValueError(
            f"the issuer {issuer!r} is not https: name its host in allowed_hosts if you trust "
            "the network in between"
        )
    return url


def find_in_metadata(issuer: str, member: str, hosts: Collection[str]) -> Flow[str]:
    """Return a URL that the metadata of an issuer has.

    Args:
        issuer: Its identifier, letter for letter.
        member: What the URL is called, such as `jwks_uri`.
        hosts: From which hosts the author allows plain http; in lower case.

    Raises:
        AuthorizationFailed: It has no metadata with it.
        AuthorizationUntrusted: The metadata is that of another issuer, or the URL is not https.
        AuthorizationUnavailable: It cannot be had at the moment.
    """
    url = read_url(issuer)
    first: AuthorizationFailed | None = None
    for place in server_metadata_urls(url):
        response = yield from fetch(get_request(place))
        document = response.read_object() if response.status == 200 else None
        if document is None:
            if response.is_temporary_failure:
                first = first or AuthorizationUnavailable(
                    f"the metadata of the issuer cannot be had: status {response.status}",
                    shown(place),
                )
            continue
        try:
            found = _read(document, issuer, member, place)
        except AuthorizationUntrusted as error:
            first = first or error
            continue
        if found is None:
            continue  # that of OpenID Connect may have it
        if not is_usable(found, url, hosts):
            raise AuthorizationUntrusted(
                f"the {member} {shown(found)} of the issuer {issuer} is not https", shown(place)
            )
        return found
    raise first or AuthorizationFailed(
        f"the issuer {issuer} has no metadata with {member}",
        advice="compare it with what the authorization server calls itself",
    )


def _read(document: dict[str, Any], issuer: str, member: str, place: str) -> str | None:
    named = document.get("issuer")
    if named != issuer:
        raise AuthorizationUntrusted(
            f"the metadata says that it is that of {told(named) or 'nobody'}, not of {issuer}",
            shown(place),
            "the issuer must be written as it calls itself, letter for letter",
        )
    found = document.get(member)
    return found if isinstance(found, str) and found else None
