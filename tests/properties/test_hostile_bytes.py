"""No bytes crash either end, or keep it from going on; and whatever it says is sound."""

import json

from hypothesis import given
from hypothesis import strategies as st

from tests.pair import modern_meta, request
from tests.properties.strategies import hostile_bytes
from tests.properties.test_messages import clients, server_with
from tests.wire import WireValidator
from wigwag.bindings.lines import LineDecoder, LineTooLong
from wigwag.jsonrpc.codec import overlong_message
from wigwag.protocol.events import RequestReceived
from wigwag.protocol.peer import PeerProtocol
from wigwag.schema import LEGACY_REVISIONS

VALIDATOR = WireValidator()
sessions = st.sampled_from([None, *LEGACY_REVISIONS])
LIMIT = 400


def feed(end: PeerProtocol, chunks: list[bytes]) -> list[bytes]:
    """Feed what arrives on a pipe and return what is said to it."""
    decoder = LineDecoder(max_line_bytes=LIMIT)
    lines = [line for chunk in chunks for line in decoder.feed(chunk)] + decoder.end()
    sent: list[bytes] = []
    for line in lines:
        if isinstance(line, LineTooLong):
            events = end.receive_invalid(overlong_message(line.head, line.limit))
        else:
            events = end.receive_message(line, now=0.0)
        for event in events:
            if isinstance(event, RequestReceived):
                end.send_error(event, 7, "asked")
        sent += end.messages_to_send()
    assert end.requests_in_flight() == []
    return sent


@given(chunks=st.lists(hostile_bytes, max_size=6), revision=sessions)
def test_no_bytes_trouble_a_server(chunks: list[bytes], revision: str | None) -> None:
    server = server_with(revision)
    for data in feed(server, chunks):
        assert b"\n" not in data
        value = json.loads(data)
        for message in value if isinstance(value, list) else [value]:
            assert VALIDATOR.validate(message, revision="2025-11-25", sender="server") == []
    ask = json.dumps(request("still there?", "server/discover", {"_meta": modern_meta()}))
    (answer,) = feed(server, [b"\n" + ask.encode()])
    assert json.loads(answer)["id"] == "still there?"


@given(chunks=st.lists(hostile_bytes, max_size=6))
def test_no_bytes_trouble_a_client(chunks: list[bytes]) -> None:
    for name, client in clients().items():
        for data in feed(client, chunks):
            assert b"\n" not in data
            sent = json.loads(data)
            assert name != "modern", sent
        client.handle_timeout(100.0)
        client.fail_all()
        assert client.next_deadline() is None


@given(data=hostile_bytes)
def test_a_line_that_is_no_message_gets_at_most_one_answer(data: bytes) -> None:
    for revision in (None, "2025-11-25"):
        sent = feed(server_with(revision), [data.replace(b"\n", b" ")])
        assert len(sent) <= 1
