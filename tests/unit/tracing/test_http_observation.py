"""What the records of HTTP say."""

import json
import zlib
from typing import Any, Literal

import pytest

from wigwag.tracing.http_framing import Head
from wigwag.tracing.http_observation import HttpObservation, HttpPiece
from wigwag.tracing.records import (
    EndRecord,
    HttpPart,
    HttpRecord,
    JunkRecord,
    MessageRecord,
    Record,
    Sender,
)
from wigwag.tracing.redaction import REDACTED, Redaction

JSON = "Content-Type: application/json"
EVENTS = "Content-Type: text/event-stream; charset=utf-8"
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
PONG = b'{"jsonrpc":"2.0","id":1,"result":{}}'


class Observed:
    """What is told of what passes."""

    def __init__(self) -> None:
        self._observation = HttpObservation(Redaction())

    def piece(
        self,
        connection: int,
        sender: Sender,
        kind: Any,
        head: Head | None = None,
        data: bytes = b"",
    ) -> list[Record]:
        return list(self._observation.read(HttpPiece(connection, 1.0, sender, kind, head, data)))

    def asks(
        self, first: str, *fields: str, body: bytes = b"", connection: int = 1
    ) -> list[Record]:
        return self.passes("client", f"{first} HTTP/1.1", fields, body, connection)

    def answers(
        self, first: str, *fields: str, body: bytes = b"", connection: int = 1
    ) -> list[Record]:
        return self.passes("server", f"HTTP/1.1 {first}", fields, body, connection)

    def passes(
        self, sender: Sender, first: str, fields: tuple[str, ...], body: bytes, connection: int
    ) -> list[Record]:
        head = Head(first.encode(), [field.encode() for field in fields])
        told = self.piece(connection, sender, "head", head)
        for at in range(0, len(body), 7):
            told += self.piece(connection, sender, "body", data=body[at : at + 7])
        return [*told, *self.piece(connection, sender, "end")]


def only(records: list[Record], kind: type[Any]) -> Any:
    (record,) = records
    assert type(record) is kind
    return record


def test_a_request_and_its_answer_are_messages_with_their_heads() -> None:
    told = Observed()
    asked = only(
        told.asks("POST /mcp", JSON, "Authorization: Bearer abc", body=PING), MessageRecord
    )
    assert bytes(asked.message) == PING
    assert asked.http == HttpPart(
        method="POST",
        path="/mcp",
        headers={"content-type": "application/json", "authorization": f"Bearer {REDACTED}"},
    )
    answered = only(told.answers("400 Bad Request", JSON, body=PONG), MessageRecord)
    assert (answered.http.status, answered.connection) == (400, 1)


def test_sessions_are_counted_and_their_ids_are_secret() -> None:
    told = Observed()
    told.asks("POST /mcp", JSON, body=PING)
    first = only(
        told.answers("200 OK", JSON, "Mcp-Session-Id: abcdefgh-1", body=PONG), MessageRecord
    )
    told.asks("POST /mcp", JSON, body=PING, connection=2)
    told.answers("200 OK", JSON, "Mcp-Session-Id: abcdefgh-2", body=PONG, connection=2)
    third = only(
        told.asks("POST /mcp", JSON, "mcp-session-id: abcdefgh-1", body=PING, connection=3),
        MessageRecord,
    )
    note = only(told.piece(3, "server", "note", data=b"lost abcdefgh-2"), HttpRecord)
    assert (first.http.session, third.http.session) == (1, 1)
    assert first.http.headers["mcp-session-id"] == REDACTED
    assert note.text == f"lost {REDACTED}"


def test_events_are_messages_that_know_their_id() -> None:
    told = Observed()
    told.asks("POST /mcp", JSON, body=PING)
    stream = (
        b": hi\n\nid: 7\ndata: \n\nid: 8\ndata: %s\n\nevent: other\ndata: x\n\ndata: no\n\n" % PONG
    )
    records = told.answers("200 OK", EVENTS, body=stream)
    head, empty, message, other, junk, end = records
    assert isinstance(head, HttpRecord)
    assert head.http is not None
    assert head.http.status == 200
    assert isinstance(message, MessageRecord)
    assert message.http == HttpPart(status=200, event_id="8")
    assert isinstance(junk, JunkRecord)
    assert [each.text for each in (empty, other, end) if isinstance(each, HttpRecord)] == [
        "an event without data",
        "an event of type other",
        "the stream ended",
    ]


def test_the_older_transport_has_its_session_too() -> None:
    told = Observed()
    told.asks("GET /sse")
    where = b"event: endpoint\ndata: /messages?session_id=12345678\n\n"
    _, endpoint, _ = told.answers("200 OK", EVENTS, body=where)
    assert isinstance(endpoint, HttpRecord)
    assert endpoint.text == f"messages go to /messages?session_id={REDACTED}"
    posted = only(
        told.asks("POST /messages?session_id=12345678", JSON, body=PING, connection=2),
        MessageRecord,
    )
    assert posted.http.session == 1
    assert posted.http.path == f"/messages?session_id={REDACTED}"
    accepted = only(
        told.answers("202 Accepted", "Content-Type: text/plain", body=b"Accepted", connection=2),
        HttpRecord,
    )
    assert (accepted.http.status, accepted.text) == (202, "Accepted")


