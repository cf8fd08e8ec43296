"""A server process that is a web service: how it begins, what it says, and how it ends."""

import json
import os
import signal
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.asgi import legacy_call, modern, modern_call
from tests.e2e.conftest import Launch, launching
from tests.e2e.host import PATIENCE, SERVERS, SOON, Host, wait_until
from tests.e2e.http_wire import (
    HttpConnection,
    Response,
    address_of,
    begin_session,
    connect,
    request_bytes,
)

WEB = SERVERS / "web.py"
TOKEN = {"progressToken": "p"}


def stop(host: Host, number: signal.Signals = signal.SIGTERM) -> None:
    os.kill(host.process.pid, number)


def listen(connection: HttpConnection) -> Response:
    body, headers = modern(
        "l", "subscriptions/listen", {"notifications": {"toolsListChanged": True}}
    )
    response = connection.call(body, headers)
    assert response.message()["method"] == "notifications/subscriptions/acknowledged"
    return response


def is_plain(host: Host) -> bool:
    """Tell whether nothing on the standard error frightens anybody."""
    return not any(word in host.stderr for word in ("Traceback", "ERROR", "Exception", "Task was"))


# --- what it knows of its clients


@pytest.mark.parametrize(
    ("env", "forwarded", "known"),
    [
        ({}, {}, "http 127.0.0.1"),
        ({}, {"X-Forwarded-For": "203.0.113.9"}, "http 203.0.113.9"),
        ({}, {"X-Forwarded-Proto": "https"}, "https 127.0.0.1"),
        (
            {"FORWARDED_ALLOW_IPS": "10.0.0.1"},
            {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https"},
            "http 127.0.0.1",
        ),
    ],
)
def test_a_proxy_that_is_trusted_says_who_its_client_is(
    launch: Launch, env: dict[str, str], forwarded: dict[str, str], known: str
) -> None:
    host = launch(WEB, env=env)
    with connect(address_of(host)) as connection:
        body, headers = modern_call(1, "came_from")
        answer = connection.call(body, headers | forwarded)
        assert answer.json()["result"]["content"][0]["text"] == known


# --- how it begins


def test_it_says_where_it_listens_and_serves_there(launch: Launch) -> None:
    host = launch(WEB)
    with connect(address_of(host)) as connection:
        answer = connection.call(*modern_call(1, "echo", {"text": "hello"}))
        assert answer.json()["result"]["content"][0]["text"] == "hello"
        health = connection.ask("GET", "/health", host="whatever.example")
        assert (health.status, health.json()) == (200, {"status": "ok"})
    stop(host)
    assert host.exit_code(within=SOON) == 0
    lines = host.stderr.splitlines()
    assert [line.split("//")[0] for line in lines] == [
        "the lifespan begins", "web listens on http:", "the lifespan ends",
    ]  # fmt: skip


def test_a_port_that_is_taken_is_told_in_one_line(launch: Launch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        host = launch(WEB, "--port", f"{port}")
        assert host.exit_code() == 1
    (line,) = host.stderr.splitlines()
    assert line.startswith("web cannot serve: ")
    assert f"{port}" in line


def test_a_lifespan_that_fails_ends_the_process(launch: Launch) -> None:
    host = launch(WEB, "--fails-to-start")
    assert host.exit_code() == 1
    assert "no database" in host.stderr
    assert "listens on" not in host.stderr


@pytest.mark.parametrize("wrong", ["missing", "garbage"])
def test_a_certificate_that_cannot_be_used_is_told(
    launch: Launch, tmp_path: Path, wrong: str
) -> None:
    path = tmp_path / "cert.pem"
    if wrong == "garbage":
        path.write_text("nonsense")
    host = launch(WEB, "--certfile", path)
    assert host.exit_code() == 1
    (line,) = host.stderr.splitlines()
    assert line.startswith("web cannot serve: ")
    assert str(path) in line


def test_it_speaks_tls(launch: Launch, tmp_path: Path) -> None:
    trustme = pytest.importorskip("trustme")
    authority = trustme.CA()
    issued = authority.issue_cert("localhost")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    cert.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    issued.private_key_pem.write_to_path(key)
    context = ssl.create_default_context()
    authority.configure_trust(context)
    host = launch(WEB, "--certfile", cert, "--keyfile", key)
    address = address_of(host)
    assert "https://127.0.0.1:" in host.stderr
    with connect(address, context=context) as connection:
        answer = connection.call(*modern_call(1, "echo", {"text": "secret"}))
        assert answer.json()["result"]["content"][0]["text"] == "secret"
    stop(host)
    assert host.exit_code(within=SOON) == 0
    assert is_plain(host)


def test_it_listens_on_ipv6(launch: Launch) -> None:
    if not has_ipv6():
        pytest.skip("this machine has no IPv6")
    host = launch(WEB, "--host", "::1")
    with connect(address_of(host)) as connection:
        for name in ("[::1]", "localhost"):
            body, headers = modern_call(1, "echo", {"text": "x"})
            assert connection.call(body, headers, host=name).json()["id"] == 1
        body, headers = modern_call(1, "echo", {"text": "x"})
        assert connection.call(body, headers, host="evil.example").status == 403
    assert "http://[::1]:" in host.stderr


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


def test_an_open_door_is_said_to_be_open_once(launch: Launch) -> None:
    host = launch(WEB, "--host", "0.0.0.0")
    address_of(host)
    wait_until(lambda: "allowed_hosts" in host.stderr, "it is said")
    stop(host)
    host.exit_code(within=SOON)
    assert host.stderr.count("allowed_hosts") == 1


def test_a_refused_host_is_told_with_the_setting_that_would_allow_it(launch: Launch) -> None:
    host = launch(WEB)
    with connect(address_of(host)) as connection:
        body, headers = modern_call(1, "echo", {"text": "x"})
        assert connection.call(body, headers, host="mcp.example.com").status == 403
    host.wait_for_stderr("add 'mcp.example.com' to allowed_hosts")


# --- how it ends


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)], ids=["TERM", "INT"]
)
def test_it_ends_at_once_though_streams_are_open(
    launch: Launch, number: signal.Signals, code: int
) -> None:
    host = launch(WEB)
    address = address_of(host)
    with ExitStack() as stack:
        listening = listen(stack.enter_context(connect(address)))
        connection = stack.enter_context(connect(address))
        session = begin_session(connection)
        standalone = connection.ask("GET", headers={**session, "Accept": "text/event-stream"})
        assert standalone.block()
        old = stack.enter_context(connect(address)).ask("GET", "/sse")
        assert "endpoint" in old.block()
        idle = stack.enter_context(connect(address))
        idle.ask("GET", "/health").read_body()
        calling = stack.enter_context(connect(address))
        call = calling.call(*modern_call(1, "wait", {"seconds": 0.3}, meta=TOKEN))
        assert call.message()["method"] == "notifications/progress"
        stop(host, number)
        assert host.exit_code(within=SOON) == code
        (result,) = listening.messages()
        assert (result["id"], result["result"]["resultType"]) == ("l", "complete")
        assert standalone.messages() == []
        assert old.messages() == []
        (answer,) = call.messages()
        assert answer["result"]["content"][0]["text"] == "waited"
    assert is_plain(host)
    assert host.stderr.count("the lifespan ends") == 1


