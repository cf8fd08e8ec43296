"""Methods that MCP does not know: a server's own, and those of extensions."""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import pytest

from tests.interaction.connecting import TIMEOUTS, serving_http
from wigwag import Client, Context, RequestFailed, Server
from wigwag.schema import LATEST_LEGACY, LATEST_MODERN, REVISIONS

# To the judge of messages such a method does not exist.
pytestmark = [pytest.mark.anyio, pytest.mark.broken_messages("client", sometimes=True)]


@dataclass
class Found:
    items: list[str]
    more: bool = False


def library(heard: asyncio.Queue[Any] | None = None) -> Server:
    server = Server("library", extensions={"com.example/search": {"fuzzy": True}})

    @server.method("com.example/search", extension="com.example/search")
    async def search(query: str, limit: Annotated[int, msgspec.Meta(ge=1)] = 2) -> Found:
        return Found([f"{query}-{n}" for n in range(limit)])

    @server.method("com.example/who")
    def who(ctx: Context) -> dict[str, Any]:
        return {"revision": ctx.protocol_version, "method": ctx.method}

    @server.method("com.example/nothing", revisions=[LATEST_MODERN])
    def nothing() -> None:
        return None

    @server.method("com.example/list")
    def a_list() -> list[int]:
        return [1]

    @server.method("com.example/reserved")
    def reserved() -> dict[str, Any]:
        return {"_meta": {}}

    @server.method("com.example/crash")
    def crash() -> None:
        raise ValueError("a secret")

    if heard is not None:

        @server.notification("com.example/moved")
        async def moved(to: str, ctx: Context) -> None:
            heard.put_nowait((to, ctx.method))

        @server.notification("notifications/roots/list_changed")
        def roots_changed() -> None:
            heard.put_nowait("roots")

    return server


async def test_a_method_of_its_own_is_served_in_every_revision(revision: str) -> None:
    async with Client(library(), mode=revision, timeouts=TIMEOUTS) as client:
        result = await client.request("com.example/search", {"query": "mcp"}, result_type=Found)
        assert result == Found(["mcp-0", "mcp-1"])
        result = await client.request("com.example/search", {"query": "a", "limit": 1})
        assert result["items"] == ["a-0"]
        result = await client.request("com.example/who")
        assert (result["revision"], result["method"]) == (revision, "com.example/who")


@pytest.mark.parametrize("revision", REVISIONS[1:])
async def test_a_method_of_its_own_is_served_over_http(revision: str) -> None:
    async with (
        serving_http(library()) as origin,
        Client(f"{origin}/mcp", mode=revision, timeouts=TIMEOUTS) as client,
    ):
        result = await client.request("com.example/search", {"query": "mcp"}, result_type=Found)
        assert result == Found(["mcp-0", "mcp-1"])


async def test_an_extension_is_declared_where_the_revision_knows_them(revision: str) -> None:
    async with Client(library(), mode=revision, timeouts=TIMEOUTS) as client:
        assert client.server_capabilities is not None
        extensions = client.server_capabilities.extensions
    if revision in (LATEST_LEGACY, LATEST_MODERN):
        assert extensions == {"com.example/search": {"fuzzy": True}}
    else:
        assert not extensions


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({}, "`query` is missing"),
        ({"query": "a", "limit": 0}, "`limit`: expected `int` >= 1"),
        ({"query": "a", "limits": 1}, "did you mean `limit`?"),
    ],
)
async def test_params_that_do_not_fit_are_refused_by_name(
    revision: str, params: dict[str, Any], words: str
) -> None:
    async with Client(library(), mode=revision, timeouts=TIMEOUTS) as client:
        with pytest.raises(RequestFailed) as caught:
            await client.request("com.example/search", params)
    assert caught.value.code == -32602
    assert caught.value.message.startswith("Invalid params for com.example/search: ")
    assert words in caught.value.message


