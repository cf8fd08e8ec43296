"""Messages and junk."""

import pytest

from wigwag.bindings.lines import LineTooLong
from wigwag.tracing.noting import note_message, note_stderr
from wigwag.tracing.records import HttpPart, JunkRecord, MessageRecord
from wigwag.tracing.redaction import REDACTED, Redaction


def test_a_message_is_kept_as_it_was_sent_on_one_line() -> None:
    data = b'{ "jsonrpc": "2.0",\r\n\t"id": 1, "method": "x", "params": {"token": "a", "n": 1.50} }'
    head = HttpPart(method="POST", path="/mcp")
    record = note_message(data, 1.5, "client", Redaction(), http=head, connection=4)
    assert isinstance(record, MessageRecord)
    assert bytes(record.message).decode() == (
        '{ "jsonrpc": "2.0",  \t"id": 1, "method": "x",'
        f' "params": {{"token": "{REDACTED}", "n": 1.50}} }}'
    )
    assert (record.at, record.sender, record.http, record.connection) == (1.5, "client", head, 4)
    assert record.problem == ""


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b'{"id":1,"method":"ping"}', 'Invalid Request: `jsonrpc` must be "2.0"'),
        (
            b'{"jsonrpc":"2.0","id":1,"result":{},"error":{}}',
            "Invalid Request: it has both `result` and `error`",
        ),
    ],
)
def test_a_broken_message_is_one_with_its_problem(data: bytes, problem: str) -> None:
    record = note_message(data, 0.0, "server", Redaction())
    assert isinstance(record, MessageRecord)
    assert record.problem == problem


@pytest.mark.parametrize(
    ("data", "text", "reason"),
    [
        (b"GITHUB_TOKEN=abc", f"GITHUB_TOKEN={REDACTED}", "no JSON: invalid character (byte 0)"),
        (b'"hi"', '"hi"', "Invalid Request: the message is not an object"),
        (b"caf\xc3\xa9 \xff", "café \\xff", "no UTF-8 at byte 6"),
        (LineTooLong(10, b'{"a"'), '{"a" …', "longer than 10 bytes"),
    ],
)
def test_anything_else_is_junk_with_its_reason(
    data: bytes | LineTooLong, text: str, reason: str
) -> None:
    record = note_message(data, 0.0, "server", Redaction())
    assert isinstance(record, JunkRecord)
    assert (record.text, record.reason) == (text, reason)


def test_the_standard_error_has_no_secrets_either() -> None:
    assert note_stderr(b"API_KEY=abc \xff", 1.0, Redaction()).text == f"API_KEY={REDACTED} \\xff"
    assert note_stderr(LineTooLong(9, b"long"), 1.0, Redaction()).text == "long …"
