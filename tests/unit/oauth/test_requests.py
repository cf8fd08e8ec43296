import json

import pytest

from wigwag.oauth.requests import (
    HttpRequest,
    HttpResponse,
    form_request,
    get_request,
    json_request,
    told,
)
from wigwag.oauth.secret import Secret


def test_requests_ask_for_json() -> None:
    assert get_request("https://a.example/x", {"mcp-protocol-version": "2026-07-28"}) == (
        HttpRequest(
            "GET",
            "https://a.example/x",
            {"accept": "application/json", "mcp-protocol-version": "2026-07-28"},
        )
    )
    posted = json_request("https://a.example/x", {"client_name": "é"})
    assert json.loads(posted.body) == {"client_name": "é"}
    assert posted.headers["content-type"] == posted.headers["accept"] == "application/json"


def test_a_form_is_encoded_so_that_values_cannot_break_out() -> None:
    request = form_request("https://a.example/x", {"a": "1&b=2 é", "c": ""}, {"dpop": "p"})
    assert request.body == b"a=1%26b%3D2+%C3%A9&c="
    assert request.headers == {
        "accept": "application/json",
        "content-type": "application/x-www-form-urlencoded",
        "dpop": "p",
    }


def test_neither_request_nor_response_shows_what_it_carries() -> None:
    request = form_request("https://a.example/x?k=secret", {"a": "secret"}, {"b": "secret"})
    assert repr(request) == "HttpRequest('POST', 'https://a.example/x')"
    response = HttpResponse(200, (("set-cookie", "secret"),), b"secret")
    assert repr(response) == "HttpResponse(200)"


def test_a_header_may_have_several_lines() -> None:
    response = HttpResponse(401, (("WWW-Authenticate", "a"), ("x", "b"), ("www-authenticate", "c")))
    assert response.values("www-authenticate") == ["a", "c"]


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"1", b"{", b"<html>", b'{"a":\xff}', b"[" * 100_000, b'{"a":' * 100_000]
)
def test_a_body_that_is_no_object_is_none(body: bytes) -> None:
    assert HttpResponse(200, (), body).read_object() is None


def test_a_body_that_is_an_object_is_read() -> None:
    assert HttpResponse(200, (), b' {"a": [1]} ').read_object() == {"a": [1]}


def test_overload_is_temporary_and_a_refusal_is_not() -> None:
    assert [s for s in range(200, 600) if HttpResponse(s).is_temporary_failure] == [
        408,
        425,
        429,
        *range(500, 600),
    ]


def test_what_a_server_says_is_shown_without_controls_secrets_and_end() -> None:
    assert told("a\x00\r\nb\u202e \x1b]0;c") == "a b ]0;c"
    assert told("the code abc is bad", [Secret(""), Secret("abc")]) == "the code … is bad"
    assert told("x" * 500) == "x" * 200 + "…"
    assert told(7) == told(None) == ""
