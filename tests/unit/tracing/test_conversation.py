"""Which answer belongs to which request."""

import json
from typing import Any

import pytest
from msgspec import Raw

from wigwag.tracing.conversation import Conversation, Entry
from wigwag.tracing.records import HttpPart, MessageRecord, Sender

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}


class Told:
    """A conversation that is being told: one message a second."""

    def __init__(self) -> None:
        self.conversation = Conversation()
        self.now = 0.0

    def says(
        self,
        sender: Sender,
        message: Any,
        *,
        connection: int = 0,
        http: HttpPart | None = None,
    ) -> Entry:
        (entry,) = self.all(sender, message, connection=connection, http=http)
        return entry

    def all(
        self,
        sender: Sender,
        message: Any,
        *,
        connection: int = 0,
        http: HttpPart | None = None,
    ) -> list[Entry]:
        self.now += 1
        raw = message if isinstance(message, bytes) else json.dumps(message).encode()
        record = MessageRecord(
            at=self.now, sender=sender, message=Raw(raw), connection=connection, http=http
        )
        return self.conversation.follow(record)


def request(number: Any, method: str = "tools/call", **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def result(number: Any, **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "result": members}


def test_an_answer_knows_its_request_and_how_long_it_took() -> None:
    told = Told()
    asked = told.says("client", request(1, name="add"))
    told.says("server", {"jsonrpc": "2.0", "method": "notifications/message", "params": {}})
    answered = told.says("server", result(1))
    assert answered.request is asked
    assert asked.answer is answered
    assert (answered.kind, answered.method, answered.subject) == ("result", "tools/call", "add")
    assert answered.latency == 2.0
    assert asked.latency is None


def test_both_sides_have_ids_of_their_own_and_types_tell_ids_apart() -> None:
    told = Told()
    mine = told.says("client", request(1))
    text = told.says("client", request("1", "ping"))
    theirs = told.says("server", request(1, "roots/list"))
    assert told.says("client", result(1)).request is theirs
    assert told.says("server", result("1")).request is text
    assert told.says("server", result(1)).request is mine


def test_what_has_no_answer_is_told_but_not_what_was_taken_back() -> None:
    told = Told()
    told.says("client", request(1))
    waiting = told.says("client", request(2))
    gone = told.says("client", request(3))
    told.says("server", result(1))
    cancel = {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": 3},
    }
    note = told.says("client", cancel)
    assert (note.kind, note.subject, note.latency) == ("notification", "3", None)
    assert gone.is_cancelled
    assert told.conversation.unanswered() == [waiting]


def test_what_http_refused_waits_for_no_answer() -> None:
    told = Told()
    told.says("client", request(1), connection=1)
    waiting = told.says("client", request(1), connection=2)
    told.says("client", request(2), connection=1)
    told.conversation.refused(1)
    assert told.conversation.unanswered() == [waiting]


def test_a_cancellation_of_nothing_known_is_only_a_notification() -> None:
    told = Told()
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}
    assert told.says("client", cancel).kind == "notification"


def test_an_answer_to_nothing_is_an_answer_all_the_same() -> None:
    answered = Told().says("server", {"jsonrpc": "2.0", "id": None, "error": {"code": -32700}})
    assert (answered.kind, answered.request, answered.latency) == ("error", None, None)
    assert answered.is_failure


def test_a_modern_request_says_its_era_and_its_answer_has_it_too() -> None:
    told = Told()
    asked = told.says("client", request(1, name="add", _meta=META))
    note = told.says("server", {"jsonrpc": "2.0", "method": "notifications/progress"})
    answered = told.says("server", result(1))
    assert {(each.era, each.revision) for each in (asked, note, answered)} == {
        ("modern", "2026-07-28")
    }


def test_the_handshake_settles_the_revision_of_what_follows() -> None:
    told = Told()
    asked = told.says("client", request(0, "initialize", protocolVersion="2025-11-25"))
    agreed = told.says("server", result(0, protocolVersion="2025-06-18"))
    later = told.says("client", request(1, "tools/list"))
    assert (asked.era, asked.revision) == ("legacy", "2025-11-25")
    assert (agreed.era, agreed.revision) == ("legacy", "2025-06-18")
    assert (later.era, later.revision) == ("legacy", "2025-06-18")


def test_each_session_has_its_revision() -> None:
    told = Told()
    for session, version in ((1, "2025-03-26"), (2, "2025-11-25")):
        told.says("client", request(0, "initialize", protocolVersion=version), connection=session)
        told.says(
            "server",
            result(0, protocolVersion=version),
            connection=session,
            http=HttpPart(status=200, session=session),
        )
    first = told.says("client", request(1, "ping"), http=HttpPart(session=1), connection=3)
    second = told.says("client", request(1, "ping"), http=HttpPart(session=2), connection=4)
    assert (first.revision, second.revision) == ("2025-03-26", "2025-11-25")
    assert told.says("server", result(1), http=HttpPart(session=2), connection=9).request is second
    assert told.says("server", result(1), connection=3).request is first


def test_a_header_tells_the_revision_where_nothing_else_does() -> None:
    head = HttpPart(headers={"mcp-protocol-version": "2025-06-18"})
    assert Told().says("client", request(1, "ping"), http=head).revision == "2025-06-18"


def test_a_batch_is_several_messages() -> None:
    told = Told()
    first, second = told.all("client", [request(1), request(2)])
    answers = told.all("server", [result(2), result(1)])
    assert [each.request for each in answers] == [second, first]


@pytest.mark.parametrize("message", [{"level": 30}, {"method": 7}, "hello", [[]]])
def test_what_is_no_message_has_its_place(message: Any) -> None:
    (entry,) = Told().all("server", message)
    assert entry.kind == "invalid"


@pytest.mark.parametrize(
    ("answer", "is_failure"),
    [({"isError": True, "content": []}, True), ({"content": []}, False), ([], False)],
)
def test_a_tool_that_failed_is_a_failure(answer: Any, *, is_failure: bool) -> None:
    entry = Told().says("server", {"jsonrpc": "2.0", "id": 1, "result": answer})
    assert entry.is_failure is is_failure


@pytest.mark.parametrize(
    ("params", "subject"),
    [
        ({"uri": "file:///a"}, "file:///a"),
        ({"ref": {"type": "ref/prompt", "name": "triage"}, "argument": {"name": "x"}}, "triage"),
        ({"name": True}, ""),
        ([1], ""),
        (None, ""),
    ],
)
def test_the_subject_is_what_a_method_is_about(params: Any, subject: str) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "x", "params": params}
    assert Told().says("client", message).subject == subject


def test_numbers_of_any_size_are_read() -> None:
    entry = Told().says(
        "client", b'{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"ping"}'
    )
    assert entry.id == 123456789012345678901234567890
