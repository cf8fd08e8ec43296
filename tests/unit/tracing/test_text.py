"""What people see of a conversation."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import Raw

from wigwag.tracing.records import (
    ClosedRecord,
    EndRecord,
    HttpPart,
    HttpRecord,
    JunkRecord,
    MessageRecord,
    Record,
    Sender,
    StderrRecord,
)
from wigwag.tracing.text import TextRenderer, TextStyle

STREAM = HttpPart(status=200, headers={"content-type": "text/event-stream; charset=utf-8"})
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}


def message(at: float, sender: Sender, value: dict[str, Any], **more: Any) -> MessageRecord:
    raw = json.dumps({"jsonrpc": "2.0", **value}).encode()
    return MessageRecord(at=at, sender=sender, message=Raw(raw), **more)


CALL = message(
    0.5,
    "client",
    {
        "id": 2,
        "method": "tools/call",
        "params": {"name": "add", "arguments": {"a": 1}, "_meta": META},
    },
)
RESULT = message(0.5042, "server", {"id": 2, "result": {"content": []}})


def shown(*records: Record, **style: Any) -> list[str]:
    renderer = TextRenderer(TextStyle(**style))
    return [line for record in records for line in renderer.lines(record)]


def test_a_call_and_its_answer_are_a_line_each_with_latency_era_and_revision() -> None:
    assert shown(CALL, RESULT) == [
        '    0.500 → tools/call #2 add [2026-07-28 modern]  {"arguments":{"a":1}}',
        '    0.504 ← tools/call #2 add 4.2 ms  {"content":[]}',
    ]


def test_the_handshake_is_noted_and_then_no_more() -> None:
    records = [
        message(
            0,
            "client",
            {"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}},
        ),
        message(1, "server", {"id": 0, "result": {"protocolVersion": "2025-06-18"}}),
        message(2, "client", {"method": "notifications/initialized"}),
        message(13.25, "server", {"id": 7, "method": "ping", "params": {}}),
    ]
    assert shown(*records) == [
        '    0.000 → initialize #0 [2025-11-25 legacy]  {"protocolVersion":"2025-11-25"}',
        '    1.000 ← initialize #0 1.0 s [2025-06-18 legacy]  {"protocolVersion":"2025-06-18"}',
        "    2.000 → notifications/initialized",
        "   13.250 ← ping #7",
    ]


def test_failures_say_so() -> None:
    records = [
        CALL,
        message(0.75, "server", {"id": 2, "result": {"isError": True}}),
        message(1, "server", {"id": None, "error": {"code": -32700, "message": "no"}}),
        message(2, "client", {"id": 9, "error": "odd"}, problem="Invalid Request: it is odd"),
    ]
    assert shown(*records)[1:] == [
        '    0.750 ← tools/call #2 add failed 250 ms  {"isError":true}',
        '    1.000 ← answer error -32700 (to no request seen here)  {"code":-32700,"message":"no"}',
        '    2.000 → answer #9 error (to no request seen here) (Invalid Request: it is odd)  "odd"',
    ]


def test_pretty_shows_all_of_it() -> None:
    assert shown(RESULT, pretty=True, width=20) == [
        "    0.504 ← answer #2 (to no request seen here)",
        "    {",
        '      "jsonrpc": "2.0",',
        '      "id": 2,',
        '      "result": {',
        '        "content": []',
        "      }",
        "    }",
    ]


def test_a_line_is_as_wide_as_it_may_be() -> None:
    text = "x" * 500
    long = message(0, "server", {"method": "m", "params": {"text": text}})
    (line,) = shown(long, width=60)
    assert len(line) == 60
    assert line.endswith("xxx… (511 characters)")
    assert shown(long, width=20) == ["    0.000 ← m"]
    assert text in shown(long, width=None)[0]
    (junk,) = shown(JunkRecord(at=0, sender="server", text=text), width=60)
    assert junk == f"    0.000 ← junk: {'x' * 30}… (500 characters)"


def test_filters_take_methods_with_their_answers_and_ids() -> None:
    other = message(0.6, "client", {"id": "a", "method": "tools/list"})
    answer = message(0.7, "server", {"id": "a", "result": {}})
    assert len(shown(CALL, RESULT, other, answer)) == 4
    assert [line[12:24] for line in shown(CALL, RESULT, other, answer, methods=("tools/l*",))] == [
        "tools/list #",
        "tools/list #",
    ]
    assert len(shown(CALL, RESULT, other, answer, ids=("2",))) == 2
    note = message(0.8, "client", {"method": "notifications/initialized"})
    assert shown(note, ids=("2",)) == []
    stderr = StderrRecord(at=1, text="all the same")
    assert shown(stderr, methods=("x",)) == ["    1.000 │ all the same"]


def test_what_is_no_message_is_shown_as_what_it_is() -> None:
    records: list[Record] = [
        JunkRecord(at=1, sender="server", text="Starting\x1b[2J", reason="no JSON"),
        StderrRecord(at=2, text="ready\x07"),
        HttpRecord(at=3, sender="client", connection=2, http=HttpPart(method="GET", path="/mcp")),
        HttpRecord(at=4, sender="server", connection=2, http=HttpPart(status=405), text="gone"),
        HttpRecord(at=4, sender="server", connection=3, http=STREAM),
        ClosedRecord(at=5, sender="client"),
        ClosedRecord(at=6, sender="server"),
    ]
    assert shown(*records) == [
        "    1.000 ← junk: Starting\\x1b[2J (no JSON)",
        "    2.000 │ ready\\x07",
        "    3.000 [2] → GET /mcp",
        "    4.000 [2] ← HTTP 405 gone",
        "    4.000 [3] ← HTTP 200 text/event-stream",
        "    5.000 → the client closed the server's input",
        "    6.000 ← the server closed its output",
    ]


def test_messages_over_http_say_where_they_belong_and_odd_statuses() -> None:
    head = HttpPart(status=400)
    assert shown(
        message(1, "server", {"id": 1, "error": {"code": -1}}, http=head, connection=3)
    ) == ['    1.000 [3] ← answer #1 error -1 (to no request seen here) HTTP 400  {"code":-1}']


def test_control_characters_never_arrive() -> None:
    evil = message(
        0, "server", {"method": "a\x1b[2J", "params": {"name": "b\u202ec", "x": "\x9b\n"}}
    )
    for line in (*shown(evil), *shown(evil, pretty=True)):
        assert line.isprintable()
    broken = MessageRecord(at=0, sender="server", message=Raw(b'["\x7f"]'))
    assert shown(broken) == ['    0.000 ←   "\\x7f"']


def test_the_end_tells_how_it_went() -> None:
    junk = JunkRecord(at=1, sender="server", text="x")
    end = EndRecord(at=12.5, exit_code=3, reason="the server exited with code 3")
    assert shown(CALL, junk, end)[2:] == [
        "   12.500   no answer to tools/call #2 add of the client, 12.0 s ago",
        "   12.500   the server exited with code 3; 1 message, 1 piece of junk",
    ]
    failed = message(0.75, "server", {"id": 2, "result": {"isError": True}})
    assert shown(CALL, failed, EndRecord(at=1))[-1] == "    1.000   the end; 2 messages, 1 failure"


def test_what_http_refused_is_not_missed_at_the_end() -> None:
    asked = message(1, "client", {"id": 1, "method": "ping"}, connection=3)
    refused = HttpRecord(at=2, sender="server", connection=3, http=HttpPart(status=405))
    assert shown(asked, refused, EndRecord(at=3)) == [
        "    1.000 [3] → ping #1",
        "    2.000 [3] ← HTTP 405",
        "    3.000   the end; 1 message",
    ]


def test_times_of_the_day_are_shown_where_the_start_is_known() -> None:
    started = datetime(2026, 11, 30, 23, 59, 59, 900_000, UTC)
    assert shown(RESULT, started=started)[0].startswith("00:00:00.404 ← ")


def test_ascii_is_enough() -> None:
    lines = shown(CALL, RESULT, StderrRecord(at=1, text="é"), ascii_only=True)
    assert all(line.isascii() for line in lines)
    assert lines[1].startswith("    0.504 <- tools/call")
    assert lines[2] == "    1.000 | \\xe9"


@pytest.mark.parametrize(
    ("record", "colour"),
    [
        (CALL, "36"),
        (RESULT, "32"),
        (message(0, "server", {"id": 1, "error": {}}), "31"),
        (JunkRecord(at=0, sender="server", text="x"), "33"),
        (StderrRecord(at=0, text="x"), "2"),
    ],
)
def test_colours_tell_who_and_what(record: Record, colour: str) -> None:
    assert shown(record, colours=True)[0].startswith(f"\x1b[{colour}m")
    assert "\x1b" not in shown(record)[0]