@pytest.mark.parametrize("tool", ["wait", "block"])
def test_a_call_that_takes_too_long_is_cut_off(launch: Launch, tool: str) -> None:
    host = launch(WEB, "--grace", "0.2")
    with connect(address_of(host)) as connection:
        connection.send(_post(*modern_call(1, tool, {"seconds": 60})))
        host.wait_for_stderr(f"{tool} begins")
        stop(host)
        assert host.exit_code(within=SOON) == 0
        assert b"the server ends" in connection.rest()
    assert is_plain(host)


def _post(body: object, headers: dict[str, str]) -> bytes:
    return request_bytes("POST", body=json.dumps(body).encode(), headers=headers)


def test_a_second_signal_does_not_ask(launch: Launch) -> None:
    host = launch(WEB, "--grace", "60")
    with connect(address_of(host)) as connection:
        connection.send(_post(*modern_call(1, "wait", {"seconds": 60})))
        host.wait_for_stderr("wait begins")
        stop(host, signal.SIGINT)
        with pytest.raises(AssertionError):
            host.exit_code(within=0.3)
        stop(host, signal.SIGINT)
        assert host.exit_code(within=SOON) == 130


def test_a_client_that_does_not_read_does_not_hold_up_the_end(launch: Launch) -> None:
    host = launch(WEB, "--grace", "0.1")
    address = address_of(host)
    with connect(address) as stuck, connect(address) as connection:
        arguments = {"messages": 200, "size": 100_000}
        stuck.send(_post(*modern_call(1, "flood", arguments, meta=TOKEN)))
        host.wait_for_stderr("flood has sent everything")
        session = begin_session(connection)
        body = legacy_call(1, "flood", arguments, token="p")
        stuck_too = connection
        stuck_too.send(_post(body, session))
        wait_until(lambda: host.stderr.count("sent everything") == 2, "both are stuck")
        with connect(address) as other:
            assert other.call(*modern_call(1, "echo", {"text": "x"})).status == 200
        stop(host)
        assert host.exit_code(within=SOON) == 0
    assert "Traceback" not in host.stderr


