"""What handlers depend on: made before them, closed after them, in every revision."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest

from tests.interaction.answering import ABLE
from tests.interaction.connecting import (
    PATIENCE,
    WAYS,
    Way,
    connected,
    error_of,
    serving_http,
    text_of,
)
from tests.interaction.peers import PeerClient
from tests.interaction.workshop import workshop
from tests.pair import notification
from tests.watch import WireWatch
from wigwag import Client, Context, Depends, Server, ToolError, elicit
from wigwag.schema import (
    LATEST_LEGACY,
    LATEST_MODERN,
    V2025_06_18,
    ElicitRequestFormParams,
    ElicitResult,
    TextContent,
)

pytestmark = pytest.mark.anyio

PROGRAM = Path(__file__).with_name("workshop.py")
# Legacy HTTP+SSE and the revisions before 2025-06-18 know no forms.
ASKING_WAYS = [way for way in WAYS if way.revision >= V2025_06_18]


@pytest.fixture(params=WAYS, ids=str)
async def client(request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    async with connected(request.param, workshop, PROGRAM) as client:
        yield client


def asking(way: Way, **options: Any) -> Any:
    return connected(way, workshop, PROGRAM, **{**ABLE, **options})


# --- being made


async def test_dependencies_are_made_in_order_once_and_closed_in_reverse(client: Client) -> None:
    text = await text_of(client, "work", words="two words")
    assert text == "two words (2): vice on bench, saw, bench"
    assert await text_of(client, "read") == (
        "bench up, vice up, saw up, counted, work, saw down, vice down, bench down"
    )


async def test_plain_functions_have_dependencies_too(client: Client) -> None:
    assert await text_of(client, "work_in_thread", words="w") == "w (1): vice on bench"
    assert (
        await text_of(client, "read") == "bench up, vice up, counted, work, vice down, bench down"
    )


async def test_no_client_sees_a_dependency(client: Client) -> None:
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(tools["work"].input_schema["properties"]) == ["words"]
    assert tools["work"].input_schema["required"] == ["words"]
    assert "properties" not in tools["hang"].input_schema
    text = await error_of(client, "work", {"words": "w", "vice": "mine"})
    assert text.startswith("Invalid arguments for work: `vice` is not an argument")
    [prompt] = (await client.list_prompts()).prompts
    assert [argument.name for argument in prompt.arguments or ()] == ["words"]


async def test_templates_and_prompts_have_dependencies_too(client: Client) -> None:
    [contents] = (await client.read_resource("workshop://tools/saw")).contents
    assert contents.text == "saw (1): vice on bench"
    assert await text_of(client, "read") == "bench up, vice up, counted, vice down, bench down"
    [message] = (await client.get_prompt("instruct", {"words": ""})).messages
    assert message.content == TextContent(text=" with the saw: True")
    assert await text_of(client, "read") == "saw up, saw down"


# --- being closed


async def test_what_the_handler_raises_is_raised_in_its_dependencies(client: Client) -> None:
    assert await error_of(client, "break_down", {"reason": "no nails"}) == "no nails"
    assert await text_of(client, "read") == (
        "bench up, vice up, vice down, bench saw no nails, bench down"
    )


async def test_what_a_cancelled_call_depends_on_is_closed(client: Client) -> None:
    calling = asyncio.create_task(client.call_tool("hang"))
    await text_of(client, "wait_for", entry="hanging")
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    await text_of(client, "wait_for", entry="vice down")
    while "bench down" not in (entries := await text_of(client, "read")):
        assert "bench up" in entries or not entries
    assert "bench saw" not in entries


@pytest.mark.parametrize("revision", [LATEST_LEGACY, LATEST_MODERN])
async def test_what_a_call_depends_on_is_closed_when_its_client_disconnects(revision: str) -> None:
    journal: list[str] = []
    began, ended = asyncio.Event(), asyncio.Event()
    server = Server("short")

    async def lamp() -> AsyncIterator[None]:
        try:
            yield
        except asyncio.CancelledError:
            journal.append("cancelled")
            raise
        finally:
            ended.set()

    @server.tool
    async def hang(lamp: Annotated[None, Depends(lamp)]) -> None:
        began.set()
        await asyncio.Event().wait()

    async with PeerClient(server, revision) as peer:
        peer.send(peer.call("hang"))
        async with asyncio.timeout(PATIENCE):
            await began.wait()
    async with asyncio.timeout(PATIENCE):
        await ended.wait()
    assert journal == ["cancelled"]


async def test_a_modern_http_client_that_goes_has_what_it_depends_on_closed() -> None:
    server = workshop()
    async with serving_http(server) as origin:
        async with Client(f"{origin}/mcp", mode=LATEST_MODERN) as client:
            calling = asyncio.create_task(client.call_tool("hang"))
            await text_of(client, "wait_for", entry="hanging")
        await asyncio.wait([calling])
        assert calling.cancelled() or calling.exception() is not None
        async with Client(f"{origin}/mcp", mode=LATEST_MODERN) as client:
            assert await text_of(client, "wait_for", entry="vice down") == "vice down"


# --- asking


@pytest.mark.parametrize("way", ASKING_WAYS, ids=str)
async def test_a_question_that_a_dependency_returns_is_asked_and_its_answer_injected(
    way: Way,
) -> None:
    asked: list[str] = []

    def answer(params: ElicitRequestFormParams) -> dict[str, Any]:
        asked.append(params.message)
        return {"value": True}

    async with asking(way, elicitation=answer) as client:
        assert await text_of(client, "cut", words="wood") == "wood: True, accept, vice on bench"
        assert asked == ["Really wood?"]
        assert await text_of(client, "cut", words="") == ": True, accept, vice on bench"
        assert asked == ["Really wood?"]


@pytest.mark.parametrize("way", ASKING_WAYS, ids=str)
async def test_a_declined_question_fails_what_needs_the_answer(way: Way) -> None:
    async with asking(way, elicitation=lambda _: ElicitResult(action="decline")) as client:
        text = await error_of(client, "cut", {"words": "wood"})
    assert text == "The user declined what `sure` needed to know"


@pytest.mark.parametrize("way", ASKING_WAYS, ids=str)
async def test_a_dependency_may_ask_in_its_body_and_what_it_uses_is_closed_each_round(
    way: Way,
) -> None:
    async with asking(way) as client:
        assert await text_of(client, "sign") == "Your name? at bench"
        rounds = 2 if way.revision == LATEST_MODERN else 1
        assert await text_of(client, "read") == ", ".join(["bench up", "bench down"] * rounds)


@pytest.mark.parametrize("way", ASKING_WAYS, ids=str)
async def test_every_kind_of_question_can_be_a_dependency(way: Way) -> None:
    async with asking(way) as client:
        assert await text_of(client, "all_kinds") == "HELLO, file:///srv, 7"


@pytest.mark.parametrize("way", ASKING_WAYS, ids=str)
async def test_nothing_that_follows_a_question_is_made_before_its_answer(way: Way) -> None:
    async with asking(way, elicitation=lambda _: ElicitResult(action="decline")) as client:
        await error_of(client, "cut", {"words": "wood"})
        assert await text_of(client, "read") == ""
    async with asking(way) as client:
        await text_of(client, "cut", words="wood")
        assert await text_of(client, "read") == "bench up, vice up, vice down, bench down"


@pytest.mark.parametrize("way", ASKING_WAYS, ids=str)
async def test_a_prompt_asks_by_its_dependencies(way: Way) -> None:
    async with asking(way) as client:
        [message] = (await client.get_prompt("instruct", {"words": "cut"})).messages
    assert message.content == TextContent(text="cut with the saw: True")


# --- within one request


@pytest.fixture
def server() -> Server:
    return Server("shop")


async def test_what_takes_no_arguments_is_made_once_for_a_request_and_what_it_reads(
    server: Server, revision: str
) -> None:
    made: list[str] = []

    def till() -> str:
        made.append("till")
        return "till"

    def price(thing: str) -> int:
        made.append(thing)
        return len(thing)

    @server.resource("shop://{thing}")
    def shelf(
        thing: str, price: Annotated[int, Depends(price)], till: Annotated[str, Depends(till)]
    ) -> str:
        return f"{thing} {price} {till}"

    @server.tool
    async def tour(
        ctx: Context,
        thing: str,
        price: Annotated[int, Depends(price)],
        till: Annotated[str, Depends(till)],
    ) -> str:
        read = [await ctx.read_resource(f"shop://{name}") for name in ("saw", "nail")]
        return f"{price} " + " ".join(str(each.contents[0].text) for each in read)

    async with Client(server, mode=revision) as client:
        assert await text_of(client, "tour", thing="hammer") == "6 saw 3 till nail 4 till"
        assert made == ["hammer", "till", "saw", "nail"]
        await text_of(client, "tour", thing="hammer")
        assert made.count("till") == 2


async def test_a_mounted_server_has_its_own_dependencies_and_asks_by_the_same_call(
    revision: str,
) -> None:
    inner, outer = Server("inner"), Server("outer")
    journal: list[str] = []

    def place(ctx: Context) -> Iterator[str]:
        journal.append(f"{ctx.server.info.name} up")
        yield ctx.server.info.name
        journal.append(f"{ctx.server.info.name} down")

    async def sure() -> Any:
        return elicit("Sure?", bool)

    @inner.tool
    def where(place: Annotated[str, Depends(place)]) -> str:
        return place

    @inner.resource("inner://page")
    async def page(
        place: Annotated[str, Depends(place)], sure: Annotated[bool, Depends(sure)]
    ) -> str:
        return f"{place} {sure}"

    @outer.tool
    async def read(ctx: Context, sure: Annotated[bool, Depends(sure)]) -> str:
        [contents] = await ctx.read_resource("inner://page")
        return f"{contents.content!s} {sure}"

    outer.mount(inner, prefix="in")
    async with Client(outer, mode=revision, **ABLE) as client:
        assert await text_of(client, "in_where") == "inner"
        assert journal == ["inner up", "inner down"]
        if revision < V2025_06_18:
            return
        journal.clear()
        asked: list[str] = []

        def answer(params: ElicitRequestFormParams) -> dict[str, Any]:
            asked.append(params.message)
            return {"value": True}

    async with Client(outer, mode=revision, elicitation=answer) as client:
        assert await text_of(client, "read") == "inner True True"
    assert journal == ["inner up", "inner down"]
    assert asked == ["Sure?"]


async def test_what_takes_a_notification_has_dependencies_too(
    server: Server, revision: str, wire: WireWatch
) -> None:
    wire.allow_extensions("com.example/moved")
    journal: list[str] = []
    closed = asyncio.Event()

    async def log() -> AsyncIterator[list[str]]:
        yield journal
        journal.append("closed")
        closed.set()

    @server.notification("com.example/moved")
    async def moved(to: str, log: Annotated[list[str], Depends(log)]) -> None:
        log.append(to)

    async with PeerClient(server, revision) as peer:
        peer.send(notification("com.example/moved", {"to": "here"}))
        async with asyncio.timeout(PATIENCE):
            await closed.wait()
    assert journal == ["here", "closed"]


async def test_a_dependency_can_be_replaced(server: Server, revision: str) -> None:
    def database() -> str:
        raise AssertionError("not in tests")

    def users(database: Annotated[str, Depends(database)]) -> str:
        return f"users of {database}"

    @server.tool
    def count(users: Annotated[str, Depends(users)]) -> str:
        return users

    def fake(size: Annotated[int, Depends(lambda: 3)]) -> str:
        return f"fake {size}"

    server.dependency_overrides[database] = fake
    async with Client(server, mode=revision) as client:
        assert await text_of(client, "count") == "users of fake 3"


async def test_replacements_that_need_each_other_are_an_error(server: Server) -> None:
    def one() -> int:
        return 1

    def two(one: Annotated[int, Depends(one)]) -> int:
        return one + 1

    @server.tool
    def number(one: Annotated[int, Depends(one)]) -> int:
        return one

    server.dependency_overrides[one] = two
    async with Client(server) as client:
        assert "number failed" in await error_of(client, "number")


async def test_the_timeout_of_a_tool_is_also_that_of_its_dependencies(
    server: Server, revision: str
) -> None:
    async def slow() -> None:
        await asyncio.Event().wait()

    @server.tool(timeout=0.05)
    async def patient(slow: Annotated[None, Depends(slow)]) -> None: ...

    async with Client(server, mode=revision) as client:
        text = await error_of(client, "patient")
    assert text == "patient was stopped after its limit of 0.05 s"


async def test_a_stopped_tool_is_answered_although_its_thread_goes_on_with_its_dependencies(
    server: Server, revision: str
) -> None:
    journal: list[str] = []
    gate, closed = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def tool() -> Iterator[None]:
        try:
            yield
        finally:
            journal.append("closed")
            loop.call_soon_threadsafe(closed.set)

    @server.tool(timeout=0.05)
    def block(tool: Annotated[None, Depends(tool)]) -> None:
        assert gate.wait(PATIENCE)
        journal.append("done")

    async with Client(server, mode=revision) as client:
        text = await error_of(client, "block")
        assert text == "block was stopped after its limit of 0.05 s"
        assert journal == []
        gate.set()
        async with asyncio.timeout(PATIENCE):
            await closed.wait()
    assert journal == ["done", "closed"]


async def test_a_call_that_is_given_up_while_its_thread_asks_is_closed(server: Server) -> None:
    asked, closed = asyncio.Event(), asyncio.Event()

    async def lamp() -> AsyncIterator[None]:
        try:
            yield
        finally:
            closed.set()

    @server.tool
    def ask(ctx: Context, lamp: Annotated[None, Depends(lamp)]) -> str:
        answer: Any = ctx.elicit("Hello?", str)
        return str(answer.data)

    async def never(params: Any) -> Any:
        asked.set()
        await asyncio.Event().wait()

    async with Client(server, mode=LATEST_LEGACY, elicitation=never) as client:
        calling = asyncio.create_task(client.call_tool("ask"))
        await asked.wait()
        calling.cancel()
        async with asyncio.timeout(PATIENCE):
            await closed.wait()
        await asyncio.wait([calling])


async def test_a_dependency_fails_as_its_handler_does(server: Server, revision: str) -> None:
    def strict() -> None:
        raise ToolError("not today")

    @server.tool
    async def work(strict: Annotated[None, Depends(strict)]) -> None: ...

    async with Client(server, mode=revision) as client:
        assert await error_of(client, "work") == "not today"


async def test_a_dependency_that_fails_to_close_fails_the_call(
    server: Server, revision: str
) -> None:
    async def transaction() -> AsyncIterator[None]:
        yield
        raise ToolError("the commit failed")

    @server.tool
    async def work(transaction: Annotated[None, Depends(transaction)]) -> str:
        return "done"

    async with Client(server, mode=revision) as client:
        assert await error_of(client, "work") == "the commit failed"


async def test_an_error_that_a_dependency_swallows_is_an_error_all_the_same(
    server: Server, revision: str
) -> None:
    saw: list[str] = []

    async def outer() -> AsyncIterator[None]:
        try:
            yield
        except ToolError as error:
            saw.append(str(error))

    async def inner(outer: Annotated[None, Depends(outer)]) -> AsyncIterator[None]:
        try:
            yield
        except ToolError:
            saw.append("swallowed")

    @server.tool
    async def work(inner: Annotated[None, Depends(inner)]) -> str:
        raise ToolError("broken")

    async with Client(server, mode=revision) as client:
        assert await error_of(client, "work") == "broken"
    assert saw == ["swallowed", "broken"]
