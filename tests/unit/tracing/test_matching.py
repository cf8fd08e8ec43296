"""What was recorded for a request."""

from typing import Any

import pytest

from tests.unit.tracing.recordings import MODERN, Told
from wigwag.tracing.matching import NotRecorded, Prompter, asked_of
from wigwag.tracing.redaction import REDACTED
from wigwag.tracing.script import read_script


def prompter(told: Told) -> Prompter:
    return Prompter(read_script(told.recording))


def found(prompter: Prompter, method: str, params: Any = None) -> Any:
    """The recorded id of what is found; what is wrong, in words."""
    request = {"id": "new", "method": method, "params": params}
    try:
        cue = prompter.find(asked_of(request))
    except NotRecorded as miss:
        return f"{miss.code} {miss.message}"
    return None if cue is None else cue.entry.id


def calls(*params: dict[str, Any]) -> Told:
    told = Told()
    told.greets()
    for number, each in enumerate(params, 1):
        told.asks(number, "tools/call", each)
        told.answers(number, {})
    return told


def test_a_request_is_known_by_its_method_and_params() -> None:
    asked = prompter(calls({"name": "add", "arguments": {"a": 1}}, {"name": "add"}))
    assert found(asked, "tools/call", {"arguments": {"a": 1.0}, "name": "add"}) == 1
    assert found(asked, "tools/call", {"name": "add", "_meta": {"progressToken": 5}}) == 2
    assert found(asked, "tools/call", {"name": "add", "arguments": {}}) == 2


def test_answers_to_the_same_come_in_their_order_and_then_the_last_again() -> None:
    asked = prompter(calls({"name": "next"}, {"name": "next"}, {"name": "next"}))
    assert [found(asked, "tools/call", {"name": "next"}) for _ in range(5)] == [1, 2, 3, 3, 3]


def test_what_was_taken_out_of_the_recording_may_be_anything() -> None:
    asked = prompter(calls({"name": "login", "arguments": {"user": "a", "password": REDACTED}}))
    given = {"name": "login", "arguments": {"user": "a", "password": "x"}}
    assert found(asked, "tools/call", given) == 1


def test_whoever_asks_gets_the_handshake_that_was_recorded() -> None:
    told = Told()
    told.greets("2025-06-18")
    told.asks(5, "initialize", {"protocolVersion": "2025-11-25", "clientInfo": {"name": "x"}})
    told.answers(5, {"protocolVersion": "2025-11-25"})
    hello = {"protocolVersion": "2025-11-25", "clientInfo": {"name": "other"}, "capabilities": {}}
    assert found(prompter(told), "initialize", hello) == 5
    assert found(prompter(told), "initialize", {**hello, "protocolVersion": "2024-11-05"}) == 0


def test_each_era_is_answered_with_what_was_recorded_in_it() -> None:
    told = Told()
    told.greets()
    told.asks(1, "tools/list")
    told.answers(1, {"tools": []})
    told.asks(2, "tools/list", {"_meta": MODERN})
    told.answers(2, {"tools": []})
    asked = prompter(told)
    assert found(asked, "tools/list", {"_meta": MODERN}) == 2
    assert found(asked, "tools/list") == 1


def test_what_comes_nearest_is_told() -> None:
    asked = prompter(calls({"name": "add", "arguments": {"a": 1, "b": 2}}, {"name": "now"}))
    said = found(asked, "tools/call", {"name": "add", "arguments": {"a": 1, "b": 3}})
    assert said == (
        "-32602 Not recorded: tools/call with these params; the nearest that was, add, has"
        " arguments.b 2, not 3"
    )
    said = found(asked, "tools/call", {"name": "add", "arguments": {"a": 1}, "x": "y" * 200})
    assert "arguments.b 2, not absent, and 1 more difference" in said
    said = found(asked, "tools/call", {"name": "nwo"})
    assert 'has name "now", not "nwo"' in said


def test_a_method_that_was_not_recorded_is_told_with_those_that_were() -> None:
    asked = prompter(calls({"name": "add"}))
    assert found(asked, "prompts/list") == (
        "-32601 Method not found: no legacy prompts/list was recorded; there are initialize,"
        " tools/call"
    )
    assert "no requests of that era" in found(asked, "server/discover", {"_meta": MODERN})


def test_what_any_client_may_say_at_any_time_need_not_be_recorded() -> None:
    asked = prompter(calls())
    assert found(asked, "ping") is None
    assert found(asked, "logging/setLevel", {"level": "info"}) is None


def test_a_client_of_an_era_that_was_not_recorded_is_told_what_was() -> None:
    told = Told()
    told.asks(1, "tools/list", {"_meta": MODERN})
    told.answers(1, {"tools": []})
    asked = prompter(told)
    said = found(asked, "initialize", {"protocolVersion": "2025-11-25"})
    assert said.startswith("-32022 Unsupported protocol version '2025-11-25': the recording has")
    later = {**MODERN, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}
    with pytest.raises(NotRecorded) as refused:
        asked.find(asked_of({"method": "tools/list", "params": {"_meta": later}}))
    assert refused.value.data == {"supported": ["2026-07-28"], "requested": "2099-01-01"}


def test_another_answer_of_the_user_leads_on_as_the_recorded_one_did() -> None:
    told = Told()
    asked = {"name": "book", "requestState": "s", "_meta": MODERN}
    told.asks(1, "tools/call", {**asked, "inputResponses": {"date": {"action": "accept"}}})
    told.answers(1, {})
    other = {**asked, "inputResponses": {"date": {"action": "decline"}}}
    assert found(prompter(told), "tools/call", other) == 1
    assert "Not recorded" in found(prompter(told), "tools/call", {**other, "requestState": "t"})


def test_a_notification_leads_to_what_followed_it_once() -> None:
    told = Told()
    told.greets()
    told.notifies("notifications/tools/list_changed")
    asked = prompter(told)
    cue = asked.find_notification("notifications/initialized")
    assert cue is not None
    assert len(cue.lines) == 1
    assert asked.find_notification("notifications/initialized") is None
