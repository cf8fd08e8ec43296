import asyncio
import logging
import time
from typing import Any

import pytest
from aiohttp import web

from tests.unit.oauth.signing import elliptic
from tests.unit.server.authorization.issuer_server import IssuerServer, issuer_server
from wigwag import IntrospectionVerifier, InvalidToken, VerifierUnavailable
from wigwag.oauth.secret import Secret
from wigwag.server.authorization.authenticator import Authenticator
from wigwag.server.authorization.refusals import AuthenticationRefused

pytestmark = pytest.mark.anyio

RESOURCE = "https://mcp.example/mcp"


def verifier(server: IssuerServer, **options: Any) -> IntrospectionVerifier:
    given = {"client_id": "files", "client_secret": "s3cret", **options}
    return IntrospectionVerifier(server.issuer, **given)


async def test_the_authorization_server_is_asked_where_its_metadata_says() -> None:
    async with issuer_server() as server:
        server.tokens["opaque"] = server.claims(roles=["x"], exp=time.time() + 60)
        asking = verifier(server)
        found = await asking.verify(Secret("opaque"), RESOURCE)
        assert found is not None
        assert found.principal.subject == "ada"
        assert found.principal.issuer == server.issuer
        assert found.principal.scopes == {"read", "write"}
        assert found.principal.roles == {"x"}
        assert (found.client_id, found.max_age) == ("c1", 30)
        assert server.users == ["files:s3cret"]
        assert server.forms == [{"token": "opaque", "token_type_hint": "access_token"}]
        assert await asking.verify(Secret("another"), RESOURCE) is None
        assert server.count("/.well-known/oauth-authorization-server") == 1


async def test_where_to_ask_and_as_whom_can_be_said() -> None:
    async with issuer_server() as server:
        server.tokens["opaque"] = {"sub": "ada", "permissions": "a", "groups": ["g"]}
        asking = IntrospectionVerifier(
            endpoint=f"{server.url}/introspect",
            client_id="files",
            client_secret="s3cret",
            client_authentication="client_secret_post",
            requires_audience=False,
            scopes_claim="permissions",
            roles_claim="groups",
            kept_for=0,
        )
        found = await asking.verify(Secret("opaque"), RESOURCE)
        assert found is not None
        assert found.principal.scopes == {"a"}
        assert found.principal.roles == {"g"}
        assert (found.principal.issuer, found.max_age) == ("", 0)
        assert server.users == [None]
        assert server.forms[0]["client_secret"] == "s3cret"


@pytest.mark.parametrize(
    "changes", [{"aud": "https://other.example"}, {"aud": ...}, {"exp": 1}, {"iss": "https://x"}]
)
async def test_a_token_that_is_active_elsewhere_is_not_good_here(changes: dict[str, Any]) -> None:
    async with issuer_server() as server:
        server.tokens["opaque"] = server.claims(**changes)
        with pytest.raises(InvalidToken):
            await verifier(server).verify(Secret("opaque"), RESOURCE)


async def test_the_name_of_this_server_may_be_another_one() -> None:
    async with issuer_server() as server:
        server.tokens["opaque"] = server.claims(aud=["files"])
        assert await verifier(server, audience="files").verify(Secret("opaque"), RESOURCE)


async def test_a_jwt_of_another_issuer_is_shown_to_nobody() -> None:
    async with issuer_server() as server:
        asking = verifier(server)
        foreign = elliptic().sign(server.claims(iss="https://other.example"))
        assert await asking.verify(Secret(foreign), RESOURCE) is None
        assert server.asked == []
        with pytest.raises(InvalidToken, match="issuer says that it is not good"):
            await asking.verify(Secret(elliptic().sign(server.claims())), RESOURCE)


