"""Tokens that expire, are refused or no longer refreshed: what is asked, forgotten and kept."""

import asyncio
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.authorization.answering_login import AnsweringLogin, Logins
from tests.authorization.authorization_server import AuthorizationServer
from tests.authorization.guarded_url import GuardedUrl
from tests.authorization.kept_tokens import expire, kept
from tests.interaction.connecting import PATIENCE, TIMEOUTS
from wigwag import Client, FileTokenStore, MemoryTokenStore, OAuth
from wigwag.client.events import ClientEvent
from wigwag.errors import AuthorizationUnavailable, InsufficientScope
from wigwag.stores.contract import TokenStore

pytestmark = pytest.mark.anyio

CALLING = Path(__file__).with_name("calling.py")


def client_of(guarded: GuardedUrl, logins: Logins, store: TokenStore, **options: Any) -> Client:
    auth = OAuth(login=logins, store=store)
    return Client(guarded.url, **{"auth": auth, "timeouts": TIMEOUTS, "era_cache": {}, **options})


async def log_in(guarded: GuardedUrl, logins: Logins, store: TokenStore) -> None:
    async with client_of(guarded, logins, store):
        pass
    assert len(logins.asked) == 1


async def call(guarded: GuardedUrl, logins: Logins, store: TokenStore) -> None:
    async with client_of(guarded, logins, store) as client:
        assert (await client.call_tool("tool")).text == "done"


async def test_ten_calls_on_a_token_that_is_refused_make_one_refresh(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    issuer.lifetime = None  # so that nobody knows that it expires
    async with client_of(guarded, logins, store) as client:
        issuer.revoke_all()
        issuer.gate = asyncio.Event()
        calls = [asyncio.create_task(client.call_tool("tool")) for _ in range(10)]
        await guarded.wait_asked("tools/call", 10)
        issuer.gate.set()

        assert {(await each).text for each in calls} == {"done"}

    assert issuer.counts["refresh_token"] == 1
    assert len(logins.asked) == 1
    assert len(set(guarded.tokens_of("tools/call")[10:])) == 1


async def test_ten_calls_on_a_token_that_has_expired_make_one_refresh(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    await log_in(guarded, logins, store)
    await expire(store)
    events: list[ClientEvent] = []
    async with client_of(guarded, logins, store, on_event=events.append, lazy=True) as client:
        done = await asyncio.gather(*(client.call_tool("tool") for _ in range(10)))
        assert {each.text for each in done} == {"done"}

    assert issuer.counts["refresh_token"] == 1
    assert guarded.refusals == 1  # that of the first client
    assert [event.kind for event in events] == ["token_refreshed"]


async def test_two_processes_make_one_refresh(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, tmp_path: Path
) -> None:
    """A second one would come with a refresh token that is good no more, and lose the login."""
    issuer.lifetime = None
    await log_in(guarded, logins, FileTokenStore(tmp_path))
    issuer.revoke_all()
    issuer.gate = asyncio.Event()
    before = len(guarded.asked("server/discover"))

    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, str(CALLING), guarded.url, str(tmp_path), stdout=-1, stderr=-1
        )
        for _ in range(2)
    ]
    await guarded.wait_asked("server/discover", before + 2)  # both have the token that is no good
    issuer.gate.set()
    async with asyncio.timeout(PATIENCE):
        outputs = [await process.communicate() for process in processes]

    assert [output.decode() for output, _ in outputs] == ["done"] * 2, outputs
    assert issuer.counts["refresh_token"] == 1


async def test_after_a_restart_a_token_that_has_expired_needs_no_browser(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, tmp_path: Path
) -> None:
    await log_in(guarded, logins, FileTokenStore(tmp_path))
    await expire(FileTokenStore(tmp_path))
    metadata = issuer.counts["metadata"]

    await call(guarded, logins, FileTokenStore(tmp_path))

    assert len(logins.asked) == 1
    assert issuer.counts["refresh_token"] == 1
    assert issuer.forms[-1]["resource"] == guarded.url
    assert issuer.counts["metadata"] == metadata  # that is kept, too


