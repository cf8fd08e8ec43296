"""Whatever a message is, it gets the answer that the rules give it, or none where they give none.

The rules are written down here a second time, from the specification and without our code.
"""

import json
from typing import Any, Literal, NamedTuple

from hypothesis import example, given
from hypothesis import strategies as st

from tests.pair import client_description, initialize, modern_meta, request, server_description
from tests.properties.strategies import encoded, good_ids, nearly_messages, values
from tests.wire import WireValidator
from wigwag.jsonrpc.codec import decode_message, encode_error
from wigwag.jsonrpc.messages import InvalidMessage
from wigwag.protocol.client import ClientProtocol
from wigwag.protocol.events import RequestReceived
from wigwag.protocol.peer import PeerProtocol
from wigwag.protocol.server import ServerProtocol
from wigwag.schema import (
    LEGACY_REVISIONS,
    MODERN_REVISIONS,
    REVISIONS,
    ClientCapabilities,
    ElicitationCapability,
    RootsCapability,
    SamplingCapability,
)

VALIDATOR = WireValidator()
ASKABLE = ClientCapabilities(
    roots=RootsCapability(),
    sampling=SamplingCapability(tools={}),
    elicitation=ElicitationCapability(form={}, url={}),
)
UNREADABLE = object()


class Due(NamedTuple):
    """What a message is owed."""

    answer: Literal["none", "one", "error"]
    id_: Any = UNREADABLE


def due(message: Any) -> Due:
    """Say what is owed to a message by whoever can be asked for things."""
    if not isinstance(message, dict):
        return Due("error")
    id_ = message.get("id")
    if not isinstance(id_, int | str) or isinstance(id_, bool):
        id_ = UNREADABLE
    if "method" not in message and ("result" in message or "error" in message):
        return Due("none")  # an answer, right or wrong
    sound = (
        message.get("jsonrpc") == "2.0"
        and isinstance(message.get("method"), str)
        and "result" not in message
        and "error" not in message
    )
    if not sound:
        return Due("error", id_)
    if "id" not in message:
        return Due("none")
    return Due("error") if id_ is UNREADABLE else Due("one", id_)


def is_json(data: bytes) -> bool:
    """Tell whether bytes are JSON that UTF-8 can hold, without lone surrogates."""
    try:
        json.dumps(json.loads(data.decode()), ensure_ascii=False).encode()
    except ValueError:
        return False
    return True


def answers_of(end: PeerProtocol, data: bytes) -> list[Any]:
    """Return what is answered to a message, by a handler if it gets as far as that."""
    for event in end.receive_message(data, now=0.0):
        if isinstance(event, RequestReceived):
            end.send_error(event, 7, "asked")
    opened = [json.loads(sent) for sent in end.messages_to_send()]
    if not isinstance(end, ServerProtocol) or not end.is_listened_to:
        return opened
    # Whoever listens hears first that they do, and gets the one answer when nothing more comes.
    end.end_subscriptions()
    answers = [one for one in opened if not is_acknowledgement(one)]
    heard = [listener(one) for one in opened if is_acknowledgement(one)]
    ended = [json.loads(sent) for sent in end.messages_to_send()]
    assert [one["params"]["requestId"] for one in ended[::2]] == heard
    assert [one["id"] for one in ended[1::2]] == heard
    return answers + ended[1::2]


def is_acknowledgement(message: Any) -> bool:
    return isinstance(message, dict) and (
        message.get("method") == "notifications/subscriptions/acknowledged"
    )


