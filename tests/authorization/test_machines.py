"""Clients without a user: credentials of their own, workloads, the provider of an enterprise."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.authorization.authorization_server import AuthorizationServer, claims_of
from tests.authorization.guarded_url import GuardedUrl
from tests.interaction.connecting import TIMEOUTS
from tests.interaction.http_server import HttpRequest
from wigwag import (
    AuthorizationFailed,
    Client,
    ClientCredentials,
    EnterpriseManaged,
    WorkloadIdentity,
)
from wigwag.client.authorization.assertions import FileAssertion
from wigwag.client.authorization.keys import SigningKey
from wigwag.errors import AuthorizationRefused
from wigwag.schema import LATEST_LEGACY, LATEST_MODERN

pytestmark = pytest.mark.anyio

JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
EXTENSIONS = "io.modelcontextprotocol/"


async def call(url: str, auth: Any) -> None:
    async with Client(url, auth=auth, timeouts=TIMEOUTS, era_cache={}) as client:
        assert (await client.call_tool("tool")).text == "done"


def declared(request: HttpRequest) -> dict[str, Any]:
    """Return the capabilities that a client declares."""
    params = request.message["params"]
    meta = params.get("_meta", {})
    found: dict[str, Any] = meta.get(f"{EXTENSIONS}clientCapabilities") or params["capabilities"]
    return found


async def test_a_client_acts_for_itself_with_a_secret(
    issuer: AuthorizationServer, guarded: GuardedUrl
) -> None:
    await call(guarded.url, ClientCredentials("me", "a secret", scopes="read write"))

    (form,) = issuer.forms
    assert form["grant_type"] == "client_credentials"
    assert (form["client_id"], form["client_secret"]) == ("me", "a secret")
    assert (form["scope"], form["resource"]) == ("read write", guarded.url)
    assert issuer.counts["register"] == 0
    assert guarded.tokens_of("tools/call") == [*issuer.tokens]


async def test_a_client_acts_for_itself_with_a_key(
    issuer: AuthorizationServer, guarded: GuardedUrl, tmp_path: Path
) -> None:
    issuer.metadata["token_endpoint_auth_methods_supported"] = ["private_key_jwt"]
    file = tmp_path / "key.json"
    file.write_bytes(SigningKey.generate().to_bytes())

    await call(guarded.url, ClientCredentials("me", key=file))

    claims = claims_of(issuer.forms[0]["client_assertion"])
    assert (claims["iss"], claims["sub"], claims["aud"]) == ("me", "me", issuer.issuer)


async def test_a_key_that_is_none_is_told(
    issuer: AuthorizationServer, guarded: GuardedUrl, tmp_path: Path
) -> None:
    file = tmp_path / "key.pem"
    with pytest.raises(AuthorizationFailed, match=r"cannot be read from .*key\.pem: No such file"):
        await call(guarded.url, ClientCredentials("me", key=file))
    with pytest.raises(AuthorizationFailed, match="the private key cannot be used: this JWK is no"):
        await call(guarded.url, ClientCredentials("me", key="{}"))


def test_credentials_are_a_secret_or_a_key() -> None:
    with pytest.raises(ValueError, match="a `client_secret` or a `key`"):
        ClientCredentials("me")
    with pytest.raises(ValueError, match="a `client_secret` or a `key`"):
        ClientCredentials("me", "secret", key="{}")


@pytest.mark.parametrize("revision", [LATEST_LEGACY, LATEST_MODERN])
async def test_it_is_declared_that_an_extension_is_made_use_of(
    issuer: AuthorizationServer, revision: str
) -> None:
    async with GuardedUrl(issuer, revision) as guarded:
        await call(guarded.url, ClientCredentials("me", "secret"))
        opening = "server/discover" if revision == LATEST_MODERN else "initialize"
        found = declared(guarded.asked(opening)[-1])
        assert found["extensions"] == {f"{EXTENSIONS}oauth-client-credentials": {}}


async def test_a_workload_shows_what_its_platform_says_of_it_anew_each_time(
    issuer: AuthorizationServer, guarded: GuardedUrl, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("a.b.c\n")
    auth = WorkloadIdentity(FileAssertion(file), client_id="me")
    async with Client(guarded.url, auth=auth, timeouts=TIMEOUTS) as client:
        assert (await client.call_tool("tool")).text == "done"
        file.write_text("d.e.f")
        issuer.revoke_all()
        issuer.forget_refresh_tokens()
        assert (await client.call_tool("tool")).text == "done"

    grants = [form for form in issuer.forms if form["grant_type"] == JWT_BEARER]
    assert [form["assertion"] for form in grants] == ["a.b.c", "d.e.f"]
    assert grants[0]["resource"] == guarded.url


async def test_a_workload_that_is_refused_tries_nothing_else(
    issuer: AuthorizationServer, guarded: GuardedUrl
) -> None:
    issuer.failures["jwt-bearer"] = [(400, {"error": "invalid_grant"})]

    with pytest.raises(AuthorizationRefused, match="refused with invalid_grant"):
        await call(guarded.url, WorkloadIdentity(lambda audience: "a.b.c", client_id="me"))

    assert [form["grant_type"] for form in issuer.forms] == [JWT_BEARER]


async def test_the_provider_of_an_enterprise_speaks_for_a_user(
    issuer: AuthorizationServer, guarded: GuardedUrl
) -> None:
    exchanges: list[dict[str, str]] = []

    async def exchange(request: HttpRequest) -> None:
        exchanges.append(provider.forms[-1])
        await request.json(
            {
                "access_token": "the-id-jag",
                "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
                "token_type": "N_A",
                "expires_in": 300,
            }
        )

    async with AuthorizationServer() as provider:
        provider.answers["token-exchange"] = exchange
        auth = EnterpriseManaged(
            provider.issuer,
            assertion=lambda: "id.token.x",
            client_id="me",
            provider_client_id="me-there",
            provider_client_secret="s",
        )
        await call(guarded.url, auth)

    (asked,) = exchanges
    assert asked["subject_token"] == "id.token.x"
    assert (asked["audience"], asked["resource"]) == (issuer.issuer, guarded.url)
    assert asked["client_id"] == "me-there"
    assert issuer.forms[0]["grant_type"] == JWT_BEARER
    assert issuer.forms[0]["assertion"] == "the-id-jag"
    assert issuer.forms[0]["client_id"] == "me"
    assert declared(guarded.asked("tools/call")[-1])["extensions"] == {
        f"{EXTENSIONS}enterprise-managed-authorization": {}
    }
    assert issuer.queries == []


def test_a_provider_is_reached_by_https() -> None:
    auth = EnterpriseManaged("http://idp.example", assertion=lambda: "x", client_id="me")
    with pytest.raises(ValueError, match="the identity provider is not reached by https"):
        Client("https://mcp.example/mcp", auth=auth)


def test_an_assertion_itself_is_no_source_of_one() -> None:
    with pytest.raises(TypeError, match="an assertion comes from a function"):
        WorkloadIdentity(json.dumps("a.b.c"), client_id="me")  # type: ignore[arg-type]
