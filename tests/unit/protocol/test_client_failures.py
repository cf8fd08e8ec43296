import json
from typing import Any

import pytest

from tests.pair import client_description, error, only
from wigwag.errors import (
    ConnectionClosed,
    HttpStatusError,
    NotMcp,
    RemoteProtocolError,
    RequestFailed,
)
from wigwag.protocol.client import ClientProtocol, may_be_http_sse
from wigwag.protocol.events import Connected, ConnectFailed, ErrorReceived, Event, RequestLost
from wigwag.schema import (
    LATEST_LEGACY,
    LATEST_MODERN,
    LEGACY_REVISIONS,
    MODERN_REVISIONS,
    REVISIONS,
)


class Asked:
    """A client whose requests fail without an answer."""

    def __init__(self, revisions: Any = REVISIONS) -> None:
        self.client = ClientProtocol(client_description(revisions=revisions))
        self.client.connect(now=0.0)
        self.events: list[Event] = []
        self.next()

    def next(self) -> None:
        """Take the next message of the client's."""
        (message,) = self.client.messages_to_send()
        self.message = json.loads(message)

    def fail(self, failure: Exception) -> None:
        """Let the last request fail."""
        id_ = self.message["id"]
        self.events = list(self.client.receive_failure(id_, failure, now=1.0))

    @property
    def method(self) -> str:
        """The method of what the client asked last."""
        self.next()
        method: str = self.message["method"]
        return method


def status(number: int, body: str = "") -> HttpStatusError:
    return HttpStatusError("http://x/mcp", number, "Whatever", body, {})


def refused(number: int, code: int, message: str = "no", data: Any = None) -> HttpStatusError:
    return status(number, json.dumps(error("another id", code, message, data)))


@pytest.mark.parametrize("number", [400, 404, 405, 406, 410, 415, 422])
def test_a_refusal_without_a_modern_error_means_legacy(number: int) -> None:
    for failure in (status(number), status(number, "<html>"), refused(number, -32000)):
        server = Asked()
        server.fail(failure)
        assert server.events == []
        assert server.method == "initialize"


@pytest.mark.parametrize("number", [301, 307, 401, 403, 407, 429, 500, 502, 503])
def test_other_statuses_are_raised(number: int) -> None:
    server = Asked()
    failure = status(number)
    server.fail(failure)
    assert only(ConnectFailed, server.events).error is failure
    assert server.client.messages_to_send() == []


def test_a_connection_that_is_none_is_raised() -> None:
    server = Asked()
    failure = ConnectionClosed("gone")
    server.fail(failure)
    assert only(ConnectFailed, server.events).error is failure


def test_what_is_no_mcp_may_be_legacy_once() -> None:
    server = Asked()
    server.fail(NotMcp("a web page"))
    assert server.method == "initialize"
    failure = NotMcp("a web page")
    server.fail(failure)
    assert only(ConnectFailed, server.events).error is failure


@pytest.mark.parametrize("number", [200, 400, 404, 500])
def test_an_unsupported_version_is_asked_again(number: int) -> None:
    server = Asked()
    server.fail(refused(number, -32022, data={"supported": [LATEST_MODERN]}))
    assert server.method == "server/discover"


def test_method_not_found_with_404_is_modern_and_with_another_status_legacy() -> None:
    server = Asked()
    server.fail(refused(404, -32601))
    connected = only(Connected, server.events)
    assert connected.revision == LATEST_MODERN
    assert server.client.connected is connected
    server.client.check_request("tools/list")
    server.client.check_request("subscriptions/listen")
    server = Asked()
    server.fail(refused(400, -32601))
    assert server.method == "initialize"


def test_who_speaks_of_modern_meta_is_modern() -> None:
    server = Asked()
    server.fail(refused(400, -32602, "missing io.modelcontextprotocol/clientInfo"))
    assert isinstance(only(ConnectFailed, server.events).error, RequestFailed)


