"""Clients made with the SDKs of others, against a Wigwag server, in their eras: stdio and HTTP.

Each client makes one tour (`peers/contract.py`) and reports what it got; the tests look at the
report. What crossed was written down by a wiretap, and is judged by the types of the official SDK
and by our own rules.
"""

import json
from collections import Counter
from typing import Final

import pytest

from tests.interop import tours
from tests.interop.conversation import Oracle, Record, problems_of
from tests.interop.tours import Tour

PROGRESS: Final = [[step, 3, f"step {step} of 3"] for step in (1, 2, 3)]


@pytest.fixture(scope="module", params=tours.CLIENT_RUNS, ids=str)
def tour(request: pytest.FixtureRequest) -> Tour:
    """One client's tour of our server, made once for all the tests."""
    return tours.of(request.param)


def given_up(records: list[Record]) -> set[str | int]:
    """The ids of the requests that the client gave up, by saying so or by leaving."""
    said = {r.params["requestId"] for r in records if r.method == "notifications/cancelled"}
    left = {
        r.message["id"]
        for r in records
        if r.kind == "request"
        and (r.params.get("arguments") == {"seconds": 60} or r.method == "subscriptions/listen")
    }
    return said | left


def has_structure(tour: Tour) -> bool:
    """Whether the revision knows structured content, and with it elicitation."""
    return tour.run.revision not in ("2025-03-26", "2024-11-05")


def answered(records: list[Record]) -> Counter[str | int]:
    """How often the server answered each id."""
    return Counter(
        r.message["id"] for r in records if r.sender == "server" and r.kind in ("result", "error")
    )


def test_the_newest_revision_of_the_era_is_negotiated(tour: Tour) -> None:
    assert tour["protocol_version"] == tour.run.revision


def test_the_server_introduces_itself(tour: Tour) -> None:
    if tour.run.era == "modern" and tour.peer.node is None:
        # Pinned to a revision, the Python SDKs do not ask who is there.
        assert tour["server"] is None
        return
    assert tour["server"] == ["demo", "1.0.0"]
    assert tour["instructions"] == "A demonstration."
    expected = {"completions", "logging", "prompts", "resources", "tools"}
    if tour.run.revision == "2024-11-05":
        expected.remove("completions")  # they could not be declared yet
    assert expected <= tour["capabilities"].keys()


def test_what_changes_is_declared_exactly_where_it_is_reported(tour: Tour) -> None:
    capabilities = tour["capabilities"]
    if not capabilities:
        pytest.skip("this client does not ask for them")
    reports = any(tool["name"] == "touch" for tool in tour["tools"])
    assert capabilities["tools"].get("listChanged", False) is reports
    assert capabilities["resources"].get("subscribe", False) is reports


def test_tools_are_listed_in_the_order_they_were_registered(tour: Tour) -> None:
    names = [tool["name"] for tool in tour["tools"]]
    assert names[:7] == [
        "echo", "add", "fail", "weather", "slow", "wait_cancelled", "log_something",
    ]  # fmt: skip


def test_type_hints_are_the_schemas(tour: Tour) -> None:
    tools = {tool["name"]: tool for tool in tour["tools"]}
    add = tools["add"]["input"]
    assert add["type"] == "object"
    assert [add["properties"][name]["type"] for name in ("a", "b")] == ["integer", "integer"]
    assert sorted(add["required"]) == ["a", "b"]
    weather = tools["weather"]["output"]
    if not has_structure(tour):
        assert weather is None
        return
    assert weather["type"] == "object"
    assert weather["properties"]["temperature"]["type"] == "number"
    assert sorted(weather["required"]) == ["city", "conditions", "temperature"]


def test_awkward_text_comes_back_unchanged(tour: Tour) -> None:
    assert tour["echo"]["text"] == 'grüße, 世界 \u2028\n"🚩"'
    assert tour["echo"]["is_error"] is False


def test_a_number_is_a_number(tour: Tour) -> None:
    assert tour["add"]["text"] == "5"


def test_a_struct_is_structured_content_and_the_same_in_text(tour: Tour) -> None:
    expected = {"city": "Oslo", "temperature": 21.5, "conditions": "sunny"}
    assert tour["weather"]["structured"] == (expected if has_structure(tour) else None)
    assert json.loads(tour["weather"]["text"]) == expected


def test_a_tool_that_raises_is_a_result_the_model_can_read(tour: Tour) -> None:
    assert tour["fail"] == {"text": "broken on purpose", "structured": None, "is_error": True}


def test_an_unknown_tool_is_invalid_params(tour: Tour) -> None:
    assert tour["unknown_tool"]["code"] == -32602
    assert "nonesuch" in tour["unknown_tool"]["message"]


@pytest.mark.parametrize(("step", "argument"), [("wrong_argument", "a"), ("missing_argument", "b")])
def test_an_argument_that_does_not_fit_is_a_result_that_names_it(
    tour: Tour, step: str, argument: str
) -> None:
    assert tour[step]["is_error"] is True
    assert f"{argument}`" in tour[step]["text"] or f"'{argument}'" in tour[step]["text"]


def test_progress_arrives_in_order_while_the_call_runs(tour: Tour) -> None:
    assert tour["slow"]["text"] == "done"
    # The oldest revision has no messages in it.
    worded = tour.run.revision != "2024-11-05"
    progress = PROGRESS if worded else [[step, total, None] for step, total, _ in PROGRESS]
    if tour.peer.node is None:
        assert tour["progress"] == progress
    else:
        # The TypeScript SDKs lose the progress that comes in one read with the response.
        assert tour["progress"] == progress[: len(tour["progress"])] != []


