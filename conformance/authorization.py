"""How the client that the conformance suite tests is authorized, and what must not come of it."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.request import HTTPErrorProcessor, build_opener

from wigwag import (
    ClientCredentials,
    EnterpriseManaged,
    MemoryTokenStore,
    OAuth,
    WorkloadIdentity,
)
from wigwag.errors import AuthorizationUntrusted, InsufficientScope

DOCUMENT_URL: Final = "https://conformance-test.local/client-metadata.json"
REDIRECT_URI: Final = "http://127.0.0.1:33418/callback"

REFUSED: Final[Mapping[str, type[Exception]]] = {
    "auth/iss-normalized": AuthorizationUntrusted,
    "auth/iss-supported-missing": AuthorizationUntrusted,
    "auth/iss-unexpected": AuthorizationUntrusted,
    "auth/iss-wrong-issuer": AuthorizationUntrusted,
    "auth/metadata-issuer-mismatch": AuthorizationUntrusted,
    "auth/resource-mismatch": AuthorizationUntrusted,
    "auth/scope-retry-limit": InsufficientScope,
}
"""The scenarios in which no token must be obtained, or none helps, and the error that says so."""


class AtOnce:
    """A login in which nobody is asked: the browser is sent back at once."""

    async def listen(self, registered: tuple[str, ...]) -> str:
        """Return where the browser comes back to; nobody has to listen there."""
        return registered[0] if registered else REDIRECT_URI

    async def ask(self, question: Any) -> str:
        """Return where the browser is sent."""
        return await asyncio.to_thread(_redirect_of, question.url)

    async def aclose(self) -> None:
        """Do nothing."""


class _NoRedirects(HTTPErrorProcessor):
    """Takes every response for what it is."""

    def http_response(self, request: Any, response: Any) -> Any:
        return response


def _redirect_of(url: str) -> str:
    with build_opener(_NoRedirects).open(url, timeout=10) as response:
        location: str = response.headers["Location"]
    return location


def _by_user(context: Mapping[str, Any], **options: Any) -> OAuth:
    return OAuth(
        client_id=context.get("client_id"),
        client_secret=context.get("client_secret"),
        login=AtOnce,
        store=MemoryTokenStore(),
        **options,
    )


def _by_secret(context: Mapping[str, Any]) -> ClientCredentials:
    return ClientCredentials(context["client_id"], context["client_secret"])


def _by_key(context: Mapping[str, Any]) -> ClientCredentials:
    return ClientCredentials(context["client_id"], key=context["private_key_pem"])


def _by_provider(context: Mapping[str, Any]) -> EnterpriseManaged:
    return EnterpriseManaged(
        context["idp_issuer"],
        assertion=lambda: context["idp_id_token"],
        client_id=context["client_id"],
        client_secret=context["client_secret"],
        provider_client_id=context["idp_client_id"],
        provider_token_endpoint=context["idp_token_endpoint"],
    )


def _by_platform(context: Mapping[str, Any]) -> WorkloadIdentity:
    return WorkloadIdentity(lambda: context["valid_jwt"], client_id=context["client_id"])


_Way = Callable[[Mapping[str, Any]], Any]

_WAYS: Final[Mapping[str, _Way]] = {
    "auth/basic-cimd": lambda context: _by_user(context, client_metadata_url=DOCUMENT_URL),
    "auth/client-credentials-basic": _by_secret,
    "auth/client-credentials-jwt": _by_key,
    "auth/dpop": lambda context: _by_user(context, dpop=True),
    "auth/dpop-nonce": lambda context: _by_user(context, dpop=True),
    "auth/enterprise-managed-authorization": _by_provider,
    "auth/wif-jwt-bearer": _by_platform,
}


def authorization_for(scenario: str, context: Mapping[str, Any]) -> Any:
    """Return how the client is authorized; `None` if the scenario is about something else."""
    if not scenario.startswith("auth/"):
        return None
    way: _Way = _WAYS.get(scenario, _by_user)
    return way(context)
