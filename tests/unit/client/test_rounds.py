"""Requests that go on after the server has asked for input."""

from typing import Any

import msgspec
import pytest
from msgspec import UNSET, Raw

from wigwag.client.rounds import with_answers
from wigwag.errors import LocalProtocolError
from wigwag.schema import (
    LATEST_LEGACY,
    LATEST_MODERN,
    CallToolRequestParams,
    CreateMessageResult,
    ElicitResult,
    InputRequest,
    InputRequiredResult,
    ListRootsResult,
    Root,
    TextContent,
)

PARAMS = CallToolRequestParams(name="t", arguments=Raw(b'{"a":1}'))
SAID = CreateMessageResult(role="assistant", content=TextContent(text="hi"), model="m")


def answered(answer: Any) -> Any:
    params = with_answers(PARAMS, {"key": answer}, None, LATEST_MODERN)
    assert params.input_responses is not UNSET
    return msgspec.json.decode(params.input_responses["key"])


def test_a_request_without_answers_is_as_it_was() -> None:
    assert with_answers(PARAMS, None, None, LATEST_MODERN) is PARAMS
    assert with_answers(PARAMS, None, UNSET, LATEST_LEGACY) is PARAMS


def test_the_state_goes_back_as_it_came_and_none_where_none_came() -> None:
    params = with_answers(PARAMS, None, "  ü ", LATEST_MODERN)
    assert (params.request_state, params.input_responses) == ("  ü ", UNSET)
    assert (params.name, params.arguments) == (PARAMS.name, PARAMS.arguments)
    params = with_answers(PARAMS, {"a": ElicitResult(action="cancel")}, UNSET, LATEST_MODERN)
    assert params.request_state is UNSET


def test_answers_may_be_of_the_types_of_the_protocol() -> None:
    assert answered(ElicitResult(action="accept", content={"name": "Ada"})) == {
        "action": "accept",
        "content": {"name": "Ada"},
    }
    assert answered(SAID) == {
        "role": "assistant",
        "content": {"type": "text", "text": "hi"},
        "model": "m",
    }
    assert answered(ListRootsResult(roots=[Root(uri="file:///a")])) == {
        "roots": [{"uri": "file:///a"}]
    }


@pytest.mark.parametrize(
    "answer",
    [
        {"action": "decline"},
        {"action": "accept", "content": {"size": 3}, "more": [1]},
        {"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "m"},
        {"roots": []},
    ],
)
def test_answers_may_be_what_these_are_in_json(answer: Any) -> None:
    assert answered(answer) == answer


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"name": "Ada"}, r"the answer 'key' is none: give an ElicitResult"),
        ({"action": "agree"}, r"the answer 'key' is no ElicitResult: .*'agree'"),
        ({"roots": [{}]}, r"the answer 'key' is no ListRootsResult: .*`uri`"),
        ({"role": "assistant"}, r"the answer 'key' is no CreateMessageResult: "),
        ("Ada", r"the answer 'key' is of type str: give an ElicitResult"),
        (None, r"the answer 'key' is of type NoneType"),
        ({"action": "accept", "content": {"a": object()}}, "object"),
    ],
)
def test_what_is_no_answer_is_refused(answer: Any, problem: str) -> None:
    with pytest.raises(LocalProtocolError, match=problem):
        with_answers(PARAMS, {"key": answer}, None, LATEST_MODERN)


@pytest.mark.parametrize(
    ("responses", "state", "problem"),
    [
        ([], None, r"`input_responses` is a mapping of keys to answers, not list"),
        (None, 7, r"`request_state` is the text that the server gave, not int"),
    ],
)
def test_what_cannot_be_sent_is_refused(responses: Any, state: Any, problem: str) -> None:
    with pytest.raises(LocalProtocolError, match=problem):
        with_answers(PARAMS, responses, state, LATEST_MODERN)


def test_a_legacy_server_has_no_such_rounds() -> None:
    for responses, state in (({}, None), (None, "s")):
        with pytest.raises(LocalProtocolError, match="asks by requests of its own"):
            with_answers(PARAMS, responses, state, LATEST_LEGACY)


def test_what_a_server_asks_can_be_stored() -> None:
    asked = InputRequiredResult(
        result_type="input_required",
        input_requests={"a": InputRequest(method="roots/list", params=Raw(b'{"x":1}'))},
        request_state="s",
    )
    stored = msgspec.json.encode(asked)
    found = msgspec.json.decode(stored, type=InputRequiredResult)
    assert found.request_state == "s"
    assert found.input_requests is not UNSET
    assert found.input_requests["a"].method == "roots/list"
    assert found.input_requests["a"].params == Raw(b'{"x":1}')
    assert msgspec.json.encode(found) == stored
