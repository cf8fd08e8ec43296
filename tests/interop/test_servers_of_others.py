"""Wigwag's client against servers made with the SDKs of others, in every era: stdio and HTTP.

One tour for each (`peers/contract.py`, made by `our_client.py`); the tests look at what it brought
home. Where the peers differ, `TRAITS` says how; nothing of that is in our hands.
"""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.interop import catalogue, conversation, our_client, tours
from tests.interop.conversation import Oracle, Record, problems_of
from tests.interop.tours import Tour
from wigwag import Client
from wigwag.errors import RemoteProtocolError
from wigwag.schema import LEGACY_REVISIONS


@dataclass(frozen=True, kw_only=True)
class Traits:
    """What one peer's server does in its own way."""

    failure: str
    """What the model is told when a tool raises `broken on purpose`."""
    unknown_tool: str | int
    """The text of an `isError` result, or the code of an error."""
    unknown_resource: int = -32602
    unknown_prompt_legacy: int = -32602
    unknown_prompt_modern: int = -32602
    """The code for an unknown prompt, and for one whose argument is missing."""
    counts_completions: bool = True
    subscribes: bool = True
    """Whether it declares that resources can be subscribed to."""
    listens: bool = True
    """Whether it serves `subscriptions/listen`."""
    filters_legacy_logs: bool = True
    wraps_logs: bool = False


TRAITS: Final = {
    # Its `MCPServer` turns an exception in a prompt into code 0, or an internal error, and leaves
    # it to the application to keep a log level; ours there does not.
    "mcp2": Traits(
        failure="Error executing tool fail",
        unknown_tool="Unknown tool: nonesuch",
        unknown_prompt_legacy=0,
        unknown_prompt_modern=-32603,
        filters_legacy_logs=False,
    ),
    # Any exception is code 0; `resources.subscribe` is declared false whatever is registered.
    "mcp1": Traits(
        failure="Error executing tool fail: broken on purpose",
        unknown_tool="Unknown tool: nonesuch",
        unknown_resource=0,
        unknown_prompt_legacy=0,
        subscribes=False,
        filters_legacy_logs=False,
    ),
    # Nobody can subscribe to anything, and a log message is an object with the text in `msg`.
    "fastmcp4": Traits(
        failure="Error calling tool 'fail': broken on purpose",
        unknown_tool="Unknown tool: 'nonesuch'",
        counts_completions=False,
        subscribes=False,
        listens=False,
        wraps_logs=True,
    ),
    "tsv2": Traits(failure="broken on purpose", unknown_tool=-32602),
    "tsv1": Traits(
        failure="broken on purpose",
        unknown_tool="MCP error -32602: Tool nonesuch not found",
    ),
}


@pytest.fixture(scope="module", params=tours.SERVER_RUNS, ids=str)
def tour(request: pytest.FixtureRequest) -> Tour:
    """Our client's tour of one server, made once for all the tests."""
    return tours.of(request.param)


def test_the_newest_revision_that_both_speak_is_negotiated(tour: Tour) -> None:
    assert tour["protocol_version"] == tour.run.revision


def test_the_client_asks_what_the_server_is_before_anything_else(tour: Tour) -> None:
    asked = [r.method for r in tour.sent("client")]
    hello = ["initialize", "notifications/initialized"]
    match tour.run.era, tour.is_modern:
        case _, True:
            expected = ["server/discover"]
        case "auto", False if tour.run.channel == "sse":
            # Neither is taken at that address.
            expected = ["server/discover", "initialize", *hello]
        case "auto", False:
            expected = ["server/discover", *hello]
        case _:
            expected = hello
    assert asked[: len(expected)] == expected
    assert asked[len(expected)] == "tools/list"


def test_the_server_is_known_by_name(tour: Tour) -> None:
    assert tour["server"] == ["demo", "1.0.0"]
    assert tour["instructions"] == "A demonstration."


def test_tools_are_listed_with_their_schemas(tour: Tour) -> None:
    tools = {tool["name"]: tool for tool in tour["tools"]}
    expected = {"echo", "add", "fail", "weather", "slow", "wait_cancelled", "log_something", "grow"}
    expected |= {"ask_name", "ask_model", "ask_roots"}
    assert tools.keys() - {"touch"} == expected
    assert tools["add"]["input"]["properties"]["a"]["type"] == "integer"
    assert tools["weather"]["output"]["properties"]["city"]["type"] == "string"


