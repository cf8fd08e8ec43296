"""Going on with a host where the last server process has ended."""

import json
from typing import Any

import pytest

from wigwag.server.kept_conversation import KeptConversation

GREETING = {"id": 1, "method": "initialize", "params": {}}
DECLARED = {"capabilities": {"tools": {"listChanged": True}, "prompts": {}}}
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
LISTEN = {"id": "l", "method": "subscriptions/listen", "params": {}}
ACKNOWLEDGED = {
    "method": "notifications/subscriptions/acknowledged",
    "params": {
        "_meta": {SUBSCRIPTION: "l"},
        "notifications": {"toolsListChanged": True, "resourcesListChanged": True},
    },
}


def line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


def methods(lines: list[bytes]) -> list[str]:
    return [json.loads(each)["method"] for each in lines]


@pytest.fixture
def kept() -> KeptConversation:
    return KeptConversation()


def replaced(kept: KeptConversation) -> tuple[list[bytes], list[bytes]]:
    """Replace the server; return what the host hears, and what the new one does."""
    kept.server_is_to_end()
    return kept.server_has_ended("loaded again"), kept.server_has_begun()


def test_what_passes_is_passed_on_as_it_is(kept: KeptConversation) -> None:
    for said in (line(id=1, method="ping"), line(method="notifications/x"), b"no JSON", b"[]"):
        assert kept.host_says(said)
        assert kept.server_says(said) == [said]


def test_a_handshake_is_repeated_and_its_answer_is_news_of_lists(kept: KeptConversation) -> None:
    initialized = line(method="notifications/initialized")
    kept.host_says(line(**GREETING))
    assert kept.server_says(line(id=1, result=DECLARED)) == [line(id=1, result=DECLARED)]
    kept.host_says(initialized)
    assert replaced(kept) == ([], [line(**GREETING), initialized])
    assert methods(kept.server_says(line(id=1, result=DECLARED))) == [
        "notifications/tools/list_changed"
    ]


def test_a_handshake_without_an_answer_is_answered_by_the_new_server(
    kept: KeptConversation,
) -> None:
    kept.host_says(line(**GREETING))
    assert replaced(kept) == ([], [line(**GREETING)])
    assert kept.server_says(line(id=1, result=DECLARED)) == [line(id=1, result=DECLARED)]


def test_requests_under_way_are_answered_with_an_error(kept: KeptConversation) -> None:
    kept.host_says(line(id="a", method="tools/call"))
    kept.host_says(line(id=2, method="tools/call"))
    kept.server_says(line(id=2, result={}))
    (answer,), begun = replaced(kept)
    assert json.loads(answer) == {
        "jsonrpc": "2.0",
        "id": "a",
        "error": {"code": -32603, "message": "loaded again"},
    }
    assert begun == []


def test_who_listens_goes_on_and_hears_of_the_lists_that_were_agreed(
    kept: KeptConversation,
) -> None:
    kept.host_says(line(**LISTEN))
    assert kept.server_says(line(**ACKNOWLEDGED)) == [line(**ACKNOWLEDGED)]
    kept.server_is_to_end()
    assert kept.server_says(line(id="l", result={})) == []
    for about, passed in (("l", 0), ("other", 1)):
        cancelled = line(method="notifications/cancelled", params={"requestId": about})
        assert len(kept.server_says(cancelled)) == passed
    assert kept.server_has_ended("loaded again") == []
    assert kept.server_has_begun() == [line(**LISTEN)]
    told = kept.server_says(line(**ACKNOWLEDGED))
    assert methods(told) == [
        "notifications/tools/list_changed",
        "notifications/resources/list_changed",
    ]
    assert json.loads(told[0])["params"] == {"_meta": {SUBSCRIPTION: "l"}}
    assert kept.server_says(line(id="l", result={})) == [line(id="l", result={})]
    assert replaced(kept) == ([], [])


def test_a_server_that_dies_owes_an_answer_to_the_handshake_too(kept: KeptConversation) -> None:
    kept.host_says(line(**GREETING))
    kept.host_says(line(**LISTEN))
    (answer,) = kept.server_has_ended("it has died")
    assert json.loads(answer)["id"] == 1
    assert line(**LISTEN) in kept.server_has_begun()


def test_the_new_server_does_not_get_the_answer_to_a_question_of_the_last(
    kept: KeptConversation,
) -> None:
    kept.server_says(line(id=7, method="elicitation/create"))
    replaced(kept)
    assert not kept.host_says(line(id=7, result={}))
    kept.server_says(line(id=7, method="elicitation/create"))
    assert kept.host_says(line(id=7, result={}))
    assert not kept.host_says(line(id=7, error={"code": 1, "message": "again"}))


@pytest.mark.parametrize("about", ["l", None, [1]])
def test_what_the_host_has_cancelled_is_not_gone_on_with(
    kept: KeptConversation, about: Any
) -> None:
    kept.host_says(line(**LISTEN))
    assert kept.host_says(line(method="notifications/cancelled", params={"requestId": about}))
    assert kept.host_says(line(method="notifications/cancelled", params=[]))
    assert kept.host_says(line(method="notifications/cancelled"))
    assert replaced(kept) == ([], [] if about == "l" else [line(**LISTEN)])
