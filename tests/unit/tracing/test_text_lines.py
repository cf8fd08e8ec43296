"""A recording as text."""

from tests.unit.tracing.recordings import Told
from wigwag.tracing.html_rows import rows_of
from wigwag.tracing.records import HttpPart, StderrRecord
from wigwag.tracing.text_lines import facts_line, text_lines


def lines_of(told: Told, *, whole: bool = False, width: int | None = None) -> list[str]:
    rows, _ = rows_of(told.recording)
    return [str(line) for line in text_lines(rows, whole=whole, width=width)]


def test_each_message_is_a_line() -> None:
    told = Told()
    told.asks(1, "tools/call", {"name": "add"})
    told.notifies("notifications/progress", {"progress": 1})
    told.answers(1, {"content": [{"type": "text", "text": "3"}]})
    told.asks("x", "roots/list", sender="server")
    told.records.append(StderrRecord(at=4.5, text="bye"))
    told.ends()
    assert lines_of(told) == [
        "    1.0000 → #1 tools/call add",
        "    2.0000 ← notifications/progress 1",
        "    3.0000 ← #1 tools/call result 3 (2 s)",
        '    4.0000 ← #"x" roots/list (no answer)',
        "    4.5000 · standard error bye",
        "    5.0000 · exited with code 0",
    ]


def test_the_message_is_shown_below_if_that_is_wanted() -> None:
    told = Told()
    told.says("client", b'{"jsonrpc":"2.0","method":"x"}')
    assert lines_of(told, whole=True) == [
        "    1.0000 → x\n"
        "             {\n"
        '               "jsonrpc": "2.0",\n'
        '               "method": "x"\n'
        "             }"
    ]


def test_what_a_server_sends_cannot_move_the_cursor() -> None:
    told = Told()
    told.notifies("x\x1b[2J", {"a": "\x1b]0;title\x07\u202e"})
    told.records.append(StderrRecord(at=2, text="\x1b[31mred\rover"))
    for line in lines_of(told, whole=True):
        assert all(each.isprintable() or each == "\n" for each in line), repr(line)
    assert "\\x1b[31mred" in lines_of(told)[1]


def test_lines_are_cut_to_the_width_of_a_terminal() -> None:
    told = Told()
    told.asks(1, "tools/call", {"name": "add", "arguments": {"text": "x" * 200}})
    told.answers(1, {"content": [{"type": "text", "text": "y" * 200}]})
    lines = lines_of(told, width=80)
    assert [len(line) for line in lines] == [79, 79]
    assert lines[1].endswith("y… (1 s)")


def test_sessions_and_refusals_of_http_are_named() -> None:
    told = Told(transport="http", target="http://localhost/mcp")
    told.asks(1, "ping", http=HttpPart(session=1), connection=1)
    told.asks(1, "ping", http=HttpPart(session=2), connection=2)
    told.refuses(1, -32600, "no", http=HttpPart(status=404, session=2), connection=2)
    assert lines_of(told)[2] == "    3.0000 ← [2] #1 ping error (HTTP 404) -32600 no (1 s)"


def test_the_whole_is_told_in_one_line() -> None:
    told = Told()
    told.greets()
    told.ends()
    _, facts = rows_of(told.recording)
    assert facts_line(facts) == (
        "python server.py (stdio, 2025-11-25 legacy, recorded 2026-11-30T20:00:00.000Z, "
        "3 messages, exited with code 0)"
    )