def listener(acknowledgement: Any) -> Any:
    """Return the id of the request that an acknowledgement belongs to."""
    return acknowledgement["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]


def check(answers: list[Any], message: Any, data: bytes) -> None:
    expected = due(message)
    if expected.answer == "none" and (is_json(data) or "method" not in message):
        assert answers == []
        return
    (answer,) = answers
    assert answer["jsonrpc"] == "2.0"
    if "id" in answer:
        assert expected.id_ is not UNREADABLE
        assert answer["id"] == expected.id_
        assert type(answer["id"]) is type(expected.id_)
    else:
        # Where the whole is no JSON, only the id of what looks like a request can be trusted.
        assert expected.id_ is UNREADABLE or not is_json(data)
        assert expected.id_ is UNREADABLE or "method" not in message
    if expected.answer != "one":
        assert answer["error"]["code"] in (-32600, -32700)
        assert answer["error"]["code"] == -32600 or not is_json(data)


def server_with(revision: str | None, *, revisions: tuple[str, ...] = REVISIONS) -> ServerProtocol:
    server = ServerProtocol(server_description(revisions=revisions))
    if revision is not None:
        hello = initialize(revision, id_="the handshake", capabilities={"roots": {}})
        server.receive_message(json.dumps(hello).encode(), now=0.0)
        done = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
        server.receive_message(done, now=0.0)
        assert len(server.messages_to_send()) == 1
    return server


# --- servers


sessions = st.sampled_from([None, *LEGACY_REVISIONS])
served = st.sampled_from([REVISIONS, LEGACY_REVISIONS, MODERN_REVISIONS])


@given(data=st.data(), message=nearly_messages() | values, revision=sessions, revisions=served)
@example(data=None, message={"jsonrpc": "2.0", "id": 0, "method": "ping"}, revision=None,
         revisions=REVISIONS)  # fmt: skip
@example(data=None, message={"jsonrpc": "2.0", "method": "ping", "\ud800": 0}, revision=None,
         revisions=REVISIONS)  # fmt: skip
@example(data=None, message=request(0, "subscriptions/listen",
         {"_meta": modern_meta(), "notifications": {"toolsListChanged": True}}), revision=None,
         revisions=REVISIONS)  # fmt: skip
def test_a_server_gives_each_message_the_one_answer_that_it_is_owed(
    data: st.DataObject | None, message: Any, revision: str | None, revisions: tuple[str, ...]
) -> None:
    server = server_with(
        revision if LEGACY_REVISIONS[0] in revisions else None, revisions=revisions
    )
    if isinstance(message, list):
        return
    text = json.dumps(message).encode() if data is None else data.draw(encoded(message))
    check(answers_of(server, text), message, text)
    assert server.requests_in_flight() == []


@given(
    data=st.data(),
    id_=good_ids,
    method=st.sampled_from(["tools/call", "tools/list", "resources/read", "no/such", "ping"]),
    params=st.fixed_dictionaries(
        {}, optional={"name": values, "uri": values, "_meta": st.just(modern_meta()) | values}
    ),
    revision=sessions,
)
def test_a_request_with_a_readable_id_is_always_answered_under_that_id(
    data: st.DataObject, id_: Any, method: str, params: Any, revision: str | None
) -> None:
    message = request(id_, method, params)
    text = data.draw(encoded(message))
    (answer,) = answers_of(server_with(revision), text)
    assert answer["id"] == id_
    assert type(answer["id"]) is type(id_)
    assert ("error" in answer) is not ("result" in answer)


@given(data=st.data(), messages=st.lists(nearly_messages(), min_size=1, max_size=5))
def test_a_batch_gets_an_array_of_the_answers_that_its_messages_are_owed(
    data: st.DataObject, messages: list[Any]
) -> None:
    text = data.draw(encoded(messages))
    server = server_with("2025-03-26")
    sent = answers_of(server, text)
    if not is_json(text):  # one bad character spoils the whole array
        return
    # What is asked in the modern era is answered by itself.
    answers = [one for part in sent for one in (part if isinstance(part, list) else [part])]
    assert all(isinstance(answer, dict) for answer in answers)
    owed = [found for found in map(due, messages) if found.answer != "none"]
    cancelled = {
        json.dumps(message["params"].get("requestId"))
        for message in messages
        if message.get("method") == "notifications/cancelled"
        and isinstance(message.get("params"), dict)
    }
    expected = sorted(json.dumps(None if o.id_ is UNREADABLE else o.id_) for o in owed)
    found = sorted(json.dumps(answer.get("id")) for answer in answers)
    if cancelled:
        assert set(found) <= set(expected)
    else:
        assert found == expected
    assert server.requests_in_flight() == []


@given(messages=st.lists(nearly_messages() | values, max_size=12), revision=sessions)
def test_after_any_messages_the_conversation_goes_on(
    messages: list[Any], revision: str | None
) -> None:
    server = server_with(revision)
    for message in messages:
        server.receive_message(json.dumps(message).encode(), now=0.0)
    for waiting in server.requests_in_flight():
        server.send_error(waiting, 1, "no")
    server.messages_to_send()
    ask = json.dumps(request("still there?", "server/discover", {"_meta": modern_meta()}))
    server.receive_message(ask.encode(), now=0.0)
    (answer,) = map(json.loads, server.messages_to_send())
    assert answer["id"] == "still there?"
    assert "result" in answer


@given(message=nearly_messages(), revision=sessions)
def test_what_a_server_says_is_what_its_revision_allows(message: Any, revision: str | None) -> None:
    server = server_with(revision)
    for event in server.receive_message(json.dumps(message).encode(), now=0.0):
        if isinstance(event, RequestReceived):
            server.send_progress(event, 1)
            server.send_log(event, "error", "x")
            server.send_error(event, -32602, "no")
    for sent in server.messages_to_send():
        modern = b"io.modelcontextprotocol/" in json.dumps(message).encode()
        agreed = revision or LEGACY_REVISIONS[-1]
        spoken = [MODERN_REVISIONS[-1]] if modern else [agreed]
        problems = [
            VALIDATOR.validate_message(sent, revision=version, sender="server")
            for version in (*spoken, LEGACY_REVISIONS[-1])
        ]
        assert [] in problems, problems


# --- clients


def clients() -> dict[str, ClientProtocol]:
    """Return clients in every state."""
    made = {
        name: ClientProtocol(client_description(revisions=revisions, capabilities=ASKABLE))
        for name, revisions in (
            ("new", REVISIONS),
            ("probing", REVISIONS),
            ("probing for nothing else", MODERN_REVISIONS),
            ("greeting", LEGACY_REVISIONS),
            ("modern", REVISIONS),
            *((revision, (revision,)) for revision in LEGACY_REVISIONS),
        )
    }
    for name, client in made.items():
        if name != "new":
            client.connect(now=0.0)
            client.messages_to_send()
    found = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    hello = {"capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    for name in ("modern", *LEGACY_REVISIONS):
        value = found if name == "modern" else hello | {"protocolVersion": name}
        answer = {"jsonrpc": "2.0", "id": 1, "result": value}
        made[name].receive_message(json.dumps(answer).encode(), now=0.0)
        assert made[name].connected is not None
        made[name].send_request("tools/list", now=0.0)
        made[name].messages_to_send()
    return made


@given(data=st.data(), message=nearly_messages() | values)
def test_a_client_gives_each_message_what_it_is_owed_in_its_era(
    data: st.DataObject, message: Any
) -> None:
    text = data.draw(encoded(message))
    for name, client in clients().items():
        answers = answers_of(client, text)
        if name in LEGACY_REVISIONS:
            expected = due(message)
            if expected.id_ is not UNREADABLE and is_json(text):
                check(answers, message, text)
            elif not isinstance(message, list):
                assert answers == [] or expected.id_ is not UNREADABLE
        else:
            # Nothing is answered to a server that may be modern, but the handshake goes on.
            for sent in answers:
                asks = sent.get("method") in ("server/discover", "initialize")
                tells = sent.get("method") == "notifications/initialized"
                pongs = sent.get("result") == {} or "error" in sent
                assert asks or tells or (pongs and name not in ("modern",))
        assert client.requests_in_flight() == []


@given(
    messages=st.lists(nearly_messages(id_=st.integers(1, 5)), max_size=6), seconds=st.floats(0, 40)
)
def test_connecting_ends_one_way_or_the_other(messages: list[Any], seconds: float) -> None:
    client = ClientProtocol(client_description(), probe_timeout=5.0, connect_timeout=30.0)
    client.connect(now=0.0)
    for message in messages:
        client.receive_message(json.dumps(message).encode(), now=0.0)
        client.handle_timeout(seconds)
    for now in (5.0, 10.0, 30.0, 40.0, 60.0):
        client.handle_timeout(max(now, seconds))
    assert client.next_deadline() is None
    assert client.connected is not None or client.fail_all() == []


# --- the codec by itself


@given(data=st.data(), value=values)
def test_a_message_that_is_none_says_why_in_words_that_can_be_sent(
    data: st.DataObject, value: Any
) -> None:
    message = decode_message(data.draw(encoded(value)))
    if isinstance(message, InvalidMessage):
        json.loads(encode_error(message.id, message.code, message.reason))