async def test_many_requests_with_the_same_token_ask_once() -> None:
    async with issuer_server() as server:
        server.tokens["opaque"] = server.claims()
        who = Authenticator([verifier(server)])
        found = await asyncio.gather(
            *(
                who.authenticate(["Bearer opaque"], [], "POST", RESOURCE, RESOURCE)
                for _ in range(20)
            )
        )
        assert {each.principal.subject for each in found} == {"ada"}
        assert server.count("/introspect") == 1
        await who.authenticate(["Bearer opaque"], [], "POST", RESOURCE, RESOURCE)
        assert server.count("/introspect") == 1


async def test_a_token_that_was_revoked_is_good_for_a_short_time_only() -> None:
    async with issuer_server() as server:
        server.tokens["opaque"] = server.claims(exp=time.time() + 3600)
        now = time.time()
        who = Authenticator([verifier(server)], clock=lambda: now)
        await who.authenticate(["Bearer opaque"], [], "POST", RESOURCE, RESOURCE)
        del server.tokens["opaque"]
        now += 31
        with pytest.raises(AuthenticationRefused) as caught:
            await who.authenticate(["Bearer opaque"], [], "POST", RESOURCE, RESOURCE)
        assert (caught.value.status, caught.value.error) == (401, "invalid_token")


async def test_a_server_that_cannot_be_asked_costs_nobody_his_token(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with issuer_server() as server:
        server.tokens["s3cret-token"] = server.claims()
        asking = verifier(server)

        async def broken(request: web.Request) -> web.Response:
            return web.Response(status=500)

        server.instead["/introspect"] = broken
        with caplog.at_level(logging.INFO, "wigwag.server"):
            for _ in range(3):
                with pytest.raises(VerifierUnavailable, match="answered 500"):
                    await asking.verify(Secret("s3cret-token"), RESOURCE)
            assert len(caplog.records) == 1  # and not one a request
            del server.instead["/introspect"]
            assert await asking.verify(Secret("s3cret-token"), RESOURCE) is not None
            server.instead["/introspect"] = broken
            with pytest.raises(VerifierUnavailable):
                await asking.verify(Secret("s3cret-token"), RESOURCE)
        assert len(caplog.records) == 2
        assert "s3cret" not in caplog.text
    with pytest.raises(VerifierUnavailable, match="nobody listens"):
        await asking.verify(Secret("s3cret-token"), RESOURCE)
    await asking.aclose()


async def test_a_wrong_secret_is_told_to_the_operator_not_to_the_client(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with issuer_server() as server:

        async def refuse(request: web.Request) -> web.Response:
            return web.Response(status=401)

        server.instead["/introspect"] = refuse
        who = Authenticator([verifier(server)])
        with pytest.raises(AuthenticationRefused) as caught:
            await who.authenticate(["Bearer opaque"], [], "POST", RESOURCE, RESOURCE)
        assert caught.value.status == 503
        assert "look at client_id and client_secret" in caplog.text
        assert "client_secret" not in str(who.response_headers(caught.value))
        assert "s3cret" not in caplog.text


async def test_tokens_are_not_sent_on_to_where_the_server_redirects() -> None:
    async with issuer_server() as server:

        async def redirect(request: web.Request) -> web.Response:
            return web.Response(status=307, headers={"location": f"{server.url}/thief"})

        server.instead["/introspect"] = redirect
        with pytest.raises(VerifierUnavailable, match="carry secrets"):
            await verifier(server).verify(Secret("opaque"), RESOURCE)
        assert server.count("/thief") == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "name the issuer, or the endpoint"),
        ({"issuer": "http://as.example"}, "allowed_hosts"),
        ({"endpoint": "http://as.example/introspect"}, "in the clear"),
        ({"issuer": "https://as.example", "leeway": 1000}, "set the clocks"),
    ],
)
def test_what_makes_no_sense_is_refused_at_the_start(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        IntrospectionVerifier(**{"client_id": "c", "client_secret": "s", **options})


def test_the_secret_is_not_shown() -> None:
    asking = IntrospectionVerifier("https://as.example", client_id="c", client_secret="s3cret")
    assert repr(asking) == "IntrospectionVerifier('https://as.example')"
    assert "s3cret" not in repr(vars(asking))
