"""What `auth=` may be, and what is said of anything else."""

from typing import Any

import pytest

from wigwag import Client, ClientCredentials, ClientGroup, OAuth, load_configuration
from wigwag.client.authorization.choosing import authorizer_for
from wigwag.client.authorization.given_tokens import ApiKey, BearerToken, GivenAuthorizer
from wigwag.client.authorization.oauth_authorizer import OAuthAuthorizer
from wigwag.client.targets import opener_for
from wigwag.oauth.secret import Secret

URL = "https://mcp.example/mcp"


@pytest.mark.parametrize("auth", ["oauth", "OAuth", OAuth(), ClientCredentials("me", "secret")])
def test_some_get_tokens_by_themselves(auth: Any) -> None:
    assert isinstance(authorizer_for(auth, URL), OAuthAuthorizer)


@pytest.mark.parametrize(
    "auth", ["a-token", Secret("a-token"), BearerToken("a-token"), ApiKey("X", "y"), lambda: "a"]
)
def test_others_have_one(auth: Any) -> None:
    assert isinstance(authorizer_for(auth, URL), GivenAuthorizer)


@pytest.mark.parametrize("auth", [7, b"token", ("user", "pw"), {"X": "y"}, object()])
def test_anything_else_is_told_with_all_that_it_may_be(auth: Any) -> None:
    with pytest.raises(TypeError) as told:
        Client(URL, auth=auth)
    text = str(told.value)
    for name in ("OAuth", "ClientCredentials", "WorkloadIdentity", "EnterpriseManaged"):
        assert f"{name}()" in text
    assert text.endswith(f"returns a token or headers, not {type(auth).__name__}")


def test_a_class_in_place_of_an_object_is_told() -> None:
    with pytest.raises(TypeError, match=r"OAuth is a class: write OAuth\(…\)"):
        Client(URL, auth=OAuth)  # type: ignore[arg-type] # which is the point


@pytest.mark.parametrize("target", [["python", "server.py"], "tcp://127.0.0.1:1"])
def test_what_is_no_url_has_nothing_to_authorize(target: Any) -> None:
    with pytest.raises(ValueError, match="`auth` is for URLs, which begin with http"):
        Client(target, auth="oauth")


def test_a_header_of_the_same_meaning_is_one_too_many() -> None:
    with pytest.raises(ValueError, match="`auth` or an `Authorization` header, not both"):
        Client(URL, auth="oauth", headers={"authorization": "Bearer abc"})


def test_a_url_that_can_be_read_in_two_ways_gets_no_token() -> None:
    with pytest.raises(ValueError, match="cannot be used with this URL: it has a user name in it"):
        Client("https://me:pw@mcp.example/mcp", auth="oauth")


@pytest.mark.parametrize(
    ("said", "kind"), [("oauth", OAuthAuthorizer), ("${TOKEN}", GivenAuthorizer)]
)
def test_the_entry_of_a_configuration_may_say_it(
    said: str, kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "abc")
    entry = {"url": URL, "auth": said}
    assert isinstance(opener_for(entry).auth, kind)
    assert isinstance(opener_for({"mcpServers": {"one": entry}}).auth, kind)


def test_the_token_in_an_entry_is_not_shown() -> None:
    entries = load_configuration({"mcpServers": {"one": {"url": URL, "auth": "abc"}}})
    assert "abc" not in repr(entries["one"].resolve())


def test_an_entry_with_something_else_there_is_told() -> None:
    entries = load_configuration({"mcpServers": {"one": {"url": URL, "auth": {"a": 1}}}})
    with pytest.raises(ValueError, match=r'server \'one\', `auth`: it is "oauth" or a token, not'):
        Client(entries["one"])


def test_what_is_given_to_the_client_prevails() -> None:
    assert isinstance(opener_for({"url": URL, "auth": "oauth"}, auth="x").auth, GivenAuthorizer)


def test_many_servers_share_no_token() -> None:
    servers = {"one": URL, "two": "https://other.example/mcp"}
    for auth in ("a-token", BearerToken("a"), ApiKey("X", "a"), lambda: "a"):
        with pytest.raises(ValueError, match="a token is for one server"):
            ClientGroup(servers, auth=auth)
    ClientGroup({**servers, "three": ["python", "-V"]}, auth="oauth")


def test_a_token_that_anybody_in_between_can_read_is_warned_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for url in ("http://far.example/a", "http://far.example/b", "http://localhost:1/a", URL):
        Client(url, auth="hidden")
    (record,) = caplog.records
    assert record.getMessage() == (
        "tokens and keys for http://far.example can be read by whoever is in between: use https"
    )
