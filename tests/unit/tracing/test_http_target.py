"""What names the server in heads; how it is connected to is tried with a relay."""

import pytest

from wigwag.tracing.http_framing import Head
from wigwag.tracing.http_target import HttpTarget


def sent(target: HttpTarget, first: str, *fields: str) -> str:
    head = Head(first.encode(), [field.encode() for field in fields])
    return bytes(target.request_head(head)).decode()


def test_host_and_only_host_is_changed() -> None:
    target = HttpTarget("https://mcp.example:8443/mcp")
    assert sent(target, "POST /mcp HTTP/1.1", "Host: localhost:1", "X: y") == (
        "POST /mcp HTTP/1.1\r\nHost: mcp.example:8443\r\nX: y\r\n\r\n"
    )


def test_the_query_of_the_url_goes_to_its_own_path_where_there_is_none() -> None:
    target = HttpTarget("http://a.example/mcp?key=1")
    assert sent(target, "GET /mcp HTTP/1.1").startswith("GET /mcp?key=1 HTTP/1.1\r\n")
    assert sent(target, "GET /mcp?x=2 HTTP/1.1").startswith("GET /mcp?x=2 HTTP/1.1\r\n")
    assert sent(target, "GET /other HTTP/1.1").startswith("GET /other HTTP/1.1\r\n")


def test_a_url_is_told_without_its_secrets() -> None:
    target = HttpTarget("http://me:pw@a.example?key=1", {"X-Key": "k"})
    assert (str(target), target.path) == ("http://a.example", "/")
    assert target.headers == {
        "Authorization": "Basic bWU6cHc=",
        "X-Key": "k",
        "Host": "a.example",
    }


@pytest.mark.parametrize(
    ("location", "seen"),
    [
        ("http://a.example/x?y", "http://localhost:1/x?y"),
        ("http://a.example:80", "http://localhost:1/"),
        ("https://a.example/x", "https://a.example/x"),
        ("http://b.example/x", "http://b.example/x"),
        ("/x", "/x"),
    ],
)
def test_redirections_within_the_server_lead_to_the_relay(location: str, seen: str) -> None:
    head = Head(b"HTTP/1.1 307 Go", [b"Location: " + location.encode()])
    changed = HttpTarget("http://a.example/mcp").response_head(head, "http://localhost:1")
    assert changed.header("location") == seen


@pytest.mark.parametrize("value", ["\u2603", "a\r\nX: b", "\0"])
def test_a_header_that_http_cannot_carry_is_refused_and_not_told(value: str) -> None:
    with pytest.raises(ValueError, match="the header 'X-Key' cannot be sent") as refused:
        HttpTarget("http://a.example", {"X-Key": value})
    assert value not in str(refused.value)
    HttpTarget("http://a.example", {"X-Key": "caf\xe9"})
