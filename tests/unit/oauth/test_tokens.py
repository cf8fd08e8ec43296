from typing import Any

import pytest

from tests.unit.oauth.world import ISSUER, NOW, World, fields_of, json_response, refusal_of
from wigwag.errors import (
    AuthorizationFailed,
    AuthorizationRefused,
    AuthorizationUnavailable,
    AuthorizationUntrusted,
    RegistrationFailed,
)
from wigwag.oauth.metadata import AuthorizationServer
from wigwag.oauth.requests import HttpResponse
from wigwag.oauth.secret import Secret
from wigwag.oauth.storage import Registration, Tokens
from wigwag.oauth.tokens import (
    ID_JAG,
    ID_TOKEN,
    Grant,
    IssuedToken,
    TokenClient,
    assertion_grant,
    client_credentials_grant,
    code_grant,
    exchange_for_id_jag,
    identity_exchange_grant,
    lost_by,
    refresh_grant,
    request_token,
    revoke,
    to_tokens,
)

ENDPOINT = f"{ISSUER}/token"
SERVER = AuthorizationServer(
    issuer=ISSUER,
    token_endpoint=ENDPOINT,
    revocation_endpoint=f"{ISSUER}/revoke",
    token_endpoint_auth_methods_supported=("none",),
)
CLIENT = TokenClient(SERVER, Registration(issuer=ISSUER, kind="dynamic", client_id="me"))
GRANT = refresh_grant(Secret("old-token"), "https://mcp.example")
GOOD = {"access_token": "abc", "token_type": "Bearer"}


def issued(response: HttpResponse, client: TokenClient = CLIENT) -> IssuedToken:
    world = World()
    world.documents[ENDPOINT] = response
    return world.run(request_token(client, GRANT))


def test_each_grant_asks_for_its_own_kind_of_token() -> None:
    resource, scopes = "https://mcp.example", ("a", "b")
    assert code_grant(Secret("c"), Secret("v"), "http://localhost", resource).fields == {
        "grant_type": "authorization_code",
        "code": "c",
        "code_verifier": "v",
        "redirect_uri": "http://localhost",
        "resource": resource,
    }
    assert GRANT.fields == {
        "grant_type": "refresh_token",
        "refresh_token": "old-token",
        "resource": resource,
    }
    assert client_credentials_grant(resource, scopes).fields == {
        "grant_type": "client_credentials",
        "resource": resource,
        "scope": "a b",
    }
    assert client_credentials_grant(resource, ()).fields.get("scope") is None
    assert assertion_grant(Secret("j"), resource, scopes).fields == {
        "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
        "assertion": "j",
        "resource": resource,
        "scope": "a b",
    }
    exchange = identity_exchange_grant(
        Secret("id"), ID_TOKEN, audience=ISSUER, resource=resource, scopes=()
    )
    assert (exchange.fields["audience"], exchange.fields["requested_token_type"]) == (
        ISSUER,
        ID_JAG,
    )
    assert repr(exchange) == f"Grant({exchange.fields['grant_type']!r})"


def test_a_token_response_is_read_with_its_expiry_as_a_moment() -> None:
    read = issued(json_response({**GOOD, "expires_in": 60, "refresh_token": "r", "scope": "a b"}))
    assert read == IssuedToken(Secret("abc"), "bearer", NOW + 60, Secret("r"), ("a", "b"), None)
    assert issued(json_response(GOOD)) == IssuedToken(
        Secret("abc"), "bearer", None, None, None, None
    )


@pytest.mark.parametrize(
    ("lifetime", "seconds"),
    [
        (3600, 3600),
        (1.5, 1.5),
        ("3600", 3600),
        (0, 0),
        (-5, 0),
        (1e300, 315360000),
        ("9" * 4000, 315360000),
        (None, None),
        (True, None),
        ("soon", None),
        ("٣", None),
        ([1], None),
    ],
)
def test_lifetimes_are_read_however_they_are_written(
    lifetime: object, seconds: float | None
) -> None:
    expected = None if seconds is None else NOW + seconds
    assert issued(json_response({**GOOD, "expires_in": lifetime})).expires_at == expected


