"""Logging in and out without a client, and what is told of it."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.authorization.answering_login import Logins
from tests.authorization.authorization_server import AuthorizationServer
from tests.authorization.guarded_url import GuardedUrl
from tests.interaction.connecting import TIMEOUTS
from wigwag import (
    Account,
    AuthorizationFailed,
    BearerToken,
    Client,
    MemoryTokenStore,
    OAuth,
    authorization_status,
    log_in,
    log_out,
)

pytestmark = pytest.mark.anyio

# What a browser does, as far as log-ins go: it follows redirects.
FOLLOW = """
import sys, urllib.request as web
web.build_opener(web.ProxyHandler({})).open(sys.argv[1]).read()
"""


def oauth(logins: Logins, store: MemoryTokenStore, **options: Any) -> OAuth:
    return OAuth(login=logins, store=store, **options)


async def use(guarded: GuardedUrl, auth: OAuth | str) -> None:
    async with Client(guarded.url, auth=auth, timeouts=TIMEOUTS, era_cache={}) as client:
        assert (await client.call_tool("tool")).text == "done"


async def test_who_has_logged_in_is_asked_no_more(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    account = await log_in(guarded.url, oauth(logins, store))
    assert account.expires_at is not None
    assert account == Account(
        server=guarded.url,
        issuer=issuer.issuer,
        client_id="client-1",
        is_logged_in=True,
        token_type="Bearer",
        expires_at=account.expires_at,
        can_refresh=True,
    )
    assert not account.needs_user(account.expires_at + 1)
    assert logins.listening == 0

    await use(guarded, oauth(logins, store))

    assert len(logins.asked) == 1
    assert "resource_metadata" not in str(account)


async def test_a_log_in_is_new_whatever_is_kept(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    await log_in(guarded.url, oauth(logins, store))
    await log_in(guarded.url, oauth(logins, store))
    assert len(logins.asked) == 2
    assert len(issuer.clients) == 1


async def test_what_the_server_says_that_it_wants_is_asked_for(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    guarded.demand = f'Bearer resource_metadata="{guarded.metadata_url}", scope="read write"'
    account = await log_in(guarded.url, oauth(logins, store))
    assert account.scopes == ("read", "write")
    assert issuer.queries[0]["scope"] == "read write"


async def test_a_log_out_forgets_the_tokens_and_tells_the_authorization_server(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    await log_in(guarded.url, oauth(logins, store))
    assert await log_out(guarded.url, oauth(logins, store)) is True
    assert issuer.counts["revoke"] == 2

    (account,) = await authorization_status(guarded.url, store=store)
    assert not account.is_logged_in
    assert account.needs_user(0.0)
    assert account.client_id == "client-1"
    assert (await log_out(guarded.url, oauth(logins, store))) is False

    await use(guarded, oauth(logins, store))
    assert len(logins.asked) == 2
    assert len(issuer.clients) == 1


async def test_a_log_out_may_forget_the_client_too(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    issuer.metadata["dpop_signing_alg_values_supported"] = ["ES256"]
    account = await log_in(guarded.url, oauth(logins, store, dpop=True))
    assert account.token_type == "DPoP"
    assert await log_out(guarded.url, oauth(logins, store), forget_client=True)
    assert await store.keys() == ()
    assert await authorization_status(store=store) == ()


async def test_tokens_are_forgotten_also_if_nobody_can_be_told(
    logins: Logins, store: MemoryTokenStore
) -> None:
    async with AuthorizationServer() as issuer, GuardedUrl(issuer) as guarded:
        await log_in(guarded.url, oauth(logins, store))
    with pytest.raises(AuthorizationFailed, match="nobody listens"):
        await log_out(guarded.url, oauth(logins, store), forget_client=True)
    assert await store.keys() == ()


async def test_all_servers_can_be_told_of(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    await store.save("server not a URL", b"{}")
    await store.save("server https://broken.example", b"{}")
    await store.save("other", b"")
    async with GuardedUrl(issuer) as second:
        for url in (guarded.url, second.url):
            await log_in(url, oauth(logins, store))
        accounts = await authorization_status(store=store)
        assert [account.server for account in accounts] == sorted([guarded.url, second.url])
    assert await authorization_status("https://unknown.example/mcp", store=store) == ()
    assert len(await authorization_status(f"{guarded.url}/?key=1", store=store)) == 1


async def test_a_token_without_a_refresh_token_lasts_until_it_expires() -> None:
    account = Account(
        server="https://mcp.example",
        issuer="https://as.example",
        client_id="me",
        is_logged_in=True,
        expires_at=1000.0,
    )
    assert (account.needs_user(999.0), account.needs_user(1000.0)) == (False, True)


@pytest.fixture
def own_browser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Have a browser that logs in at once, and a folder for credentials."""
    program = tmp_path / "browser.py"
    program.write_text(FOLLOW)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.setenv("BROWSER", f"{sys.executable} {program} %s &")
    monkeypatch.setattr("webbrowser._tryorder", None)  # so that it looks for browsers anew
    monkeypatch.setattr("webbrowser._browsers", {})
    monkeypatch.setenv("WIGWAG_CREDENTIALS", str(tmp_path / "credentials"))


@pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")
async def test_the_browser_is_opened_once_and_files_are_kept_where_nothing_else_is_said(
    guarded: GuardedUrl, own_browser: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await use(guarded, "oauth")
    (account,) = await authorization_status(guarded.url)
    assert account.is_logged_in
    kept = os.listdir(tmp_path / "credentials")
    assert sorted({Path(name).suffix for name in kept}) == [".json", ".lock"]
    await use(guarded, "oauth")
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("If no browser comes up") == 1
    assert await log_out(guarded.url)


@pytest.mark.parametrize("auth", ["made-up-token", BearerToken("made-up-token"), OAuth])
async def test_nobody_logs_in_with_a_token(auth: Any) -> None:
    for do in (log_in, log_out):
        with pytest.raises(TypeError, match='`auth` is "oauth", an OAuth') as refused:
            await do("https://mcp.example/mcp", auth)
        assert "made-up" not in str(refused.value)


@pytest.mark.parametrize("url", ["mcp.example", "ftp://mcp.example", "https://me:pw@mcp.example"])
async def test_what_is_no_url_of_a_server_is_told_and_not_shown(url: str) -> None:
    for do in (log_in, log_out, authorization_status):
        with pytest.raises(ValueError, match=r"^the URL of the server cannot be used: ") as refused:
            await do(url)
        assert "pw" not in str(refused.value)


async def test_oauth_may_be_written_as_for_a_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIGWAG_CREDENTIALS", str(tmp_path / "credentials"))
    assert not await log_out("https://mcp.example/mcp", "oauth")
