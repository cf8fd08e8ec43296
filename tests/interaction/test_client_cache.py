"""What a client keeps of a server's answers, and who asks the server. Spec: utilities/caching."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.interaction.connecting import PATIENCE, TIMEOUTS, Way, connected, serving_http
from tests.interaction.http_server import HttpRequest, McpUrl
from tests.interaction.library import LISTS, library
from tests.interaction.peers import PeerServer, client_of
from wigwag import CachePolicy, Client, ClientGroup, RequestFailed, SyncClient
from wigwag.client.listening import Changes
from wigwag.errors import ConnectionClosed, HttpStatusError, InvalidResult, LocalProtocolError
from wigwag.protocol.subscriptions import Change
from wigwag.schema import LATEST_LEGACY, LATEST_MODERN, ElicitResult, TextResourceContents
from wigwag.stores.memory import MemoryCacheStore

pytestmark = pytest.mark.anyio

PROGRAM = Path(__file__).with_name("library.py")
WAYS = [
    Way(transport, revision)
    for transport in ("memory", "stdio", "http")
    for revision in (LATEST_LEGACY, LATEST_MODERN)
]
POEM, TALE = "library://poem", "library://tale"
TOOL = {"name": "t", "inputSchema": {"type": "object"}}


@pytest.fixture(params=WAYS, ids=str)
def way(request: pytest.FixtureRequest) -> Way:
    """The transports that differ, and both eras."""
    chosen: Way = request.param
    return chosen


@pytest.fixture
def connect(way: Way) -> Callable[..., Any]:
    """Connects clients to a library."""

    def connect_to_library(**options: Any) -> Any:
        return connected(way, library, PROGRAM, **options)

    return connect_to_library


async def asked(client: Client) -> dict[str, int]:
    """Return how often the server was asked for what."""
    counts: dict[str, int] = (await client.call_tool("asked")).data
    return counts


async def text_of(client: Client, uri: str, **options: Any) -> str:
    (contents,) = (await client.read_resource(uri, **options)).contents
    assert isinstance(contents, TextResourceContents)
    return contents.text


async def names_of_tools(client: Client, **options: Any) -> list[str]:
    return [tool.name for tool in (await client.list_tools(**options)).tools]


async def next_of(changes: Changes) -> Change:
    async with asyncio.timeout(PATIENCE):
        return await anext(changes)


# --- both ends of ours


async def test_a_modern_server_is_asked_once_for_what_may_be_kept(
    way: Way, connect: Callable[..., Any]
) -> None:
    async with connect() as client:
        for _ in range(3):
            assert await names_of_tools(client) == ["asked", "write", "lend"]
            assert [page async for page in client.tool_pages()][1].tools[0].name == "lend"
            assert len((await client.list_prompts()).prompts) == 1
            assert len((await client.list_resources()).resources) == 2
            assert len((await client.list_resource_templates()).resource_templates) == 1
            assert await text_of(client, POEM) == "a poem"
            assert await text_of(client, TALE) == "a tale"
        counts = await asked(client)
        is_modern = way.revision == LATEST_MODERN
        times = 1 if is_modern else 3
        assert {method: counts[method] for method in (*LISTS, POEM, TALE)} == {
            "tools/list": 2 if is_modern else 12,  # which has two pages, and is listed twice
            "prompts/list": times,
            "resources/list": times,
            "resources/templates/list": times,
            POEM: times,
            TALE: times,
        }
        assert client.cache_info().hits == (20 if is_modern else 0)


async def test_what_changes_is_read_anew_while_somebody_listens(
    way: Way, connect: Callable[..., Any]
) -> None:
    async with connect() as client, client.listen(tools=True, uris=[POEM]) as changes:
        for number in range(2):
            assert await text_of(client, TALE) == "a tale"
            await client.call_tool("write", {"uri": POEM, "text": f"poem {number}"})
            assert (await next_of(changes)).uri == POEM
            for _ in range(2):
                assert await text_of(client, POEM) == f"poem {number}"
            await names_of_tools(client)
            await client.call_tool("lend", {"name": f"book_{number}"})
            assert (await next_of(changes)).method == "notifications/tools/list_changed"
            for _ in range(2):
                assert f"book_{number}" in await names_of_tools(client)
        if way.revision == LATEST_MODERN:
            counts = await asked(client)
            # Each new poem, and the tale; the list at first and after each change, in pages of two.
            assert (counts[POEM], counts[TALE], counts["tools/list"]) == (2, 1, 2 + 2 + 3)


async def test_what_is_read_while_somebody_listens_is_not_from_before(
    connect: Callable[..., Any],
) -> None:
    async with connect() as client:
        assert await text_of(client, POEM) == "a poem"
        assert "book" not in await names_of_tools(client)
        await client.call_tool("write", {"uri": POEM, "text": "another"})
        await client.call_tool("lend", {"name": "book"})
        async with client.listen(tools=True, uris=[POEM]):
            assert await text_of(client, POEM) == "another"
            assert "book" in await names_of_tools(client)


async def test_what_changes_while_nobody_listens_is_seen_after_its_time_or_on_demand(
    way: Way, connect: Callable[..., Any]
) -> None:
    async with connect() as client:
        assert await text_of(client, POEM) == "a poem"
        assert "book" not in await names_of_tools(client)
        await client.call_tool("write", {"uri": POEM, "text": "another"})
        await client.call_tool("lend", {"name": "book"})
        is_kept = way.revision == LATEST_MODERN
        assert await text_of(client, POEM) == ("a poem" if is_kept else "another")
        assert ("book" in await names_of_tools(client)) is not is_kept
        assert await text_of(client, POEM, refresh=True) == "another"
        assert "book" in await names_of_tools(client, refresh=True)
        assert await text_of(client, POEM) == "another"
        assert "book" in await names_of_tools(client)


async def test_every_list_and_every_iterator_can_be_refreshed(connect: Callable[..., Any]) -> None:
    async with connect() as client:
        for refresh in (False, True):
            await client.list_prompts(refresh=refresh)
            await client.list_resources(refresh=refresh)
            await client.list_resource_templates(refresh=refresh)
            for pages in (
                client.tool_pages,
                client.prompt_pages,
                client.resource_pages,
                client.resource_template_pages,
            ):
                assert [page async for page in pages(refresh=refresh)]
        counts = await asked(client)
        if client.revision == LATEST_MODERN:
            assert [counts[method] for method in LISTS] == [4, 3, 3, 3]


async def test_nothing_is_kept_if_that_is_not_wanted(connect: Callable[..., Any]) -> None:
    async with connect(cache=False) as client:
        for _ in range(3):
            await client.list_prompts()
            await text_of(client, POEM)
        counts = await asked(client)
        assert (counts["prompts/list"], counts[POEM]) == (3, 3)
        assert client.cache_info() == (0, 0, 0, 0)


async def test_whoever_is_called_back_gets_the_list_as_it_is_now(
    connect: Callable[..., Any],
) -> None:
    told: asyncio.Queue[list[str]] = asyncio.Queue()

    def tell(tools: list[Any]) -> None:
        told.put_nowait([tool.name for tool in tools])

    async with connect(on_tools_changed=tell) as client, client.listen(tools=True):
        await client.list_tools()
        await client.call_tool("lend", {"name": "book"})
        async with asyncio.timeout(PATIENCE):
            assert "book" in await told.get()
        assert "book" in await names_of_tools(client)


async def test_what_a_modern_server_is_can_be_kept_and_a_ping_never_is() -> None:
    async with Client(library(), timeouts=TIMEOUTS) as client:
        before = (await asked(client))["server/discover"]
        for _ in range(3):
            assert "2026-07-28" in (await client.discover()).supported_versions
        assert (await asked(client))["server/discover"] == before + 1
        await client.discover(refresh=True)
        await client.ping()
        await client.ping()
        assert (await asked(client))["server/discover"] == before + 4


async def test_a_closed_client_has_nothing_to_say() -> None:
    client = Client(library(), timeouts=TIMEOUTS)
    async with client:
        await client.list_prompts()
        await client.list_prompts()
        assert client.cache_info().hits == 1
    with pytest.raises(LocalProtocolError, match="not connected"):
        await client.list_prompts()
    with pytest.raises(LocalProtocolError, match="not connected"):
        await client.read_resource(POEM)


async def test_a_url_is_the_same_server_next_time_and_another_server_is_not() -> None:
    server = library()
    async with serving_http(server) as origin:
        here = Client(server, timeouts=TIMEOUTS)
        there = Client(f"{origin}/mcp", mode=LATEST_MODERN, timeouts=TIMEOUTS)
        for client in (here, there):
            for _ in range(2):
                async with client:
                    await client.list_prompts()
                    await client.list_prompts()
        assert here.cache_info()[:2] == (2, 2)
        assert there.cache_info()[:2] == (3, 1)


def test_options_that_mean_nothing_are_refused() -> None:
    wrong: Any = "yes"
    with pytest.raises(TypeError, match="`cache` is True, False, a CachePolicy or a store, not"):
        Client(library(), cache=wrong)


def test_clients_without_async_keep_answers_too() -> None:
    with SyncClient(library(), timeouts=TIMEOUTS) as client:
        for _ in range(2):
            assert len(client.list_tools().tools) == 3
        assert client.cache_info()[:2] == (2, 2)
        client.list_tools(refresh=True)
        assert client.cache_info()[:2] == (2, 4)


async def test_clients_of_a_group_keep_answers_as_its_options_say() -> None:
    for cache, hits in ((True, 2), (False, 0)):
        servers = {"a": library(), "b": library()}
        async with ClientGroup(servers, cache=cache, timeouts=TIMEOUTS) as group:
            for _ in range(2):
                assert len(await group.list_tools()) == 6
            assert {each.cache_info().hits for each in group.clients.values()} == {hits}


# --- for whom


def counting(scope: str) -> McpUrl:
    """Return a server that says which of its answers one gets."""
    count = 0

    async def list_tools(request: HttpRequest) -> None:
        nonlocal count
        count += 1
        tool = {**TOOL, "name": f"answer_{count}"}
        await server.give(request, tools=[tool], ttlMs=60_000, cacheScope=scope)

    server = McpUrl(LATEST_MODERN, tools__list=list_tools)
    return server


async def list_of(url: str, **options: Any) -> list[str]:
    async with Client(url, mode=LATEST_MODERN, timeouts=TIMEOUTS, **options) as client:
        assert await names_of_tools(client) == await names_of_tools(client)
        return await names_of_tools(client)


async def test_public_answers_are_shared_by_whoever_shares_the_store() -> None:
    store = MemoryCacheStore()
    async with counting("public") as server:
        for token in ("ann", "bob"):
            headers = {"Authorization": f"Bearer {token}"}
            assert await list_of(server.url, headers=headers, cache=store) == ["answer_1"]
        assert await list_of(server.url) == ["answer_2"]
        assert await list_of(f"{server.url}?tenant=2", cache=store) == ["answer_3"]


async def test_private_answers_are_not_shared_by_different_tokens() -> None:
    store = MemoryCacheStore()
    async with counting("private") as server:
        for number, token in enumerate(("ann", "bob"), 1):
            headers = {"Authorization": f"Bearer {token}"}
            names = await list_of(server.url, headers=headers, cache=store)
            assert names == [f"answer_{number}"]
        ann = CachePolicy(store=store, principal="ann")
        for _ in range(2):
            assert await list_of(server.url, cache=ann) == ["answer_3"]


async def test_one_client_with_changing_tokens_gives_nobody_what_belongs_to_another() -> None:
    who = "ann"
    async with counting("private") as server:
        async with Client(
            server.url,
            mode=LATEST_MODERN,
            timeouts=TIMEOUTS,
            headers=lambda: {"Authorization": f"Bearer {who}"},
        ) as client:
            assert await names_of_tools(client) == ["answer_1"]
            assert await names_of_tools(client) == ["answer_2"]
        async with Client(
            server.url,
            mode=LATEST_MODERN,
            timeouts=TIMEOUTS,
            headers=lambda: {"Authorization": f"Bearer {who}"},
            cache=CachePolicy(principal=lambda: who),
        ) as client:
            assert await names_of_tools(client) == ["answer_3"]
            assert await names_of_tools(client) == ["answer_3"]
            who = "bob"
            assert await names_of_tools(client) == ["answer_4"]
            who = "ann"
            assert await names_of_tools(client) == ["answer_3"]


# --- several at once, on the wire


async def test_who_asks_for_the_same_at_once_makes_one_request(revision: str) -> None:
    peer = PeerServer(revision)
    async with client_of(peer) as client:
        tasks = [asyncio.ensure_future(names_of_tools(client)) for _ in range(3)]
        peer.reply(await peer.next("tools/list"), tools=[TOOL], nextCursor="2")
        peer.reply(await peer.next("tools/list"), tools=[])
        assert await asyncio.gather(*tasks) == [["t"]] * 3
        reading = [asyncio.ensure_future(text_of(client, "a:b")) for _ in range(3)]
        contents = [{"uri": "a:b", "text": "text"}]
        peer.reply(await peer.next("resources/read"), contents=contents)
        assert await asyncio.gather(*reading) == ["text"] * 3
        await peer.settle()
        assert peer.unread == []


async def test_calls_of_tools_are_never_one(revision: str) -> None:
    peer = PeerServer(revision)
    async with client_of(peer) as client:
        tasks = [asyncio.ensure_future(client.call_tool("t")) for _ in range(2)]
        for _ in tasks:
            peer.reply(await peer.next("tools/call"), content=[])
        await asyncio.gather(*tasks)


async def test_the_request_of_several_is_cancelled_with_the_last_of_them(revision: str) -> None:
    peer = PeerServer(revision)
    async with client_of(peer) as client:
        first, second = (asyncio.ensure_future(client.list_tools()) for _ in range(2))
        request = await peer.next("tools/list")
        first.cancel()
        await peer.settle()
        assert peer.unread == []
        second.cancel()
        cancelled = await peer.next("notifications/cancelled")
        assert cancelled["params"]["requestId"] == request["id"]
        await asyncio.wait([first, second])
        assert first.cancelled()
        assert second.cancelled()


async def test_a_failure_is_told_to_all_who_wait(revision: str) -> None:
    peer = PeerServer(revision)
    async with client_of(peer) as client:
        tasks = [asyncio.ensure_future(client.list_tools()) for _ in range(3)]
        peer.refuse(await peer.next("tools/list"), -32000, "not today")
        for failure in await asyncio.gather(*tasks, return_exceptions=True):
            assert isinstance(failure, RequestFailed)
            assert failure.message == "not today"


async def test_who_has_changed_something_reads_it_anew(revision: str) -> None:
    peer = PeerServer(revision)
    async with client_of(peer) as client:
        before = asyncio.ensure_future(text_of(client, "a:b"))
        asked_before = await peer.next("resources/read")
        change = asyncio.ensure_future(client.call_tool("change"))
        peer.reply(await peer.next("tools/call"), content=[])
        await change
        after = asyncio.ensure_future(text_of(client, "a:b"))
        asked_after = await peer.next("resources/read")
        peer.reply(asked_after, contents=[{"uri": "a:b", "text": "new"}])
        peer.reply(asked_before, contents=[{"uri": "a:b", "text": "old"}])
        assert (await before, await after) == ("old", "new")


async def test_who_wants_progress_or_adds_to_the_request_asks_for_himself() -> None:
    peer = PeerServer(LATEST_MODERN)
    kept = {"ttlMs": 60_000, "contents": [{"uri": "a:b", "text": "text"}]}
    async with client_of(peer) as client:
        ways: list[dict[str, Any]] = [{}, {"meta": {"x.example/y": 1}}, {"on_progress": print}]
        for options in ways:
            task = asyncio.ensure_future(text_of(client, "a:b", **options))
            peer.reply(await peer.next("resources/read"), **kept)
            assert await task == "text"
        assert await text_of(client, "a:b") == "text"


# --- what is not kept


async def test_what_depends_on_answers_of_the_user_is_not_kept() -> None:
    peer = PeerServer(LATEST_MODERN)
    schema = {"type": "object", "properties": {}}
    question = {
        "method": "elicitation/create",
        "params": {"message": "?", "requestedSchema": schema},
    }

    async def accept(_: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={})

    async with client_of(peer, elicitation=accept) as client:
        for _ in range(2):
            task = asyncio.ensure_future(text_of(client, "a:b"))
            first = await peer.next("resources/read")
            assert "inputResponses" not in first["params"]
            asking = {"resultType": "input_required", "inputRequests": {"q": question}}
            peer.send({"jsonrpc": "2.0", "id": first["id"], "result": asking})
            second = await peer.next("resources/read")
            assert "inputResponses" in second["params"]
            contents = [{"uri": "a:b", "text": "text"}]
            peer.reply(second, contents=contents, ttlMs=60_000)
            assert await task == "text"
        assert client.cache_info().hits == 0


@pytest.mark.broken_messages("server")
async def test_what_is_no_result_is_asked_for_anew() -> None:
    peer = PeerServer(LATEST_MODERN)
    async with client_of(peer) as client:
        for answer in (3, [TOOL]):
            task = asyncio.ensure_future(client.list_tools())
            peer.reply(await peer.next("tools/list"), tools=answer, ttlMs=60_000)
            await asyncio.wait([task])
            if answer == 3:
                with pytest.raises(InvalidResult):
                    await task
        assert await names_of_tools(client) == ["t"]


async def test_a_list_is_not_relied_on_when_the_server_does_not_know_what_is_on_it() -> None:
    peer = PeerServer(LATEST_MODERN)
    async with client_of(peer) as client:
        for name in ("t", "u"):
            task = asyncio.ensure_future(names_of_tools(client))
            tools = [{**TOOL, "name": name}]
            peer.reply(await peer.next("tools/list"), tools=tools, ttlMs=60_000)
            assert await task == [name]
            assert await names_of_tools(client) == [name]
            call = asyncio.ensure_future(client.call_tool(name))
            peer.refuse(await peer.next("tools/call"), -32602, f"Unknown tool: {name}")
            with pytest.raises(RequestFailed):
                await call


# --- pages


async def test_a_cursor_that_means_nothing_any_more_begins_the_list_anew() -> None:
    peer = PeerServer(LATEST_MODERN)
    async with client_of(peer) as client:
        task = asyncio.ensure_future(names_of_tools(client))
        first = {**TOOL, "name": "first"}
        peer.reply(await peer.next("tools/list"), tools=[first], nextCursor="old", ttlMs=60_000)
        peer.reply(await peer.next("tools/list"), tools=[], ttlMs=0)
        assert await task == ["first"]
        task = asyncio.ensure_future(names_of_tools(client))
        outdated = await peer.next("tools/list")
        assert outdated["params"]["cursor"] == "old"
        peer.refuse(outdated, -32602, "no such cursor")
        anew = await peer.next("tools/list")
        assert "cursor" not in anew["params"]
        peer.reply(anew, tools=[{**TOOL, "name": "new"}], nextCursor="new", ttlMs=60_000)
        last = await peer.next("tools/list")
        assert last["params"]["cursor"] == "new"
        peer.reply(last, tools=[TOOL], ttlMs=60_000)
        assert await task == ["new", "t"]
        assert await names_of_tools(client) == ["new", "t"]


async def test_a_cursor_that_never_meant_anything_is_an_error_and_nothing_more() -> None:
    peer = PeerServer(LATEST_MODERN)
    async with client_of(peer) as client:
        task = asyncio.ensure_future(client.list_tools())
        peer.reply(await peer.next("tools/list"), tools=[TOOL], nextCursor="odd")
        peer.refuse(await peer.next("tools/list"), -32602, "no such cursor")
        with pytest.raises(RequestFailed, match="no such cursor"):
            await task
        await peer.settle()
        assert peer.unread == []


# --- when the server cannot be asked


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Weather:
    """A server whose answers are fresh for a second, and which fails as the test wants it."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.status = 200
        self.server = McpUrl(LATEST_MODERN, tools__list=self._list_tools)

    async def _list_tools(self, request: HttpRequest) -> None:
        if self.status == 0:
            request.cut()
        elif self.status != 200:
            await request.answer(self.status)
        else:
            await self.server.give(request, tools=[TOOL], ttlMs=1000)

    @asynccontextmanager
    async def client(self, **policy: Any) -> AsyncIterator[Client]:
        store = MemoryCacheStore(clock=self.clock)
        async with (
            self.server,
            Client(
                self.server.url,
                mode=LATEST_MODERN,
                timeouts=TIMEOUTS,
                heal=False,
                cache=CachePolicy(store=store, **policy),
            ) as client,
        ):
            yield client


