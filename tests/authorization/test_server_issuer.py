"""A server that is given an issuer and nothing else: real keys, real tokens, real sockets."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.asgi import Call, Site, modern_call, serving
from tests.interaction.connecting import TIMEOUTS, serving_http
from tests.unit.oauth.signing import SigningKey, elliptic, prove, unsigned
from tests.unit.server.authorization.issuer_server import IssuerServer, issuer_server
from wigwag import Client, Context, DPoPRules, Protection, Server
from wigwag.oauth.challenges import parse_challenges

pytestmark = pytest.mark.anyio

RESOURCE = "http://localhost:8765/mcp"


def office(auth: Any) -> Server:
    server = Server("office", auth=auth)

    @server.tool
    async def who(ctx: Context) -> str:
        assert ctx.principal is not None
        return f"{ctx.principal.subject} may {' '.join(sorted(ctx.principal.scopes))}"

    @server.tool(scopes=["erase"])
    async def erase() -> str:
        return "gone"

    return server


@asynccontextmanager
async def issuing() -> AsyncIterator[IssuerServer]:
    async with issuer_server() as issuer:
        issuer.keys = [elliptic("a").jwk]
        yield issuer


def token(issuer: IssuerServer, key: SigningKey | None = None, **changes: Any) -> str:
    return issuer.sign(key or elliptic("a"), **{"aud": RESOURCE, **changes})


async def call(site: Site, tool: str, authorization: str, **more: str) -> Call:
    message, headers = modern_call(1, tool)
    own = {**headers, "host": "localhost:8765", "authorization": authorization, **more}
    body = json.dumps(message).encode()
    where: Any = ("127.0.0.1", 8765)
    return await site.open("POST", headers=own, body=body, server=where).whole()


async def test_an_issuer_is_enough() -> None:
    async with issuing() as issuer, serving(office(issuer.url), host="127.0.0.1") as site:
        good = token(issuer)
        for _ in range(3):
            answer = await call(site, "who", f"Bearer {good}")
            assert answer.json["result"]["content"][0]["text"] == "ada may read write"
        assert issuer.count("/jwks") == 1
        answer = await call(site, "erase", f"Bearer {good}")
        assert answer.status == 403
        now = time.time()
        for bad in (
            token(issuer, aud="http://localhost:8001/mcp"),
            token(issuer, exp=now - 600),
            token(issuer, nbf=now + 600),
            token(issuer, iss="https://elsewhere.example.com"),
            token(issuer, elliptic("b")),
            unsigned(issuer.claims(aud=RESOURCE)),
        ):
            answer = await call(site, "who", f"Bearer {bad}")
            assert answer.status == 401
            (challenge,) = parse_challenges([answer.headers["www-authenticate"]])
            assert challenge.parameters["error"] == "invalid_token"


async def test_a_client_with_such_a_token_is_served_over_real_sockets() -> None:
    async with issuing() as issuer, serving_http(office(issuer.url)) as origin:
        url = f"{origin}/mcp"
        headers = {"Authorization": f"Bearer {token(issuer, aud=url)}"}
        for mode in ("legacy", "modern"):
            async with Client(url, mode=mode, headers=headers, timeouts=TIMEOUTS) as client:
                assert (await client.call_tool("who")).text == "ada may read write"
                assert [tool.name for tool in (await client.list_tools()).tools] == ["who"]


# --- tokens that are bound to a key


async def test_a_bound_token_needs_a_proof_for_each_request() -> None:
    async with issuing() as issuer, serving(office(issuer.url), host="127.0.0.1") as site:
        mine = elliptic("mine")
        bound = token(issuer, cnf={"jkt": mine.thumbprint})

        def proof(key: SigningKey = mine, url: str = RESOURCE, **more: Any) -> str:
            return prove(key, url, bound, now=time.time(), **more)

        answer = await call(site, "who", f"Bearer {bound}")
        assert answer.status == 401  # whoever has stolen it has nothing of it
        used = proof()
        answer = await call(site, "who", f"DPoP {bound}", dpop=used)
        assert answer.json["result"]["content"][0]["text"] == "ada may read write"
        for wrong in (
            used,
            proof(elliptic("b")),
            proof(url="http://localhost:8765/other"),
            proof(method="GET"),
        ):
            answer = await call(site, "who", f"DPoP {bound}", dpop=wrong)
            assert answer.status == 401
        answer = await call(site, "erase", f"DPoP {bound}", dpop=proof())
        assert answer.status == 403


async def test_the_url_of_a_proof_is_the_one_that_the_client_sees() -> None:
    async with issuing() as issuer:
        resource = "https://mcp.example.com/library/mcp"
        auth = Protection(issuer.url, resource=resource, dpop="required")
        async with serving(office(auth)) as site:
            mine = elliptic("mine")
            bound = token(issuer, aud=resource, cnf={"jkt": mine.thumbprint})
            fresh = prove(mine, resource, bound, now=time.time())
            answer = await call(site, "who", f"DPoP {bound}", dpop=fresh)
            assert answer.status == 200
            answer = await call(site, "who", f"Bearer {token(issuer, aud=resource)}")
            assert answer.status == 401
            (challenge,) = parse_challenges([answer.headers["www-authenticate"]])
            assert challenge.scheme == "dpop"
            path = "/.well-known/oauth-protected-resource"
            found = await site.open("GET", path, headers={"host": "localhost"}).whole()
            assert found.json["dpop_bound_access_tokens_required"] is True


async def test_a_nonce_is_told_and_used() -> None:
    async with issuing() as issuer:
        auth = Protection(issuer.url, dpop=DPoPRules(nonces=True))
        async with serving(office(auth), host="127.0.0.1") as site:
            mine = elliptic("mine")
            bound = token(issuer, cnf={"jkt": mine.thumbprint})
            first = prove(mine, RESOURCE, bound, now=time.time())
            answer = await call(site, "who", f"DPoP {bound}", dpop=first)
            assert answer.status == 401
            nonce = answer.headers["dpop-nonce"]
            again = prove(mine, RESOURCE, bound, now=time.time(), nonce=nonce)
            answer = await call(site, "who", f"DPoP {bound}", dpop=again)
            assert answer.status == 200
