from typing import Any

import pytest

from wigwag.errors import AuthorizationFailed, AuthorizationUntrusted
from wigwag.oauth.metadata import (
    AuthorizationServer,
    ProtectedResource,
    check_pkce,
    presumed_server,
    read_authorization_server,
    read_protected_resource,
)
from wigwag.oauth.urls import read_url

SERVER = read_url("https://mcp.example/mcp")
LOCAL = read_url("http://localhost:1/mcp")
ISSUER = "https://as.example"
URL = "https://as.example/.well-known/oauth-authorization-server"


def resource(**members: Any) -> ProtectedResource:
    document = {
        "resource": "https://mcp.example/mcp",
        "authorization_servers": [ISSUER],
        **members,
    }
    return read_protected_resource(document, "https://mcp.example/prm", SERVER)


def authorization_server(
    *issuers: str, is_strict: bool = True, **members: Any
) -> AuthorizationServer:
    return read_authorization_server(
        {"issuer": ISSUER, **members},
        issuers or (ISSUER,),
        url=URL,
        server=SERVER,
        is_strict=is_strict,
    )


def test_the_metadata_of_a_resource_is_read_as_it_is() -> None:
    read = resource(
        resource="https://mcp.example/",
        authorization_servers=["https://as.example/", "https://as2.example/t"],
        scopes_supported=["a", 7, "b", "a"],
        dpop_bound_access_tokens_required=True,
    )
    assert read == ProtectedResource(
        resource="https://mcp.example/",
        authorization_servers=("https://as.example/", "https://as2.example/t"),
        scopes_supported=("a", "b"),
        dpop_bound_access_tokens_required=True,
    )
    assert resource(scopes_supported=[]).scopes_supported is None
    assert resource(scopes_supported="a").scopes_supported is None


@pytest.mark.parametrize(
    ("named", "shown"),
    [
        ("https://evil.example/mcp?x=1", "the resource https://evil.example/mcp,"),
        (None, "no resource"),
        (7, "no resource"),
        ("junk", "the resource an unreadable URL"),
    ],
)
def test_metadata_of_another_resource_is_not_trusted(named: object, shown: str) -> None:
    with pytest.raises(AuthorizationUntrusted) as caught:
        resource(resource=named)
    assert f"names {shown}" in str(caught.value)
    assert caught.value.where == "https://mcp.example/prm"


@pytest.mark.parametrize("named", [None, [], "https://as.example", [7]])
def test_metadata_must_name_an_authorization_server(named: object) -> None:
    with pytest.raises(AuthorizationFailed, match="names no authorization server"):
        resource(authorization_servers=named)


@pytest.mark.parametrize(
    "issuer",
    ["http://as.example", "http://localhost:1", "ftp://x", "https://a@as.example", "https://a#b"],
)
def test_an_authorization_server_is_reached_by_https(issuer: str) -> None:
    with pytest.raises(AuthorizationUntrusted, match="not reached by https"):
        resource(authorization_servers=[issuer])
    assert resource(authorization_servers=[issuer, ISSUER]).authorization_servers == (ISSUER,)
    assert len(resource(authorization_servers=[ISSUER] * 100).authorization_servers) == 16


def test_an_authorization_server_of_a_local_server_may_be_local() -> None:
    document = {"resource": "http://localhost:1", "authorization_servers": ["http://localhost:2"]}
    read = read_protected_resource(document, "http://localhost:1/prm", LOCAL)
    assert read.authorization_servers == ("http://localhost:2",)


def test_the_metadata_of_an_authorization_server_is_read_leniently() -> None:
    read = authorization_server(
        authorization_endpoint="https://login.example/authorize",
        token_endpoint="https://as.example/token",
        registration_endpoint=7,
        scopes_supported=["a", None],
        token_endpoint_auth_methods_supported="none",
        code_challenge_methods_supported=["S256"],
        client_id_metadata_document_supported="true",
        authorization_response_iss_parameter_supported=True,
        unknown={"a": 1},
    )
    assert read == AuthorizationServer(
        issuer=ISSUER,
        authorization_endpoint="https://login.example/authorize",
        token_endpoint="https://as.example/token",
        scopes_supported=("a",),
        code_challenge_methods_supported=("S256",),
        authorization_response_iss_parameter_supported=True,
    )


@pytest.mark.parametrize(
    "named",
    [
        "https://as.example/",
        "https://AS.example",
        "https://as.example:443",
        "https://evil.example",
        "",
        None,
        7,
    ],
)
def test_an_issuer_is_the_same_only_letter_for_letter(named: object) -> None:
    with pytest.raises(AuthorizationUntrusted, match=r"the metadata of https://as\.example says"):
        authorization_server(issuer=named)


def test_the_error_shows_the_letters_that_make_the_difference() -> None:
    with pytest.raises(AuthorizationUntrusted, match=r"it is that of https://as\.example/ \("):
        authorization_server(issuer="https://as.example/")
    with pytest.raises(AuthorizationUntrusted, match=r"it is that of https://AS\.example:443 \("):
        authorization_server(issuer="https://AS.example:443")
    with pytest.raises(AuthorizationUntrusted, match="it is that of nobody"):
        authorization_server(issuer=None)


def test_a_lenient_client_takes_the_issuer_that_the_document_names() -> None:
    other = "https://as.example/"
    assert authorization_server(issuer=other, is_strict=False).issuer == other
    assert authorization_server(ISSUER, other, issuer=other).issuer == other
    with pytest.raises(AuthorizationUntrusted):
        authorization_server(issuer=None, is_strict=False)


@pytest.mark.parametrize(
    "name",
    ["authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint"],
)
@pytest.mark.parametrize("url", ["http://as.example/x", "http://127.0.0.1/x", "javascript:x"])
def test_every_endpoint_is_https(name: str, url: str) -> None:
    with pytest.raises(AuthorizationUntrusted, match=f"the {name} .* is not https"):
        read_authorization_server({"issuer": ISSUER, name: url}, (ISSUER,), url=URL, server=SERVER)


def test_pkce_must_be_promised() -> None:
    check_pkce(authorization_server(code_challenge_methods_supported=["plain", "S256"]))
    for methods in (None, [], ["plain"], ["s256"], "S256"):
        with pytest.raises(AuthorizationUntrusted, match="PKCE"):
            check_pkce(authorization_server(code_challenge_methods_supported=methods))


def test_where_there_is_no_metadata_endpoints_are_at_the_origin() -> None:
    presumed = presumed_server(read_url("https://api.example.com/v1/mcp"))
    assert (
        presumed.issuer,
        presumed.authorization_endpoint,
        presumed.token_endpoint,
        presumed.registration_endpoint,
    ) == tuple(
        f"https://api.example.com{path}" for path in ("", "/authorize", "/token", "/register")
    )
    assert presumed.is_presumed
    check_pkce(presumed)
