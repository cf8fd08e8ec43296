"""What legacy servers ask their clients: sampling, elicitation, roots, ping."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.interaction.connecting import PATIENCE
from tests.interaction.peers import PeerServer, client_of
from tests.pair import Message, request
from wigwag import Client, RequestFailed
from wigwag.schema import (
    LEGACY_REVISIONS,
    ClientCapabilities,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitationCapability,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    Root,
    SamplingCapability,
    TextContent,
    ToolUseContent,
)

pytestmark = pytest.mark.anyio

SAMPLE: Any = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "2+2?"}}],
    "maxTokens": 10,
}
FORM: Any = {
    "message": "Who are you?",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "age": {"type": "integer"},
        },
        "required": ["name"],
    },
}


@pytest.fixture(params=LEGACY_REVISIONS)
def revision(request: pytest.FixtureRequest) -> str:
    """Each revision in which servers ask."""
    chosen: str = request.param
    return chosen


async def ask(peer: PeerServer, method: str, params: Any = None, *, id_: Any = "q") -> Message:
    """Ask the client, and return its answer."""
    peer.send(request(id_, method, params))
    answer = await peer.next()
    assert answer["id"] == id_
    assert type(answer["id"]) is type(id_)
    return answer


def model_says(text: str) -> CreateMessageResult:
    return CreateMessageResult(role="assistant", model="m", content=TextContent(text=text))


# --- sampling


async def test_the_model_is_asked_on_the_servers_behalf(revision: str) -> None:
    seen: list[CreateMessageRequestParams] = []

    async def sample(params: CreateMessageRequestParams) -> CreateMessageResult:
        seen.append(params)
        return model_says("4")

    peer = PeerServer(revision)
    async with client_of(peer, sampling=sample):
        answer = await ask(peer, "sampling/createMessage", SAMPLE)
    assert answer["result"] == {
        "role": "assistant",
        "model": "m",
        "content": {"type": "text", "text": "4"},
    }
    (params,) = seen
    assert params.max_tokens == 10
    assert params.messages[0].content == TextContent(text="2+2?")


async def test_a_plain_function_may_answer_as_well(revision: str) -> None:
    peer = PeerServer(revision)
    async with client_of(peer, sampling=lambda _: model_says("plain")):
        answer = await ask(peer, "sampling/createMessage", SAMPLE)
    assert answer["result"]["content"]["text"] == "plain"


async def test_a_question_is_answered_while_the_client_waits_for_a_call(revision: str) -> None:
    peer = PeerServer(revision)
    async with client_of(peer, sampling=lambda _: model_says("4")) as client:
        calling = asyncio.create_task(client.call_tool("ask_back"))
        call = await peer.next("tools/call")
        answer = await ask(peer, "sampling/createMessage", SAMPLE, id_=call["id"])  # its own ids
        peer.reply(call, content=[answer["result"]["content"]])
        assert (await calling).text == "4"


async def test_several_questions_are_answered_at_once_and_as_they_finish(revision: str) -> None:
    late = asyncio.Event()

    async def sample(params: CreateMessageRequestParams) -> CreateMessageResult:
        if params.max_tokens == 1:
            await late.wait()
        return model_says(str(params.max_tokens))

    peer = PeerServer(revision)
    async with client_of(peer, sampling=sample):
        for number in (1, 2):
            peer.send(request(number, "sampling/createMessage", {**SAMPLE, "maxTokens": number}))
        second = await peer.next()
        late.set()
        first = await peer.next()
    assert (second["id"], second["result"]["content"]["text"]) == (2, "2")
    assert (first["id"], first["result"]["content"]["text"]) == (1, "1")


async def test_what_the_client_did_not_declare_is_not_there(revision: str) -> None:
    peer = PeerServer(revision)
    async with client_of(peer):
        for method, params in (("sampling/createMessage", SAMPLE), ("roots/list", None)):
            answer = await ask(peer, method, params, id_=method)
            assert answer["error"]["code"] == -32601
            assert "did not declare" in answer["error"]["message"]


@pytest.mark.broken_messages("server")
async def test_a_broken_question_is_refused_under_its_id(revision: str) -> None:
    peer = PeerServer(revision)
    async with client_of(peer, sampling=lambda _: model_says("4")):
        answer = await ask(peer, "sampling/createMessage", {"messages": 5})
        assert answer["error"]["code"] == -32602
        answer = await ask(peer, "no/such", {})
        assert answer["error"]["code"] == -32601


async def test_a_failure_of_the_callback_is_told_without_its_details(
    revision: str, log_text: Callable[[], str]
) -> None:
    def sample(_: CreateMessageRequestParams) -> CreateMessageResult:
        raise ValueError("secret detail")

    peer = PeerServer(revision)
    async with client_of(peer, sampling=sample):
        answer = await ask(peer, "sampling/createMessage", SAMPLE)
    assert answer["error"]["code"] == -32603
    assert "secret" not in answer["error"]["message"]
    assert "in the client's log" in answer["error"]["message"]
    assert "ValueError: secret detail" in log_text()


async def test_a_callback_may_refuse(revision: str) -> None:
    def sample(_: CreateMessageRequestParams) -> CreateMessageResult:
        raise RequestFailed(-1, "User rejected sampling request", {"by": "user"})

    peer = PeerServer(revision)
    async with client_of(peer, sampling=sample):
        answer = await ask(peer, "sampling/createMessage", SAMPLE)
    assert answer["error"] == {
        "code": -1,
        "message": "User rejected sampling request",
        "data": {"by": "user"},
    }


async def test_a_callback_that_returns_something_else_is_an_internal_error(revision: str) -> None:
    peer = PeerServer(revision)
    options: Any = {"sampling": lambda _: "four", "roots": lambda: ["/no/such/folder"]}
    async with client_of(peer, **options):
        answer = await ask(peer, "sampling/createMessage", SAMPLE)
        assert answer["error"]["code"] == -32603
        assert "must return a CreateMessageResult, not str" in answer["error"]["message"]
        answer = await ask(peer, "roots/list", id_="r")
        assert answer["error"]["code"] == -32603
        assert "the root /no/such/folder is no folder" in answer["error"]["message"]


async def test_tools_for_the_model_need_a_declaration_of_their_own(revision: str) -> None:
    with_tools = {**SAMPLE, "tools": [{"name": "t", "inputSchema": {"type": "object"}}]}
    answer_with_use = CreateMessageResult(
        role="assistant",
        model="m",
        content=ToolUseContent(id="u", name="t", input={"a": 1}),
        stop_reason="toolUse",
    )
    knows_tools = revision == "2025-11-25"
    if not knows_tools:
        return
    peer = PeerServer(revision)
    async with client_of(peer, sampling=lambda _: answer_with_use):
        refused = await ask(peer, "sampling/createMessage", with_tools)
        assert refused["error"]["code"] == -32602
    declared = ClientCapabilities(sampling=SamplingCapability(tools={}))
    async with client_of(peer, sampling=lambda _: answer_with_use, capabilities=declared):
        answer = await ask(peer, "sampling/createMessage", with_tools)
        assert answer["result"]["content"]["type"] == "tool_use"
        assert answer["result"]["stopReason"] == "toolUse"


# --- elicitation

HAS_ELICITATION = ("2025-06-18", "2025-11-25")


@pytest.mark.parametrize("revision", HAS_ELICITATION)
async def test_a_form_is_filled_in(revision: str) -> None:
    seen: list[ElicitRequestParams] = []

    async def elicit(params: ElicitRequestFormParams) -> dict[str, Any]:
        seen.append(params)
        return {"name": "Ada", "age": 36}

    peer = PeerServer(revision)
    async with client_of(peer, elicitation=elicit):
        answer = await ask(peer, "elicitation/create", FORM)
    assert answer["result"] == {"action": "accept", "content": {"name": "Ada", "age": 36}}
    (params,) = seen
    assert isinstance(params, ElicitRequestFormParams)
    assert params.message == "Who are you?"


@pytest.mark.parametrize("revision", HAS_ELICITATION)
@pytest.mark.parametrize(
    ("returned", "result"),
    [
        (ElicitResult(action="decline"), {"action": "decline"}),
        (ElicitResult(action="cancel"), {"action": "cancel"}),
        (None, {"action": "cancel"}),
        ({}, {"action": "accept", "content": {}}),
    ],
)
async def test_a_user_may_decline_or_close_a_form(
    revision: str, returned: Any, result: Any
) -> None:
    peer = PeerServer(revision)
    async with client_of(peer, elicitation=lambda _: returned):
        answer = await ask(peer, "elicitation/create", FORM)
    assert answer["result"] == result


async def test_what_a_form_was_filled_in_with_counts_where_the_user_left_it() -> None:
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "Ada"},
            "age": {"type": "integer", "default": 36},
            "town": {"type": "string"},
        },
    }
    peer = PeerServer("2025-11-25")
    async with client_of(peer, elicitation=lambda _: {"age": 37}):
        answer = await ask(peer, "elicitation/create", {"message": "?", "requestedSchema": schema})
    assert answer["result"]["content"] == {"name": "Ada", "age": 37}


async def test_a_page_to_visit_needs_a_declaration_of_its_own() -> None:
    seen: list[ElicitRequestParams] = []

    def elicit(params: ElicitRequestFormParams | ElicitRequestURLParams) -> ElicitResult:
        seen.append(params)
        return ElicitResult(action="accept")

    visit = {
        "mode": "url",
        "message": "Log in",
        "url": "https://example.com/login",
        "elicitationId": "e1",
    }
    peer = PeerServer("2025-11-25")
    async with client_of(peer, elicitation=elicit):
        answer = await ask(peer, "elicitation/create", visit)
        assert answer["error"]["code"] == -32602
    both = ClientCapabilities(elicitation=ElicitationCapability(form={}, url={}))
    async with client_of(peer, elicitation=elicit, capabilities=both):
        answer = await ask(peer, "elicitation/create", visit)
        assert answer["result"] == {"action": "accept"}
    (params,) = seen
    assert isinstance(params, ElicitRequestURLParams)
    assert params.url == "https://example.com/login"


# --- roots


async def test_roots_are_listed_as_folders(revision: str, tmp_path: Path) -> None:
    roots = [tmp_path, str(tmp_path), "file:///srv", Root(uri="file:///x", name="X")]
    peer = PeerServer(revision)
    async with client_of(peer, roots=roots):
        answer = await ask(peer, "roots/list")
    uri = tmp_path.as_uri()
    assert answer["result"]["roots"] == [
        {"uri": uri, "name": tmp_path.name},
        {"uri": uri, "name": tmp_path.name},
        {"uri": "file:///srv"},
        {"uri": "file:///x", "name": "X"},
    ]


async def test_roots_may_change_and_the_server_is_told(revision: str, tmp_path: Path) -> None:
    roots: list[str] = []
    peer = PeerServer(revision)
    async with client_of(peer, roots=lambda: roots) as client:
        assert (await ask(peer, "roots/list", id_=1))["result"]["roots"] == []
        roots.append("file:///srv")
        await client.send_roots_list_changed()
        await peer.next("notifications/roots/list_changed")
        assert (await ask(peer, "roots/list", id_=2))["result"]["roots"] == [{"uri": "file:///srv"}]


async def test_one_root_needs_no_list(revision: str, tmp_path: Path) -> None:
    peer = PeerServer(revision)
    async with client_of(peer, roots=str(tmp_path)):
        answer = await ask(peer, "roots/list")
    assert [root["uri"] for root in answer["result"]["roots"]] == [tmp_path.as_uri()]


# --- and the rest


@pytest.mark.parametrize("id_", [0, "", "x", -1, 2**53])
async def test_a_client_answers_pings(revision: str, id_: Any) -> None:
    peer = PeerServer(revision)
    async with client_of(peer):
        assert (await ask(peer, "ping", id_=id_))["result"] == {}


async def test_a_client_tells_what_it_declares_in_the_handshake(revision: str) -> None:
    peer = PeerServer(revision)
    options: Any = {"sampling": lambda _: None, "elicitation": lambda _: None, "roots": []}
    async with client_of(peer, **options):
        (greeting,) = [m for m in peer.seen if m.get("method") == "initialize"]
    capabilities = greeting["params"]["capabilities"]
    assert {"sampling", "roots"} <= set(capabilities)
    assert capabilities["roots"] == {"listChanged": True}
    assert greeting["params"]["protocolVersion"] == revision


async def test_a_question_is_dropped_when_the_client_closes(revision: str) -> None:
    began = asyncio.Event()
    events: list[str] = []

    async def sample(_: CreateMessageRequestParams) -> CreateMessageResult:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            events.append("stopped")
        raise AssertionError("never")

    peer = PeerServer(revision)
    async with client_of(peer, sampling=sample):
        peer.send(request("q", "sampling/createMessage", SAMPLE))
        async with asyncio.timeout(PATIENCE):
            await began.wait()
    await peer.wait_ended()
    assert events == ["stopped"]


async def test_elicitation_is_over_when_the_page_says_so() -> None:
    heard: list[tuple[str, Any]] = []
    url = ClientCapabilities(elicitation=ElicitationCapability(url={}))
    peer = PeerServer("2025-11-25")
    async with client_of(
        peer,
        elicitation=lambda _: None,
        capabilities=url,
        on_notification=lambda method, params: heard.append((method, params)),
    ):
        peer.tell("notifications/elicitation/complete", {"elicitationId": "e1"})
        await peer.settle()
    ((method, params),) = heard
    assert method == "notifications/elicitation/complete"
    assert msgspec.to_builtins(params) == {"elicitationId": "e1"}


async def test_notifications_reach_the_callback_with_their_params(revision: str) -> None:
    heard: list[tuple[str, Any]] = []
    peer = PeerServer(revision)
    async with client_of(peer, on_notification=lambda m, p: heard.append((m, p))) as client:
        assert isinstance(client, Client)
        peer.tell("notifications/tools/list_changed")
        peer.tell("notifications/message", {"level": "info", "data": "x"})
        await peer.settle()
    assert [method for method, _ in heard] == [
        "notifications/tools/list_changed",
        "notifications/message",
    ]
    assert heard[1][1].data == "x"
