"""How requests are read from an ASGI server, and answers written to it."""

from collections.abc import Iterable
from typing import Any

import pytest

from wigwag.transports.asgi import (
    Answer,
    BodyTooLarge,
    ClientGone,
    HttpRequest,
    Message,
    Receive,
    read_body,
    wait_until_gone,
)

pytestmark = pytest.mark.anyio

GONE: Message = {"type": "http.disconnect"}


def pieces(*parts: bytes) -> list[Message]:
    last = len(parts) - 1
    return [
        {"type": "http.request", "body": part, "more_body": number < last}
        for number, part in enumerate(parts)
    ]


def giving(messages: Iterable[Message]) -> Receive:
    left = list(messages)

    async def receive() -> Message:
        return left.pop(0)

    return receive


class Sent:
    """What an application has sent."""

    def __init__(self, error: Exception | None = None) -> None:
        self.messages: list[Message] = []
        self.error = error

    async def __call__(self, message: Message) -> None:
        self.messages.append(message)
        if self.error is not None:
            raise self.error


# --- bodies


@pytest.mark.parametrize("parts", [(b"",), (b"abc",), (b"a", b"b", b"c"), (b"", b"abc", b"")])
async def test_a_body_is_read_whole(parts: tuple[bytes, ...]) -> None:
    assert await read_body(giving(pieces(*parts)), 3) == b"".join(parts)


async def test_a_server_may_leave_out_what_is_empty() -> None:
    assert await read_body(giving([{"type": "http.request"}]), 3) == b""
    more: list[Message] = [{"type": "http.request", "more_body": True}, {"type": "http.request"}]
    assert await read_body(giving(more), 3) == b""


@pytest.mark.parametrize("parts", [(b"abcd",), (b"ab", b"cd"), (b"abc", b"d", b"e")])
async def test_a_body_that_is_too_long_is_not_taken(parts: tuple[bytes, ...]) -> None:
    with pytest.raises(BodyTooLarge, match="more than 3 bytes"):
        await read_body(giving(pieces(*parts)), 3)


async def test_the_rest_of_a_body_that_is_too_long_is_not_read() -> None:
    endless = pieces(b"abcd", b"never")[:1]
    with pytest.raises(BodyTooLarge):
        await read_body(giving(endless), 3)


@pytest.mark.parametrize("before", [[], pieces(b"a", b"b")[:1], pieces(b"a", b"b", b"c")[:2]])
async def test_a_client_may_go_away_in_the_middle_of_a_body(before: list[Message]) -> None:
    with pytest.raises(ClientGone):
        await read_body(giving([*before, GONE]), 10)


async def test_what_comes_after_the_body_is_not_the_end() -> None:
    await wait_until_gone(giving([*pieces(b"")[:1], GONE]))


# --- answers


async def test_an_answer_has_the_length_of_its_body() -> None:
    sent = Sent()
    await Answer(sent, ((b"vary", b"origin"),)).whole(404, b"{}", ((b"allow", b"POST"),))
    start, body = sent.messages
    assert start["status"] == 404
    assert sorted(start["headers"]) == [
        (b"allow", b"POST"),
        (b"content-length", b"2"),
        (b"content-type", b"application/json"),
        (b"vary", b"origin"),
    ]
    assert (body["body"], body.get("more_body", False)) == (b"{}", False)


async def test_an_answer_without_a_body_has_no_type() -> None:
    sent = Sent()
    await Answer(sent).whole(202)
    assert sent.messages[0]["headers"] == [(b"content-length", b"0")]


async def test_no_proxy_may_keep_events_back() -> None:
    sent = Sent()
    answer = Answer(sent)
    answer.add_header(b"mcp-session-id", b"x")
    assert not answer.is_begun
    await answer.begin_events()
    assert answer.is_begun
    await answer.more(b"data: 1\n\n")
    await answer.end()
    start, *rest = sent.messages
    headers = dict(start["headers"])
    assert headers[b"content-type"] == b"text/event-stream"
    assert headers[b"cache-control"] == b"no-cache, no-transform"
    assert headers[b"x-accel-buffering"] == b"no"
    assert headers[b"mcp-session-id"] == b"x"
    assert [(each["body"], each.get("more_body", False)) for each in rest] == [
        (b"data: 1\n\n", True),
        (b"", False),
    ]


@pytest.mark.parametrize("error", [OSError(), ConnectionResetError(), BrokenPipeError()])
async def test_writing_to_a_client_that_has_gone_does_nothing(error: OSError) -> None:
    for begin in ("whole", "events"):
        sent = Sent(error)
        answer = Answer(sent)
        await (answer.whole(200, b"{}") if begin == "whole" else answer.begin_events())
        assert answer.is_gone
        await answer.more(b"x")
        await answer.end()
        await answer.whole(200)
        assert len(sent.messages) == 1


async def test_an_answer_to_nobody_is_one_all_the_same() -> None:
    sent = Sent()
    answer = Answer(sent)
    answer.is_gone = True
    await answer.nobody()
    await answer.whole(200, b"{}")
    assert [message.get("status") for message in sent.messages] == [499, None]
    begun = Answer(sent)
    await begun.begin_events()
    await begun.nobody()
    assert len(sent.messages) == 3


# --- requests


def request(**scope: Any) -> HttpRequest:
    return HttpRequest({"type": "http", "path": "/mcp", "headers": [], **scope})


def test_headers_are_found_in_any_case() -> None:
    headers = request(headers=[(b"x-one", b"1"), (b"X-Two", b"2"), (b"x-one", b"\xe9")]).headers
    assert (headers["X-One"], headers["x-two"], headers.get("x-three")) == ("1, \xe9", "2", None)
    assert (sorted(headers), len(headers), "X-TWO" in headers) == (["x-one", "x-two"], 2, True)
    with pytest.raises(KeyError):
        headers["x-three"]


def test_a_request_tells_where_it_came_from_and_where_to() -> None:
    made = request(client=["192.0.2.7", 80], query_string=b"a=b%20c", state={"user": "u"})
    assert made.client == ("192.0.2.7", 80)
    assert (made.path, made.query) == ("/mcp", "a=b%20c")
    assert made.scope["state"] == {"user": "u"}
    assert request().client is None
    assert request(client=None).client is None
    assert request().query == ""