async def test_while_a_token_is_fresh_nothing_is_read(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins
) -> None:
    class CountingStore(MemoryTokenStore):
        loads = 0

        async def load(self, key: str) -> bytes | None:
            self.loads += 1
            return await super().load(key)

    store = CountingStore()
    async with client_of(guarded, logins, store) as client:
        await client.call_tool("tool")
        before = store.loads
        for _ in range(5):
            await client.call_tool("tool")
        assert store.loads == before


@pytest.mark.parametrize("path", ["/tenant", "/a/b"])
@pytest.mark.parametrize(
    "place",
    [
        "/.well-known/oauth-authorization-server",
        "/.well-known/openid-configuration",
        "+/.well-known/openid-configuration",
    ],
)
async def test_an_authorization_server_may_be_under_a_path(
    logins: Logins, store: MemoryTokenStore, path: str, place: str
) -> None:
    async with AuthorizationServer(path=path) as issuer, GuardedUrl(issuer) as guarded:
        issuer.well_known = (place,)
        await log_in(guarded, logins, store)
        await expire(store)
        await call(guarded, logins, store)
        assert issuer.counts["refresh_token"] == 1
        assert issuer.counts["/.well-known/oauth-authorization-server"] == 0  # another issuer's


async def test_a_refresh_that_is_not_possible_now_forgets_nothing_and_is_tried_again(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    await log_in(guarded, logins, store)
    await expire(store)
    before = await kept(store, "tokens")
    issuer.failures["refresh_token"] = [(503, {})]
    async with client_of(guarded, logins, store, lazy=True) as client:
        found = await asyncio.gather(
            *(client.call_tool("tool") for _ in range(5)), return_exceptions=True
        )
        assert {type(error) for error in found} == {AuthorizationUnavailable}
        assert str(found[0]) == (
            f"the token endpoint answered with status 503 ({issuer.issuer}/token); try again later"
        )
        assert await kept(store, "tokens") == before

        assert (await client.call_tool("tool")).text == "done"

    assert issuer.counts["refresh_token"] == 2
    assert len(logins.asked) == 1


async def test_a_grant_that_is_no_longer_good_loses_the_tokens_and_not_the_client(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    await log_in(guarded, logins, store)
    await expire(store)
    issuer.failures["refresh_token"] = [(400, {"error": "invalid_grant"})]

    await call(guarded, logins, store)

    assert len(logins.asked) == 2
    assert issuer.counts["refresh_token"] == 1
    assert issuer.counts["register"] == 1
    tokens = await kept(store, "tokens")
    assert tokens is not None
    assert tokens["access_token"] in issuer.tokens


async def test_a_client_that_is_no_longer_known_registers_anew(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    await log_in(guarded, logins, store)
    await expire(store)
    issuer.failures["refresh_token"] = [(401, {"error": "invalid_client"})]

    await call(guarded, logins, store)

    assert issuer.counts["register"] == 2
    registration = await kept(store, "registration")
    assert registration is not None
    assert registration["client_id"] == issuer.queries[-1]["client_id"] == "client-2"


async def test_a_refresh_token_that_is_not_replaced_stays_good(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    issuer.tells_refresh_token = False
    await log_in(guarded, logins, store)
    for _ in range(2):
        await expire(store)
        await call(guarded, logins, store)

    used = [form["refresh_token"] for form in issuer.forms if "refresh_token" in form]
    assert len(used) == 2
    assert len(set(used)) == 1
    assert len(logins.asked) == 1


async def test_a_token_that_does_not_allow_enough_is_replaced_once(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    guarded.metadata["scopes_supported"] = ["read"]
    guarded.scopes = {"tools/call": "write"}
    async with client_of(guarded, logins, store) as client:
        for _ in range(2):
            assert (await client.call_tool("tool")).text == "done"

    assert [query["scope"] for query in issuer.queries] == ["read", "read write"]
    assert guarded.refusals == 2


async def test_more_scopes_that_are_never_enough_are_not_asked_for_again_and_again(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    async with client_of(guarded, logins, store) as client:
        guarded.scopes = {"tools/call": "write"}
        issuer.is_good = lambda token, *scopes: not scopes  # type: ignore[method-assign]
        for _ in range(3):
            with pytest.raises(InsufficientScope, match="needs the scopes write"):
                await client.call_tool("tool")

    assert len(logins.asked) == 2


async def test_a_refresh_that_nobody_waits_for_any_more_is_brought_to_its_end(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    """The server has replaced the refresh token: without its answer the login would be lost."""
    async with client_of(guarded, logins, store) as client:
        issuer.revoke_all()
        issuer.gate = asyncio.Event()
        call = asyncio.create_task(client.call_tool("tool"))
        await issuer.wait_for("token", 2)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        issuer.gate.set()
        assert (await client.call_tool("tool")).text == "done"

    assert issuer.counts["refresh_token"] == 1
    assert len(logins.asked) == 1


async def test_who_waits_for_another_program_is_told(
    issuer: AuthorizationServer,
    guarded: GuardedUrl,
    logins: Logins,
    store: MemoryTokenStore,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    told = asyncio.Event()

    def hear(record: logging.LogRecord) -> None:
        if record.getMessage().startswith(
            f"waiting for another program, which logs in at {guarded.url}"
        ):
            told.set()

    monkeypatch.setattr("wigwag.client.authorization.oauth_authorizer._QUIET_SECONDS", 0.01)
    monkeypatch.setattr(caplog.handler, "emit", hear)
    async with store.lock(guarded.url):
        calling = asyncio.create_task(call(guarded, logins, store))
        async with asyncio.timeout(PATIENCE):
            await told.wait()
    await calling
    assert len(logins.asked) == 1


async def test_what_another_process_has_got_is_found(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    async with client_of(guarded, logins, store) as client:
        issuer.revoke_all()
        await call(guarded, logins, store)  # another client, which refreshes
        assert (await client.call_tool("tool")).text == "done"

    assert issuer.counts["refresh_token"] == 1


async def test_who_registers_once_more_can_still_refresh_what_the_earlier_client_got(
    issuer: AuthorizationServer, guarded: GuardedUrl, store: MemoryTokenStore
) -> None:
    """Many servers have the same issuer; users who log in to two at once need two ports."""
    ports = iter((9, 10))

    class AtAnotherPort(Logins):
        def __call__(self) -> AnsweringLogin:
            login = super().__call__()
            uri = f"http://127.0.0.1:{next(ports)}/callback"

            async def listen(registered: tuple[str, ...]) -> str:
                self.listening += 1
                return uri

            login.listen = listen  # type: ignore[method-assign] # as the one above
            return login

    logins = AtAnotherPort()
    await log_in(guarded, logins, store)
    async with GuardedUrl(issuer) as other:
        await call(other, logins, store)
        assert issuer.counts["register"] == 2
        issuer.revoke_all()

        for server in (guarded, other):
            await call(server, logins, store)

    assert len(logins.asked) == 2  # and nobody again
    assert [form["client_id"] for form in issuer.forms[-2:]] == ["client-1", "client-2"]


async def test_servers_that_share_their_tokens_make_one_refresh(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    """A second one would come with a refresh token that is good no more, and lose the login."""
    issuer.lifetime = None
    guarded.metadata = {"resource": guarded.origin}
    options: dict[str, Any] = {"timeouts": TIMEOUTS, "era_cache": {}}
    urls = (guarded.url, f"{guarded.origin}/other/mcp")
    clients = [Client(url, auth=OAuth(login=logins, store=store), **options) for url in urls]
    async with clients[0], clients[1]:
        asked = len(logins.asked)
        issuer.revoke_all()
        issuer.gate = asyncio.Event()
        calls = [asyncio.create_task(client.call_tool("tool")) for client in clients]
        await guarded.wait_asked("tools/call", 2)
        await issuer.wait_for("token", asked + 1)
        issuer.gate.set()
        assert {(await each).text for each in calls} == {"done"}

    assert issuer.counts["refresh_token"] == 1
    assert len(logins.asked) == asked
