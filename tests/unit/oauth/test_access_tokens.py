from typing import Any

import pytest

from wigwag.errors import InvalidToken
from wigwag.oauth.access_tokens import (
    ClaimNames,
    check_claims,
    check_issuer,
    check_token_type,
    is_audience,
    read_access_token,
)
from wigwag.oauth.jwt import Jwt

NOW = 1_000_000.0
RESOURCE = "https://mcp.example/mcp"
GOOD: dict[str, Any] = {
    "iss": "https://as.example",
    "sub": "ada",
    "aud": RESOURCE,
    "exp": NOW + 300,
    "iat": NOW,
    "client_id": "c1",
    "scope": "read write",
}


def check(changes: dict[str, Any], **options: Any) -> None:
    claims = {name: value for name, value in {**GOOD, **changes}.items() if value is not ...}
    check_claims(claims, audience=[RESOURCE], now=NOW, **options)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"exp": NOW - 59},
        {"nbf": NOW + 59},
        {"iat": NOW + 59},
        {"iat": ...},
        {"exp": 1_000_300},
        {"aud": [RESOURCE]},
        {"aud": ["https://other.example", f"{RESOURCE}/"]},
        {"aud": "HTTPS://MCP.example:443/mcp"},
    ],
)
def test_a_token_for_this_server_at_this_time_is_good(changes: dict[str, Any]) -> None:
    check(changes)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"exp": NOW - 60}, "expired 60 s ago"),
        ({"exp": 0}, "expired"),
        ({"exp": ...}, "does not say when it expires"),
        ({"exp": None}, "does not say when it expires"),
        ({"exp": "1000300"}, "exp is no time"),
        ({"exp": True}, "exp is no time"),
        ({"exp": float("inf")}, "exp is no time"),
        ({"exp": float("nan")}, "exp is no time"),
        ({"exp": 10**400}, "exp is no time"),
        ({"nbf": -(10**400)}, "nbf is no time"),
        ({"nbf": NOW + 61}, "not valid for another 61 s"),
        ({"nbf": "soon"}, "nbf is no time"),
        ({"iat": NOW + 61}, "will be issued in 61 s"),
        ({"iat": []}, "iat is no time"),
        ({"aud": ...}, "for whom"),
        ({"aud": None}, "for whom"),
        ({"aud": []}, "it is for nobody"),
        ({"aud": [RESOURCE, 7]}, "for whom"),
        ({"aud": {RESOURCE: 1}}, "for whom"),
        ({"aud": "https://mcp.example"}, "it is for https://mcp.example, not for"),
        ({"aud": f"{RESOURCE}/more"}, "not for"),
        ({"aud": "https://mcp.example/MCP"}, "not for"),
        ({"aud": "http://mcp.example/mcp"}, "not for"),
        ({"aud": f"{RESOURCE}//"}, "not for"),
        ({"aud": f"{RESOURCE}?x=1"}, "not for"),
        ({"aud": ""}, "it is for nobody"),
    ],
)
def test_a_token_for_others_or_of_another_time_is_refused(
    changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidToken, match=said) as caught:
        check(changes)
    assert "mcp.example" not in caught.value.description


def test_how_far_clocks_may_be_apart_can_be_said() -> None:
    check({"exp": NOW - 9}, leeway=10)
    with pytest.raises(InvalidToken, match="expired"):
        check({"exp": NOW - 10}, leeway=10)
    with pytest.raises(InvalidToken, match="expired"):
        check({"exp": NOW}, leeway=0)


def test_an_authorization_server_that_is_asked_need_not_say_what_it_has_checked() -> None:
    check({"exp": ...}, is_expiry_required=False)
    check({"aud": ...}, is_audience_required=False)
    with pytest.raises(InvalidToken, match="not for"):
        check({"aud": "https://other.example"}, is_audience_required=False)


def test_a_server_may_have_several_names_and_they_need_not_be_urls() -> None:
    for named in ("api://files", "6f1e", RESOURCE):
        check_claims({**GOOD, "aud": named}, audience=["api://files", "6f1e", RESOURCE], now=NOW)
    assert not is_audience("API://files", "api://files")
    assert not is_audience("6f1e/", "6f1e")
    assert is_audience("https://mcp.example/", "https://mcp.example")


@pytest.mark.parametrize("issuer", ["https://as.example/", "https://AS.example", None, 7, ""])
def test_the_issuer_is_compared_letter_for_letter(issuer: Any) -> None:
    check_issuer(GOOD, "https://as.example")
    with pytest.raises(InvalidToken, match="its issuer is"):
        check_issuer({**GOOD, "iss": issuer}, "https://as.example")


def typed(typ: Any, /, **claims: Any) -> Jwt:
    return Jwt({"typ": typ} if typ is not None else {}, {**GOOD, **claims})


