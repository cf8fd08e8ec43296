"""What a recorded server said, and because of what."""

from tests.unit.tracing.recordings import MODERN, Told
from wigwag.tracing.records import HttpPart, JunkRecord
from wigwag.tracing.script import Cue, Junk, Line, read_script


def said(cue: Cue) -> list[tuple[str, bool]]:
    """What was said, and whether on the way of a request."""
    return [
        (line.entry.kind if line.entry.is_answer else line.entry.method, line.request is not None)
        for line in cue.lines
        if isinstance(line, Line)
    ]


def test_progress_and_questions_stand_between_a_request_and_its_answer() -> None:
    told = Told()
    told.asks(1, "tools/call", {"name": "slow", "_meta": {"progressToken": "p"}})
    told.asks(2, "tools/call", {"name": "other", "_meta": {"progressToken": "q"}})
    told.notifies("notifications/progress", {"progressToken": "p", "progress": 1})
    told.asks(9, "roots/list", sender="server")
    told.answers(2, {})
    told.answers(9, {"roots": []}, sender="client")
    told.notifies("notifications/message", {"level": "info", "data": "x"})
    told.answers(1, {})
    slow, other = read_script(told.recording).requests
    assert said(slow) == [
        ("notifications/progress", True),
        ("notifications/message", True),
        ("result", True),
    ]
    assert said(other) == [("roots/list", True), ("result", True)]
    assert [(slow.is_answered, other.is_answered)] == [(True, True)]


def test_what_came_after_the_answer_to_a_question_waits_for_that_answer() -> None:
    told = Told()
    told.asks(1, "tools/call", {"name": "ask"})
    told.asks(9, "roots/list", sender="server")
    told.notifies("notifications/message", {"level": "info", "data": "x"})
    told.answers(9, {"roots": []}, sender="client")
    told.answers(1, {})
    (cue,) = read_script(told.recording).requests
    lines = [line for line in cue.lines if isinstance(line, Line)]
    assert [len(line.after) for line in lines] == [0, 0, 1]


def test_what_is_said_of_the_servers_own_accord_follows_what_the_client_said_last() -> None:
    told = Told()
    told.greets()
    told.notifies("notifications/tools/list_changed")
    told.asks(1, "ping")
    told.answers(1, {})
    told.notifies("notifications/resources/list_changed")
    script = read_script(told.recording)
    assert said(script.notifications[0]) == [("notifications/tools/list_changed", False)]
    assert said(script.requests[1]) == [
        ("result", True),
        ("notifications/resources/list_changed", False),
    ]


def test_what_a_listener_is_told_follows_what_has_caused_it() -> None:
    told = Told()
    told.asks(1, "subscriptions/listen", {"_meta": MODERN})
    named = {"_meta": {"io.modelcontextprotocol/subscriptionId": 1}}
    told.notifies("notifications/subscriptions/acknowledged", named)
    told.asks(2, "tools/call", {"name": "add_tool", "_meta": MODERN})
    told.answers(2, {})
    told.notifies("notifications/tools/list_changed", named)
    listen, call = read_script(told.recording).requests
    assert said(listen) == [("notifications/subscriptions/acknowledged", True)]
    assert said(call) == [("result", True), ("notifications/tools/list_changed", True)]
    last = call.lines[-1]
    assert isinstance(last, Line)
    assert last.request is listen.entry


def test_over_http_what_is_said_belongs_to_the_request_on_whose_way_it_came() -> None:
    told = Told(transport="http", target="http://localhost/mcp")
    told.asks(1, "tools/call", {"name": "a"}, connection=1)
    told.asks(2, "tools/call", {"name": "b"}, connection=2)
    told.notifies("notifications/message", {"level": "info", "data": "x"}, connection=1)
    told.answers(2, {}, connection=2)
    told.answers(1, {}, connection=1, http=HttpPart(session=1, status=200))
    script = read_script(told.recording)
    first, second = script.requests
    assert said(first) == [("notifications/message", True), ("result", True)]
    assert said(second) == [("result", True)]
    assert (script.is_http, script.has_sessions) == (True, True)


def test_junk_has_its_place_and_so_has_what_came_before_anything() -> None:
    told = Told()
    told.records.append(JunkRecord(at=0.1, sender="server", text="Starting"))
    told.asks(1, "ping")
    told.records.append(JunkRecord(at=told.tick(), sender="server", text="debug"))
    told.answers(1, {})
    told.ends(3)
    script = read_script(told.recording)
    assert script.opening == [Junk(at=0.1, text="Starting")]
    assert script.requests[0].lines[0] == Junk(at=2.0, text="debug")
    assert script.exit_code == 3


def test_the_eras_that_were_spoken_are_known() -> None:
    told = Told()
    told.asks(1, "tools/list", {"_meta": MODERN})
    modern = read_script(told.recording)
    assert (modern.modern, modern.is_legacy) == (["2026-07-28"], False)
    told = Told()
    told.asks("d", "server/discover", {"_meta": MODERN})
    told.refuses("d", -32601, "Method not found")
    told.greets()
    both = read_script(told.recording)
    assert both.is_legacy
    assert (both.info.name, both.info.version) == ("library", "2.0")


def test_an_empty_recording_has_nothing_to_say() -> None:
    script = read_script(Told().recording)
    assert (script.cues, script.is_legacy) == ([], True)


def test_what_answers_nothing_and_what_is_no_message_is_left_out() -> None:
    told = Told()
    told.answers(5, {})
    told.says("server", [1])
    told.says("client", [1])
    told.answers(6, {}, sender="client")
    assert read_script(told.recording).cues == []
