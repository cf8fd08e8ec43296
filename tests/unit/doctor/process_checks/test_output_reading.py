"""What a server wrote to its standard output."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wigwag.doctor.process_checks.output_reading import read_output

ANSWER = {"jsonrpc": "2.0", "id": 0, "result": {}}
LOG = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "\u2028"}}
A, B = json.dumps(ANSWER), json.dumps(LOG)


@pytest.mark.parametrize(
    ("data", "messages", "faults", "junk"),
    [
        (f"{A}\n{B}\n", [ANSWER, LOG], [], []),
        (f"{A}\r\n\r\n{B}\r\n", [ANSWER, LOG], [], []),
        (f"[{A}, {B}]\n", [ANSWER, LOG], [], []),
        (f"Ready!\n{A}\n", [ANSWER], ["banner-on-stdout"], ["Ready!"]),
        (f"Ready!{A} done\n", [ANSWER], ["banner-on-stdout"], ["Ready!", "done"]),
        (f"[INFO] listening\n{A}\n", [ANSWER], ["banner-on-stdout"], ["[INFO] listening"]),
        (f"42\n{A}\n", [ANSWER], ["banner-on-stdout"], ["42"]),
        (f"{A}{B}\n", [ANSWER, LOG], ["several-messages-in-a-line"], []),
        (f"{A}\r{B}\r", [ANSWER, LOG], ["carriage-return-lines"], []),
        (f"{A}\r{B}\n", [ANSWER, LOG], ["carriage-return-lines"], []),
        (json.dumps(ANSWER, indent=1) + "\n", [ANSWER], ["message-over-several-lines"], []),
        (json.dumps([ANSWER], indent=1) + "\n", [ANSWER], ["message-over-several-lines"], []),
        (A, [ANSWER], ["no-line-end"], []),
        (f"{A}{B}", [ANSWER, LOG], ["no-line-end"], []),
        (f"Content-Length: 9\r\n\r\n{A}\n", [ANSWER], ["content-length-framing"], []),
        (f"\ufeff{A}\n", [ANSWER], ["byte-order-mark"], []),
        ('{"id": 0}\n', [{"id": 0}], ["not-json-rpc"], []),
        ("{not\n", [], ["banner-on-stdout"], ["{not"]),
        ('{"jsonrpc": "2.0", "id"', [], [], []),
        ("Password: ", [], ["banner-on-stdout"], ["Password:"]),
        ("", [], [], []),
    ],
)
def test_messages_are_read_and_faults_are_told(
    data: str, messages: list[object], faults: list[str], junk: list[str]
) -> None:
    output = read_output(data.encode())
    assert output.messages == messages
    assert list(output.faults) == faults
    assert output.junk == junk


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
def test_utf_16_is_read(encoding: str) -> None:
    output = read_output(f"{A}\n".encode(encoding))
    assert output.messages == [ANSWER]
    assert list(output.faults) == ["utf-16"]


def test_what_is_not_utf_8_is_shown_as_bytes_and_read_as_windows_writes_it() -> None:
    output = read_output('{"jsonrpc":"2.0","id":0,"result":"Löwe"}\n'.encode("cp1252"))
    assert output.messages[0]["result"] == "Löwe"
    assert r"L\xf6we" in output.faults["not-utf-8"]


def test_a_character_that_is_not_all_there_yet_is_no_fault() -> None:
    assert read_output(f"{A}\n".encode() + '"ö'.encode()[:2]).faults.keys() <= {"banner-on-stdout"}


def test_a_response_is_found_by_its_very_id() -> None:
    output = read_output(f'{A}\n{{"jsonrpc":"2.0","id":"0","error":{{}}}}\n'.encode())
    assert output.response(0) == ANSWER
    assert output.response("0") == {"jsonrpc": "2.0", "id": "0", "error": {}}
    assert output.response(1) is None


@given(st.binary(max_size=200))
def test_any_bytes_can_be_read(data: bytes) -> None:
    read_output(data)


@given(st.lists(st.sampled_from([A, B, "noise", "{", "[", "\r", "Content-Length: 3", ""])))
def test_every_message_that_has_a_line_of_its_own_is_read(lines: list[str]) -> None:
    output = read_output("".join(f"{line}\n" for line in lines).encode())
    wanted = [json.loads(line) for line in lines if line in (A, B)]
    assert output.messages == wanted