@pytest.mark.parametrize("status", [0, 500, 503])
async def test_what_is_no_longer_fresh_serves_while_the_server_fails(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    weather = Weather()
    async with weather.client() as client:
        assert await names_of_tools(client) == ["t"]
        weather.clock.now += 2
        weather.status = status
        with caplog.at_level(logging.WARNING, "wigwag.client"):
            for _ in range(2):
                assert await names_of_tools(client) == ["t"]
        (warning,) = [each for each in caplog.records if each.name == "wigwag.client"]
        assert "could not be asked, and what it answered before is used" in warning.getMessage()
        assert len(weather.server.asked("tools/list")) == 3
        weather.clock.now += 300
        with pytest.raises((ConnectionClosed, HttpStatusError)):
            await client.list_tools()


async def test_what_is_no_longer_fresh_does_not_serve_where_that_is_not_wanted_or_not_right() -> (
    None
):
    for status, policy in ((401, {}), (404, {}), (503, {"max_stale": 0})):
        weather = Weather()
        async with weather.client(**policy) as client:
            await client.list_tools()
            weather.clock.now += 2
            weather.status = status
            with pytest.raises(HttpStatusError):
                await client.list_tools()


async def test_closing_the_client_is_no_failure_of_the_server() -> None:
    clock = Clock()
    peer = PeerServer(LATEST_MODERN)
    async with client_of(peer, cache=MemoryCacheStore(clock=clock)) as client:
        task = asyncio.ensure_future(names_of_tools(client))
        peer.reply(await peer.next("tools/list"), tools=[TOOL], ttlMs=1000)
        assert await task == ["t"]
        clock.now += 2
        task = asyncio.ensure_future(names_of_tools(client))
        await peer.next("tools/list")
        await client.close()
        with pytest.raises(ConnectionClosed, match="the client was closed"):
            await task


async def test_other_headers_to_be_repeated_are_learnt_from_the_server_not_from_what_is_kept() -> (
    None
):
    calls = 0

    async def list_tools(request: HttpRequest) -> None:
        await server.give(request, tools=[TOOL], ttlMs=60_000)

    async def call(request: HttpRequest) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            await request.refuse(400, -32020, "Header mismatch")
        else:
            await server.give(request, content=[])

    async with (
        McpUrl(LATEST_MODERN, tools__list=list_tools, tools__call=call) as server,
        Client(server.url, mode=LATEST_MODERN, timeouts=TIMEOUTS) as client,
    ):
        await client.list_tools()
        await client.call_tool("t")
        assert len(server.asked("tools/list")) == 2