@pytest.mark.parametrize(
    "changes",
    [
        {"access_token": None},
        {"access_token": ""},
        {"access_token": 7},
        {"access_token": "a\r\nx: y"},
        {"access_token": "a b"},
        {"access_token": "é"},
        {"access_token": "a" * 65_537},
        {"token_type": None},
        {"token_type": 7},
    ],
)
def test_what_cannot_be_sent_as_a_token_is_none(changes: dict[str, Any]) -> None:
    with pytest.raises(AuthorizationFailed, match="something that is no token") as caught:
        issued(json_response({**GOOD, **changes}))
    assert lost_by(caught.value) is None


def test_a_refresh_token_that_cannot_be_sent_is_left_out() -> None:
    assert issued(json_response({**GOOD, "refresh_token": "a\nb"})).refresh_token is None


@pytest.mark.parametrize(
    ("error", "lost"),
    [
        ("invalid_grant", "tokens"),
        ("invalid_client", "registration"),
        ("invalid_request", None),
        ("invalid_scope", None),
        ("unauthorized_client", None),
        ("slow_down", None),
    ],
)
def test_what_a_refusal_costs_is_told_by_its_error(error: str, lost: str | None) -> None:
    for status in (200, 400, 401):
        with pytest.raises(AuthorizationRefused, match=error) as caught:
            issued(refusal_of(error, status, error_description="be\nause", access_token="x"))
        assert "be ause" in str(caught.value)
        assert (caught.value.error, lost_by(caught.value)) == (error, lost)
        assert caught.value.where == ENDPOINT


@pytest.mark.parametrize("status", [408, 425, 429, 500, 503, 599])
def test_a_server_that_cannot_answer_costs_nothing(status: int) -> None:
    with pytest.raises(AuthorizationUnavailable, match=f"status {status}") as caught:
        issued(refusal_of("invalid_grant", status))
    assert lost_by(caught.value) is None


@pytest.mark.parametrize(
    "response",
    [
        HttpResponse(302, (("location", "https://evil.example"),)),
        HttpResponse(404, (), b"<html>"),
        HttpResponse(200, (), b"<html>"),
        json_response({"error": {"a": 1}}, 400),
        json_response({"error": "two words\n"}, 400),
    ],
)
def test_an_answer_without_a_reason_costs_nothing(response: HttpResponse) -> None:
    with pytest.raises(AuthorizationFailed, match="and no reason") as caught:
        issued(response)
    assert lost_by(caught.value) is None


def test_what_was_sent_in_secret_is_not_repeated_in_an_error() -> None:
    registration = Registration(
        issuer=ISSUER,
        kind="pre-registered",
        client_id="me",
        client_secret=Secret("hush"),
        token_endpoint_auth_method="client_secret_post",
    )
    with pytest.raises(AuthorizationRefused) as caught:
        issued(
            refusal_of("invalid_grant", error_description="old-token of hush"),
            TokenClient(SERVER, registration),
        )
    assert "… of …" in str(caught.value)


def test_a_token_of_another_type_is_not_used() -> None:
    for kind in ("DPoP", "mac", "N_A"):
        with pytest.raises(AuthorizationUntrusted, match="not bearer"):
            issued(json_response({**GOOD, "token_type": kind}))
    assert issued(json_response({**GOOD, "token_type": "bEARER"})).token_type == "bearer"


def test_a_server_without_a_token_endpoint_is_told() -> None:
    nowhere = TokenClient(AuthorizationServer(issuer=ISSUER), CLIENT.registration)
    with pytest.raises(AuthorizationFailed, match="no token endpoint"):
        World().run(request_token(nowhere, GRANT))