def test_all_progress_leaves_before_the_response(tour: Tour) -> None:
    [call] = [
        r for r in tour.messages if r.params.get("arguments") == {"seconds": 0.15, "steps": 3}
    ]
    token = call.params["_meta"]["progressToken"]
    sent = [
        r.params["progress"] if r.kind == "notification" else r.kind
        for r in tour.messages
        if r.sender == "server"
        and (r.params.get("progressToken") == token or r.message.get("id") == call.message["id"])
        and (r.kind == "notification" or r.method == "tools/call")
    ]
    assert sent == [1, 2, 3, "result"]


def test_a_cancelled_call_stops_in_the_server(tour: Tour) -> None:
    assert tour["cancel"]["text"] == "cancelled"


def test_nothing_more_is_said_about_what_the_client_gave_up(tour: Tour) -> None:
    for records in tour.conversations:
        calls = {
            r.message["id"] for r in records if r.method == "tools/call" and r.kind == "request"
        }
        assert not given_up(records) & calls & answered(records).keys()


def test_every_other_request_is_answered_exactly_once(tour: Tour) -> None:
    for records in tour.conversations:
        asked = [r.message["id"] for r in records if r.sender == "client" and r.kind == "request"]
        waiting = [each for each in asked if each not in given_up(records)]
        assert {each: answered(records)[each] for each in waiting} == dict.fromkeys(waiting, 1)


def test_calls_in_flight_together_get_their_own_results(tour: Tour) -> None:
    assert tour["concurrent"] == [f"number {n}" for n in range(20)]


def test_resources_and_templates_are_listed(tour: Tour) -> None:
    assert tour["resources"] == ["demo://greeting"]
    assert tour["templates"] == ["demo://users/{id}"]


def test_resources_are_read(tour: Tour) -> None:
    assert tour["read_greeting"] == [["demo://greeting", "text/plain", "Hello, world!"]]
    assert tour["read_user"] == [
        ["demo://users/7", "application/json", '{"id":"7","name":"User 7"}']
    ]


def test_a_resource_that_is_not_there_has_the_error_code_of_its_revision(tour: Tour) -> None:
    code = -32602 if tour.is_modern else -32002
    [sent] = [r for r in tour.messages if r.method == "resources/read" and r.kind == "error"]
    assert sent.message["error"]["code"] == code
    # The second TypeScript SDK tells its users the code of the modern era in either.
    assert tour["read_missing"]["code"] == (-32602 if tour.peer.name == "tsv2" else code)
    assert "demo://nonesuch" in tour["read_missing"]["message"]


def test_prompts_are_listed_and_rendered(tour: Tour) -> None:
    assert tour["prompts"] == [["greet", ["name"]]]
    assert tour["get_prompt"] == [["user", "Please greet Ada."]]


@pytest.mark.parametrize(
    ("step", "named"), [("unknown_prompt", "nonesuch"), ("prompt_without_argument", "name")]
)
def test_a_prompt_that_cannot_be_rendered_is_invalid_params(
    tour: Tour, step: str, named: str
) -> None:
    assert tour[step]["code"] == -32602
    assert named in tour[step]["message"]


def test_arguments_are_completed(tour: Tour) -> None:
    assert tour["complete"]["values"] == ["Ada", "Alan"]
    assert tour["complete"]["has_more"] in (False, None)


def test_a_ping_is_answered(tour: Tour) -> None:
    if tour.is_modern:
        pytest.skip("the modern era has no ping")
    assert tour["ping"] is True
    assert tour["after_roots_changed"] is True


def test_log_messages_below_the_level_asked_for_are_not_sent(tour: Tour) -> None:
    if tour["log_at_warning"] == {"unsupported": True}:
        pytest.skip("this client asks for one level only")
    assert tour["log_at_warning"]["text"] == "logged"
    assert tour["logs_at_warning"] == [["warning", "something odd happened"]]


def test_log_messages_arrive_at_the_level_asked_for(tour: Tour) -> None:
    assert tour["log_at_debug"]["text"] == "logged"
    assert tour["logs_at_debug"] == [
        ["info", "something happened"],
        ["warning", "something odd happened"],
    ]


def test_a_subscriber_is_told_of_an_updated_resource(tour: Tour) -> None:
    if tour["updated"] == {"unsupported": True}:
        pytest.skip("this client cannot listen, or the server does not tell")
    assert tour["updated"] == (
        "demo://greeting" if tour.is_modern else "notifications/resources/updated"
    )


def test_a_new_tool_is_announced_and_listed(tour: Tour) -> None:
    if tour["grown"] == {"unsupported": True}:
        pytest.skip("this client cannot listen, or the server does not tell")
    assert tour["grown"] == [True if tour.is_modern else "notifications/tools/list_changed", True]


@pytest.mark.parametrize(
    ("step", "text"),
    [
        ("ask_name", "Hello, Ada, asked 'Who are you?'"),
        ("ask_model", "The model said: HELLO"),
        ("ask_roots", '["file:///demo"]'),
    ],
)
def test_the_client_is_asked_in_the_middle_of_a_call(tour: Tour, step: str, text: str) -> None:
    if step == "ask_name" and not has_structure(tour):
        there_is = f"there is no elicitation/create in {tour.run.revision}"
        text = f"the client cannot be asked: {there_is}"
        assert tour[step]["is_error"] is True
    assert tour[step]["text"] == text


def test_every_message_we_sent_is_what_the_official_types_expect(
    tour: Tour, oracle: Oracle
) -> None:
    sent = tour.sent("server")
    assert len(sent) > 30
    assert oracle.problems(sent) == []


def test_every_message_we_sent_keeps_the_rules_of_the_wire(tour: Tour) -> None:
    for records in tour.conversations:
        assert problems_of("server", records) == []
