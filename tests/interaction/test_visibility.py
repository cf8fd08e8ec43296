"""What is switched off, what only some get to see, and who asks."""

import asyncio
from typing import Any

import pytest

from tests.interaction.connecting import TIMEOUTS, serving_http
from wigwag import CacheHint, Client, Context, McpError, Principal, RequestFailed, Server
from wigwag.schema import LATEST_LEGACY, LATEST_MODERN, PromptReference

pytestmark = pytest.mark.anyio


def is_admin(principal: Principal | None) -> bool:
    return principal is not None and "admin" in principal.scopes


async def by_header(request: Any) -> Principal | None:
    name = None if request is None else request.headers.get("x-user")
    if name == "nobody":
        raise RequestFailed(-32001, "who are you?")
    if name is None:
        return None
    scopes = frozenset({"admin"}) if name == "root" else frozenset()
    return Principal(name, issuer="test", scopes=scopes)


def office(**options: Any) -> Server:
    server = Server("office", **options)

    @server.tool
    def greet(ctx: Context) -> str:
        return "a stranger" if ctx.principal is None else ctx.principal.subject

    @server.tool(visible=is_admin, tags=["danger"])
    def erase() -> str:
        return "erased"

    @server.resource("office://door", tags=["danger"])
    def door() -> str:
        return "open"

    @server.resource("office://safe", visible=is_admin)
    def safe() -> str:
        return "gold"

    @server.resource("office://files/{name}", visible=is_admin)
    def file(name: str) -> str:
        return name

    @server.prompt(visible=is_admin)
    def scold(whom: str) -> str:
        return f"Scold {whom}."

    @server.completion
    def complete(ref: Any, argument: Any) -> list[str]:
        return ["Bob"]

    return server


async def names(client: Client) -> list[str]:
    return [
        *(tool.name for tool in (await client.list_tools()).tools),
        *(resource.uri for resource in (await client.list_resources()).resources),
        *(
            each.uri_template
            for each in (await client.list_resource_templates()).resource_templates
        ),
        *(prompt.name for prompt in (await client.list_prompts()).prompts),
    ]


EVERYTHING = ["greet", "erase", "office://door", "office://safe", "office://files/{name}", "scold"]


@pytest.mark.parametrize("revision", ["2025-03-26", LATEST_LEGACY, LATEST_MODERN])
async def test_whoever_may_not_use_a_feature_does_not_see_it_either(revision: str) -> None:
    async with serving_http(office(identify=by_header)) as origin:

        def client_of(user: str | None) -> Client:
            headers = {} if user is None else {"X-User": user}
            return Client(f"{origin}/mcp", mode=revision, headers=headers, timeouts=TIMEOUTS)

        async with client_of("root") as root:
            assert await names(root) == EVERYTHING
            assert (await root.call_tool("greet")).text == "root"
            assert (await root.call_tool("erase")).text == "erased"
            (contents,) = (await root.read_resource("office://files/plan")).contents
            assert getattr(contents, "text", None) == "plan"
            await root.get_prompt("scold", {"whom": "Bob"})
        for user, greeted in (("ann", "ann"), (None, "a stranger")):
            async with client_of(user) as client:
                assert await names(client) == ["greet", "office://door"]
                assert (await client.call_tool("greet")).text == greeted
                with pytest.raises(RequestFailed, match=r"Unknown tool: 'erase' \(error"):
                    await client.call_tool("erase")
                for uri in ("office://safe", "office://files/plan"):
                    with pytest.raises(RequestFailed, match="Resource not found"):
                        await client.read_resource(uri)
                with pytest.raises(RequestFailed, match="Unknown prompt"):
                    await client.get_prompt("scold", {"whom": "Bob"})
                with pytest.raises(RequestFailed, match="Unknown prompt"):
                    await client.complete(PromptReference(name="scold"), "whom", "")
        with pytest.raises(McpError, match="who are you"):
            await client_of("nobody").connect()


async def test_lists_that_not_everybody_shares_are_private() -> None:
    hint = CacheHint(60_000, "public")
    methods = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
    server = office(cache_hints=dict.fromkeys(methods, hint))
    async with Client(server, mode=LATEST_MODERN, timeouts=TIMEOUTS) as client:
        result = await client.list_tools()
        assert (result.ttl_ms, result.cache_scope) == (60_000, "private")
        server.remove_tool("erase")
        result = await client.list_tools(refresh=True)
        assert (result.ttl_ms, result.cache_scope) == (60_000, "public")


async def test_over_other_transports_it_is_asked_who_it_is_as_well(revision: str) -> None:
    def owner_of_the_process(request: Any) -> Principal:
        assert request is None
        return Principal("me", scopes=frozenset({"admin"}))

    server = office(identify=owner_of_the_process)
    async with Client(server, mode=revision, timeouts=TIMEOUTS) as client:
        assert await names(client) == EVERYTHING
        assert (await client.call_tool("greet")).text == "me"


# --- switching on and off


async def test_what_is_switched_off_is_neither_listed_nor_found(revision: str) -> None:
    server = office(identify=lambda _: Principal("me", scopes=frozenset({"admin"})))
    async with Client(server, mode=revision, timeouts=TIMEOUTS) as client:
        server.disable("greet", "scold", tags=["danger"])
        assert await names(client) == ["office://safe", "office://files/{name}"]
        with pytest.raises(RequestFailed, match="Unknown tool"):
            await client.call_tool("greet")
        with pytest.raises(RequestFailed, match="Resource not found"):
            await client.read_resource("office://door")
        with pytest.raises(RequestFailed, match="Unknown prompt"):
            await client.get_prompt("scold", {"whom": "Bob"})
        server.enable("greet", "scold", tags=["danger"])
        assert await names(client) == EVERYTHING


@pytest.mark.parametrize("revision", [LATEST_LEGACY, LATEST_MODERN])
async def test_clients_are_told_when_something_is_switched(revision: str) -> None:
    server = office()
    async with (
        Client(server, mode=revision, timeouts=TIMEOUTS) as client,
        client.listen(tools=True, resources=True) as changes,
    ):
        heard = aiter(changes)
        server.disable(tags=["danger"])
        async with asyncio.timeout(30):
            methods = {(await anext(heard)).method for _ in range(2)}
    assert methods == {
        "notifications/tools/list_changed",
        "notifications/resources/list_changed",
    }


async def test_a_tool_can_be_switched_off_from_the_start() -> None:
    server = Server("s")

    @server.tool(enabled=False)
    def later() -> str:
        return "now"

    async with Client(server, mode=LATEST_LEGACY, timeouts=TIMEOUTS) as client:
        assert client.server_capabilities is not None
        server.enable("later")
        assert (await client.call_tool("later")).text == "now"


def test_a_name_that_nothing_has_cannot_be_switched() -> None:
    with pytest.raises(KeyError, match="there is no 'gret' to switch off"):
        office().disable("gret")