def test_what_is_kept_of_an_answer() -> None:
    answer = IssuedToken(Secret("abc"), "bearer", 5.0, None, None, None)
    old = Tokens(
        issuer=ISSUER,
        resource="r",
        client_id="me",
        access_token=Secret("x"),
        refresh_token=Secret("kept"),
    )
    tokens = to_tokens(answer, CLIENT, "r", requested=("a",), old=old)
    assert tokens == Tokens(
        issuer=ISSUER,
        resource="r",
        client_id="me",
        access_token=Secret("abc"),
        expires_at=5.0,
        refresh_token=Secret("kept"),
        scopes=("a",),
        requested_scopes=("a",),
    )
    assert to_tokens(answer, CLIENT, "r", requested=(), old=None).refresh_token is None
    reduced = IssuedToken(Secret("abc"), "bearer", None, Secret("new"), ("b",), None)
    tokens = to_tokens(reduced, CLIENT, "r", requested=("a", "b"), old=old)
    assert (tokens.scopes, tokens.requested_scopes) == (("b",), ("a", "b"))
    assert tokens.refresh_token == Secret("new")


class Proof:
    def __init__(self) -> None:
        self.nonces: list[str | None] = []

    def __call__(
        self, method: str, url: str, *, nonce: str | None, access_token: Secret | None
    ) -> Secret:
        assert (method, url, access_token) == ("POST", ENDPOINT, None)
        self.nonces.append(nonce)
        return Secret("proof")


def test_a_nonce_is_tried_once() -> None:
    proof = Proof()
    client = TokenClient(SERVER, CLIENT.registration, None, proof)
    wants = json_response({"error": "use_dpop_nonce"}, 400, DPoP_Nonce="n")
    with pytest.raises(AuthorizationRefused, match="use_dpop_nonce"):
        issued(wants, client)
    assert proof.nonces == [None, "n"]
    with pytest.raises(AuthorizationRefused, match="use_dpop_nonce"):
        issued(wants)


def test_an_identity_provider_must_answer_with_what_was_asked_for() -> None:
    world = World()
    grant = identity_exchange_grant(
        Secret("id"), ID_TOKEN, audience="https://as2.example", resource="r", scopes=()
    )
    id_jag = {"access_token": "j", "token_type": "N_A", "issued_token_type": ID_JAG}
    world.documents[ENDPOINT] = json_response(id_jag)
    assert world.run(exchange_for_id_jag(CLIENT, grant)) == Secret("j")
    world.documents[ENDPOINT] = json_response({**GOOD, "issued_token_type": ID_TOKEN})
    with pytest.raises(AuthorizationFailed, match="another token than was asked for"):
        world.run(exchange_for_id_jag(CLIENT, grant))


def test_a_token_that_is_no_longer_wanted_is_revoked_whatever_the_server_says() -> None:
    tokens = Tokens(
        issuer=ISSUER,
        resource="r",
        client_id="me",
        access_token=Secret("a"),
        refresh_token=Secret("r"),
    )
    world = World()
    world.documents[f"{ISSUER}/revoke"] = HttpResponse(500)
    world.run(revoke(CLIENT, tokens))
    assert [fields_of(request) for request in world.requests] == [
        {"token": "r", "token_type_hint": "refresh_token", "client_id": "me"},
        {"token": "a", "token_type_hint": "access_token", "client_id": "me"},
    ]
    world = World()
    nowhere = TokenClient(AuthorizationServer(issuer=ISSUER), CLIENT.registration)
    world.run(revoke(nowhere, tokens))
    assert world.requests == []


def test_only_a_refusal_costs_anything() -> None:
    for error in (AuthorizationFailed("x"), RegistrationFailed("x"), AuthorizationUnavailable("x")):
        assert lost_by(error) is None
    assert repr(Grant({"grant_type": "x", "code": "secret"})) == "Grant('x')"
