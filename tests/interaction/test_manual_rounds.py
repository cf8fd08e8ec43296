"""What a server asks, handed to the caller, who answers it in whatever process."""

import asyncio
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from tests.interaction.connecting import TIMEOUTS, serving_http
from tests.interaction.peers import PeerServer, client_of
from wigwag import Client, Context, RequestFailed, Server, SyncClient
from wigwag.errors import InvalidResult, LocalProtocolError
from wigwag.schema import (
    LATEST_MODERN,
    LEGACY_REVISIONS,
    ClientCapabilities,
    ElicitationCapability,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    ReadResourceResult,
    TextResourceContents,
    decode_params,
)

pytestmark = pytest.mark.anyio

FORMS: Any = {"capabilities": ClientCapabilities(elicitation=ElicitationCapability(form={}))}
"""Options of a client that can show forms, and answers none by itself."""


def desk() -> Server:
    """Return a server that asks twice, whatever it is asked."""
    server = Server("desk")

    async def ask(ctx: Context, who: str) -> str:
        first = await ctx.elicit("first", {"name": str}, key="first")
        second = await ctx.elicit("second", {"name": str}, key="second")
        assert first.data is not None
        assert second.data is not None
        return f"{who} {first.data['name']} {second.data['name']}"

    @server.tool("ask")
    async def tool(ctx: Context, who: str) -> str:
        return await ask(ctx, who)

    @server.prompt("ask")
    async def prompt(ctx: Context, who: str) -> str:
        return await ask(ctx, who)

    @server.resource("desk://{who}")
    async def template(ctx: Context, who: str) -> str:
        return await ask(ctx, who)

    return server


def stored(result: Any) -> InputRequiredResult:
    """Return what a server asks as another process reads it that was given it in JSON."""
    assert isinstance(result, InputRequiredResult)
    return msgspec.json.decode(msgspec.json.encode(result), type=InputRequiredResult)


def question(asked: InputRequiredResult) -> tuple[str, str]:
    """Return the key and the message of the one form that a server asks for."""
    assert asked.input_requests is not UNSET
    [(key, request)] = asked.input_requests.items()
    form = decode_params(request.method, request.params)
    assert isinstance(form, ElicitRequestFormParams)
    return key, form.message


def accepted(name: str) -> ElicitResult:
    return ElicitResult(action="accept", content={"name": name})


async def answered(target: Any, method: str, *args: Any) -> Any:
    """Ask, and answer each of two questions with a client of its own."""
    options = {**FORMS, "mode": "modern", "timeouts": TIMEOUTS}
    async with Client(target, **options) as client:
        asked = await getattr(client, method)(*args, allow_input_required=True)
    for answer in (accepted("Ada"), {"action": "accept", "content": {"name": "Bob"}}):
        asked = stored(asked)
        key, _ = question(asked)
        async with Client(target, **options) as client:
            asked = await getattr(client, method)(
                *args,
                allow_input_required=True,
                input_responses={key: answer},
                request_state=asked.request_state,
            )
    return asked


@pytest.mark.parametrize("transport", ["memory", "http"])
async def test_another_client_may_go_on_with_what_one_has_begun(transport: str) -> None:
    server = desk()
    async with serving_http(server) as origin:
        target: Any = server if transport == "memory" else f"{origin}/mcp"
        result = await answered(target, "call_tool", "ask", {"who": "I"})
        assert result.text == "I Ada Bob"
        result = await answered(target, "get_prompt", "ask", {"who": "you"})
        assert result.messages[0].content.text == "you Ada Bob"
        result = await answered(target, "read_resource", "desk://they")
        assert isinstance(result, ReadResourceResult)
        assert isinstance(result.contents[0], TextResourceContents)
        assert result.contents[0].text == "they Ada Bob"


async def test_callbacks_answer_what_is_asked_after_answers_that_were_given() -> None:
    async with Client(desk(), mode="modern", elicitation=lambda _: accepted("Eve")) as client:
        asked = await client.call_tool("ask", {"who": "I"}, allow_input_required=True)
        assert isinstance(asked, InputRequiredResult)
        assert question(asked) == ("first", "first")
        result = await client.call_tool(
            "ask",
            {"who": "I"},
            input_responses={"first": accepted("Ada")},
            request_state=asked.request_state,
        )
        assert result.text == "I Ada Eve"


