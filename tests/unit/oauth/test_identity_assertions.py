from typing import Any

import pytest

from wigwag.oauth.identity_assertions import (
    IdentityAssertion,
    InvalidAssertion,
    check_identity_assertion,
)
from wigwag.oauth.jwt import Jwt

NOW = 1_000_000.0
RESOURCE = "https://mcp.example/mcp"
GOOD: dict[str, Any] = {
    "iss": "https://idp.example",
    "sub": "ada",
    "aud": "https://as.example",
    "resource": RESOURCE,
    "client_id": "c1",
    "jti": "j1",
    "exp": NOW + 300,
    "iat": NOW,
    "scope": "read write",
}


def check(changes: dict[str, Any] | None = None, typ: Any = "oauth-id-jag+jwt") -> Any:
    claims = {n: v for n, v in {**GOOD, **(changes or {})}.items() if v is not ...}
    return check_identity_assertion(
        Jwt({"typ": typ, "alg": "ES256"}, claims),
        issuer="https://idp.example",
        audience="https://as.example",
        client_id="c1",
        resource=RESOURCE,
        now=NOW,
    )


def test_a_good_assertion_says_who_wants_what() -> None:
    found: IdentityAssertion = check()
    assert (found.subject, found.client_id, found.issuer) == ("ada", "c1", "https://idp.example")
    assert (found.resource, found.scopes) == (RESOURCE, ("read", "write"))
    assert found.expires_at == NOW + 300
    assert check({"scope": ...}).scopes == ()
    assert "ada" not in repr(found)


def test_assertions_are_told_apart_so_that_each_is_used_once() -> None:
    assert check().replay_key == check({"sub": "bob"}).replay_key
    assert check().replay_key != check({"jti": "j2"}).replay_key


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"iss": "https://evil.example"}, "its issuer is"),
        ({"iss": "https://idp.example/"}, "its issuer is"),
        ({"aud": "https://other.example"}, "not for"),
        ({"aud": "https://as.example/"}, "not for"),
        ({"aud": ["https://as.example", "https://other.example"]}, "no aud"),
        ({"client_id": "c2"}, "another client"),
        ({"resource": "https://mcp.example/other"}, "resource"),
        ({"exp": NOW - 60}, "expired"),
        ({"iat": NOW + 61}, "future"),
        ({"jti": "x" * 257}, "256"),
        *(({name: ...}, f"no {name}") for name in GOOD if name != "scope"),
        *(({name: 0}, f"no {name}") for name in ("sub", "jti", "client_id")),
        ({"exp": True}, "no exp"),
        ({"exp": 10**400}, "no exp"),
        ({"iat": "now"}, "no iat"),
    ],
)
def test_an_assertion_for_others_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidAssertion, match=said):
        check(changes)


@pytest.mark.parametrize("typ", ["JWT", "at+jwt", None, 7])
def test_something_else_of_the_identity_provider_is_no_assertion(typ: Any) -> None:
    with pytest.raises(InvalidAssertion, match="typ"):
        check(typ=typ)
