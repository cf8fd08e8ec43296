import json
from typing import Any

import pytest

from tests.unit.oauth.world import ISSUER, REDIRECT, World, json_response
from wigwag.errors import AuthorizationFailed, AuthorizationUnavailable, RegistrationFailed
from wigwag.oauth.metadata import AuthorizationServer
from wigwag.oauth.registration import (
    ClientMetadata,
    PreRegistered,
    as_metadata_document,
    as_pre_registered,
    check_document_url,
    check_redirect_uri,
    how_to_identify,
    register,
)
from wigwag.oauth.requests import HttpResponse
from wigwag.oauth.secret import Secret
from wigwag.oauth.storage import Registration

DOCUMENT = "https://app.example/client.json"
METHODS = ("none", "client_secret_post")


def server(**members: Any) -> AuthorizationServer:
    return AuthorizationServer(
        issuer=ISSUER, token_endpoint_auth_methods_supported=METHODS, **members
    )


OPEN = server(
    registration_endpoint=f"{ISSUER}/register", client_id_metadata_document_supported=True
)


def identify(authorization_server: AuthorizationServer = OPEN, **known: Any) -> str:
    return how_to_identify(
        authorization_server,
        **{
            "given": None,
            "document_url": None,
            "may_register": True,
            "is_registered": False,
            "bound_to": None,
            **known,
        },
    )


def test_the_ways_are_tried_in_the_order_of_the_specification() -> None:
    given = PreRegistered(client_id="me")
    assert identify(given=given, document_url=DOCUMENT) == "pre-registered"
    assert identify(document_url=DOCUMENT) == "metadata-document"
    assert identify() == "dynamic"
    closed = server(registration_endpoint=f"{ISSUER}/register")
    assert identify(closed, document_url=DOCUMENT) == "dynamic"
    assert identify(server(), is_registered=True) == "dynamic"


def test_where_there_is_no_way_the_error_says_what_to_give() -> None:
    with pytest.raises(RegistrationFailed, match=r"give its client_id$"):
        identify(server())
    with pytest.raises(RegistrationFailed, match=r"or the URL of a client ID metadata document$"):
        identify(may_register=False)


def test_a_client_registered_by_hand_stays_where_it_belongs() -> None:
    assert identify(given=PreRegistered(client_id="me", issuer=ISSUER)) == "pre-registered"
    assert identify(given=PreRegistered(client_id="me"), bound_to=ISSUER) == "pre-registered"
    for known in (
        {"given": PreRegistered(client_id="me", issuer="https://as2.example")},
        {"given": PreRegistered(client_id="me", issuer=f"{ISSUER}/"), "bound_to": ISSUER},
        {"given": PreRegistered(client_id="me"), "bound_to": "https://as2.example"},
    ):
        with pytest.raises(RegistrationFailed, match="the client me is registered with https"):
            identify(**known, document_url=DOCUMENT)


def test_what_was_given_becomes_a_registration() -> None:
    given = PreRegistered(client_id="me", client_secret=Secret("s"), redirect_uris=(REDIRECT,))
    assert as_pre_registered(given, OPEN) == Registration(
        issuer=ISSUER,
        kind="pre-registered",
        client_id="me",
        client_secret=Secret("s"),
        redirect_uris=(REDIRECT,),
    )
    assert as_metadata_document(DOCUMENT, OPEN, signs=False) == Registration(
        issuer=ISSUER,
        kind="metadata-document",
        client_id=DOCUMENT,
        token_endpoint_auth_method="none",
    )
    signed = as_metadata_document(DOCUMENT, OPEN, signs=True)
    assert signed.token_endpoint_auth_method == "private_key_jwt"


