"""Which URL a protected server has: mounted, behind proxies, and when somebody lies about it."""

import asyncio
import http.client
import json
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route

from tests.asgi import App, Site, modern_call, serving
from tests.authorization.protected_server import HOST, ISSUER, Ledger, bearer, call, vault
from tests.interaction.connecting import TIMEOUTS, serving_http
from wigwag import Client, HttpStatusError, Protection, Server
from wigwag.oauth.challenges import demand_of, parse_challenges

pytestmark = pytest.mark.anyio

WELL_KNOWN = "/.well-known/oauth-protected-resource"


def resource_in(answer: Any) -> str:
    (line,) = [answer.headers["www-authenticate"]]
    url = demand_of(parse_challenges([line])).resource_metadata
    assert url is not None
    return url


async def get(target: Site, path: str, **extra: Any) -> Any:
    return await target.open("GET", path, headers={"host": HOST}, **extra).whole()


async def refused(site: Site, path: str = "/mcp", host: str = HOST, **extra: Any) -> Any:
    message, headers = modern_call(1, "who")
    body = json.dumps(message).encode()
    return await site.open(
        "POST", path, headers={**headers, "host": host}, body=body, **extra
    ).whole()


def mounted_at(prefix: str, mcp: App, framework: str) -> App:
    if framework == "starlette":
        return Starlette(routes=[Mount(prefix, app=mcp)])
    app = FastAPI()
    app.mount(prefix, mcp)
    return app


@pytest.mark.parametrize("framework", ["starlette", "fastapi"])
@pytest.mark.parametrize("prefix", ["/library", "/a/b"])
@pytest.mark.parametrize("is_said", [True, False])
async def test_mounted_the_document_is_where_the_challenge_says(
    framework: str, prefix: str, *, is_said: bool
) -> None:
    resource = f"http://{HOST}{prefix}/mcp"
    ledger = Ledger()
    ledger.issue("good", "ann", audience=resource)
    ledger.issue("short", "ann", audience=f"http://{HOST}/mcp")
    served = vault(ledger, resource=resource if is_said else None)
    async with serving(served, allowed_hosts=[HOST]) as site:
        site.target = mounted_at(prefix, site.app, framework)
        answer = await refused(site, f"{prefix}/mcp")
        assert answer.status == 401
        url = resource_in(answer)
        assert url == f"http://{HOST}{prefix}{WELL_KNOWN}/mcp"
        found = await get(site, url.removeprefix(f"http://{HOST}"))
        assert found.json["resource"] == resource
        site.path = f"{prefix}/mcp"
        assert (await call(site, "good", "who")).status == 200
        assert (await call(site, "short", "who")).status == 401


@pytest.mark.parametrize("is_said", [True, False])
async def test_mounted_at_its_whole_path_it_is_found_there(*, is_said: bool) -> None:
    resource = f"http://{HOST}/mcp"
    ledger = Ledger()
    ledger.issue("good", "ann", audience=resource)
    served = vault(ledger, resource=resource if is_said else None)
    async with serving(served, path="/", allowed_hosts=[HOST]) as site:
        site.target = mounted_at("/mcp", site.app, "starlette")
        answer = await refused(site, "/mcp/")
        assert resource_in(answer) == f"{resource}{WELL_KNOWN}"
        assert (await get(site, f"/mcp{WELL_KNOWN}")).json["resource"] == resource
        site.path = "/mcp/"
        assert (await call(site, "good", "who")).status == 200


@pytest.mark.parametrize("framework", ["starlette", "fastapi"])
async def test_at_the_origin_it_is_for_those_who_look_for_it_by_themselves(framework: str) -> None:
    async with serving(vault(Ledger()), allowed_hosts=[HOST]) as site:
        metadata = site.app.resource_metadata
        if framework == "starlette":
            routes = [Mount(WELL_KNOWN, app=metadata), Mount("/library", app=site.app)]
            site.target = Starlette(routes=routes)
        else:
            app = FastAPI()
            app.mount(WELL_KNOWN, metadata)
            app.mount("/library", site.app)
            site.target = app
        found = await get(site, f"{WELL_KNOWN}/library/mcp")
        assert found.json["resource"] == f"http://{HOST}/library/mcp"
        assert found.json["authorization_servers"] == [ISSUER]
        assert (await get(site, f"{WELL_KNOWN}/library/other")).status == 404
        evil = site.open("GET", f"{WELL_KNOWN}/library/mcp", headers={"host": "evil.example"})
        assert (await evil.whole()).status == 403


