"""HTTP/1.1, taken apart."""

import pytest

from wigwag.tracing.http_framing import Head, HttpFraming, HttpFramingError, Part

POST = b"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
GET = b"GET /mcp?x=1 HTTP/1.1\r\nHost: a\r\n\r\n"
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"5\r\nhello\r\n7;x=y\r\n, world\r\n0\r\nTrailer: t\r\n\r\n"
)
NO_CONTENT = b"HTTP/1.1 204 No Content\r\n\r\n"


def parts(framing: HttpFraming, data: bytes, size: int) -> list[Part]:
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    return [part for piece in pieces for part in framing.feed(piece)]


def told(found: list[Part]) -> list[tuple[str, bytes]]:
    """Heads by their first lines, and bodies whole."""
    shown: list[tuple[str, bytes]] = []
    body = b""
    for part in found:
        if part.head is not None:
            shown.append(("head", part.head.first))
        elif part.kind == "body":
            body += part.payload
        else:
            shown.append(("end", body))
            body = b""
    return shown


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_requests_are_found_one_behind_the_other_and_no_byte_is_lost(size: int) -> None:
    sent = POST + GET + POST
    found = parts(HttpFraming(), sent, size)
    assert b"".join(part.raw for part in found) == sent
    assert told(found) == [
        ("head", b"POST /mcp HTTP/1.1"),
        ("end", b"hello"),
        ("head", b"GET /mcp?x=1 HTTP/1.1"),
        ("end", b""),
        ("head", b"POST /mcp HTTP/1.1"),
        ("end", b"hello"),
    ]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_responses_end_where_their_framing_says(size: int) -> None:
    asked = iter(["POST", "DELETE", "HEAD", "POST", "POST"])
    head_only = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"
    empty = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
    early = b"HTTP/1.1 100 Continue\r\n\r\n"
    sent = CHUNKED + NO_CONTENT + head_only + empty + early + CHUNKED
    found = parts(HttpFraming(lambda: next(asked)), sent, size)
    assert b"".join(part.raw for part in found) == sent
    assert [what for what in told(found) if what[0] == "end"] == [
        ("end", b"hello, world"),
        ("end", b""),
        ("end", b""),
        ("end", b""),
        ("end", b""),
        ("end", b"hello, world"),
    ]


def test_a_body_without_a_length_ends_with_the_connection() -> None:
    framing = HttpFraming(lambda: "GET")
    found = [*framing.feed(b"HTTP/1.1 200 OK\r\n\r\nall "), *framing.feed(b"of it")]
    assert not framing.is_between
    assert told([*found, *framing.end()])[-1] == ("end", b"all of it")
    assert framing.is_between
    assert list(framing.end()) == []


def test_pieces_of_bodies_do_not_wait_for_the_rest() -> None:
    framing = HttpFraming(lambda: "GET")
    list(framing.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"))
    assert [part.payload for part in framing.feed(b"ff\r\ndata: 1")] == [b"", b"data: 1"]


def test_after_a_change_of_protocol_all_passes() -> None:
    framing = HttpFraming(lambda: "GET")
    sent = b"HTTP/1.1 101 Switching Protocols\r\n\r\n\x00\x01\n\n"
    assert b"".join(part.raw for part in parts(framing, sent, 5)) == sent


@pytest.mark.parametrize("rest", [b"SSH-2.0-x\r\n\r\n", b"xyz\r\n"])
def test_what_is_broken_can_pass_all_the_same(rest: bytes) -> None:
    framing = HttpFraming(lambda: "GET")
    begun = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" if rest[:1] == b"x" else b""
    passed = list(framing.feed(begun))
    with pytest.raises(HttpFramingError):
        passed += framing.feed(rest)
    framing.pass_raw()
    passed += framing.feed(b"more")
    assert b"".join(part.raw for part in passed) == begun + rest + b"more"


def test_bare_line_feeds_end_lines_too() -> None:
    (head, end) = HttpFraming().feed(b"GET / HTTP/1.1\nHost: a\n\n")
    assert head.head == Head(b"GET / HTTP/1.1", [b"Host: a"])
    assert end.kind == "end"


@pytest.mark.parametrize(
    "data",
    [
        b"hello\r\n\r\n",
        b"GET / HTTP/2\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 20_000,
        b"GET / HTTP/1.1\r\nX: " + b"x" * 300_000,
    ],
)
def test_anything_else_is_an_error(data: bytes) -> None:
    with pytest.raises(HttpFramingError):
        list(HttpFraming().feed(data))


@pytest.mark.parametrize("data", [b"HTTP/1.1 OK\r\n\r\n", b"SSH-2.0-x\r\n\r\n"])
def test_what_is_no_response_is_an_error(data: bytes) -> None:
    with pytest.raises(HttpFramingError):
        list(HttpFraming(lambda: "GET").feed(data))


def test_a_head_is_read_and_changed_where_it_must_be() -> None:
    head = Head(b"POST /a?b HTTP/1.1", [b"hOST:  a", b"Accept: x", b"accept: y", b"X-Y:z"])
    assert (head.method, head.path) == ("POST", "/a?b")
    assert head.header("accept") == "x, y"
    assert head.header("cookie") == ""
    changed = head.with_first(b"POST / HTTP/1.1").with_headers({"Host": "b", "New": "n"})
    assert bytes(changed) == (
        b"POST / HTTP/1.1\r\nhOST: b\r\nAccept: x\r\naccept: y\r\nX-Y:z\r\nNew: n\r\n\r\n"
    )
    assert Head(b"HTTP/1.1 404 Not Found", []).status == 404