def test_awkward_text_comes_back_unchanged(tour: Tour) -> None:
    assert tour["echo"]["text"] == 'grüße, 世界 \u2028\n"🚩"'
    assert tour["echo"]["is_error"] is False


def test_results_are_read_with_their_structured_content(tour: Tour) -> None:
    assert tour["add"]["text"] == "5"
    expected = {"city": "Oslo", "temperature": 21.5, "conditions": "sunny"}
    assert tour["weather"]["structured"] == expected
    assert json.loads(tour["weather"]["text"]) == expected


def test_a_failed_tool_is_a_result(tour: Tour) -> None:
    assert tour["fail"] == {
        "text": TRAITS[tour.peer.name].failure,
        "structured": None,
        "is_error": True,
    }


def test_an_unknown_tool_is_whatever_the_server_makes_of_it(tour: Tour) -> None:
    unknown = TRAITS[tour.peer.name].unknown_tool
    if isinstance(unknown, int):
        assert tour["unknown_tool"]["error"] == "RequestFailed"
        assert tour["unknown_tool"]["code"] == unknown
    else:
        assert tour["unknown_tool"] == {"text": unknown, "structured": None, "is_error": True}


@pytest.mark.parametrize("step", ["wrong_argument", "missing_argument"])
def test_an_argument_that_does_not_fit_is_a_result(tour: Tour, step: str) -> None:
    assert tour[step]["is_error"] is True


def test_progress_arrives_whole_and_in_order(tour: Tour) -> None:
    assert tour["slow"]["text"] == "done"
    assert tour["progress"] == [[step, 3, f"step {step} of 3"] for step in (1, 2, 3)]


def test_cancelling_the_await_cancels_the_call_in_the_server(tour: Tour) -> None:
    assert tour["cancel"]["text"] == "cancelled"
    cancelled = [
        r
        for r in tour.sent("client")
        if r.method == "notifications/cancelled" and not _ends_listen(r, tour)
    ]
    if tour.run.channel == "http" and tour.is_modern:
        assert not cancelled  # it is the end of the stream that says so
        return
    calls = [r for r in tour.messages if r.params.get("name") == "slow"]
    assert [r.params["requestId"] for r in cancelled] == [calls[-1].message["id"]]


def test_calls_in_flight_together_get_their_own_results(tour: Tour) -> None:
    assert tour["concurrent"] == [f"number {n}" for n in range(20)]


def test_resources_and_templates_are_listed_and_read(tour: Tour) -> None:
    assert tour["resources"] == ["demo://greeting"]
    assert tour["templates"] == ["demo://users/{id}"]
    assert tour["read_greeting"] == [["demo://greeting", "text/plain", "Hello, world!"]]
    user = '{"id":"7","name":"User 7"}'
    assert tour["read_user"] == [["demo://users/7", "application/json", user]]


def test_a_resource_that_is_not_there_is_an_error(tour: Tour) -> None:
    assert tour["read_missing"]["error"] == "RequestFailed"
    assert tour["read_missing"]["code"] == TRAITS[tour.peer.name].unknown_resource
    assert "demo://nonesuch" in tour["read_missing"]["message"]


def test_prompts_are_listed_and_rendered(tour: Tour) -> None:
    assert tour["prompts"] == [["greet", ["name"]]]
    assert tour["get_prompt"] == [["user", "Please greet Ada."]]


@pytest.mark.parametrize("step", ["unknown_prompt", "prompt_without_argument"])
def test_a_prompt_that_cannot_be_rendered_is_an_error(tour: Tour, step: str) -> None:
    traits = TRAITS[tour.peer.name]
    code = traits.unknown_prompt_modern if tour.is_modern else traits.unknown_prompt_legacy
    assert tour[step]["error"] == "RequestFailed"
    assert tour[step]["code"] == code


def test_arguments_are_completed(tour: Tour) -> None:
    counted = TRAITS[tour.peer.name].counts_completions
    assert tour["complete"] == {
        "values": ["Ada", "Alan"],
        "total": 2 if counted else None,
        "has_more": False if counted else None,
    }


@pytest.mark.parametrize(
    ("step", "text"),
    [
        ("ask_name", "Hello, Ada, asked 'Who are you?'"),
        ("ask_model", "The model said: HELLO"),
        ("ask_roots", '["file:///demo"]'),
    ],
)
def test_the_servers_questions_are_answered(tour: Tour, step: str, text: str) -> None:
    assert tour[step]["text"] == text
    assert tour[step]["is_error"] is False