@pytest.mark.parametrize(
    "url",
    [
        "http://app.example/client.json",
        "http://localhost/client.json",
        "https://app.example",
        "https://app.example/",
        "https://app.example/a/../client.json",
        "https://app.example/./client.json",
        "https://app.example/client.json#x",
        "https://me@app.example/client.json",
        "client.json",
    ],
)
def test_a_metadata_document_has_a_proper_https_url(url: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - each for its own reason
        check_document_url(url)
    with pytest.raises(ValueError):  # noqa: PT011
        as_metadata_document(url, OPEN, signs=False)
    check_document_url(DOCUMENT)


def test_a_redirect_uri_is_https_or_on_this_machine() -> None:
    for uri in ("http://127.0.0.1:1/c", "http://localhost/c", "http://[::1]:2/", "https://a.b/c"):
        check_redirect_uri(uri)
    for uri in ("http://a.example/c", "http://10.0.0.1/c", "https://a.example/c#x", "app:callback"):
        with pytest.raises(ValueError):  # noqa: PT011 - each for its own reason
            check_redirect_uri(uri)


CLIENT = ClientMetadata(client_name="Testing", client_uri="https://app.example")


def registered(response: HttpResponse) -> Registration:
    world = World()
    world.documents[f"{ISSUER}/register"] = response
    return world.run(register(OPEN, CLIENT, REDIRECT, ("a",)))


def test_a_client_says_who_it_is() -> None:
    world = World()
    got = world.run(register(OPEN, CLIENT, REDIRECT, ("a", "b")))
    (request,) = world.requests
    assert (request.method, request.url) == ("POST", f"{ISSUER}/register")
    assert json.loads(request.body) == {
        "client_name": "Testing",
        "client_uri": "https://app.example",
        "redirect_uris": [REDIRECT],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
        "scope": "a b",
    }
    assert got == Registration(
        issuer=ISSUER,
        kind="dynamic",
        client_id="client-1",
        token_endpoint_auth_method="none",
        redirect_uris=(REDIRECT,),
        scopes=("a", "b"),
    )


def test_a_client_of_another_kind_says_so_too() -> None:
    web = ClientMetadata(client_name="x", application_type="web")
    document = web.document(("https://a.example/c",), grant_types=("client_credentials",))
    assert (document["application_type"], document["response_types"]) == ("web", [])
    assert "scope" not in document
    assert "client_uri" not in document


def test_what_the_server_decides_is_kept() -> None:
    got = registered(
        json_response(
            {
                "client_id": "me",
                "client_secret": "hush",
                "client_secret_expires_at": 17,
                "token_endpoint_auth_method": "client_secret_basic",
            },
            200,
        )
    )
    assert (got.client_secret, got.client_secret_expires_at) == (Secret("hush"), 17.0)
    assert got.token_endpoint_auth_method == "client_secret_basic"


@pytest.mark.parametrize("never", [0, None, "0", True, [1]])
def test_a_secret_that_never_expires_is_kept_for_good(never: object) -> None:
    got = registered(json_response({"client_id": "me", "client_secret_expires_at": never}, 201))
    assert got.client_secret_expires_at is None
    assert (got.client_secret, got.token_endpoint_auth_method) == (None, None)


def test_a_refusal_says_why_and_what_to_do() -> None:
    with pytest.raises(RegistrationFailed) as caught:
        registered(
            json_response({"error": "invalid_redirect_uri", "error_description": "no\nports"}, 400)
        )
    assert str(caught.value) == (
        "the authorization server does not register this client: invalid_redirect_uri: no ports "
        f"({ISSUER}/register); register one there by hand and give its client_id"
    )
    with pytest.raises(RegistrationFailed, match="status 403"):
        registered(HttpResponse(403, (), b"<html>"))


def test_where_scopes_may_be_what_is_wrong_the_client_registers_without() -> None:
    world = World()
    register_there = world.server.register

    def refuse_scopes(wanted: dict[str, Any]) -> HttpResponse:
        answer = register_there(wanted)
        error = {"error": "invalid_client_metadata"}
        return json_response(error, 400) if "scope" in wanted else answer

    world.server.register = refuse_scopes  # type: ignore[method-assign]
    got = world.run(register(OPEN, CLIENT, REDIRECT, ("a",)))
    assert (got.client_id, got.scopes) == ("client-2", ("a",))
    first, second = world.server.registered
    assert first == {**second, "scope": "a"}


@pytest.mark.parametrize(("scopes", "attempts"), [((), 1), (("a",), 2)])
def test_where_something_else_is_wrong_too_that_is_an_error(
    scopes: tuple[str, ...], attempts: int
) -> None:
    world = World()
    refusal = json_response({"error": "invalid_client_metadata"}, 400)
    world.documents[f"{ISSUER}/register"] = refusal
    with pytest.raises(RegistrationFailed, match="invalid_client_metadata"):
        world.run(register(OPEN, CLIENT, REDIRECT, scopes))
    assert len(world.requests) == attempts


def test_a_server_that_is_down_is_told_apart() -> None:
    with pytest.raises(AuthorizationUnavailable, match="status 503"):
        registered(HttpResponse(503))


@pytest.mark.parametrize("client_id", [None, "", 7, "x" * 4097])
def test_an_answer_without_a_client_is_no_registration(client_id: object) -> None:
    with pytest.raises(AuthorizationFailed, match="no registration"):
        registered(json_response({"client_id": client_id}, 201))
