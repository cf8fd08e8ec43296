"""What clients keep of answers is not given to somebody else who has logged in since."""

import asyncio
from typing import Any

import pytest

from tests.authorization.answering_login import Logins
from tests.authorization.authorization_server import AuthorizationServer
from tests.authorization.guarded_url import GuardedUrl
from tests.interaction.connecting import TIMEOUTS
from tests.interaction.http_server import HttpRequest
from wigwag import (
    ApiKey,
    AuthorizationFailed,
    BearerToken,
    CachePolicy,
    Client,
    ClientGroup,
    MemoryTokenStore,
    OAuth,
    connect_sync,
)

pytestmark = pytest.mark.anyio


async def list_tools(request: HttpRequest) -> None:
    """List nothing, for an hour, for this user alone."""
    members = {"resultType": "complete", "tools": [], "ttlMs": 3_600_000, "cacheScope": "private"}
    await request.result(**members)


def guarded_url(issuer: AuthorizationServer) -> GuardedUrl:
    return GuardedUrl(issuer, tools__list=list_tools)


async def test_a_refresh_leaves_what_is_kept_and_a_login_does_not(
    issuer: AuthorizationServer, logins: Logins, store: MemoryTokenStore
) -> None:
    auth = OAuth(login=logins, store=store)
    async with (
        guarded_url(issuer) as guarded,
        Client(guarded.url, auth=auth, timeouts=TIMEOUTS) as client,
    ):
        for _ in range(2):
            await client.list_tools()
        assert len(guarded.asked("tools/list")) == 1

        issuer.revoke_all()
        await client.call_tool("tool")
        assert issuer.counts["refresh_token"] == 1
        await client.list_tools()
        assert len(guarded.asked("tools/list")) == 1

        issuer.revoke_all()
        issuer.forget_refresh_tokens()
        await client.call_tool("tool")
        assert len(logins.asked) == 2
        await client.list_tools()
        assert len(guarded.asked("tools/list")) == 2


@pytest.mark.parametrize("cache", [True, CachePolicy(principal="me")])
async def test_more_scopes_may_show_more(
    issuer: AuthorizationServer, logins: Logins, store: MemoryTokenStore, cache: Any
) -> None:
    auth = OAuth(login=logins, store=store)
    async with (
        guarded_url(issuer) as guarded,
        Client(guarded.url, auth=auth, timeouts=TIMEOUTS, cache=cache) as client,
    ):
        guarded.scopes = {"tools/call": "write"}
        await client.list_tools()
        await client.call_tool("tool")  # a step up
        await client.list_tools()
        assert len(guarded.asked("tools/list")) == 2


@pytest.mark.parametrize(
    ("auth", "asked"),
    [(BearerToken("a"), 1), ("a", 1), (ApiKey("X-Key", "a"), 1), (lambda: "a", 2)],
)
async def test_a_function_may_return_the_token_of_another(
    issuer: AuthorizationServer, auth: Any, asked: int
) -> None:
    async with guarded_url(issuer) as guarded:
        guarded.open.add("anything")
        async with Client(guarded.url, auth=auth, timeouts=TIMEOUTS) as client:
            for _ in range(2):
                await client.list_tools()
        assert len(guarded.asked("tools/list")) == asked


async def test_a_token_is_sent_with_every_request(
    issuer: AuthorizationServer, guarded: GuardedUrl
) -> None:
    issuer.tokens["mine"] = {"scope": ""}
    async with Client(guarded.url, auth="mine", timeouts=TIMEOUTS) as client:
        await client.call_tool("tool")
    assert guarded.refusals == 0
    with pytest.raises(AuthorizationFailed, match="does not accept what it is given"):
        await Client(guarded.url, auth="another", timeouts=TIMEOUTS).connect()


async def test_a_group_logs_in_at_each_of_its_servers(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    auth = OAuth(login=logins, store=store)
    async with GuardedUrl(issuer) as other:
        servers = {"one": guarded.url, "two": other.url}
        async with ClientGroup(servers, auth=auth, timeouts=TIMEOUTS) as group:
            assert group.errors == {}
    assert sorted(question.resource for question in logins.asked) == sorted(
        [guarded.url, other.url]
    )


async def test_a_server_of_a_group_that_has_a_token_needs_no_login(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    issuer.tokens["mine"] = {"scope": ""}
    servers = {
        "one": {"url": guarded.url, "headers": {"Authorization": "Bearer mine"}},
        "two": {"url": guarded.url, "auth": "mine"},
    }
    async with ClientGroup(
        servers, auth=OAuth(login=logins, store=store), timeouts=TIMEOUTS
    ) as group:
        assert group.errors == {}
    assert logins.asked == []


async def test_the_blocking_client_logs_in_as_well(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    def use() -> str:
        auth = OAuth(login=logins, store=store)
        with connect_sync(guarded.url, auth=auth, timeouts=TIMEOUTS) as client:
            return client.call_tool("tool").text

    assert await asyncio.to_thread(use) == "done"
    assert len(logins.asked) == 1


async def test_a_function_of_the_blocking_client_may_block(
    issuer: AuthorizationServer, guarded: GuardedUrl
) -> None:
    issuer.tokens["mine"] = {"scope": ""}
    may_block: list[bool] = []

    def find_token() -> str:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            may_block.append(True)
        return "mine"

    def use() -> str:
        with connect_sync(guarded.url, auth=find_token, timeouts=TIMEOUTS) as client:
            return client.call_tool("tool").text

    assert await asyncio.to_thread(use) == "done"
    assert may_block == [True] * 2  # once for each request, and never on the event loop
    with pytest.raises(TypeError, match="OAuth is a class"):
        connect_sync(guarded.url, auth=OAuth)  # type: ignore[arg-type] # which is the point
