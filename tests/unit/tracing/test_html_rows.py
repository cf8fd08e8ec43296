"""The rows of the page that shows a recording."""

import msgspec
from msgspec import Raw

from tests.unit.tracing.recordings import MODERN, Told
from wigwag.tracing.html_rows import failures_of, rows_of
from wigwag.tracing.records import (
    ClosedRecord,
    HttpPart,
    HttpRecord,
    JunkRecord,
    StderrRecord,
)


def test_an_answer_and_its_request_know_each_other() -> None:
    told = Told()
    told.asks(1, "tools/call", {"name": "add"})
    told.asks("1", "tools/list")
    told.answers("1", {"tools": []})
    told.refuses(1, -32603, "Internal error")
    rows, _ = rows_of(told.recording)
    assert [(row.kind, row.id, row.pair, row.took, row.bad) for row in rows] == [
        ("request", "1", 3, None, False),
        ("request", '"1"', 2, None, False),
        ("result", '"1"', 1, 1.0, False),
        ("error", "1", 0, 3.0, True),
    ]
    assert rows[3].method == "tools/call"
    assert rows[3].about == "-32603 Internal error"


def test_a_tool_that_failed_is_marked() -> None:
    told = Told()
    told.asks(1, "tools/call", {"name": "add"})
    told.answers(1, {"isError": True, "content": []})
    rows, _ = rows_of(told.recording)
    assert rows[1].bad
    assert rows[1].is_failure


def test_what_was_never_answered_says_so_and_what_was_taken_back_says_that() -> None:
    told = Told()
    told.asks(1, "tools/call", {"name": "slow"})
    told.asks(2, "tools/call", {"name": "slow"})
    told.notifies("notifications/cancelled", {"requestId": 2}, sender="client")
    rows, _ = rows_of(told.recording)
    assert [row.unanswered for row in rows] == ["no answer", "taken back", ""]


def test_a_message_is_shown_with_all_digits_of_its_numbers() -> None:
    told = Told()
    told.says(
        "client", b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"n":12345678901234567890}}'
    )
    rows, _ = rows_of(told.recording)
    assert isinstance(rows[0].raw, Raw)
    assert b"12345678901234567890" in bytes(rows[0].raw)


def test_the_messages_of_a_batch_are_rows_of_their_own() -> None:
    told = Told()
    told.says("client", b'[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"}]')
    rows, facts = rows_of(told.recording)
    assert [row.label for row in rows] == ["a", "b"]
    assert facts.messages == 2


def test_what_is_no_message_has_its_place_too() -> None:
    told = Told()
    told.records += [
        JunkRecord(at=1, sender="server", text="Server  starting\n", reason="no JSON"),
        StderrRecord(at=2, text="warning"),
        HttpRecord(at=3, sender="client", connection=1, http=HttpPart(method="GET", path="/mcp")),
        HttpRecord(at=4, sender="server", connection=1, http=HttpPart(status=405)),
        HttpRecord(at=5, sender="server", connection=1, text="the stream was cut"),
        ClosedRecord(at=6, sender="client"),
    ]
    told.now = 6
    told.ends(1)
    rows, facts = rows_of(told.recording)
    assert [(row.kind, row.label, row.about, row.bad) for row in rows] == [
        ("junk", "not a message", "Server starting", False),
        ("stderr", "standard error", "warning", False),
        ("http", "GET /mcp", "", False),
        ("http", "HTTP 405", "", True),
        ("http", "HTTP", "the stream was cut", False),
        ("closed", "the client closed the server's input", "", False),
        ("end", "exited with code 1", "", True),
    ]
    assert rows[0].is_failure
    assert rows[0].raw == "Server  starting\n"
    assert (facts.end, facts.ended_badly) == ("exited with code 1", True)


def test_the_head_of_an_http_request_is_kept_line_by_line() -> None:
    told = Told(transport="http", target="https://example.com/mcp")
    part = HttpPart(method="POST", path="/mcp", headers={"accept": "application/json"})
    told.asks(1, "ping", http=part, connection=1)
    told.refuses(1, -32600, "no", http=HttpPart(status=400, event_id="7"), connection=1)
    rows, facts = rows_of(told.recording)
    assert rows[0].http == [("POST", "/mcp"), ("accept", "application/json")]
    assert rows[1].http == [("status", "400"), ("event id", "7")]
    assert rows[1].status == 400
    assert (facts.target, facts.transport) == ("https://example.com/mcp", "HTTP")


def test_sessions_are_told_apart_where_there_are_several() -> None:
    for sessions, shown in (((1, 1), [0, 0]), ((1, 2), [1, 2])):
        told = Told(transport="http", target="https://example.com/mcp")
        for number in sessions:
            told.asks(1, "ping", http=HttpPart(session=number))
        rows, _ = rows_of(told.recording)
        assert [row.session for row in rows] == shown


def test_the_whole_is_named_after_who_speaks_and_how() -> None:
    told = Told()
    told.greets()
    told.ends(0)
    _, facts = rows_of(told.recording)
    assert facts.target == "python server.py"
    assert (facts.client, facts.server) == ("host 1", "library 2.0")
    assert facts.revisions == ["2025-11-25 legacy"]
    assert facts.messages == 3
    assert (facts.end, facts.ended_badly) == ("exited with code 0", False)


def test_modern_peers_are_named_by_what_each_message_says() -> None:
    told = Told()
    told.asks(1, "tools/list", {"_meta": MODERN})
    told.answers(
        1,
        {
            "tools": [],
            "_meta": {
                "io.modelcontextprotocol/serverInfo": {"name": "s", "title": "S", "version": "2"}
            },
        },
    )
    _, facts = rows_of(told.recording)
    assert (facts.client, facts.server) == ("host 1", "S 2")
    assert facts.revisions == ["2026-07-28 modern"]
    assert facts.end == "broken off"


def test_the_places_of_failures_are_those_of_their_records() -> None:
    told = Told()
    told.says("client", b'[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"}]')
    told.answers(1, {})
    told.asks(2, "c")
    told.refuses(2, 1, "no")
    told.records.append(StderrRecord(at=9, text="fine"))
    told.asks(3, "d")
    told.ends(1)
    assert failures_of(told.recording) == {3, 5, 6}


def test_what_json_rpc_has_against_a_message_is_noted() -> None:
    told = Told()
    told.asks(1, "ping")
    told.records[0] = msgspec.structs.replace(told.records[0], problem="`jsonrpc` must be 2.0")
    rows, _ = rows_of(told.recording)
    assert (rows[0].note, rows[0].bad) == ("`jsonrpc` must be 2.0", True)