async def test_as_a_route_the_author_is_told_what_is_missing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving(vault(Ledger()), allowed_hosts=[HOST]) as site:
        site.target = Starlette(routes=[Route("/mcp", site.app)])
        for _ in range(2):
            assert (await refused(site)).status == 401
        told = [each.message for each in caplog.records if "which nothing answers" in each.message]
        assert len(told) == 1
        assert "mcp.resource_metadata" in told[0]
    caplog.clear()
    async with serving(vault(Ledger()), allowed_hosts=[HOST]) as site:
        routes = [Mount(WELL_KNOWN, app=site.app.resource_metadata), Route("/mcp", site.app)]
        site.target = Starlette(routes=routes)
        found = await get(site, f"{WELL_KNOWN}/mcp")
        assert found.json["resource"] == f"http://{HOST}/mcp"
        assert (await refused(site)).status == 401
        assert "which nothing answers" not in caplog.text


@pytest.mark.parametrize(
    ("resource", "metadata", "asked"),
    [
        # A proxy takes the prefix away, and sends what is below it here.
        (
            "https://mcp.example.com/library/mcp",
            f"https://mcp.example.com/library{WELL_KNOWN}/mcp",
            f"{WELL_KNOWN}/mcp",
        ),
        # It sends this one path of the origin here as well.
        (
            "https://mcp.example.com/library/mcp",
            f"https://mcp.example.com/library{WELL_KNOWN}/mcp",
            f"{WELL_KNOWN}/library/mcp",
        ),
        ("https://mcp.example.com/mcp", f"https://mcp.example.com{WELL_KNOWN}/mcp", WELL_KNOWN),
        # It calls the endpoint something else.
        (
            "https://mcp.example.com/tools",
            f"https://mcp.example.com{WELL_KNOWN}/tools",
            f"{WELL_KNOWN}/tools",
        ),
        # What is meant is all that is there.
        ("https://mcp.example.com", f"https://mcp.example.com{WELL_KNOWN}", WELL_KNOWN),
    ],
)
async def test_what_the_author_says_holds_whatever_a_proxy_changes(
    resource: str, metadata: str, asked: str
) -> None:
    ledger = Ledger()
    ledger.issue("good", "ann", audience=resource)
    async with serving(vault(ledger, resource=resource)) as site:
        answer = await refused(site, host="10.0.0.7:8765")
        assert answer.status == 401
        assert resource_in(answer) == metadata
        assert (await get(site, asked)).json["resource"] == resource
        assert (await call(site, "good", "who")).status == 200


async def test_the_scheme_is_the_one_that_a_trusted_proxy_tells() -> None:
    async with serving(vault(Ledger()), allowed_hosts=[HOST]) as site:
        answer = await refused(site, scheme="https")
        assert resource_in(answer) == f"https://{HOST}{WELL_KNOWN}/mcp"