async def test_what_asks_nothing_is_returned_as_ever() -> None:
    server = desk()
    server.tool(name="plain")(lambda: 4)
    async with Client(server, mode="modern", **FORMS) as client:
        result = await client.call_tool("plain", result_type=int, allow_input_required=True)
        assert not isinstance(result, InputRequiredResult)
        assert result.data == 4


@pytest.mark.parametrize("revision", LEGACY_REVISIONS[2:])
async def test_a_legacy_server_asks_callbacks_in_any_case(revision: str) -> None:
    options: Any = {"mode": revision, "elicitation": lambda _: accepted("Eve")}
    async with Client(desk(), **options) as client:
        result = await client.call_tool("ask", {"who": "I"}, allow_input_required=True)
        assert not isinstance(result, InputRequiredResult)
        assert result.text == "I Eve Eve"
        with pytest.raises(LocalProtocolError, match="asks by requests of its own"):
            await client.call_tool("ask", {"who": "I"}, input_responses={"first": accepted("A")})


async def test_a_plain_request_is_answered_with_what_the_server_asks() -> None:
    async with Client(desk(), mode="modern", **FORMS) as client:
        call: Any = {"name": "ask", "arguments": {"who": "I"}}
        for name in ("Ada", "Bob"):
            result = await client.request("tools/call", call)
            assert result["resultType"] == "input_required"
            [key] = result["inputRequests"]
            answer = {"action": "accept", "content": {"name": name}}
            call |= {"inputResponses": {key: answer}, "requestState": result["requestState"]}
        result = await client.request("tools/call", call)
        assert result["content"] == [{"type": "text", "text": "I Ada Bob"}]


async def test_keys_and_state_go_back_as_they_came_and_the_request_is_the_same() -> None:
    peer = PeerServer(LATEST_MODERN)
    questions = {"k 1": {"method": "roots/list"}}
    async with client_of(peer, **FORMS) as client:
        for state in (" ü\n", None):
            calling = asyncio.create_task(
                client.call_tool("t", {"a": 1}, meta={"x": 1}, allow_input_required=True)
            )
            first = await peer.next("tools/call")
            given = {"inputRequests": questions}
            if state is not None:
                given["requestState"] = state  # type: ignore[assignment]
            peer.reply(first, resultType="input_required", **given)
            asked = stored(await calling)
            continuing = asyncio.create_task(
                client.call_tool(
                    "t",
                    {"a": 1},
                    meta={"x": 1},
                    input_responses={"k 1": {"roots": []}},
                    request_state=asked.request_state,
                )
            )
            second = await peer.next("tools/call")
            peer.reply(second, content=[])
            await continuing
            assert second["id"] != first["id"]
            params = {**second["params"], "_meta": None}
            expected = {
                **first["params"],
                "_meta": None,
                "inputResponses": {"k 1": {"roots": []}},
            }
            if state is not None:
                expected["requestState"] = state
            assert params == expected
            assert second["params"]["_meta"]["x"] == 1


@pytest.mark.broken_messages("server")
async def test_a_server_that_asks_for_nothing_at_all_is_not_handed_on() -> None:
    peer = PeerServer(LATEST_MODERN)
    async with client_of(peer, **FORMS) as client:
        calling = asyncio.create_task(client.call_tool("t", allow_input_required=True))
        peer.reply(await peer.next("tools/call"), resultType="input_required")
        with pytest.raises(InvalidResult, match="without asking anything"):
            await calling


async def test_a_state_that_the_server_does_not_know_is_refused() -> None:
    async with Client(desk(), mode="modern", **FORMS) as client:
        with pytest.raises(RequestFailed, match="requestState"):
            await client.call_tool("ask", {"who": "I"}, request_state="mine")


def test_a_blocking_client_hands_on_what_is_asked_too() -> None:
    with SyncClient(desk(), mode="modern", **FORMS) as client:
        asked: Any = client.call_tool("ask", {"who": "I"}, allow_input_required=True)
        for name in ("Ada", "Bob"):
            assert isinstance(asked, InputRequiredResult)
            asked = client.call_tool(
                "ask",
                {"who": "I"},
                allow_input_required=True,
                input_responses={question(asked)[0]: accepted(name)},
                request_state=asked.request_state,
            )
        assert asked.text == "I Ada Bob"
