"""What a stdio server's standard streams are good for: the protocol alone, byte for byte."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.conftest import Launch, launching
from tests.e2e.host import TOOLS, Host, Message, encode, legacy_request, modern_call, text_of

NON_ASCII = "Đ é 中 🎉 ✓"
SEPARATORS = "a\u2028b\u2029c\u0085d\u000be\u000cf"
# Stands for all the places where the system's encoding is not UTF-8.
ASCII_LOCALE = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}

numbers = itertools.count(1)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """One server for all tests here that leave it alive, which is what most of them are about."""
    with launching(tmp_path_factory.mktemp("wire")) as launch:
        host = launch(TOOLS, env=ASCII_LOCALE)
        host.shake_hands()
        yield host
        # Every line of the output has been judged as a message; there was none of any other kind.
        host.close_input()
        assert host.rest() == []
        assert host.exit_code() == 0


def call(tool: str, **arguments: Any) -> Message:
    return modern_call(next(numbers), tool, **arguments)


def ping() -> Message:
    return legacy_request(next(numbers), "ping")


def assert_alive(host: Host) -> None:
    assert text_of(host.ask(call("echo", text="alive"))) == "alive"


# --- output


@pytest.mark.parametrize(
    "tool",
    ["print_text", "write_to_descriptor_1", "print_in_c", "print_in_child", "log_text"],
)
def test_nothing_that_a_tool_prints_reaches_the_wire(host: Host, tool: str) -> None:
    text = f"{tool} {NON_ASCII}"
    assert host.ask(call(tool, text=text))["result"].get("isError", False) is False
    assert_alive(host)
    host.wait_for_stderr(text)


def test_nothing_that_is_printed_while_the_server_starts_reaches_the_wire(launch: Launch) -> None:
    host = launch(TOOLS, "--slow-to-start", "0.01")
    assert_alive(host)
    assert host.stderr == "starting\n"


def test_a_failure_stays_in_the_log_whatever_its_text(host: Host) -> None:
    result = host.ask(call("fail", text=f"secret {NON_ASCII}"))["result"]
    assert result["isError"] is True
    assert "secret" not in json.dumps(result)
    host.wait_for_stderr(f"ValueError: secret {NON_ASCII}")
    assert_alive(host)


@pytest.mark.parametrize("tool", ["leave", "leave_event_loop"])
def test_a_tool_that_calls_sys_exit_fails_and_the_server_stays(host: Host, tool: str) -> None:
    assert host.ask(call(tool, code=3))["result"]["isError"] is True
    assert_alive(host)


# --- input


def test_a_child_process_that_reads_its_input_sees_the_end_at_once(host: Host) -> None:
    messages = [call("read_in_child"), ping(), call("read_input"), ping()]
    host.send(*messages)  # in one write: what the child would steal is there already
    in_child, _, in_process, _ = (host.response(message["id"]) for message in messages)
    assert text_of(in_child) == ""
    assert text_of(in_process) == ""


def test_pings_are_answered_while_tools_block(host: Host) -> None:
    calls = [call("block", seconds=1.0) for _ in range(3)]
    host.send(*calls)
    host.wait_for_stderr("block begins")
    question = ping()
    host.send(question)
    assert host.receive()["id"] == question["id"]
    for one in calls:
        host.response(one["id"])


def test_answers_come_as_they_are_ready_not_in_order(host: Host) -> None:
    slow, quick = call("wait", seconds=0.5), call("echo", text="first")
    host.send(slow, quick)
    assert host.receive()["id"] == quick["id"]
    assert host.receive()["id"] == slow["id"]


@pytest.mark.parametrize("text", [NON_ASCII, SEPARATORS])
def test_the_wire_is_utf8_whatever_the_locale(host: Host, text: str) -> None:
    message = call("echo", text=text)
    assert text[1:3].encode() in encode(message)  # as it is, not escaped
    assert text_of(host.ask(message)) == text


def test_ten_mebibytes_come_back_as_they_were(host: Host) -> None:
    text = "0123456789abcdef" * (10 * 1024 * 1024 // 16)
    assert text_of(host.ask(call("echo", text=text))) == text


@pytest.mark.parametrize(
    "junk", [b"hello?\n", b"\xff\xfe\n", b"{\n", b'{"jsonrpc":"2.0","id":1,"method":\n']
)
def test_bytes_that_are_no_message_are_answered_and_the_rest_is_served(
    host: Host, junk: bytes
) -> None:
    host.write(junk)
    assert host.response(None)["error"]["code"] == -32700
    assert_alive(host)


def test_a_message_may_arrive_byte_by_byte_and_with_a_carriage_return(host: Host) -> None:
    message = call("echo", text="in pieces")
    host.conversation.saw("client", encode(message))
    for byte in encode(message)[:-1] + b"\r\n":
        host.write(bytes([byte]))
    assert text_of(host.response(message["id"])) == "in pieces"


def test_a_line_over_the_limit_is_refused_by_its_id_and_the_rest_is_served(
    launch: Launch,
) -> None:
    host = launch(TOOLS, "--max-message-bytes", "2000")
    messages = [call("echo", text=text) for text in ("short", "x" * 300_000, "short")]
    host.send(*messages)
    before, refused, after = (host.response(message["id"]) for message in messages)
    assert text_of(before) == "short"
    assert refused["error"]["code"] == -32600
    assert "2000" in refused["error"]["message"]
    assert text_of(after) == "short"
