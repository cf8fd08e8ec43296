"""What a stdio server answers to requests that are odd, doubled or cancelled."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.conftest import Launch, launching
from tests.e2e.host import TOOLS, Host, Message, legacy_request, modern_call, text_of

PING = legacy_request("ping", "ping")


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """One server, and one session, for all tests here."""
    with launching(tmp_path_factory.mktemp("requests")) as launch:
        host = launch(TOOLS)
        host.shake_hands()
        yield host
        host.close_input()
        assert host.rest() == []
        assert host.exit_code() == 0
        assert "Traceback" not in host.stderr


@pytest.fixture(autouse=True)
def stays_alive(host: Host) -> Iterator[None]:
    """Whatever was sent, the next request is served."""
    yield
    assert text_of(host.ask(modern_call("alive", "echo", text="alive"))) == "alive"


def send_odd(host: Host, line: bytes) -> None:
    """Send what is malformed on purpose."""
    host.conversation.expect_invalid("client")
    host.conversation.saw("client", line)
    host.write(line + b"\n")


def call(number: int | str, tool: str, **arguments: Any) -> Message:
    return legacy_request(number, "tools/call", {"name": tool, "arguments": arguments})


def cancel(number: int | str) -> Message:
    return {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": number},
    }


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b'{"jsonrpc":"2.0","id":771,"method":"tools/list","params":[1]}', -32602),
        (b'{"id":772,"method":"ping"}', -32600),
        (b'{"jsonrpc":"1.0","id":773,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":774,"method":7}', -32600),
        (b'{"jsonrpc":"2.0","id":775,"method":"tools/list","params":"x"}', -32602),
        (b'{"jsonrpc":"2.0","id":776,"method":"tools/call","params":{"name":7}}', -32602),
    ],
)
def test_a_malformed_request_is_refused_under_its_id(host: Host, line: bytes, code: int) -> None:
    send_odd(host, line)
    error = host.response(json.loads(line)["id"])["error"]
    assert error["code"] in {code, -32600}


@pytest.mark.parametrize(
    "number", ["0", '""', '"1"', "1", "-1", "9223372036854775807", '"\u00e9\U0001f389"']
)
def test_an_id_comes_back_as_it_was_with_its_type(host: Host, number: str) -> None:
    answer = host.ask(legacy_request(json.loads(number), "ping"))
    assert repr(answer["id"]) == repr(json.loads(number))


@pytest.mark.parametrize("number", ["null", "1.5", "true", "{}", "[1]"])
def test_an_id_that_is_none_is_refused_and_not_passed_over(host: Host, number: str) -> None:
    send_odd(host, b'{"jsonrpc":"2.0","id":%b,"method":"ping"}' % number.encode())
    assert host.response(None)["error"]["code"] == -32600


def test_an_array_of_requests_is_refused_where_the_revision_has_none(host: Host) -> None:
    send_odd(host, json.dumps([PING, PING]).encode())
    assert host.response(None)["error"]["code"] == -32600


def test_an_array_of_requests_is_answered_where_the_revision_has_them(launch: Launch) -> None:
    host = launch(TOOLS)
    host.shake_hands("2025-03-26")
    batch = [legacy_request(1, "ping"), call(2, "echo", text="hello")]
    line = json.dumps(batch).encode()
    host.conversation.saw("client", line)
    host.write(line + b"\n")
    answer = host.read_line()
    host.conversation.saw("server", answer)
    assert {message["id"] for message in json.loads(answer)} == {1, 2}


def test_what_nobody_knows_is_refused_and_what_needs_no_answer_gets_none(host: Host) -> None:
    host.conversation.expect_invalid("client")
    host.send({"jsonrpc": "2.0", "method": "notifications/no/such"})
    host.write(b'{"jsonrpc":"2.0","id":"never asked","result":{}}\n')
    host.write(b'{"jsonrpc":"2.0","id":"extra","method":"ping","more":[1,2,3]}\n')
    host.conversation.saw("client", json.dumps(legacy_request("extra", "ping")).encode())
    assert host.receive()["id"] == "extra"
    host.conversation.expect_invalid("client")
    assert host.ask(legacy_request("no such", "no/such"))["error"]["code"] == -32601


def test_a_cancelled_call_is_interrupted_and_never_answered(host: Host) -> None:
    host.send(call(0xC0, "wait", seconds=600))
    host.wait_for_stderr("wait begins")
    host.send(cancel(0xC0))
    host.wait_for_stderr("wait was cancelled")
    host.send(legacy_request("after", "ping"))
    assert host.receive()["id"] == "after"


def test_cancelling_what_is_not_there_does_nothing(host: Host) -> None:
    host.ask(legacy_request("done", "ping"))
    host.send(cancel("done"), cancel("never asked"))
    for params in (b"{}", b'{"requestId":null}', b"[]"):
        host.write(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":%b}\n' % params)
    host.write(b'{"jsonrpc":"2.0","method":"notifications/cancelled"}\n')
    host.send(legacy_request("after all", "ping"))
    assert host.receive()["id"] == "after all"


def test_a_call_and_its_cancellation_in_one_write_get_one_answer_at_most(host: Host) -> None:
    for number in range(1000, 1200):
        host.send(call(number, "echo", text="quick"), cancel(number))
    host.send(legacy_request("the last", "ping"))
    answered: list[int] = []
    # Second answers are found by what judges the conversation, too.
    while (message := host.receive())["id"] != "the last":
        answered.append(message["id"])
    assert len(set(answered)) == len(answered)
    assert set(answered) <= set(range(1000, 1200))


def test_more_blocking_calls_than_threads_leave_the_server_responsive(host: Host) -> None:
    numbers = list(range(2000, 2100))
    host.send(*(call(number, "block", seconds=0.2) for number in numbers))
    host.send(legacy_request("in between", "ping"))
    assert host.receive()["id"] == "in between"
    for number in numbers:
        assert "result" in host.response(number)