def test_a_legacy_server_is_asked_by_request_and_a_modern_one_by_retry(tour: Tour) -> None:
    asked = Counter(r.method for r in tour.messages if r.sender == "server" and r.kind == "request")
    retried = [r for r in tour.messages if r.kind == "request" and "inputResponses" in r.params]
    if tour.is_modern:
        assert not asked
        assert [r.params["name"] for r in retried] == ["ask_name", "ask_model", "ask_roots"]
    else:
        assert asked == Counter(("elicitation/create", "sampling/createMessage", "roots/list"))
        assert not retried


def test_log_messages_arrive_from_the_level_asked_for(tour: Tour) -> None:
    def wrapped(text: str) -> Any:
        return {"msg": text, "extra": None} if TRAITS[tour.peer.name].wraps_logs else text

    info = ["info", wrapped("something happened")]
    warning = ["warning", wrapped("something odd happened")]
    filtered = tour.is_modern or TRAITS[tour.peer.name].filters_legacy_logs
    assert tour["logs_at_warning"] == ([warning] if filtered else [info, warning])
    assert tour["logs_at_debug"] == [info, warning]


def test_a_ping_is_answered(tour: Tour) -> None:
    if tour.is_modern:
        pytest.skip("the modern era has no ping")
    assert tour["ping"] is True
    assert tour["after_roots_changed"] is True


def test_an_updated_resource_is_noticed_where_the_server_says_that_it_tells(tour: Tour) -> None:
    if tour["updated"] == {"unsupported": True}:
        pytest.skip("this server has nobody to tell")
    if not TRAITS[tour.peer.name].subscribes:
        # Nothing was sent: the server would not have been entitled to answer.
        assert tour["updated"]["error"] == "LocalProtocolError"
        return
    news = "demo://greeting" if tour.is_modern else "notifications/resources/updated"
    assert tour["updated"] == news


def test_a_new_tool_is_noticed_where_the_server_says_that_it_tells(tour: Tour) -> None:
    if tour.is_modern and not TRAITS[tour.peer.name].listens:
        assert tour["grown"]["error"] == "LocalProtocolError"
        return
    news = True if tour.is_modern else "notifications/tools/list_changed"
    assert tour["grown"] == [news, True]


def test_every_message_we_sent_is_what_the_official_types_expect(
    tour: Tour, oracle: Oracle
) -> None:
    sent = tour.sent("client")
    assert len(sent) > 40
    assert oracle.problems(sent) == []


def test_every_message_we_sent_keeps_the_rules_of_the_wire(tour: Tour) -> None:
    for records in tour.conversations:
        assert problems_of("client", records) == []


@pytest.mark.anyio
@pytest.mark.broken_messages("server", sometimes=True)  # members of newer revisions
@pytest.mark.parametrize("revision", LEGACY_REVISIONS)
@pytest.mark.parametrize("peer", catalogue.SDKS, ids=lambda peer: peer.name)
async def test_every_legacy_revision_can_be_insisted_on(
    peer: catalogue.Peer, revision: str, oracle: Oracle, tmp_path: Path
) -> None:
    server = catalogue.tapped(tmp_path, peer.server)
    async with Client(server, env=peer.environ, mode=revision, on_stderr=_ignore) as client:
        assert client.protocol_version == revision
        assert our_client.text_of(await client.call_tool("add", {"a": 2, "b": 3})) == "5"
        result = await client.read_resource("demo://greeting")
        assert [item.text for item in result.contents] == ["Hello, world!"]
    [messages] = conversation.read(tmp_path)
    assert oracle.problems([r for r in messages if r.sender == "client"]) == []


@pytest.mark.anyio
@pytest.mark.parametrize(
    "peer", [p for p in catalogue.SDKS if "modern" not in p.eras], ids=lambda peer: peer.name
)
async def test_a_legacy_server_is_refused_when_the_modern_era_is_insisted_on(
    peer: catalogue.Peer,
) -> None:
    client = Client(peer.server, env=peer.environ, mode="modern", on_stderr=_ignore)
    with pytest.raises(RemoteProtocolError, match="2026-07-28"):
        await client.connect()
    await client.close()


def _ends_listen(cancelled: Record, tour: Tour) -> bool:
    listens = [r.message["id"] for r in tour.messages if r.method == "subscriptions/listen"]
    return cancelled.params["requestId"] in listens


def _ignore(_line: str) -> None:
    """The peers' servers write what they like to standard error."""
