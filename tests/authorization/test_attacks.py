"""What servers could try on a client that logs in somewhere, and what comes of it."""

import logging
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.authorization.answering_login import Logins
from tests.authorization.authorization_server import AuthorizationServer
from tests.authorization.guarded_url import GuardedUrl
from tests.interaction.connecting import TIMEOUTS
from tests.interaction.http_server import HttpRequest
from wigwag import Client, HttpStatusError, MemoryTokenStore, OAuth
from wigwag.errors import (
    AuthorizationFailed,
    AuthorizationRefused,
    AuthorizationUnavailable,
    AuthorizationUntrusted,
)
from wigwag.oauth.steps import AskUser

pytestmark = pytest.mark.anyio


async def call(guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore, **more: Any) -> None:
    auth = OAuth(login=logins, store=store)
    async with Client(guarded.url, auth=auth, timeouts=TIMEOUTS, era_cache={}, **more) as client:
        await client.call_tool("tool")


@pytest.mark.parametrize("iss", ["https://evil.example", "http://127.0.0.1", ""])
async def test_a_redirect_of_another_issuer_brings_no_code_anywhere(
    issuer: AuthorizationServer,
    guarded: GuardedUrl,
    logins: Logins,
    store: MemoryTokenStore,
    iss: str,
) -> None:
    issuer.iss = iss
    with pytest.raises(AuthorizationUntrusted, match=r"the redirect (comes from|does not say)"):
        await call(guarded, logins, store)
    assert issuer.forms == []


async def test_an_error_of_another_issuer_is_not_shown(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    issuer.iss = "https://evil.example"
    issuer.failures["login"] = [(302, {"error": "call_this_number"})]
    with pytest.raises(AuthorizationUntrusted) as failed:
        await call(guarded, logins, store)
    assert "call_this_number" not in str(failed.value)


async def test_the_answer_to_another_login_is_none_to_this_one(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    """The redirect of the first login, with its state and code, comes back in the second."""
    redirects: list[str] = []
    follow = logins.follow

    async def replay(question: AskUser) -> str:
        redirects.append(await follow(question))
        return redirects[0]

    logins.follow = replay  # type: ignore[method-assign]
    await call(guarded, logins, store)
    issuer.revoke_all()
    issuer.forget_refresh_tokens()
    codes = issuer.counts["authorization_code"]

    with pytest.raises(AuthorizationUntrusted, match="its state is another"):
        await call(guarded, logins, store)

    assert issuer.counts["authorization_code"] == codes


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"issuer": "https://evil.example"}, "evil.example"),
        ({"token_endpoint": "http://evil.example/token"}, "is not https"),
        ({"code_challenge_methods_supported": None}, "supports PKCE with S256"),
    ],
)
async def test_metadata_that_is_not_sound_sends_nobody_anywhere(
    issuer: AuthorizationServer,
    guarded: GuardedUrl,
    logins: Logins,
    store: MemoryTokenStore,
    metadata: dict[str, Any],
    said: str,
) -> None:
    issuer.metadata = metadata
    with pytest.raises(AuthorizationUntrusted, match=said):
        await call(guarded, logins, store)
    assert logins.asked == []
    assert issuer.counts["register"] == 0


