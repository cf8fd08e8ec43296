"""Handlers that end in odd ways: every request is answered, once, and the conversation goes on."""

import asyncio
import contextvars
from collections.abc import Callable
from typing import Any

import pytest

from tests.interaction.bazaar import bazaar
from tests.interaction.connecting import PATIENCE, connections_of, text_of
from tests.interaction.peers import PeerClient
from wigwag import Client, Context, RequestFailed, Server, ToolError
from wigwag.schema import (
    LATEST_LEGACY,
    LATEST_MODERN,
    CallToolResult,
    ClientCapabilities,
    SamplingCapability,
    TextContent,
)

pytestmark = pytest.mark.anyio


async def test_data_of_an_error_that_cannot_be_sent_is_left_out(
    revision: str, log_text: Callable[[], str]
) -> None:
    server = Server("s")

    @server.tool
    async def refuse() -> str:
        raise RequestFailed(-32050, "closed", {"until": object()})

    async with Client(server, mode=revision) as client:
        with pytest.raises(RequestFailed) as caught:
            await client.call_tool("refuse")
    assert (caught.value.code, caught.value.message) == (-32050, "closed")
    assert caught.value.data is None
    assert "the data of an error cannot be sent" in log_text()


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (CallToolResult(content=[], meta={"x": object()}), "no form for object (at `$.x`)"),
        (CallToolResult(content=[], structured_content={"a": [float("inf")]}), "(at `$.a[0]`)"),
        (CallToolResult(content=[TextContent(text="\ud800")]), "(at `$.content[0].text`)"),
    ],
)
async def test_a_result_by_hand_that_cannot_be_sent_is_a_failure_of_the_tool(
    revision: str, result: CallToolResult, why: str
) -> None:
    server = Server("s")

    @server.tool
    async def by_hand() -> CallToolResult:
        return result

    async with Client(server, mode=revision) as client:
        failed = await client.call_tool("by_hand")
    assert failed.is_error
    assert why in failed.text


@pytest.mark.parametrize("kind", ["tool", "tool, later", "resource", "prompt"])
async def test_a_handler_that_is_cancelled_from_within_is_answered(
    revision: str, kind: str
) -> None:
    server = Server("s")

    async def give_up() -> str:
        raise asyncio.CancelledError

    async def give_up_later() -> str:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.Event().wait()
        return "never"

    server.tool(give_up)
    server.tool(give_up_later)
    server.resource("s://give_up")(give_up)
    server.prompt(give_up)
    async with Client(server, mode=revision) as client:
        ask: Any = {
            "tool, later": lambda: client.call_tool("give_up_later"),
            "resource": lambda: client.read_resource("s://give_up"),
            "prompt": lambda: client.get_prompt("give_up"),
        }
        async with asyncio.timeout(PATIENCE):
            if kind == "tool":  # nobody has cancelled the call: it is a failure of the tool
                failed = await client.call_tool("give_up")
                assert "give_up failed: an internal error" in failed.text
                return
            with pytest.raises(RequestFailed) as caught:
                await ask[kind]()
        assert caught.value.code == -32603


async def test_a_deliberate_failure_of_a_resource_or_a_prompt_keeps_its_text(
    revision: str,
) -> None:
    server = Server("s")

    async def fail() -> str:
        raise ToolError("try again tomorrow")

    server.resource("s://fail")(fail)
    server.prompt(fail)
    async with Client(server, mode=revision) as client:
        for asking in (client.read_resource("s://fail"), client.get_prompt("fail")):
            with pytest.raises(RequestFailed, match="try again tomorrow") as caught:
                await asking
            assert caught.value.code == -32603


async def test_a_tool_can_require_what_the_client_can_do(revision: str) -> None:
    server = Server("s")

    @server.tool
    async def sample(ctx: Context) -> str:
        ctx.require_capability(ClientCapabilities(sampling=SamplingCapability()))
        return "could"

    async with Client(server, mode=revision) as client:
        with pytest.raises(RequestFailed) as caught:
            await client.call_tool("sample")
    assert caught.value.code == -32021
    assert caught.value.data == {"requiredCapabilities": {"sampling": {}}}
    able: Any = {"sampling": lambda _: None}
    async with Client(server, mode=revision, **able) as client:
        assert await text_of(client, "sample") == "could"


async def test_each_call_has_a_context_of_its_own(revision: str) -> None:
    variable = contextvars.ContextVar("variable", default="unset")
    server = Server("s")

    @server.tool
    async def swap(value: str) -> str:
        before = variable.get()
        variable.set(value)
        await asyncio.sleep(0)
        return f"{before} {variable.get()}"

    @server.tool
    def swap_in_thread(value: str) -> str:
        before = variable.get()
        variable.set(value)
        return f"{before} {variable.get()}"

    async with Client(server, mode=revision) as client:
        for tool in ("swap", "swap_in_thread"):
            for value in ("a", "b"):
                assert await text_of(client, tool, value=value) == f"unset {value}"


async def test_what_arrives_while_the_server_closes_is_not_served(revision: str) -> None:
    server = Server("s")
    calls: list[str] = []
    began, go_on = asyncio.Event(), asyncio.Event()

    @server.tool
    async def slow_to_leave() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            await go_on.wait()

    @server.tool
    async def note(text: str) -> None:
        calls.append(text)

    async with PeerClient(server, revision) as peer:
        peer.send(peer.call("slow_to_leave"))
        async with asyncio.timeout(PATIENCE):
            await began.wait()
        (served,) = connections_of(server)
        closing = asyncio.create_task(served.aclose())
        await peer.settle()
        peer.send(peer.call("note", {"text": "late"}))
        await peer.settle()
        go_on.set()
        await closing
    assert calls == []


@pytest.mark.parametrize("revision", [LATEST_LEGACY, LATEST_MODERN])
async def test_a_handler_that_refuses_to_stop_does_not_hold_up_the_close(revision: str) -> None:
    server = Server("s")
    began, release = asyncio.Event(), asyncio.Event()

    @server.tool
    async def stubborn() -> None:
        began.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    async with PeerClient(server, revision) as peer:
        peer.send(peer.call("stubborn"))
        async with asyncio.timeout(PATIENCE):
            await began.wait()
        (served,) = connections_of(server)
        async with asyncio.timeout(PATIENCE):
            await served.aclose()
        release.set()


async def test_two_calls_of_one_tool_do_not_wait_for_each_other(revision: str) -> None:
    both = asyncio.Barrier(2)
    server = Server("s")

    @server.tool
    async def meet() -> str:
        async with asyncio.timeout(PATIENCE):
            await both.wait()
        return "met"

    async with Client(server, mode=revision) as client:
        met = await asyncio.gather(text_of(client, "meet"), text_of(client, "meet"))
    assert list(met) == ["met", "met"]


@pytest.mark.broken_messages("client")
async def test_whatever_else_a_server_is_sent_it_lives_on(revision: str) -> None:
    async with PeerClient(bazaar(), revision) as peer:
        peer.send({"jsonrpc": "2.0", "id": 77, "result": {}})
        peer.send({"jsonrpc": "2.0", "id": 78, "error": {"code": 1, "message": "x"}})
        peer.send({"jsonrpc": "2.0", "method": "notifications/unheard_of", "params": {"a": 1}})
        answer = await peer.ask({**peer.call("echo", {"text": "x"}), "extra": {"member": 1}})
        assert answer["result"]["content"][0]["text"] == "x"
        answer = await peer.ask(peer.request("no/such/method", id_="u"))
        assert answer["error"]["code"] == -32601
