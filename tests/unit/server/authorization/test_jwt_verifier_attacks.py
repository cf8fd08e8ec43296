"""Whoever tries to be let in with a token that is not good: real keys, real sockets."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from tests.unit.oauth.signing import elliptic, rsa, unsigned, with_secret
from tests.unit.server.authorization.issuer_server import IssuerServer, issuer_server
from wigwag import JwtVerifier
from wigwag.oauth.fetch_rules import Networks
from wigwag.server.authorization.authenticator import Authenticator
from wigwag.server.authorization.fetching import fetch_from
from wigwag.server.authorization.issuer_keys import FetchedKeys
from wigwag.server.authorization.refusals import AuthenticationRefused
from wigwag.transports.document_fetching import DocumentFetcher

pytestmark = pytest.mark.anyio

RESOURCE = "https://mcp.example/mcp"
EC, RSA, THIEF = elliptic("ec"), rsa("rsa"), elliptic("thief")


@pytest.fixture
async def issuer() -> AsyncIterator[IssuerServer]:
    async with issuer_server() as server:
        server.keys = [EC.jwk, RSA.jwk]
        yield server


class Door:
    """A protected server, as far as tokens go."""

    def __init__(self, *issuers: str) -> None:
        verifiers = [JwtVerifier(issuer) for issuer in issuers]
        for verifier in verifiers:
            # How often keys are fetched must not depend on how fast the test runs.
            fetch = fetch_from([verifier.issuer], (), None)
            verifier._keys = FetchedKeys(verifier.issuer, None, fetch, clock=lambda: 0.0)
        self.authenticator = Authenticator(verifiers)

    async def opens_for(self, token: str) -> str:
        found = await self.authenticator.authenticate(
            [f"Bearer {token}"], [], "POST", RESOURCE, RESOURCE
        )
        return found.principal.issuer

    async def refusal(self, token: str) -> AuthenticationRefused:
        with pytest.raises(AuthenticationRefused) as caught:
            await self.opens_for(token)
        refused = caught.value
        assert token not in f"{refused}{refused.description}"
        return refused

    async def is_invalid(self, token: str, said: str) -> None:
        refused = await self.refusal(token)
        assert (refused.status, refused.error) == (401, "invalid_token")
        assert said in refused.reason


async def test_an_honest_token_opens(issuer: IssuerServer) -> None:
    door = Door(issuer.issuer)
    assert await door.opens_for(issuer.sign(EC)) == issuer.issuer
    assert await door.opens_for(issuer.sign(RSA, "RS256")) == issuer.issuer


async def test_each_issuer_judges_its_own_tokens_only(issuer: IssuerServer) -> None:
    async with issuer_server() as other:
        other.keys = [THIEF.jwk]
        door = Door(issuer.issuer, other.issuer)
        assert await door.opens_for(issuer.sign(EC)) == issuer.issuer
        assert await door.opens_for(other.sign(THIEF)) == other.issuer
        await door.is_invalid(issuer.sign(THIEF), "names a key that its issuer does not have")
        await door.is_invalid(other.sign(EC), "names a key that its issuer does not have")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"iss": "https://evil.example"}, "no verifier knows it"),
        ({"iss": ...}, "no verifier knows it"),
        ({"aud": "https://other.example/mcp"}, "not for"),
        ({"aud": ...}, "for whom"),
        ({"exp": 1_000_000}, "expired"),
        ({"exp": ...}, "when it expires"),
        ({"nbf": 33_000_000_000}, "not valid for another"),
        ({"iat": 33_000_000_000}, "will be issued"),
        ({"sub": "", "client_id": ...}, "whose it is"),
    ],
)
async def test_what_the_issuer_signed_for_others_or_for_another_time_is_refused(
    issuer: IssuerServer, changes: dict[str, Any], said: str
) -> None:
    await Door(issuer.issuer).is_invalid(issuer.sign(EC, **changes), said)


async def test_a_token_without_signature_is_refused(issuer: IssuerServer) -> None:
    door = Door(issuer.issuer)
    for alg in ("none", "None", "NONE", "nOnE"):
        await door.is_invalid(unsigned(issuer.claims(), alg=alg), "algorithm")
    honest = issuer.sign(EC)
    await door.is_invalid(honest[: honest.rindex(".") + 1], "not signed")
    await door.is_invalid(unsigned(issuer.claims(), alg="ES256", kid="ec"), "not signed")


async def test_a_public_key_is_no_shared_secret(issuer: IssuerServer) -> None:
    door = Door(issuer.issuer)
    for key in (RSA, EC):
        pem = key.key.as_pem(private=False)
        for secret in (pem, pem.strip(), key.key.as_der(private=False), key.jwk["kid"].encode()):
            for alg in ("HS256", "RS256"):
                forged = with_secret(secret, issuer.claims(), alg=alg, kid=key.kid)
                refused = await door.refusal(forged)
                assert refused.error == "invalid_token"


async def test_the_algorithm_is_that_of_the_key(issuer: IssuerServer) -> None:
    door = Door(issuer.issuer)
    forged = EC.sign(issuer.claims(), "ES256", alg="RS256", kid="rsa")
    await door.is_invalid(forged, "not signed")
    forged = EC.sign(issuer.claims(), "ES256", alg="RS256")
    await door.is_invalid(forged, "names a key that its issuer does not have for its algorithm")


async def test_a_key_for_encryption_signs_no_tokens(issuer: IssuerServer) -> None:
    issuer.keys = [{**EC.jwk, "use": "enc"}, RSA.jwk]
    await Door(issuer.issuer).is_invalid(issuer.sign(EC), "does not have")


@pytest.mark.parametrize("kid", [None, "ec", "thief"])
async def test_a_key_that_the_token_brings_along_is_not_used(
    issuer: IssuerServer, kid: str | None
) -> None:
    async def keys(request: web.Request) -> web.Response:
        return web.json_response({"keys": [THIEF.jwk]})

    issuer.instead["/thief"] = keys
    door = Door(issuer.issuer)
    for header in (
        {"jwk": THIEF.jwk},
        {"jku": f"{issuer.url}/thief"},
        {"x5u": f"{issuer.url}/thief"},
        {"x5c": ["MIIB"]},
    ):
        forged = THIEF.sign(issuer.claims(), "ES256", typ="at+jwt", kid=kid, **header)
        refused = await door.refusal(forged)
        assert refused.error == "invalid_token"
    assert issuer.count("/thief") == 0


async def test_made_up_keys_make_no_storm_of_requests(issuer: IssuerServer) -> None:
    door = Door(issuer.issuer)
    forged = [
        THIEF.sign(issuer.claims(), "ES256", kid=secrets.token_hex(), typ="at+jwt")
        for _ in range(50)
    ]
    refusals = await asyncio.gather(*(door.refusal(each) for each in forged))
    assert {each.status for each in refusals} == {401}
    assert issuer.count("/jwks") == 1
    assert await door.opens_for(issuer.sign(EC)) == issuer.issuer


async def test_tokens_that_could_not_be_good_make_no_request_at_all(issuer: IssuerServer) -> None:
    door = Door(issuer.issuer)
    for token in (
        "nonsense",
        issuer.sign(THIEF, iss="https://evil.example"),
        issuer.sign(THIEF, exp=1),
        issuer.sign(THIEF, aud="x"),
        unsigned(issuer.claims()),
        "a" * 20_000,
    ):
        await door.is_invalid(token, "")
    assert issuer.asked == []


@pytest.mark.parametrize(
    ("header", "changes"),
    [
        ({"typ": "JWT"}, {"nonce": "n"}),
        ({"typ": "JWT"}, {"at_hash": "x"}),
        ({}, {"nonce": "n"}),
        ({"typ": "JWT"}, {"typ": "ID"}),
        ({"typ": "oauth-id-jag+jwt"}, {"resource": RESOURCE}),
        ({"typ": "logout+jwt"}, {}),
        ({"typ": "dpop+jwt"}, {}),
        ({"typ": "id+jwt"}, {}),
    ],
)
async def test_what_the_same_issuer_signs_for_other_purposes_is_no_access_token(
    issuer: IssuerServer, header: dict[str, str], changes: dict[str, str]
) -> None:
    token = EC.sign(issuer.claims(**changes), "ES256", **header)
    await Door(issuer.issuer).is_invalid(token, "access token")


async def test_what_the_header_demands_and_nobody_understands_is_refused(
    issuer: IssuerServer,
) -> None:
    token = EC.sign(issuer.claims(), "ES256", typ="at+jwt", crit=["exp"], exp=1)
    await Door(issuer.issuer).is_invalid(token, "critical")


async def test_the_metadata_of_another_issuer_is_not_believed(issuer: IssuerServer) -> None:
    issuer.metadata = {"issuer": "https://evil.example"}
    refused = await Door(issuer.issuer).refusal(issuer.sign(EC))
    assert refused.status == 503
    assert "letter for letter" in refused.reason
    assert issuer.count("/jwks") == 0


@pytest.mark.parametrize(
    ("jwks_uri", "said"),
    [
        ("https://10.1.2.3/jwks", "private network"),
        ("https://169.254.169.254/jwks", "no server of tokens"),
        ("http://10.1.2.3/jwks", "not https"),
        ("file:///etc/passwd", "not https"),
    ],
)
async def test_keys_are_not_fetched_from_where_metadata_must_not_lead(
    issuer: IssuerServer, jwks_uri: str, said: str
) -> None:
    issuer.metadata = {"jwks_uri": jwks_uri}
    refused = await Door(issuer.issuer).refusal(issuer.sign(EC))
    assert (refused.status, refused.error) == (503, None)
    assert said in refused.reason


@pytest.mark.parametrize(
    ("location", "said"),
    [
        ("http://as.example/jwks", "not https"),
        ("https://10.1.2.3/jwks", "private network"),
        ("https://169.254.169.254/", "no server of tokens"),
        ("file:///etc/passwd", "cannot be followed"),
        ("/jwks", "after 3 other redirects"),
    ],
)
async def test_redirects_lead_keys_to_no_other_places_either(
    issuer: IssuerServer, location: str, said: str
) -> None:
    async def redirect(request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"location": location})

    issuer.instead["/jwks"] = redirect
    refused = await Door(issuer.issuer).refusal(issuer.sign(EC))
    assert refused.status == 503
    assert said in refused.reason


async def test_an_enormous_key_set_is_not_read(issuer: IssuerServer) -> None:
    async def enormous(request: web.Request) -> web.Response:
        return web.Response(body=b'{"keys": [' + b" " * 2_000_000 + b"]}")

    issuer.instead["/jwks"] = enormous
    refused = await Door(issuer.issuer).refusal(issuer.sign(EC))
    assert refused.status == 503
    assert "more than 1048576 bytes" in refused.reason


async def test_an_issuer_that_never_answers_keeps_nobody_waiting_for_ever(
    issuer: IssuerServer,
) -> None:
    async def never(request: web.Request) -> web.Response:
        await issuer.closing.wait()
        return web.Response()

    issuer.instead["/jwks"] = never
    fetcher = DocumentFetcher(networks=Networks(loopback=True), timeout=0.3)

    async def fetch(request: Any) -> Any:
        from wigwag import VerifierUnavailable  # noqa: PLC0415 - used here only
        from wigwag.errors import AuthorizationUnavailable  # noqa: PLC0415

        try:
            return await fetcher.fetch(request)
        except AuthorizationUnavailable as error:
            raise VerifierUnavailable(str(error)) from error

    verifier = JwtVerifier(issuer.issuer)
    verifier._keys = FetchedKeys(issuer.issuer, f"{issuer.url}/jwks", fetch)
    authenticator = Authenticator([verifier])
    lines = [f"Bearer {issuer.sign(EC)}"]
    results = await asyncio.gather(
        *(authenticator.authenticate(lines, [], "POST", RESOURCE, RESOURCE) for _ in range(10)),
        return_exceptions=True,
    )
    for each in results:
        assert isinstance(each, AuthenticationRefused)
        assert each.status == 503
        assert "no complete answer" in each.reason
    assert issuer.count("/jwks") <= 1


async def test_a_token_is_good_no_longer_for_having_been_verified_before(
    issuer: IssuerServer,
) -> None:
    now = time.time()
    verifier = JwtVerifier(issuer.issuer, clock=lambda: now)
    authenticator = Authenticator([verifier], clock=lambda: now)
    lines = [f"Bearer {issuer.sign(EC, exp=int(now) + 10)}"]
    await authenticator.authenticate(lines, [], "POST", RESOURCE, RESOURCE)
    now += 71
    with pytest.raises(AuthenticationRefused) as caught:
        await authenticator.authenticate(lines, [], "POST", RESOURCE, RESOURCE)
    assert caught.value.description == "the token has expired"
    await authenticator.aclose()
