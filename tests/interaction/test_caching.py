"""How long clients are told to keep what they get. Spec: server/utilities/caching."""

from typing import Any

import pytest

from tests.interaction.connecting import TIMEOUTS
from wigwag import CacheHint, Client, Server
from wigwag.schema import LATEST_LEGACY, LATEST_MODERN, ReadResourceResult, TextResourceContents

pytestmark = pytest.mark.anyio


def archive(**options: Any) -> Server:
    server = Server("archive", **options)

    @server.tool
    def find() -> str:
        return "found"

    @server.resource("archive://old", cache=CacheHint(86_400_000, "public"))
    def old() -> str:
        return "old"

    @server.resource("archive://new")
    def new() -> str:
        return "new"

    @server.resource("archive://own", cache=CacheHint(5))
    def own() -> ReadResourceResult:
        contents = TextResourceContents(uri="archive://own", text="own")
        return ReadResourceResult(contents=[contents], ttl_ms=7, cache_scope="public")

    @server.resource("archive://rooms/{name}", cache=CacheHint(1000))
    def room(name: str) -> str:
        return name

    @server.prompt
    def sum_up() -> str:
        return "Sum up."

    return server


async def hints(client: Client) -> dict[str, Any]:
    results: dict[str, Any] = {
        "server/discover": await client.request("server/discover", result_type=dict),
        "tools/list": await client.request("tools/list"),
        "prompts/list": await client.request("prompts/list"),
        "resources/list": await client.request("resources/list"),
        "resources/templates/list": await client.request("resources/templates/list"),
    }
    for uri in ("old", "new", "own", "rooms/1"):
        results[uri] = await client.request("resources/read", {"uri": f"archive://{uri}"})
    return {name: (result["ttlMs"], result["cacheScope"]) for name, result in results.items()}


async def test_nothing_is_to_be_kept_unless_the_server_says_so() -> None:
    async with Client(archive(), mode=LATEST_MODERN, timeouts=TIMEOUTS) as client:
        assert await hints(client) == {
            "server/discover": (0, "private"),
            "tools/list": (0, "private"),
            "prompts/list": (0, "private"),
            "resources/list": (0, "private"),
            "resources/templates/list": (0, "private"),
            "old": (86_400_000, "public"),
            "new": (0, "private"),
            "own": (7, "public"),
            "rooms/1": (1000, "private"),
        }


async def test_each_method_has_its_hint_and_a_resource_may_have_its_own() -> None:
    server = archive(
        cache_hints={
            "server/discover": CacheHint(1, "public"),
            "tools/list": CacheHint(2),
            "resources/list": CacheHint(3, "public"),
            "resources/read": CacheHint(4, "public"),
        }
    )
    async with Client(server, mode=LATEST_MODERN, timeouts=TIMEOUTS) as client:
        assert await hints(client) == {
            "server/discover": (1, "public"),
            "tools/list": (2, "private"),
            "prompts/list": (0, "private"),
            "resources/list": (3, "public"),
            "resources/templates/list": (0, "private"),
            "old": (86_400_000, "public"),
            "new": (4, "public"),
            "own": (7, "public"),
            "rooms/1": (1000, "private"),
        }


async def test_legacy_results_say_nothing_of_it() -> None:
    hint = CacheHint(1, "public")
    server = archive(cache_hints={"tools/list": hint, "resources/read": hint})
    async with Client(server, mode=LATEST_LEGACY, timeouts=TIMEOUTS) as client:
        for result in (
            await client.request("tools/list"),
            await client.request("resources/read", {"uri": "archive://old"}),
            await client.request("resources/read", {"uri": "archive://new"}),
        ):
            assert not {"ttlMs", "cacheScope"} & result.keys()


def test_a_hint_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="0 or more milliseconds, not -1"):
        CacheHint(-1)
    with pytest.raises(ValueError, match="results of tools/call cannot be kept"):
        Server("s", cache_hints={"tools/call": CacheHint(1)})