def test_no_connection_is_taken_while_it_ends(launch: Launch) -> None:
    host = launch(WEB)
    address = address_of(host)
    with connect(address) as connection, connect(address) as kept:
        kept.ask("GET", "/health").read_body()
        connection.send(_post(*modern_call(1, "wait", {"seconds": 3})))
        host.wait_for_stderr("wait begins")
        stop(host)
        late = kept.call(*modern_call(1, "echo", {"text": "x"}))
        assert late.status in (200, 503)
        assert connection.head().json()["result"]["content"][0]["text"] == "waited"
    assert host.exit_code(within=SOON) == 0
    assert is_plain(host)


# --- bytes that no client should send


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"GET /mcp HTTP/1.1\r\n\r\n", 403),
        (b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n", 400),
        (b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n", 413),
        (request_bytes("POST", body=b"[" * 100_000), 400),
        (request_bytes("POST", body=b'{"a":' * 100_000), 400),
        (request_bytes("POST", body=b"\xff\xfe\x00"), 400),
        (request_bytes("POST", "/mcp?x=%ff%00", body=b"{}"), 400),
        (request_bytes("POST", "//mcp", body=b"{}"), 404),
        (request_bytes("GET", "/../mcp"), 404),
        (request_bytes("GET", "/%6dcp"), 400),
    ],
)
def test_odd_requests_are_refused(
    site: tuple[Host, tuple[str, int]], data: bytes, status: int
) -> None:
    host, address = site
    with connect(address) as connection:
        connection.send(data)
        assert connection.head().status == status
    with connect(address) as connection:
        assert connection.ask("GET", "/health").status == 200
    assert "Traceback" not in host.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Host, tuple[str, int]]]:
    with launching(tmp_path_factory.mktemp("site")) as launch:
        host = launch(WEB)
        yield host, address_of(host)


def test_requests_may_follow_one_another_without_waiting(
    site: tuple[Host, tuple[str, int]],
) -> None:
    _, address = site
    with connect(address) as connection:
        calls = [modern_call(number, "echo", {"text": f"{number}"}) for number in range(5)]
        connection.send(b"".join(_post(*call) for call in calls))
        assert [connection.head().json()["id"] for _ in calls] == [0, 1, 2, 3, 4]


def test_a_body_may_come_in_chunks_and_slowly(site: tuple[Host, tuple[str, int]]) -> None:
    _, address = site
    body, headers = modern_call(1, "echo", {"text": "é" * 10})
    data = json.dumps(body, ensure_ascii=False).encode()
    with connect(address) as connection:
        lines = {**headers, "Transfer-Encoding": "chunked", "Content-Type": "application/json"}
        connection.send(request_bytes("POST", headers=lines))
        for start in range(0, len(data), 11):
            part = data[start : start + 11]
            connection.send(b"%x\r\n%b\r\n" % (len(part), part))
        connection.send(b"0\r\n\r\n")
        assert connection.head().json()["id"] == 1


def test_a_client_may_wait_to_be_told_to_go_on(site: tuple[Host, tuple[str, int]]) -> None:
    _, address = site
    body, headers = modern_call(1, "echo", {"text": "x"})
    data = json.dumps(body).encode()
    with connect(address) as connection:
        lines = {**headers, "Expect": "100-continue", "Content-Type": "application/json"}
        lines["Content-Length"] = f"{len(data)}"
        connection.send(request_bytes("POST", headers=lines))
        assert connection.read_until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue"
        connection.send(data)
        assert connection.head().json()["id"] == 1


def test_silent_streams_are_kept_alive_on_the_wire(launch: Launch) -> None:
    host = launch(WEB, "--keep-alive", "0.05")
    with connect(address_of(host)) as connection:
        response = listen(connection)
        assert response.headers["x-accel-buffering"] == "no"
        assert [response.block() for _ in range(3)] == [": keep-alive"] * 3


def test_a_client_that_closes_its_connection_cancels(
    site: tuple[Host, tuple[str, int]],
) -> None:
    host, address = site
    for number in range(3):
        with connect(address) as connection:
            connection.send(_post(*modern_call(1, "wait", {"seconds": 60})))
            wait_until(lambda n=number: host.stderr.count("wait begins") > n, "it begins")  # type: ignore[misc]
        wait_until(
            lambda n=number: host.stderr.count("was cancelled") > n,  # type: ignore[misc]
            "it is cancelled",
            timeout=PATIENCE,
        )
