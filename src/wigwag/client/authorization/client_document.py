"""The metadata document of a client: what to host under the URL that is its id, and whether it is.

Spec: basic/authorization/client-registration#client-id-metadata-documents
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from wigwag.errors import AuthorizationFailed
from wigwag.oauth.client_documents import create_document, find_faults
from wigwag.oauth.fetch_rules import Networks
from wigwag.oauth.registration import ClientMetadata, check_document_url
from wigwag.oauth.requests import get_request

if TYPE_CHECKING:
    from wigwag.transports.http_client_engine import TLS

__all__ = ["check_client_document", "create_client_document"]

# Authorization servers need not read longer ones.
_MAX_BYTES: Final = 5 * 1024
LOOPBACK: Final = ("http://127.0.0.1/callback", "http://localhost/callback")


def create_client_document(
    url: str,
    *,
    client_name: str,
    client_uri: str | None = None,
    redirect_uris: Sequence[str] = LOOPBACK,
    jwks_uri: str | None = None,
) -> str:
    """Return a client ID metadata document as JSON, to be hosted at the URL.

    The URL is then what `OAuth(client_metadata_url=…)` takes.

    Args:
        url: Where it will be: https, with a path. It is the id of the client.
        client_name: What users are shown.
        client_uri: A page about the client.
        redirect_uris: Where browsers may come back to; by default to any port of their machine.
        jwks_uri: Where the public keys are, if the client proves who it is by signing.

    Raises:
        ValueError: The URL cannot be that of such a document, or a redirect URI is not safe.
    """
    client = ClientMetadata(client_name=client_name, client_uri=client_uri)
    document = create_document(url, client, tuple(redirect_uris), jwks_uri=jwks_uri)
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


async def check_client_document(
    url: str,
    expected: str | Mapping[str, Any] | None = None,
    *,
    allowed_hosts: Sequence[str] = (),
    ssl: TLS | None = None,
) -> list[str]:
    """Fetch a client ID metadata document, and return what is wrong with it; nothing if it is fine.

    Args:
        url: The id of the client, where the document is.
        expected: What should be there: the JSON, or what it stands for.
        allowed_hosts: Hosts that may be at a private address. Most authorization servers do not
            look there.
        ssl: Whom to trust: a context, or a file with certificates.

    Raises:
        ValueError: The URL cannot be that of such a document, or `expected` is no JSON object.
        AuthorizationFailed: It cannot be fetched.
    """
    check_document_url(url)
    wanted = _object(expected)
    from wigwag.transports.document_fetching import DocumentFetcher  # noqa: PLC0415 - needs aiohttp

    hosts = tuple(host.lower() for host in allowed_hosts)
    fetcher = DocumentFetcher(networks=Networks(hosts=hosts), ssl=ssl)
    response = await fetcher.fetch(get_request(url))
    if response.status != 200:
        raise AuthorizationFailed(
            f"the document is not there: status {response.status}",
            url,
            "host it under this very URL",
        )
    document = response.read_object()
    if document is None:
        return ["it is no JSON object"]
    kinds = [value.partition(";")[0].strip().lower() for value in response.values("content-type")]
    faults = find_faults(url, document)
    if not any(kind == "application/json" or kind.endswith("+json") for kind in kinds):
        faults.append(f"its type must be application/json: it is {kinds[0] if kinds else 'none'}")
    if len(response.body) > _MAX_BYTES:
        faults.append(f"it has {len(response.body)} bytes: more than {_MAX_BYTES} may not be read")
    if wanted is not None:
        names = sorted(document.keys() | wanted.keys())
        faults += [
            f"{name} is not what it should be"
            for name in names
            if document.get(name) != wanted.get(name)
        ]
    return faults


def _object(expected: str | Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if not isinstance(expected, str):
        return expected
    found = json.loads(expected)
    if not isinstance(found, dict):
        raise ValueError("what is expected is no JSON object")
    return found
