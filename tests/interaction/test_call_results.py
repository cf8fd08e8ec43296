"""What a client makes of the output of tools: values, failures, and what breaks its own schema."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
import pydantic
import pytest

from tests.interaction.peers import PeerServer, client_of
from wigwag import Client, Server, ToolError, ToolFailed
from wigwag.errors import InvalidResult

pytestmark = pytest.mark.anyio

HAS_STRUCTURE = ("2025-06-18", "2025-11-25", "2026-07-28")


@dataclass
class Dish:
    name: str
    price: float


class DishStruct(msgspec.Struct):
    name: str
    price: float


class DishModel(pydantic.BaseModel):
    name: str
    price: float


def kitchen() -> Server:
    server = Server("kitchen")

    @server.tool
    def dish(name: str) -> Dish:
        if name != "soup":
            raise ToolError("There is only soup.")
        return Dish(name, 4.5)

    @server.tool
    def price() -> float:
        return 4.5

    @server.tool
    def say() -> str:
        return "Hello."

    @server.tool
    def nothing() -> None:
        return None

    return server


SOUP = {"name": "soup"}


@pytest.mark.parametrize("type_", [Dish, DishStruct, DishModel])
@pytest.mark.parametrize("is_listed", [True, False])
async def test_output_comes_as_the_type_that_is_asked_for(
    revision: str, type_: Callable[..., Any], *, is_listed: bool
) -> None:
    async with Client(kitchen(), mode=revision) as client:
        if is_listed:
            await client.list_tools()
        kind: Any = type_
        result = await client.call_tool("dish", SOUP, result_type=kind)
        assert result.data == type_(name="soup", price=4.5)
        number = await client.call_tool("price", result_type=float)
        assert number.data == 4.5
        text = await client.call_tool("say", result_type=str)
        assert text.data == "Hello."


async def test_output_comes_as_plain_values_as_the_tool_returned_them(revision: str) -> None:
    async with Client(kitchen(), mode=revision) as client:
        await client.list_tools()
        dish = await client.call_tool("dish", SOUP)
        price = await client.call_tool("price")
        nothing = await client.call_tool("nothing")
    # Older servers have but text.
    is_structured = revision in HAS_STRUCTURE
    assert dish.data == ({"name": "soup", "price": 4.5} if is_structured else None)
    assert price.data == (4.5 if is_structured else None)
    assert price.text == "4.5"
    assert nothing.data is None


async def test_output_that_is_not_of_the_type_is_an_invalid_result(revision: str) -> None:
    async with Client(kitchen(), mode=revision) as client:
        with pytest.raises(InvalidResult, match=r"tool 'dish' is no list\[int\]: Expected `array`"):
            await client.call_tool("dish", SOUP, result_type=list[int])
        with pytest.raises(InvalidResult, match="the output of the tool 'nothing' is no Dish: "):
            await client.call_tool("nothing", result_type=Dish)


async def test_a_failure_raises_only_if_that_is_asked_for(revision: str) -> None:
    async with Client(kitchen(), mode=revision) as client:
        await client.list_tools()
        result = await client.call_tool("dish", {"name": "fish"}, result_type=Dish)
        assert (result.is_error, result.data) == (True, None)
        with pytest.raises(ToolFailed) as caught:
            await client.call_tool("dish", {"name": "fish"}, raise_on_error=True)
        assert str(caught.value) == "There is only soup."
        assert caught.value.result == result
        fine = await client.call_tool("dish", SOUP, result_type=Dish, raise_on_error=True)
        assert fine.data == Dish("soup", 4.5)


async def test_a_failure_passes_from_server_to_server_with_its_text(revision: str) -> None:
    front = Server("front")

    @front.tool
    async def order(name: str) -> Any:
        async with Client(kitchen(), mode=revision) as client:
            await client.call_tool("dish", {"name": name}, raise_on_error=True)

    @front.tool
    async def pass_on() -> Any:
        async with Client(kitchen(), mode=revision) as client:
            return await client.call_tool("say")

    async with Client(front, mode=revision) as client:
        failed = await client.call_tool("order", {"name": "fish"})
        assert (failed.is_error, failed.text) == (True, "There is only soup.")
        passed = await client.call_tool("pass_on")
        assert passed.text == "Hello."
        assert not {"data", "raw"} & set(passed.raw)


async def test_a_failure_that_says_nothing_is_named(revision: str) -> None:
    peer = PeerServer(revision)
    async with client_of(peer) as client:
        calling = asyncio.create_task(client.call_tool("t", raise_on_error=True))
        peer.reply(await peer.next("tools/call"), content=[], isError=True)
        with pytest.raises(ToolFailed, match=r"^the tool 't' failed$"):
            await calling


# --- output schemas, and servers that do not hold to them


NUMBER: Any = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
MARKED: Any = {"type": "object", "x-fastmcp-wrap-result": True}


class Caller:
    """Calls tools of a server that answers as it is told."""

    def __init__(self, peer: PeerServer, client: Client) -> None:
        self.peer = peer
        self.client = client

    async def lists(self, schema: Any) -> None:
        """Let the server list the one tool `t`."""
        listing = asyncio.create_task(self.client.list_tools())
        tool = {"name": "t", "inputSchema": {"type": "object"}, "outputSchema": schema}
        self.peer.reply(await self.peer.next("tools/list"), tools=[tool])
        await listing

    async def returns(self, structured: Any, *, options: Any = None, **members: Any) -> Any:
        """Call the tool; the server returns this."""
        calling = asyncio.create_task(self.client.call_tool("t", **(options or {})))
        if structured is not msgspec.UNSET:
            members["structuredContent"] = structured
        self.peer.reply(await self.peer.next("tools/call"), content=[], **members)
        return await calling


@asynccontextmanager
async def caller_of(revision: str, schema: Any) -> AsyncIterator[Caller]:
    peer = PeerServer(revision)
    async with client_of(peer) as client:
        caller = Caller(peer, client)
        await caller.lists(schema)
        yield caller


structured = pytest.mark.parametrize("revision", HAS_STRUCTURE)
older = pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26"])


@structured
async def test_output_that_breaks_the_schema_of_its_tool_is_an_invalid_result(
    revision: str,
) -> None:
    async with caller_of(revision, NUMBER) as caller:
        assert (await caller.returns({"n": 3})).data == {"n": 3}
        with pytest.raises(InvalidResult) as caught:
            await caller.returns({"n": "x"})
        assert str(caught.value) == (
            "the output of the tool 't' does not fit its output schema: "
            '`n`: "x" is not of type "integer" (`check_output=False` takes it as it is)'
        )
        with pytest.raises(InvalidResult, match="schema: there is no structured content"):
            await caller.returns(msgspec.UNSET)
        unchecked = await caller.returns({"n": "x"}, options={"check_output": False})
        assert unchecked.data == {"n": "x"}


@structured
async def test_a_failure_is_held_to_no_schema(revision: str) -> None:
    async with caller_of(revision, NUMBER) as caller:
        assert (await caller.returns(msgspec.UNSET, isError=True)).is_error
        assert (await caller.returns({"n": "x"}, isError=True)).data is None


@structured
async def test_a_schema_may_be_another_when_the_list_has_changed(revision: str) -> None:
    async with caller_of(revision, NUMBER) as caller, AsyncExitStack() as stack:
        meta = {}
        if caller.peer.is_modern:
            listening = caller.client.listen(tools=True)
            entering = asyncio.create_task(stack.enter_async_context(listening))
            asked = await caller.peer.next("subscriptions/listen")
            meta = {"_meta": {"io.modelcontextprotocol/subscriptionId": asked["id"]}}
            acknowledged = {**meta, "notifications": {"toolsListChanged": True}}
            caller.peer.tell("notifications/subscriptions/acknowledged", acknowledged)
            await entering
        caller.peer.tell("notifications/tools/list_changed", meta or None)
        assert (await caller.returns({"n": "x"})).data == {"n": "x"}
        await caller.lists({"type": "object", "required": ["m"]})
        with pytest.raises(InvalidResult, match='"m" is a required property'):
            await caller.returns({"n": "x"})


@structured
async def test_a_schema_of_an_unknown_dialect_is_warned_about_once(
    revision: str, caplog: pytest.LogCaptureFixture, log_text: Callable[[], str]
) -> None:
    caplog.set_level(logging.WARNING, "wigwag.client")
    async with caller_of(revision, {**NUMBER, "$schema": "https://example.com/mine"}) as caller:
        for _ in range(2):
            assert (await caller.returns({"n": "x"})).data == {"n": "x"}
    assert log_text().count("the output of the tool 't'") == 1
    assert "Unknown meta-schema" in log_text()


@structured
@pytest.mark.parametrize("scheme", ["http", "file"])
async def test_no_schema_is_fetched_from_elsewhere(
    revision: str, scheme: str, caplog: pytest.LogCaptureFixture, log_text: Callable[[], str]
) -> None:
    caplog.set_level(logging.WARNING, "wigwag.client")
    schema = {"type": "object", "properties": {"n": {"$ref": f"{scheme}://127.0.0.1:1/n.json"}}}
    async with caller_of(revision, schema) as caller:
        assert (await caller.returns({"n": "x"})).data == {"n": "x"}
    assert "Retrieval is disabled" in log_text()


@structured
@pytest.mark.parametrize(
    "schema",
    [
        MARKED,
        {"type": "object", "properties": {"result": {"type": "array"}}, "required": ["result"]},
    ],
)
async def test_a_value_is_taken_out_of_what_its_schema_wraps_it_in(
    revision: str, schema: Any
) -> None:
    async with caller_of(revision, schema) as caller:
        result = await caller.returns({"result": [1, 2]})
        assert result.data == [1, 2]
        assert result.structured_content == {"result": [1, 2]}
        typed = await caller.returns({"result": [1, 2]}, options={"result_type": set[int]})
        assert typed.data == {1, 2}


@structured
async def test_what_a_server_has_sent_is_there_as_it_was(revision: str) -> None:
    async with caller_of(revision, NUMBER) as caller:
        result = await caller.returns({"n": 3}, **{"example.com/more": None})
    assert result.raw["structuredContent"] == {"n": 3}
    assert result.raw["example.com/more"] is None


@older
@pytest.mark.broken_messages("server")
async def test_before_there_was_structured_content_none_is_missing(revision: str) -> None:
    peer = PeerServer(revision)
    async with client_of(peer) as client:
        caller = Caller(peer, client)
        await caller.lists(NUMBER)
        assert (await caller.returns(msgspec.UNSET)).data is None
