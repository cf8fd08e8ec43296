import base64
from typing import Any
from urllib.parse import parse_qs

import pytest

from tests.unit.oauth.world import json_response
from wigwag.errors import InvalidToken, VerifierUnavailable
from wigwag.oauth.access_tokens import AccessToken, ClaimNames
from wigwag.oauth.introspection import introspection_request, read_introspection
from wigwag.oauth.requests import HttpResponse
from wigwag.oauth.secret import Secret

ENDPOINT = "https://as.example/introspect"
RESOURCE = "https://mcp.example/mcp"
NOW = 1_000_000.0
GOOD: dict[str, Any] = {"active": True, "sub": "ada", "aud": RESOURCE, "scope": "a b"}


def request(method: Any) -> Any:
    return introspection_request(
        ENDPOINT,
        Secret("t0ken"),
        client_id="mcp:1",
        client_secret=Secret("s3cret/+"),
        method=method,
    )


def test_the_secret_is_in_the_header_with_what_would_end_it_escaped() -> None:
    asked = request("client_secret_basic")
    scheme, _, pair = asked.headers["authorization"].partition(" ")
    assert scheme == "Basic"
    assert base64.b64decode(pair) == b"mcp%3A1:s3cret%2F%2B"
    assert parse_qs(asked.body.decode()) == {
        "token": ["t0ken"],
        "token_type_hint": ["access_token"],
    }
    assert (asked.method, asked.url) == ("POST", ENDPOINT)
    assert "s3cret" not in repr(asked)


def test_the_secret_may_be_in_the_form() -> None:
    asked = request("client_secret_post")
    assert "authorization" not in asked.headers
    form = parse_qs(asked.body.decode())
    assert (form["client_id"], form["client_secret"]) == (["mcp:1"], ["s3cret/+"])


def read(answer: dict[str, Any] | HttpResponse, **options: Any) -> AccessToken | None:
    response = json_response(answer) if isinstance(answer, dict) else answer
    given = {"issuer": None, "audience": [RESOURCE], "now": NOW, "leeway": 60.0, **options}
    return read_introspection(response, **given)


def test_a_token_that_is_active_and_for_this_server_is_good() -> None:
    token = read({**GOOD, "exp": NOW + 9, "iss": "https://as.example", "realm": {"roles": ["x"]}})
    assert token is not None
    assert (token.subject, token.scopes, token.expires_at) == ("ada", ("a", "b"), NOW + 9)
    assert token.issuer == "https://as.example"
    named = read({**GOOD, "realm": {"roles": ["x"]}}, names=ClaimNames(roles="realm.roles"))
    assert named is not None
    assert named.roles == {"x"}
    assert (named.expires_at, named.issuer) == (None, "")


def test_a_token_that_is_not_active_is_not_good() -> None:
    assert read({"active": False}) is None
    assert read({**GOOD, "active": False}) is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"exp": NOW - 61}, "expired"),
        ({"nbf": NOW + 61}, "not valid"),
        ({"aud": "https://other.example"}, "not for"),
        ({"aud": None}, "for whom"),
        ({"iss": "https://evil.example"}, "its issuer is"),
        ({"token_type": "refresh_token"}, "refresh_token"),
        ({"cnf": {"x5t#S256": "x"}}, "cannot check"),
        ({"sub": None}, "whose it is"),
    ],
)
def test_what_the_server_calls_active_may_still_not_be_good_here(
    changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidToken, match=said):
        read({**GOOD, **changes}, issuer="https://as.example")


def test_an_audience_may_be_left_to_the_authorization_server() -> None:
    without = {name: value for name, value in GOOD.items() if name != "aud"}
    assert read(without, is_audience_required=False) is not None
    with pytest.raises(InvalidToken, match="for whom"):
        read(without)


@pytest.mark.parametrize(
    "response",
    [
        HttpResponse(500),
        HttpResponse(302),
        HttpResponse(200, (), b"<html>"),
        json_response({}),
        json_response({"active": "true"}),
        json_response({"active": 1}),
        json_response(GOOD, 201),
    ],
)
def test_what_is_no_answer_says_nothing_about_the_token(response: HttpResponse) -> None:
    with pytest.raises(VerifierUnavailable, match="not whether a token is good"):
        read(response)


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_secret_is_not_the_fault_of_the_token(status: int) -> None:
    with pytest.raises(VerifierUnavailable, match="client_secret"):
        read(HttpResponse(status))
