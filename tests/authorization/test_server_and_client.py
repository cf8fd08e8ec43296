"""Our client logs in at an authorization server, and asks for more, as our server wants it."""

from typing import Any

import pytest

from tests.authorization.answering_login import Logins
from tests.authorization.authorization_server import AuthorizationServer
from tests.interaction.connecting import TIMEOUTS, serving_http
from wigwag import Client, Context, OAuth, Principal, Protection, RequestFailed, Server
from wigwag.schema import LATEST_LEGACY, LATEST_MODERN
from wigwag.stores.memory_tokens import MemoryTokenStore

pytestmark = pytest.mark.anyio

BOTH_ERAS = pytest.mark.parametrize("mode", [LATEST_LEGACY, LATEST_MODERN])


def library(issuer: AuthorizationServer, **options: Any) -> Server:
    def whose(token: str) -> Principal | None:
        found = issuer.tokens.get(token)
        if found is None:
            return None
        return Principal("ada", issuer.issuer, frozenset(found["scope"].split()))

    auth = Protection(whose, authorization_servers=[issuer.issuer], scopes=["books"], **options)
    server = Server("library", auth=auth)

    @server.tool
    async def read(ctx: Context) -> str:
        assert ctx.principal is not None
        return f"{ctx.principal.subject} reads"

    @server.tool(scopes=["books:lend"])
    async def lend(ctx: Context) -> str:
        return "lent"

    @server.tool
    async def buy(price: int, ctx: Context) -> str:
        if price > 100:
            ctx.require_scopes("books:lend", "money")
        return "bought"

    return server


def client_of(url: str, logins: Logins, store: MemoryTokenStore, mode: str) -> Client:
    auth = OAuth(login=logins, store=store, client_name="Tests")
    return Client(url, auth=auth, mode=mode, timeouts=TIMEOUTS, era_cache={})


# What was refused for its token is sent again as it was, with the same id.
@pytest.mark.broken_messages("client", sometimes=True)
@BOTH_ERAS
async def test_a_client_logs_in_with_what_is_needed_and_steps_up_for_more(
    issuer: AuthorizationServer, logins: Logins, store: MemoryTokenStore, mode: str
) -> None:
    async with (
        serving_http(library(issuer)) as origin,
        client_of(f"{origin}/mcp", logins, store, mode) as client,
    ):
        assert (await client.call_tool("read")).text == "ada reads"
        assert [query["scope"] for query in issuer.queries] == ["books"]
        assert issuer.queries[0]["resource"] == f"{origin}/mcp"
        tools = [tool.name for tool in (await client.list_tools()).tools]
        assert tools == ["read", "buy"]
        assert (await client.call_tool("lend")).text == "lent"
        assert (await client.call_tool("buy", {"price": 7})).text == "bought"
        assert len(issuer.queries) == 2
        assert (await client.call_tool("buy", {"price": 700})).text == "bought"
        asked = [set(query["scope"].split()) for query in issuer.queries]
        assert asked == [
            {"books"},
            {"books", "books:lend"},
            {"books", "books:lend", "money"},
        ]
        tools = [tool.name for tool in (await client.list_tools()).tools]
        assert tools == ["read", "lend", "buy"]
        # The session and what else there is have gone on with the fresh tokens.
        assert (await client.call_tool("read")).text == "ada reads"


@BOTH_ERAS
async def test_a_token_that_is_good_no_more_is_refreshed_without_a_log_in(
    issuer: AuthorizationServer, logins: Logins, store: MemoryTokenStore, mode: str
) -> None:
    async with (
        serving_http(library(issuer)) as origin,
        client_of(f"{origin}/mcp", logins, store, mode) as client,
    ):
        assert (await client.call_tool("read")).text == "ada reads"
        issuer.revoke_all()
        assert (await client.call_tool("read")).text == "ada reads"
        assert len(issuer.queries) == 1


@BOTH_ERAS
async def test_what_only_roles_allow_asks_nobody_to_log_in(
    issuer: AuthorizationServer, logins: Logins, store: MemoryTokenStore, mode: str
) -> None:
    server = library(issuer)

    @server.tool(roles=["librarian"])
    async def burn() -> str:
        return "ashes"

    async with (
        serving_http(server) as origin,
        client_of(f"{origin}/mcp", logins, store, mode) as client,
    ):
        with pytest.raises(RequestFailed, match="Unknown tool: 'burn'"):
            await client.call_tool("burn")
        assert len(issuer.queries) == 1
