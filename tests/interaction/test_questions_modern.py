"""What modern servers ask inside their results, and how the client comes back with the answers."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.interaction.peers import PeerServer, client_of
from tests.pair import Message, result
from wigwag import Client, RequestFailed
from wigwag.client.asking import MAX_INPUT_ROUNDS
from wigwag.errors import InvalidResult, RemoteProtocolError
from wigwag.schema import (
    LATEST_MODERN,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitResult,
    TextContent,
)

pytestmark = pytest.mark.anyio

FORM: Any = {
    "method": "elicitation/create",
    "params": {
        "mode": "form",
        "message": "Who?",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "default": "Ada"},
                "age": {"type": "integer"},
            },
        },
    },
}
SAMPLE: Any = {
    "method": "sampling/createMessage",
    "params": {
        "messages": [{"role": "user", "content": {"type": "text", "text": "2+2?"}}],
        "maxTokens": 10,
    },
}
ROOTS: Any = {"method": "roots/list"}

# Characters that a careless client would change.
STATE = 'é\u2028\\u0041\n\x00 {"a":1} +/=%20 🎉'


def model_says(text: str) -> CreateMessageResult:
    return CreateMessageResult(role="assistant", model="m", content=TextContent(text=text))


ABLE: dict[str, Any] = {
    "elicitation": lambda _: {"age": 36},
    "sampling": lambda _: model_says("4"),
    "roots": ["file:///srv"],
}


def ask_back(peer: PeerServer, asked: Message, **members: Any) -> None:
    """Answer a request with questions."""
    peer.reply(asked, resultType="input_required", **members)


async def test_questions_are_answered_and_the_request_is_made_again() -> None:
    peer = PeerServer(LATEST_MODERN)
    async with client_of(peer, **ABLE) as client:
        calling = asyncio.create_task(client.call_tool("t", {"x": 1}, meta={"k": "v"}))
        first = await peer.next("tools/call")
        assert "inputResponses" not in first["params"]
        assert "requestState" not in first["params"]
        questions = {"f": FORM, "s": SAMPLE, "r": ROOTS}
        ask_back(peer, first, inputRequests=questions, requestState=STATE)
        again = await peer.next("tools/call")
        params = again["params"]
        # A new id and a new token, the same arguments and the same metadata, and the very state.
        assert again["id"] != first["id"]
        assert params["_meta"]["progressToken"] != first["params"]["_meta"]["progressToken"]
        assert (params["name"], params["arguments"]) == ("t", {"x": 1})
        assert params["_meta"]["k"] == "v"
        assert params["requestState"] == STATE
        assert params["inputResponses"] == {
            "f": {"action": "accept", "content": {"name": "Ada", "age": 36}},
            "s": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "4"}},
            "r": {"roots": [{"uri": "file:///srv"}]},
        }
        peer.reply(again, content=[{"type": "text", "text": "done"}])
        assert (await calling).text == "done"


@pytest.mark.parametrize("method", ["tools/call", "resources/read", "prompts/get"])
async def test_every_request_that_may_be_asked_back_is(method: str) -> None:
    asking: dict[str, Any] = {
        "tools/call": lambda client: client.call_tool("t"),
        "resources/read": lambda client: client.read_resource("s://r"),
        "prompts/get": lambda client: client.get_prompt("p"),
    }
    result: Any = {
        "tools/call": {"content": []},
        "resources/read": {"contents": []},
        "prompts/get": {"messages": []},
    }
    peer = PeerServer(LATEST_MODERN)
    async with client_of(peer, **ABLE) as client:
        task = asyncio.create_task(asking[method](client))
        first = await peer.next(method)
        peer.send(
            {
                "jsonrpc": "2.0",
                "id": first["id"],
                "result": {"resultType": "input_required", "inputRequests": {"f": FORM}},
            }
        )
        again = await peer.next(method)
        assert again["params"]["inputResponses"]["f"]["action"] == "accept"
        assert "requestState" not in again["params"]  # there was none
        peer.reply(again, **result[method])
        await task


async def test_state_alone_is_brought_back_without_answers() -> None:
    peer = PeerServer(LATEST_MODERN)
    async with client_of(peer) as client:
        calling = asyncio.create_task(client.call_tool("t"))
        ask_back(peer, await peer.next("tools/call"), requestState="later")
        again = await peer.next("tools/call")
        assert again["params"]["requestState"] == "later"
        assert "inputResponses" not in again["params"]
        peer.reply(again, content=[])
        await calling


async def test_answers_and_state_of_one_round_are_not_carried_into_the_next() -> None:
    peer = PeerServer(LATEST_MODERN)
    async with client_of(peer, **ABLE) as client:
        calling = asyncio.create_task(client.call_tool("t"))
        ask_back(peer, await peer.next("tools/call"), inputRequests={"f": FORM}, requestState="one")
        ask_back(peer, await peer.next("tools/call"), inputRequests={"r": ROOTS})
        third = await peer.next("tools/call")
        assert list(third["params"]["inputResponses"]) == ["r"]
        assert "requestState" not in third["params"]
        peer.reply(third, content=[])
        await calling
        # Nor into another request.
        calling = asyncio.create_task(client.call_tool("t"))
        fresh = await peer.next("tools/call")
        assert {"inputResponses", "requestState"}.isdisjoint(fresh["params"])
        peer.reply(fresh, content=[])
        await calling


async def test_requests_at_the_same_time_keep_their_own_state() -> None:
    peer = PeerServer(LATEST_MODERN)
    async with client_of(peer) as client:
        tasks = [asyncio.create_task(client.call_tool("t", {"n": n})) for n in range(5)]
        for _ in tasks:
            asked = await peer.next("tools/call")
            ask_back(peer, asked, requestState=f"state {asked['params']['arguments']['n']}")
        for _ in tasks:
            again = await peer.next("tools/call")
            assert again["params"]["requestState"] == f"state {again['params']['arguments']['n']}"
            peer.reply(again, content=[])
        await asyncio.gather(*tasks)


async def test_all_questions_of_a_round_are_put_at_the_same_time() -> None:
    both = asyncio.Barrier(2)

    async def elicit(_: ElicitRequestFormParams) -> ElicitResult:
        await both.wait()
        return ElicitResult(action="decline")

    async def sample(_: CreateMessageRequestParams) -> CreateMessageResult:
        await both.wait()
        return model_says("x")

    peer = PeerServer(LATEST_MODERN)
    async with client_of(peer, elicitation=elicit, sampling=sample) as client:
        calling = asyncio.create_task(client.call_tool("t"))
        ask_back(peer, await peer.next("tools/call"), inputRequests={"f": FORM, "s": SAMPLE})
        again = await peer.next("tools/call")
        assert again["params"]["inputResponses"]["f"] == {"action": "decline"}
        peer.reply(again, content=[])
        await calling


# --- servers that ask what they must not


async def answered_with(members: Any, **options: Any) -> None:
    """Let a call be answered with a question."""
    peer = PeerServer(LATEST_MODERN)
    async with client_of(peer, **options) as client:
        calling = asyncio.create_task(client.call_tool("t"))
        ask_back(peer, await peer.next("tools/call"), **members)
        try:
            await calling
        finally:
            assert peer.unread == []  # nothing was sent again


@pytest.mark.parametrize(
    ("question", "why"),
    [
        (FORM, "asks for elicitation/create, which this client did not declare"),
        (SAMPLE, "asks for sampling/createMessage, which this client did not declare"),
        (ROOTS, "asks for roots/list, which this client did not declare"),
    ],
)
async def test_a_kind_of_question_that_was_not_declared_is_the_servers_fault(
    question: Any, why: str
) -> None:
    with pytest.raises(RemoteProtocolError, match=why):
        await answered_with({"inputRequests": {"q": question}})


async def test_nobody_is_asked_when_one_question_is_not_allowed() -> None:
    asked: list[Any] = []

    def elicit(params: ElicitRequestFormParams) -> None:
        asked.append(params)

    with pytest.raises(RemoteProtocolError, match="did not declare"):
        await answered_with({"inputRequests": {"f": FORM, "s": SAMPLE}}, elicitation=elicit)
    assert asked == []


async def test_a_page_to_visit_that_was_not_declared_is_the_servers_fault() -> None:
    visit = {
        "method": "elicitation/create",
        "params": {"mode": "url", "message": "Log in", "url": "https://example.com"},
    }
    with pytest.raises(RemoteProtocolError, match="did not declare"):
        await answered_with({"inputRequests": {"v": visit}}, elicitation=lambda _: None)


@pytest.mark.broken_messages("server")
@pytest.mark.parametrize(
    ("members", "error"),
    [
        ({}, InvalidResult),
        ({"inputRequests": {"q": {"method": "tools/call"}}}, RemoteProtocolError),
        ({"inputRequests": {"q": {"method": "no/such"}}}, RemoteProtocolError),
        ({"inputRequests": {"q": {"method": "elicitation/create"}}}, RemoteProtocolError),
        ({"inputRequests": []}, InvalidResult),
        ({"inputRequests": {"q": 5}}, InvalidResult),
        ({"requestState": 5}, InvalidResult),
    ],
)
async def test_a_broken_question_is_the_servers_fault(members: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        await answered_with(members, **ABLE)


async def test_a_server_that_never_stops_asking_is_given_up() -> None:
    peer = PeerServer(LATEST_MODERN)
    async with client_of(peer) as client:
        calling = asyncio.create_task(client.call_tool("t"))
        for number in range(MAX_INPUT_ROUNDS):
            ask_back(peer, await peer.next("tools/call"), requestState=str(number))
        with pytest.raises(RemoteProtocolError, match=f"after {MAX_INPUT_ROUNDS} rounds"):
            await calling
        await peer.settle()
        assert peer.unread == []


@pytest.mark.broken_messages("server")
async def test_a_result_of_an_unknown_type_is_no_result() -> None:
    peer = PeerServer(LATEST_MODERN)
    async with client_of(peer) as client:
        calling = asyncio.create_task(client.call_tool("t"))
        peer.reply(await peer.next("tools/call"), resultType="surprise", content=[])
        with pytest.raises(InvalidResult, match="surprise"):
            await calling


@pytest.mark.broken_messages("server")
async def test_a_result_that_does_not_say_its_type_is_complete() -> None:
    peer = PeerServer(LATEST_MODERN)
    async with client_of(peer) as client:
        calling = asyncio.create_task(client.call_tool("t"))
        asked = await peer.next("tools/call")
        peer.send(result(asked["id"], {"content": [{"type": "text", "text": "done"}]}))
        assert (await calling).text == "done"


# --- callbacks that fail


async def test_a_failure_of_a_callback_is_raised_where_the_request_was_made() -> None:
    def elicit(_: ElicitRequestFormParams) -> None:
        raise ValueError("the dialog crashed")

    with pytest.raises(ValueError, match="the dialog crashed"):
        await answered_with({"inputRequests": {"f": FORM}}, elicitation=elicit)


async def test_when_one_callback_fails_the_others_are_not_left_running() -> None:
    events: list[str] = []

    async def elicit(_: ElicitRequestFormParams) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            events.append("stopped")

    def sample(_: CreateMessageRequestParams) -> CreateMessageResult:
        raise RequestFailed(-1, "User rejected sampling request")

    with pytest.raises(RequestFailed, match="rejected"):
        await answered_with(
            {"inputRequests": {"f": FORM, "s": SAMPLE}}, elicitation=elicit, sampling=sample
        )
    assert events == ["stopped"]


async def test_cancelling_the_call_cancels_the_questions() -> None:
    began = asyncio.Event()
    events: list[str] = []

    async def elicit(_: ElicitRequestFormParams) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            events.append("stopped")

    peer = PeerServer(LATEST_MODERN)
    async with client_of(peer, elicitation=elicit) as client:
        calling = asyncio.create_task(client.call_tool("t"))
        ask_back(peer, await peer.next("tools/call"), inputRequests={"f": FORM})
        await began.wait()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        assert events == ["stopped"]
        await peer.settle()
        assert peer.unread == []


@pytest.mark.broken_messages("server")
async def test_a_modern_server_that_asks_by_a_request_gets_no_answer(tmp_path: Path) -> None:
    peer = PeerServer(LATEST_MODERN)
    async with client_of(peer, roots=[tmp_path]) as client:
        assert isinstance(client, Client)
        peer.send({"jsonrpc": "2.0", "id": 1, "method": "roots/list"})
        await peer.settle()
        assert peer.unread == []