def test_an_endpoint_elsewhere_is_told_as_such() -> None:
    told = Observed()
    told.asks("GET /sse")
    where = b"event: endpoint\ndata: http://a.example/messages\n\n"
    _, endpoint, _ = told.answers("200 OK", EVENTS, body=where)
    assert isinstance(endpoint, HttpRecord)
    assert endpoint.text == "messages go to http://a.example/messages, which leads past the relay"


def test_what_carries_no_message_is_told_with_what_it_says() -> None:
    told = Observed()
    assert only(told.asks("DELETE /mcp"), HttpRecord).http.method == "DELETE"
    assert only(told.answers("204 No Content"), HttpRecord).http.status == 204
    told.asks("GET /.well-known/x", connection=2)
    found = told.answers("200 OK", JSON, body=b'{"issuer":"i","client_secret":"s"}', connection=2)
    assert only(found, HttpRecord).text == f'{{"issuer":"i","client_secret":"{REDACTED}"}}'
    form = told.asks(
        "POST /token",
        "Content-Type: application/x-www-form-urlencoded",
        body=b"grant_type=x&refresh_token=y",
        connection=3,
    )
    assert only(form, HttpRecord).text == f"grant_type=x&refresh_token={REDACTED}"
    told.asks("GET /a.png", connection=4)
    picture = told.answers("200 OK", "Content-Type: image/png", body=b"\x89PNG", connection=4)
    assert only(picture, HttpRecord).text == "4 bytes of image/png"


@pytest.mark.parametrize(
    ("status", "kind"), [("200 OK", JunkRecord), ("502 Bad Gateway", HttpRecord)]
)
def test_a_page_in_place_of_an_answer_is_junk(status: str, kind: type[Any]) -> None:
    told = Observed()
    told.asks("POST /mcp", JSON, body=PING)
    record = only(told.answers(status, "Content-Type: text/html", body=b"<p>Log in"), kind)
    assert record.text == "<p>Log in"
    assert record.http.status == int(status[:3])


def test_a_body_that_should_be_a_message_and_is_none_is_junk() -> None:
    record = only(Observed().asks("POST /mcp", JSON, body=b"{broken"), JunkRecord)
    assert record.text == "{broken"


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_compressed_bodies_are_read(encoding: Literal["gzip", "deflate"]) -> None:
    compress = zlib.compressobj(wbits=31 if encoding == "gzip" else 15)
    told = Observed()
    told.asks("POST /mcp", JSON, body=PING)
    body = compress.compress(PONG) + compress.flush()
    record = only(
        told.answers("200 OK", JSON, f"Content-Encoding: {encoding}", body=body), MessageRecord
    )
    assert bytes(record.message) == PONG


@pytest.mark.parametrize(("encoding", "body"), [("br", b"\x0b\x01"), ("gzip", b"no gzip")])
def test_compression_that_cannot_be_read_is_named(encoding: str, body: bytes) -> None:
    told = Observed()
    told.asks("POST /mcp", JSON, body=PING)
    record = only(
        told.answers("200 OK", JSON, f"Content-Encoding: {encoding}", body=body), HttpRecord
    )
    assert record.text.endswith(f"bytes, compressed as {encoding}")


def test_a_batch_with_a_request_expects_an_answer() -> None:
    told = Observed()
    told.asks("POST /mcp", JSON, body=json.dumps([json.loads(PING)]).encode())
    assert only(told.answers("200 OK", JSON, body=b"[]"), JunkRecord).text == "[]"


def test_a_1xx_is_not_the_answer() -> None:
    told = Observed()
    told.asks("POST /mcp", JSON, body=PING)
    assert told.piece(1, "server", "head", Head(b"HTTP/1.1 100 Continue", [])) == []
    assert only(told.answers("200 OK", JSON, body=PONG), MessageRecord).http.status == 200


def test_who_broke_off_is_told() -> None:
    told = Observed()
    told.asks("POST /mcp", JSON, body=PING)
    assert only(told.piece(1, "client", "cut"), HttpRecord).text == "the client went away"
    told.asks("POST /mcp", JSON, body=PING, connection=2)
    assert only(told.piece(2, "server", "cut"), HttpRecord).text == "the answer was cut off"
    assert told.piece(2, "server", "end") == []
    assert only(told.piece(0, "client", "over", data=b"the end"), EndRecord).reason == "the end"


def test_a_request_may_have_numbers_of_any_size() -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"n":%b}}' % (b"9" * 5000)
    asked = only(Observed().asks("POST /mcp", JSON, body=body), MessageRecord)
    assert bytes(asked.message) == body


def test_an_error_of_oauth_is_no_message() -> None:
    told = Observed()
    told.asks("POST /mcp", JSON, body=PING)
    refusal = b'{"error":"invalid_token","access_token":"k-1"}'
    refused = only(told.answers("401 Unauthorized", JSON, body=refusal), HttpRecord)
    assert refused.http.status == 401
    assert refused.text == f'{{"error":"invalid_token","access_token":"{REDACTED}"}}'
    told.asks("POST /mcp", JSON, body=PING, connection=2)
    broken = b'{"jsonrpc":"1.0","id":1,"error":{}}'
    only(told.answers("400 Bad Request", JSON, body=broken, connection=2), MessageRecord)
