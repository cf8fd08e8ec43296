"""What a stdio server's standard streams are good for: the protocol alone, byte for byte."""

import json

import pytest

from tests.e2e.conftest import Launch
from tests.e2e.host import (
    TOOLS,
    encode,
    legacy_request,
    modern_call,
    modern_request,
    text_of,
)

NON_ASCII = "Đ é 中 🎉 ✓"
SEPARATORS = "a\u2028b\u2029c\u0085d\u000be\u000cf"
ASCII_LOCALE = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}


@pytest.mark.parametrize(
    "tool",
    ["print_text", "write_to_descriptor_1", "print_in_c", "print_in_child", "log_text"],
)
def test_nothing_that_a_tool_prints_reaches_the_wire(launch: Launch, tool: str) -> None:
    host = launch(TOOLS)
    assert "error" not in host.ask(modern_call(1, tool, text="printed by mistake"))
    assert text_of(host.ask(modern_call(2, "echo", text="still here"))) == "still here"
    host.close_input()
    # Every line of the output is judged as a message; there is none of any other kind.
    assert host.rest() == []
    assert host.exit_code() == 0
    assert "printed by mistake" in host.stderr


def test_nothing_that_is_printed_while_the_server_starts_reaches_the_wire(launch: Launch) -> None:
    host = launch(TOOLS, "--slow-to-start", "0.01")
    assert text_of(host.ask(modern_call(1, "echo", text="hello"))) == "hello"
    assert host.stderr == "starting\n"


def test_a_child_process_that_reads_its_input_sees_the_end_at_once(launch: Launch) -> None:
    host = launch(TOOLS)
    host.shake_hands()
    # All in one write: what the child would steal is there already.
    host.send(
        legacy_request(1, "tools/call", {"name": "read_in_child", "arguments": {}}),
        legacy_request(2, "ping"),
        legacy_request(3, "tools/call", {"name": "read_input", "arguments": {}}),
        legacy_request(4, "ping"),
    )
    assert host.response(2)["result"] == {}
    assert host.response(4)["result"] == {}
    assert text_of(host.response(1)) == ""
    assert text_of(host.response(3)) == ""


def test_pings_are_answered_while_tools_block(launch: Launch) -> None:
    host = launch(TOOLS)
    host.shake_hands()
    host.send(
        *(
            legacy_request(number, "tools/call", {"name": "block", "arguments": {"seconds": 60}})
            for number in range(3)
        )
    )
    host.wait_for_stderr("block begins")
    assert host.ask(legacy_request("ping", "ping"))["result"] == {}


def test_answers_come_as_they_are_ready_not_in_order(launch: Launch) -> None:
    host = launch(TOOLS)
    host.send(modern_call("slow", "wait", seconds=60), modern_call("quick", "echo", text="first"))
    assert host.receive()["id"] == "quick"


@pytest.mark.parametrize("text", [NON_ASCII, SEPARATORS])
def test_the_wire_is_utf8_whatever_the_locale(launch: Launch, text: str) -> None:
    host = launch(TOOLS, env=ASCII_LOCALE)
    request = encode(modern_call(1, "echo", text=text))
    assert text[0].encode() in request  # as it is, not escaped
    assert text_of(host.ask(modern_call(1, "echo", text=text))) == text
    host.close_input()
    assert host.exit_code() == 0


@pytest.mark.parametrize("tool", ["print_text", "log_text"])
def test_printing_works_whatever_the_locale(launch: Launch, tool: str) -> None:
    host = launch(TOOLS, env=ASCII_LOCALE)
    response = host.ask(modern_call(1, tool, text=NON_ASCII))
    assert response["result"].get("isError", False) is False
    host.wait_for_stderr(NON_ASCII)


def test_a_failure_with_any_text_leaves_the_server_alive_and_stays_in_its_log(
    launch: Launch,
) -> None:
    host = launch(TOOLS, env=ASCII_LOCALE)
    result = host.ask(modern_call(1, "fail", text=f"secret {NON_ASCII}"))["result"]
    assert result["isError"] is True
    assert "secret" not in json.dumps(result)
    host.wait_for_stderr(f"ValueError: secret {NON_ASCII}")
    assert text_of(host.ask(modern_call(2, "echo", text="alive"))) == "alive"


@pytest.mark.parametrize("tool", ["leave", "leave_event_loop"])
def test_a_tool_that_calls_sys_exit_fails_and_the_server_stays(launch: Launch, tool: str) -> None:
    host = launch(TOOLS)
    assert host.ask(modern_call(1, tool, code=3))["result"]["isError"] is True
    assert text_of(host.ask(modern_call(2, "echo", text="alive"))) == "alive"
    host.close_input()
    assert host.exit_code() == 0


def test_ten_mebibytes_come_back_as_they_were(launch: Launch) -> None:
    host = launch(TOOLS)
    text = "0123456789abcdef" * (10 * 1024 * 1024 // 16)
    assert text_of(host.ask(modern_call(1, "echo", text=text))) == text


def test_a_line_over_the_limit_is_refused_by_its_id_and_the_rest_is_served(
    launch: Launch,
) -> None:
    host = launch(TOOLS, "--max-message-bytes", "2000")
    host.send(
        modern_call("before", "echo", text="short"),
        modern_call("too long", "echo", text="x" * 300_000),
        modern_call("after", "echo", text="short"),
    )
    assert text_of(host.response("before")) == "short"
    error = host.response("too long")["error"]
    assert error["code"] == -32600
    assert "2000" in error["message"]
    assert text_of(host.response("after")) == "short"


@pytest.mark.parametrize(
    "junk", [b"hello?\n", b"\xff\xfe\n", b"{\n", b'{"jsonrpc":"2.0","id":1,"method":\n']
)
def test_bytes_that_are_no_message_are_answered_and_the_rest_is_served(
    launch: Launch, junk: bytes
) -> None:
    host = launch(TOOLS)
    host.write(junk)
    assert host.response(None)["error"]["code"] == -32700
    assert text_of(host.ask(modern_call(2, "echo", text="alive"))) == "alive"


def test_a_message_may_arrive_byte_by_byte_and_with_a_carriage_return(launch: Launch) -> None:
    host = launch(TOOLS)
    message = modern_request(1, "server/discover")
    host.conversation.saw("client", encode(message))
    for byte in encode(message)[:-1] + b"\r\n":
        host.write(bytes([byte]))
    assert "2026-07-28" in host.response(1)["result"]["supportedVersions"]