def test_a_modern_client_has_nothing_to_fall_back_to() -> None:
    server = Asked(MODERN_REVISIONS)
    server.fail(status(404, "not here"))
    failure = only(ConnectFailed, server.events).error
    assert isinstance(failure, RemoteProtocolError)
    assert "http://x/mcp answered 404 Whatever: not here" in str(failure)


def test_a_refused_handshake_keeps_the_status_as_its_cause() -> None:
    server = Asked(LEGACY_REVISIONS)
    failure = refused(400, -32000, "no way")
    server.fail(failure)
    refusal = only(ConnectFailed, server.events).error
    assert isinstance(refusal, RequestFailed)
    assert refusal.__cause__ is failure
    assert may_be_http_sse(refusal)


def test_a_handshake_that_a_modern_server_refuses_leads_back() -> None:
    server = Asked()
    server.fail(status(400))
    server.next()
    server.fail(refused(400, -32022, data={"supported": [LATEST_MODERN]}))
    assert server.method == "server/discover"


@pytest.mark.parametrize(
    ("failure", "may_be"),
    [
        (status(400), True),
        (status(404), True),
        (status(405), True),
        (status(401), False),
        (status(403), False),
        (status(500), False),
        (RequestFailed(-32000, "no"), False),  # with status 200
        (NotMcp("a web page"), False),
    ],
)
def test_only_some_refusals_may_come_from_an_older_transport(
    failure: Exception,
    may_be: bool,  # noqa: FBT001
) -> None:
    assert may_be_http_sse(failure) is may_be


def test_a_modern_refusal_never_comes_from_an_older_transport() -> None:
    refusal = RequestFailed(-32020, "no")
    refusal.__cause__ = status(400)
    assert not may_be_http_sse(refusal)


def connected_client() -> Asked:
    server = Asked()
    answer = {"protocolVersion": LATEST_LEGACY, "capabilities": {"tools": {}},
              "serverInfo": {"name": "s", "version": "1"}}  # fmt: skip
    server.fail(status(404))
    server.next()
    text = json.dumps({"jsonrpc": "2.0", "id": server.message["id"], "result": answer})
    server.client.receive_message(text.encode(), now=1.0)
    server.client.messages_to_send()
    return server


def test_a_request_that_fails_is_reported_once() -> None:
    server = connected_client()
    request = server.client.send_request("tools/list", now=2.0)
    assert server.client.is_waiting(request.id)
    failure = ConnectionClosed("gone")
    (lost,) = server.client.receive_failure(request.id, failure, now=3.0)
    assert isinstance(lost, RequestLost)
    assert (lost.request, lost.error) == (request, failure)
    assert not server.client.is_waiting(request.id)
    assert server.client.receive_failure(request.id, failure, now=4.0) == ()


def test_an_error_in_the_body_of_a_failure_is_as_good_as_an_answer() -> None:
    server = connected_client()
    request = server.client.send_request("tools/list", now=2.0)
    (event,) = server.client.receive_failure(request.id, refused(500, -32603, "oops"), now=3.0)
    assert isinstance(event, ErrorReceived)
    assert (event.request, event.error.code, event.error.message) == (request, -32603, "oops")


@pytest.mark.parametrize("number", [401, 403])
def test_who_is_not_let_in_gets_the_status_whatever_the_body(number: int) -> None:
    server = connected_client()
    request = server.client.send_request("tools/list", now=2.0)
    failure = refused(number, -32001)
    (event,) = server.client.receive_failure(request.id, failure, now=3.0)
    assert isinstance(event, RequestLost)
    assert event.error is failure


def test_a_modern_server_learns_of_a_cancellation_otherwise_where_the_transport_can() -> None:
    for closes, told in ((True, 0), (False, 1)):
        client = ClientProtocol(client_description())
        client.closes_to_cancel = closes
        client.connect(now=0.0)
        (probe,) = client.messages_to_send()
        client.receive_failure(json.loads(probe)["id"], refused(404, -32601), now=1.0)
        request = client.send_request("tools/list", now=2.0)
        client.messages_to_send()
        client.forget(request, "nobody waits")
        assert len(client.messages_to_send()) == told