@pytest.mark.parametrize(
    "jwt",
    [
        typed("at+jwt"),
        typed("application/at+jwt", nonce="n"),
        typed("JWT"),
        typed(None),
        typed("JWT", typ="Bearer", nonce="n"),
    ],
)
def test_an_access_token_is_one_whatever_its_issuer_calls_it(jwt: Jwt) -> None:
    check_token_type(jwt)


@pytest.mark.parametrize(
    "jwt",
    [
        typed("oauth-id-jag+jwt"),
        typed("dpop+jwt"),
        typed("logout+jwt"),
        typed("id_token+jwt"),
        typed(7),
        typed("JWT", nonce="n"),
        typed(None, at_hash="x"),
        typed("JWT", c_hash="x"),
        typed("JWT", typ="ID"),
        typed("JWT", typ="Refresh"),
        typed("JWT", typ=7),
    ],
)
def test_what_was_issued_for_something_else_is_no_access_token(jwt: Jwt) -> None:
    with pytest.raises(InvalidToken, match=r"no access token|not an access token|no text"):
        check_token_type(jwt)


def test_an_issuer_that_always_says_so_can_be_held_to_it() -> None:
    check_token_type(typed("at+jwt"), is_strict=True)
    for typ in ("JWT", None):
        with pytest.raises(InvalidToken, match="typ says"):
            check_token_type(typed(typ), is_strict=True)


def read(claims: dict[str, Any], names: ClaimNames | None = None) -> Any:
    return read_access_token(claims, "https://as.example", names)


def test_what_a_token_says_is_read() -> None:
    token = read({**GOOD, "cnf": {"jkt": "x" * 43}, "roles": ["admin"]})
    assert (token.subject, token.issuer, token.client_id) == ("ada", "https://as.example", "c1")
    assert token.scopes == ("read", "write")
    assert token.roles == {"admin"}
    assert token.expires_at == NOW + 300
    assert token.key_thumbprint == "x" * 43
    assert token.claims["aud"] == RESOURCE
    assert "ada" not in repr(token)


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ({"scope": "a b  a"}, ("a", "b")),
        ({"scope": ["a", "b", 7]}, ("a", "b")),
        ({"scp": ["a", "b"]}, ("a", "b")),
        ({"scp": "a b"}, ("a", "b")),
        ({"scope": "a", "scp": "b"}, ("a",)),
        ({"scope": 'a "b'}, ("a",)),
        ({"scope": 7}, ()),
        ({}, ()),
    ],
)
def test_scopes_are_a_text_or_a_list(claims: dict[str, Any], expected: tuple[str, ...]) -> None:
    assert read({"sub": "ada", **claims}).scopes == expected


@pytest.mark.parametrize(
    ("name", "claims", "expected"),
    [
        ("roles", {"roles": ["a", "b"]}, {"a", "b"}),
        ("roles", {"roles": "a b"}, {"a", "b"}),
        ("roles", {"roles": {"a": 1}}, set()),
        ("realm_access.roles", {"realm_access": {"roles": ["a"]}}, {"a"}),
        ("realm_access.roles", {"realm_access": ["a"]}, set()),
        ("https://a.example/roles", {"https://a.example/roles": ["a"]}, {"a"}),
        ("groups", {"roles": ["b"]}, set()),
    ],
)
def test_roles_are_found_where_the_issuer_puts_them(
    name: str, claims: dict[str, Any], expected: set[str]
) -> None:
    assert read({"sub": "ada", **claims}, ClaimNames(roles=name)).roles == expected


def test_scopes_may_be_elsewhere_too() -> None:
    claims = {"sub": "ada", "permissions": ["a"], "scope": "openid"}
    assert read(claims, ClaimNames(scopes="permissions")).scopes == ("a",)


@pytest.mark.parametrize("claims", [{}, {"sub": ""}, {"sub": 7}, {"sub": None, "client_id": "c"}])
def test_a_token_of_nobody_is_refused(claims: dict[str, Any]) -> None:
    with pytest.raises(InvalidToken, match="whose it is"):
        read(claims)


@pytest.mark.parametrize("name", ["client_id", "azp", "appid", "cid"])
def test_a_program_that_acts_for_itself_is_its_own_subject(name: str) -> None:
    token = read({name: "c1"})
    assert (token.subject, token.client_id) == ("c1", "c1")


@pytest.mark.parametrize(
    "confirmation", [{}, {"x5t#S256": "x"}, {"jkt": 7}, {"jkt": "short"}, "jkt", []]
)
def test_a_token_that_is_bound_in_another_way_is_not_taken_for_an_unbound_one(
    confirmation: Any,
) -> None:
    with pytest.raises(InvalidToken, match="cannot check"):
        read({"sub": "ada", "cnf": confirmation})
