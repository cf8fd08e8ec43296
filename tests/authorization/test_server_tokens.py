"""Who is let in by a protected server over HTTP, and what the others are told."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.asgi import JSON, Site, hello, legacy_call, modern_call, notification, serving
from tests.authorization.protected_server import (
    HOST,
    ISSUER,
    RESOURCE,
    Ledger,
    ask,
    bearer,
    call,
    vault,
)
from wigwag import DPoPRules, InvalidToken, JwtVerifier, Principal, Protection, Server
from wigwag.oauth.challenges import Challenge, demand_of, parse_challenges

pytestmark = pytest.mark.anyio

METADATA = f"http://{HOST}/.well-known/oauth-protected-resource/mcp"


def challenge_in(answer: Any) -> Challenge:
    (challenge,) = parse_challenges([answer.headers["www-authenticate"]])
    return challenge


@asynccontextmanager
async def guarded(
    ledger: Ledger | None = None, *, http: dict[str, Any] | None = None, **options: Any
) -> AsyncIterator[Site]:
    ledger = ledger or Ledger()
    ledger.issue("good", "ann", "mcp")
    served = vault(ledger, **options)
    async with serving(served, **{"allowed_hosts": [HOST], **(http or {})}) as site:
        yield site


async def test_a_good_token_opens_and_tells_who_asks() -> None:
    async with guarded() as site:
        answer = await call(site, "good", "who")
        assert answer.status == 200
        assert answer.json["result"]["content"][0]["text"] == "ann"


async def test_without_a_token_the_challenge_says_where_tokens_come_from_and_no_error() -> None:
    async with guarded(scopes=["mcp"]) as site:
        answer = await call(site, None, "who")
        assert answer.status == 401
        assert challenge_in(answer).parameters == {"resource_metadata": METADATA, "scope": "mcp"}
        assert answer.headers["cache-control"] == "no-store"
        assert answer.json["error"]["message"] == "Unauthorized: a token is needed"


@pytest.mark.parametrize("token", ["made-up", "t0ken-old", "t0ken-abroad"])
async def test_a_token_that_is_not_good_is_told_so_without_saying_more(token: str) -> None:
    ledger = Ledger()
    ledger.issue("t0ken-old", "ann", expires_at=1.0)
    ledger.issue("t0ken-abroad", "ann", audience="http://other.example.com/mcp")
    async with guarded(ledger) as site:
        answer = await call(site, token, "who")
        assert answer.status == 401
        parameters = challenge_in(answer).parameters
        assert parameters["error"] == "invalid_token"
        assert parameters["resource_metadata"] == METADATA
        assert parameters["error_description"]
        assert token not in answer.body.decode() + str(answer.headers)


@pytest.mark.parametrize(
    "lines",
    [
        ["Bearer"],
        ["Bearer a b"],
        ["Bearer good", "Bearer good"],
    ],
)
async def test_what_is_malformed_is_a_bad_request(lines: list[str]) -> None:
    async with guarded() as site:
        message, headers = modern_call(1, "who")
        pairs = [
            (name.encode(), value.encode()) for name, value in {**headers, "host": HOST}.items()
        ]
        pairs += [(b"authorization", line.encode()) for line in lines]
        body = json.dumps(message).encode()
        answer = await site.open("POST", headers=pairs, body=body).whole()
        assert answer.status == 400
        assert challenge_in(answer).parameters["error"] == "invalid_request"


async def test_the_scheme_is_read_in_any_case_and_others_are_no_tokens() -> None:
    async with guarded() as site:
        message, headers = modern_call(1, "who")
        for scheme, status in (("bearer", 200), ("BEARER", 200), ("Basic", 401)):
            lines = {**headers, "host": HOST, "authorization": f"{scheme} good"}
            answer = await site.ask(message, lines)
            assert answer.status == status
            if status == 401:
                assert "error" not in challenge_in(answer).parameters


async def test_a_token_in_the_url_is_refused_even_beside_a_good_one() -> None:
    async with guarded() as site:
        message, headers = modern_call(1, "who")
        body = json.dumps(message).encode()
        for own in (bearer("good"), bearer(None)):
            answer = await site.open(
                "POST", "/mcp?access_token=good", headers={**headers, **own}, body=body
            ).whole()
            assert answer.status == 400
            assert challenge_in(answer).parameters["error"] == "invalid_request"


@pytest.mark.parametrize("method", ["GET", "DELETE", "POST"])
async def test_every_method_needs_a_token(method: str) -> None:
    async with guarded() as site:
        session = await begin(site, "good")
        headers = {"accept": "text/event-stream", "host": HOST, "mcp-session-id": session}
        answer = await site.open(method, headers=headers).whole()
        assert answer.status == 401
        assert "error" not in challenge_in(answer).parameters


async def begin(site: Site, token: str) -> str:
    answer = await site.ask(hello(), {**JSON, **bearer(token)})
    assert answer.status == 200, answer.body
    session: str = answer.headers["mcp-session-id"]
    await site.ask(
        notification("notifications/initialized"), {**JSON, **bearer(token)}, session=session
    )
    return session


async def test_a_legacy_session_is_held_to_the_same() -> None:
    async with guarded(scopes=["mcp"]) as site:
        refused = await site.ask(hello(), {**JSON, **bearer(None)})
        assert (refused.status, challenge_in(refused).parameters["scope"]) == (401, "mcp")
        session = await begin(site, "good")
        answer = await site.ask(legacy_call(1, "who"), {**JSON, **bearer("good")}, session=session)
        assert answer.json["result"]["content"][0]["text"] == "ann"
        refused = await site.ask(
            notification("notifications/initialized"), {**JSON, **bearer(None)}, session=session
        )
        assert refused.status == 401


async def test_the_challenge_names_what_this_very_request_will_need() -> None:
    async with guarded(scopes=["mcp"]) as site:
        answer = await call(site, None, "put", {"what": "gold"})
        assert challenge_in(answer).parameters["scope"] == "mcp vault:write"
        answer = await site.ask(
            legacy_call(1, "change_lock"),
            {**JSON, **bearer(None)},
            session="s",
            **{"content-length": "150"},
        )
        assert challenge_in(answer).parameters["scope"] == "mcp vault:write vault:keys"
        # What has its roles is nobody's business before it is known who asks.
        answer = await call(site, None, "count")
        assert challenge_in(answer).parameters["scope"] == "mcp"


async def test_a_body_that_is_too_long_to_look_at_is_left_alone() -> None:
    async with guarded() as site:
        answer = await site.open(
            "POST", headers={**JSON, **bearer(None), "content-length": "9999999"}, body=None
        ).whole()
        assert answer.status == 401


async def test_a_token_without_what_all_requests_need_is_told_all_that_this_one_needs() -> None:
    ledger = Ledger()
    ledger.issue("poor", "bob", "other")
    async with guarded(ledger, scopes=["mcp"]) as site:
        answer = await call(site, "poor", "put", {"what": "gold"})
        assert answer.status == 403
        parameters = challenge_in(answer).parameters
        assert parameters["error"] == "insufficient_scope"
        assert parameters["scope"] == "mcp vault:write"
        assert parameters["resource_metadata"] == METADATA
        assert (await site.ask(hello(), {**JSON, **bearer("poor")})).status == 403


async def test_a_broader_scope_satisfies_a_narrower_need() -> None:
    ledger = Ledger()
    ledger.issue("boss", "eve", "admin")
    implies = {"admin": ["vault:write"], "vault:write": ["mcp"]}
    async with guarded(ledger, scopes=["mcp"], scope_implies=implies) as site:
        answer = await call(site, "boss", "put", {"what": "gold"})
        assert answer.status == 200
        listed = await ask(site, "boss", "tools/list")
        assert "put" in {tool["name"] for tool in listed.json["result"]["tools"]}


async def test_nobody_is_sent_away_for_good_while_tokens_cannot_be_verified() -> None:
    ledger = Ledger()
    async with guarded(ledger) as site:
        ledger.is_out_of_order = True
        answer = await call(site, "good", "who")
        assert (answer.status, answer.headers["retry-after"]) == (503, "7")
        assert "www-authenticate" not in answer.headers


async def test_a_verifier_that_fails_lets_nobody_in_and_its_failure_is_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def crash(token: str) -> Principal:
        raise KeyError("no-such-thing")

    server = Server("s", auth=crash)
    async with serving(server, allowed_hosts=[HOST]) as site:
        answer = await site.ask(hello(), {**JSON, **bearer("secret-token")})
        assert answer.status == 500
        assert "secret-token" not in caplog.text
        assert "no-such-thing" in caplog.text
        assert "no-such-thing" not in answer.body.decode()


async def test_without_a_token_is_served_what_needs_none_where_that_is_allowed() -> None:
    async with guarded(anonymous=True, scopes=["mcp"]) as site:
        answer = await call(site, None, "who")
        assert answer.json["result"]["content"][0]["text"] == "nobody"
        listed = await ask(site, None, "tools/list")
        assert {tool["name"] for tool in listed.json["result"]["tools"]} == {"who", "take"}
        answer = await call(site, None, "put", {"what": "gold"})
        assert answer.status == 401
        assert challenge_in(answer).parameters["scope"] == "mcp vault:write"
        assert "error" not in challenge_in(answer).parameters
        answer = await call(site, "made-up", "who")
        assert answer.status == 401


async def test_hosts_and_origins_are_looked_at_first() -> None:
    async with guarded() as site:
        message, headers = modern_call(1, "who")
        answer = await site.ask(message, {**headers, **bearer("good"), "host": "evil.example"})
        assert answer.status == 403
        assert "www-authenticate" not in answer.headers
        answer = await site.ask(
            message, {**headers, **bearer("good"), "origin": "https://evil.example"}
        )
        assert answer.status == 403


async def test_a_preflight_needs_no_token_and_pages_can_read_the_challenge() -> None:
    page = "https://app.example.com"
    async with guarded(http={"cors": True, "allowed_origins": [page]}) as site:
        preflight = await site.open("OPTIONS", headers={**bearer(None), "origin": page}).whole()
        assert preflight.status == 204
        message, headers = modern_call(1, "who")
        answer = await site.ask(message, {**headers, **bearer(None), "origin": page})
        assert answer.status == 401
        assert answer.headers["access-control-allow-origin"] == page
        assert "www-authenticate" in answer.headers["access-control-expose-headers"]


async def test_health_is_for_everybody_and_what_is_not_there_is_not_there() -> None:
    async with guarded(http={"health": True}) as site:
        assert (await site.open("GET", "/health", headers=bearer(None)).whole()).status == 200
        assert (await site.open("GET", "/nothing", headers=bearer(None)).whole()).status == 404


async def test_failures_are_in_the_log_once_and_tokens_never(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr("wigwag.server.guard.monotonic", lambda: now)
    async with guarded() as site:
        for moment in (1000.0, 1009.0, 1011.0):
            now = moment
            for _ in range(5):
                await call(site, "made-up-token", "who")
                await call(site, None, "who")
        warnings = [each.message for each in caplog.records if each.name == "wigwag.http"]
        assert len([each for each in warnings if "192.0.2.7" in each]) == 2
        assert "made-up-token" not in caplog.text


async def test_a_failure_that_differs_in_a_number_only_is_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ages = iter(range(100, 200))

    def verify(token: str) -> Principal | None:
        raise InvalidToken(f"it expired {next(ages)} s ago")

    async with serving(Server("vault", auth=verify), allowed_hosts=[HOST]) as site:
        for _ in range(5):
            await call(site, "made-up-token", "who")
    assert [each.message for each in caplog.records if "expired" in each.message] == [
        "refused a request from 192.0.2.7: it expired 100 s ago"
    ]


# --- the document


async def document(site: Site, path: str, **headers: str) -> Any:
    return await site.open("GET", path, headers={"host": HOST, **headers}).whole()


@pytest.mark.parametrize("about", ["", "/mcp", "/mcp/"])
async def test_everybody_can_read_where_tokens_come_from(about: str) -> None:
    page = "https://docs.example.com"
    async with guarded(
        scopes=["mcp"],
        scopes_supported=["mcp", "vault:write"],
        resource_name="The vault",
        documentation=page,
    ) as site:
        answer = await document(site, f"/.well-known/oauth-protected-resource{about}")
        assert answer.status == 200
        assert answer.json == {
            "resource": RESOURCE,
            "authorization_servers": [ISSUER],
            "scopes_supported": ["mcp", "vault:write"],
            "bearer_methods_supported": ["header"],
            "resource_name": "The vault",
            "resource_documentation": page,
            "dpop_signing_alg_values_supported": list(DPoPRules().algorithms),
        }


async def test_pages_of_any_origin_can_read_it_though_cors_is_off() -> None:
    async with guarded() as site:
        path = "/.well-known/oauth-protected-resource/mcp"
        answer = await document(site, path, origin="https://anything.example")
        assert answer.status == 200
        assert answer.headers["access-control-allow-origin"] == "*"
        preflight = await site.open(
            "OPTIONS", path, headers={"host": HOST, "origin": "https://anything.example"}
        ).whole()
        assert preflight.status == 204
        assert preflight.headers["access-control-allow-headers"] == "*"
        assert (await site.open("POST", path, headers={"host": HOST}).whole()).status == 405
        evil = await site.open("GET", path, headers={"host": "evil.example"}).whole()
        assert evil.status == 403


async def test_there_is_none_about_anything_else() -> None:
    async with guarded() as site:
        path = "/.well-known/oauth-protected-resource/other"
        assert (await document(site, path)).status == 404


async def test_a_server_that_knows_no_issuer_sends_nobody_anywhere() -> None:
    server = Server("s", auth=lambda token: Principal("ann") if token == "t" else None)
    async with serving(server, allowed_hosts=[HOST]) as site:
        answer = await site.ask(hello(), {**JSON, **bearer(None)})
        assert answer.status == 401
        assert challenge_in(answer).parameters == {}
        path = "/.well-known/oauth-protected-resource/mcp"
        assert (await document(site, path)).status == 404
        assert (await site.ask(hello(), {**JSON, **bearer("t")})).status == 200


async def test_the_metadata_that_the_challenge_names_is_really_there() -> None:
    async with guarded() as site:
        answer = await call(site, None, "who")
        url = demand_of(parse_challenges([answer.headers["www-authenticate"]])).resource_metadata
        assert url is not None
        found = await document(site, url.removeprefix(f"http://{HOST}"))
        assert found.json["resource"] == RESOURCE


# --- what `auth` may be


def test_what_could_verify_no_token_is_refused() -> None:
    for wrong in (7, object(), {"issuer": ISSUER}, b"token", [7]):
        with pytest.raises(TypeError, match="verifies no tokens"):
            Server("s", auth=wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="is a class"):
        Server("s", auth=Ledger)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="there is no verifier"):
        Server("s", auth=[])
    with pytest.raises(ValueError, match="both `auth` and `identify`"):
        Server("s", auth=Ledger(), identify=lambda _: None)
    with pytest.raises(ValueError, match="is no issuer"):
        Server("s", auth="login.example.com")


def test_an_issuer_is_all_that_there_must_be() -> None:
    for auth in (ISSUER, [ISSUER], Protection(ISSUER), JwtVerifier(ISSUER)):
        protection = Server("s", auth=auth).protection
        assert protection is not None
        assert protection.authorization_servers == (ISSUER,)
        (verifier,) = protection.verifiers
        assert isinstance(verifier, JwtVerifier)
    several = Protection(ISSUER, Ledger(), authorization_servers=["https://other.example.com"])
    assert several.authorization_servers == ("https://other.example.com",)
    assert len(several.verifiers) == 2


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"scopes": "mcp"}, TypeError, r"write \['mcp'\]"),
        ({"scopes": ["a b"]}, ValueError, "is no scope"),
        ({"scopes": ["offline_access"]}, ValueError, "leave it out"),
        ({"dpop": True}, ValueError, "'optional', 'required' or DPoPRules"),
        ({"resource": "mcp.example.com"}, ValueError, "cannot be used"),
        ({"resource": 7}, TypeError, "is a URL"),
        ({"authorization_servers": ISSUER}, TypeError, "several"),
        ({"authorization_servers": [7]}, TypeError, "are text"),
        ({"authorization_servers": ["https://a.example?x"]}, ValueError, "a query"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(
    options: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        Protection(Ledger(), **options)


@pytest.mark.parametrize("options", [{}, {"host": "0.0.0.0"}, {"allowed_hosts": ["*.a.example"]}])
def test_a_server_that_cannot_tell_its_url_does_not_start(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must know its URL"):
        Server("s", auth=Ledger()).http_app(**options)
    Server("s", auth=Protection(Ledger(), resource="https://a.example/mcp")).http_app(**options)


def test_scopes_that_nobody_could_have_are_noticed_at_the_start() -> None:
    server = Server("s")

    @server.prompt(scopes=["a"])
    def plan() -> str:
        return "go"

    with pytest.raises(ValueError, match="the prompt 'plan' needs scopes or roles"):
        server.http_app()