# --- whose names are not this server's


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8765", 401),  # where it listens
        ("127.0.0.1:8765", 401),
        ("localhost", 401),  # a proxy
        ("localhost:8001", 403),  # another server on the same machine
        ("evil.example:8765", 403),
    ],
)
async def test_a_server_takes_no_tokens_for_other_servers_on_its_host(
    host: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    ledger = Ledger()
    ledger.issue("of-the-other", "ann", audience="http://localhost:8001/mcp")
    async with serving(vault(ledger), host="127.0.0.1") as site:
        message, headers = modern_call(1, "who")
        body = json.dumps(message).encode()
        own = {**headers, **bearer("of-the-other"), "host": host}
        answer = await site.open("POST", headers=own, body=body, server=("127.0.0.1", 8765)).whole()
        assert answer.status == status
        if host == "localhost:8001":
            assert "Protection(…, resource=…)" in caplog.text


async def test_a_port_that_is_listed_is_one_of_its_own() -> None:
    async with serving(vault(Ledger()), allowed_hosts=[f"{HOST}:8443"]) as site:
        answer = await refused(site, host=f"{HOST}:8443", scheme="https")
        assert resource_in(answer) == f"https://{HOST}:8443{WELL_KNOWN}/mcp"


async def test_two_servers_of_one_issuer_do_not_take_each_others_tokens() -> None:
    ledger = Ledger()
    ledger.issue("for-a", "ann", audience="https://a.example/mcp")
    ledger.issue("for-b", "ann", audience="https://b.example/mcp")
    for name, good, bad in (("a", "for-a", "for-b"), ("b", "for-b", "for-a")):
        served = vault(ledger, resource=f"https://{name}.example/mcp")
        async with serving(served) as site:
            assert (await call(site, good, "who")).status == 200
            assert (await call(site, bad, "who")).status == 401


# --- pages


async def test_a_page_is_public_unless_it_is_protected() -> None:
    ledger = Ledger()
    ledger.issue("good", "ann", "mcp")
    ledger.issue("poor", "bob")
    server = vault(ledger, scopes=["mcp"])

    @server.custom_route("/open")
    async def is_open(request: Request) -> Response:
        return PlainTextResponse("open")

    @server.custom_route("/report/{year}", methods=["POST"], protected=True)
    async def report(request: Request) -> Response:
        name = request.scope["wigwag.permit"].principal.subject
        body = (await request.body()).decode()
        return PlainTextResponse(f"{name} {request.path_params['year']} {body}")

    async with serving(server, allowed_hosts=[HOST]) as site:

        async def post(token: str | None, host: str = HOST) -> Any:
            headers = {**bearer(token), "host": host}
            return await site.open("POST", "/report/1999", headers=headers, body=b"x").whole()

        assert (await get(site, "/open")).body == b"open"
        assert (await post("good")).body == b"ann 1999 x"
        assert (await post("poor")).status == 403
        assert (await post(None)).status == 401
        assert (await post("good", "evil.example")).status == 403
    with pytest.raises(ValueError, match="cannot be protected"):
        Server("s").custom_route("/x", protected=True)


# --- real sockets


def ask_plainly(
    host: str, port: int, method: str, path: str, body: bytes, headers: dict[str, str]
) -> tuple[int, dict[str, str], int]:
    connection = http.client.HTTPConnection(host, port, timeout=60)
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        response.read()
        found = {name.lower(): value for name, value in response.getheaders()}
        # And the connection is good for another one, or plainly closed.
        connection.request("GET", f"{WELL_KNOWN}/mcp", headers={})
        again = connection.getresponse()
        again.read()
        return response.status, found, again.status
    finally:
        connection.close()


@pytest.mark.parametrize("size", [0, 1000, 100_000, 5_000_000])
async def test_whoever_sends_a_long_body_without_a_token_gets_the_answer(size: int) -> None:
    async with serving_http(vault(Ledger(), scopes=["mcp"])) as origin:
        host, port = origin.removeprefix("http://").split(":")
        status, headers, again = await asyncio.to_thread(
            ask_plainly,
            host,
            int(port),
            "POST",
            "/mcp",
            b"x" * size,
            {"Content-Type": "application/json"},
        )
        assert status == 401
        url = demand_of(parse_challenges([headers["www-authenticate"]])).resource_metadata
        assert url == f"{origin}{WELL_KNOWN}/mcp"
        assert again == 200


@pytest.mark.parametrize("mode", ["legacy", "modern"])
async def test_a_client_with_a_token_is_served_and_one_without_is_told_why_not(mode: str) -> None:
    ledger = Ledger()
    async with serving_http(vault(ledger)) as origin:
        url = f"{origin}/mcp"
        ledger.issue("good", "ann", audience=url)
        headers = {"Authorization": "Bearer good"}
        async with Client(url, mode=mode, headers=headers, timeouts=TIMEOUTS) as client:
            assert (await client.call_tool("who")).text == "ann"
        with pytest.raises(HttpStatusError, match="401"):
            await Client(url, mode=mode, timeouts=TIMEOUTS).connect()


async def test_protection_is_shown_without_secrets() -> None:
    assert repr(Protection(Ledger())) == f"Protection({ISSUER!r})"