async def test_a_method_may_be_of_some_revisions_only() -> None:
    async with Client(library(), mode=LATEST_MODERN, timeouts=TIMEOUTS) as client:
        assert await client.request("com.example/nothing") is not None
    async with Client(library(), mode=LATEST_LEGACY, timeouts=TIMEOUTS) as client:
        with pytest.raises(RequestFailed, match="Method not found") as caught:
            await client.request("com.example/nothing")
    assert caught.value.code == -32601


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("list", "it returned list, but a result is an object"),
        ("reserved", "'_meta' in the result"),
        ("crash", "Internal error"),
    ],
)
async def test_what_is_no_result_is_an_internal_error(
    revision: str, method: str, words: str
) -> None:
    async with Client(library(), mode=revision, timeouts=TIMEOUTS) as client:
        with pytest.raises(RequestFailed, match=words) as caught:
            await client.request(f"com.example/{method}")
        assert caught.value.code == -32603
        assert "secret" not in str(caught.value)
        await client.request("com.example/who")


async def test_notifications_of_its_own_reach_the_server(revision: str) -> None:
    heard: asyncio.Queue[Any] = asyncio.Queue()
    async with Client(library(heard), mode=revision, timeouts=TIMEOUTS) as client:
        await client.notify("com.example/moved", {"to": "Oslo"})
        async with asyncio.timeout(30):
            assert await heard.get() == ("Oslo", "com.example/moved")
        await client.notify("com.example/moved", {"too": "Oslo"})  # a line in the log, no more
        await client.notify("com.example/moved", {"to": "Rome"})
        async with asyncio.timeout(30):
            assert await heard.get() == ("Rome", "com.example/moved")
        if revision != LATEST_MODERN:
            await client.send_roots_list_changed()
            async with asyncio.timeout(30):
                assert await heard.get() == "roots"


@pytest.mark.parametrize("revision", [LATEST_LEGACY, LATEST_MODERN])
async def test_notifications_of_its_own_reach_the_server_over_http(revision: str) -> None:
    heard: asyncio.Queue[Any] = asyncio.Queue()
    async with (
        serving_http(library(heard)) as origin,
        Client(f"{origin}/mcp", mode=revision, timeouts=TIMEOUTS) as client,
    ):
        await client.notify("com.example/moved", {"to": "Oslo"})
        async with asyncio.timeout(30):
            assert await heard.get() == ("Oslo", "com.example/moved")


async def test_a_method_can_ask_the_client() -> None:
    server = Server("s")

    @server.method("com.example/ask")
    async def ask(ctx: Context) -> dict[str, Any]:
        answer = await ctx.elicit("Who?", str)
        return {"name": answer.data}

    async with Client(
        server, mode=LATEST_LEGACY, timeouts=TIMEOUTS, elicitation=lambda _: {"value": "Ann"}
    ) as client:
        assert await client.request("com.example/ask") == {"name": "Ann"}
    async with Client(
        server, mode=LATEST_MODERN, timeouts=TIMEOUTS, elicitation=lambda _: {"value": "Ann"}
    ) as client:
        first = await client.request("com.example/ask")
        assert first["resultType"] == "input_required"
        (key,) = first["inputRequests"]
        again = await client.request(
            "com.example/ask",
            {
                "requestState": first["requestState"],
                "inputResponses": {key: {"action": "accept", "content": {"value": "Ann"}}},
            },
        )
        assert again["name"] == "Ann"


@pytest.mark.parametrize(
    ("register", "why"),
    [
        (lambda s: s.method("tools/call"), "tools/call is a method of MCP"),
        (lambda s: s.method("search"), "a method has a name of its own: com.example/search"),
        (lambda s: s.method("com.example/who")(print), "is served already|cannot be an argument"),
        (lambda s: s.notification("notifications/cancelled"), "is a method of MCP"),
        (lambda s: s.notification("moved"), "a method has a name of its own"),
    ],
)
def test_names_that_are_not_the_servers_own_are_refused(register: Any, why: str) -> None:
    with pytest.raises((ValueError, TypeError), match=why):
        register(library())