async def test_metadata_of_another_server_sends_nobody_anywhere(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    guarded.metadata["resource"] = "https://evil.example/mcp"
    with pytest.raises(AuthorizationUntrusted):
        await call(guarded, logins, store)
    assert issuer.requests == []


@pytest.mark.parametrize(
    "issuer_url", ["https://169.254.169.254", "https://[fe80::1]", "http://10.0.0.1", "file:///etc"]
)
async def test_metadata_leads_to_no_place_where_no_server_of_tokens_is(
    guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore, issuer_url: str
) -> None:
    guarded.metadata["authorization_servers"] = [issuer_url]
    with pytest.raises(AuthorizationFailed):
        await call(guarded, logins, store)
    assert logins.asked == []


async def test_a_challenge_leads_to_no_such_place_either(
    guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    guarded.demand = 'Bearer resource_metadata="https://169.254.169.254/latest/meta-data"'
    with pytest.raises(AuthorizationUntrusted, match=r"169\.254\.169\.254"):
        await call(guarded, logins, store)


async def test_metadata_that_is_too_large_is_not_read(
    guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    guarded.metadata_body = b" " * (2 * 1024 * 1024)
    with pytest.raises(AuthorizationUntrusted, match="more than 1048576 bytes"):
        await call(guarded, logins, store)


async def test_an_authorization_server_that_is_not_there_may_be_later(
    guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    async with AuthorizationServer() as gone:
        guarded.metadata["authorization_servers"] = [gone.issuer]
    with pytest.raises(AuthorizationUnavailable, match="nobody listens at"):
        await call(guarded, logins, store)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_of_the_server_takes_the_token_nowhere(
    issuer: AuthorizationServer, logins: Logins, store: MemoryTokenStore, status: int
) -> None:
    async def redirect(request: HttpRequest) -> None:
        await request.answer(status, headers=[("Location", evil.url)])

    async with GuardedUrl(issuer) as evil, GuardedUrl(issuer, tools__call=redirect) as guarded:
        with pytest.raises(HttpStatusError, match=r"a redirect to .* which is not followed"):
            await call(guarded, logins, store)
        assert evil.requests == []


async def test_a_redirect_within_the_server_takes_it_along(
    issuer: AuthorizationServer, logins: Logins, store: MemoryTokenStore
) -> None:
    async def redirect(request: HttpRequest) -> None:
        if request.path == "/mcp":
            await request.answer(307, headers=[("Location", "/mcp/")])
        else:
            await guarded.give(request, content=[])

    async with GuardedUrl(issuer, tools__call=redirect) as guarded:
        await call(guarded, logins, store)
        assert guarded.tokens_of("tools/call") == [*issuer.tokens] * 2


async def test_two_servers_do_not_get_each_others_tokens(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    async with GuardedUrl(issuer) as other:
        await call(guarded, logins, store)
        await call(other, logins, store)

    resources = {token: what["resource"] for token, what in issuer.tokens.items()}
    assert {resources[token] for token in guarded.tokens_of("tools/call")} == {guarded.url}
    assert {resources[token] for token in other.tokens_of("tools/call")} == {other.url}


async def test_a_server_that_names_another_issuer_gets_a_new_client_and_token(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    await call(guarded, logins, store)
    async with AuthorizationServer() as second:
        guarded.issuer = second
        await call(guarded, logins, store)

        assert second.counts["register"] == 1
        assert second.counts["refresh_token"] == 0
        assert guarded.tokens_of("tools/call")[-1] in second.tokens
    assert len(logins.asked) == 2


async def test_a_token_that_is_never_accepted_is_not_asked_for_again_and_again(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    issuer.is_good = lambda token, *scopes: False  # type: ignore[method-assign]
    with pytest.raises(AuthorizationRefused, match="does not accept the token that was just"):
        await call(guarded, logins, store)
    assert len(logins.asked) == 1


async def test_nothing_secret_is_in_any_log_event_or_error(
    issuer: AuthorizationServer,
    guarded: GuardedUrl,
    logins: Logins,
    store: MemoryTokenStore,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    told: list[Any] = []
    redirects: list[str] = []
    follow = logins.follow

    async def follow_and_note(question: AskUser) -> str:
        told.append(question)
        redirects.append(await follow(question))
        return redirects[-1]

    async def echo(request: HttpRequest) -> None:
        description = " ".join(issuer.forms[-1].values())
        await request.json({"error": "invalid_grant", "error_description": description}, 400)

    logins.follow = follow_and_note  # type: ignore[method-assign]
    auth = OAuth(login=logins, store=store, client_id="me", client_secret="the-secret")
    options: dict[str, Any] = {"timeouts": TIMEOUTS, "era_cache": {}, "on_event": told.append}
    async with Client(guarded.url, auth=auth, **options) as client:
        await client.call_tool("tool")
        issuer.revoke_all()  # a refresh
        await client.call_tool("tool")
        issuer.revoke_all()
        issuer.answers = {"refresh_token": echo, "authorization_code": echo}
        with pytest.raises(AuthorizationRefused) as failed:
            await client.call_tool("tool")
        told += [failed.value, repr(failed.value), client, auth, store]

    secrets = {"the-secret", *(form["code_verifier"] for form in issuer.forms if "code" in form)}
    secrets |= {form["refresh_token"] for form in issuer.forms if "refresh_token" in form}
    secrets |= {token for token in guarded.tokens_of("tools/call") if token}
    for redirect in redirects:
        fields = parse_qs(urlsplit(redirect).query)
        secrets |= {*fields["code"], *fields["state"]}
    assert len(secrets) >= 8
    seen = "\n".join([caplog.text, *map(repr, told), *map(str, told)])
    assert "logged_in" in seen
    assert {secret for secret in secrets if secret in seen} == set()
