import base64

import pytest

from wigwag.errors import RegistrationFailed
from wigwag.oauth.client_authentication import (
    ClientProof,
    assertion_claims,
    choose_method,
    client_proof,
    method_to_register,
)
from wigwag.oauth.metadata import AuthorizationServer
from wigwag.oauth.secret import Secret
from wigwag.oauth.storage import Registration, RegistrationKind


def server(*methods: str) -> AuthorizationServer:
    return AuthorizationServer(
        issuer="https://as.example", token_endpoint_auth_methods_supported=methods or None
    )


def registration(
    secret: str | None = None, agreed: str | None = None, kind: RegistrationKind = "pre-registered"
) -> Registration:
    return Registration(
        issuer="https://as.example",
        kind=kind,
        client_id="a:b c",
        client_secret=None if secret is None else Secret(secret),
        token_endpoint_auth_method=agreed,
    )


BASIC, POST, NONE, KEY = "client_secret_basic", "client_secret_post", "none", "private_key_jwt"


@pytest.mark.parametrize(
    ("methods", "secret", "signs", "expected"),
    [
        ([BASIC], "s", False, BASIC),
        ([POST], "s", False, POST),
        ([POST, BASIC], "s", False, BASIC),
        ([NONE], "s", False, NONE),
        ([NONE], None, False, NONE),
        ([BASIC], None, False, NONE),
        ([KEY, BASIC], "s", True, KEY),
        ([KEY], "s", False, BASIC),
        ([BASIC], "s", True, BASIC),
        ([POST], None, True, KEY),
        ([], "s", False, BASIC),
        ([], None, False, NONE),
        ([], None, True, KEY),
    ],
)
def test_the_method_is_one_that_both_sides_can(
    methods: list[str],
    secret: str | None,
    signs: bool,  # noqa: FBT001
    expected: str,
) -> None:
    assert choose_method(registration(secret), server(*methods), signs=signs) == expected


def test_what_was_agreed_upon_counts_more_than_what_is_offered() -> None:
    assert choose_method(registration("s", POST), server(BASIC)) == POST
    assert choose_method(registration("s", NONE), server(BASIC)) == NONE
    assert choose_method(registration(None, BASIC, "dynamic"), server(BASIC)) == NONE
    with pytest.raises(RegistrationFailed, match="is to use private_key_jwt"):
        choose_method(registration("s", KEY), server(BASIC))


@pytest.mark.parametrize(
    ("methods", "expected"),
    [
        ([BASIC, NONE], NONE),
        ([POST, BASIC], BASIC),
        ([POST], POST),
        ([], BASIC),
        ([KEY], NONE),
    ],
)
def test_a_client_registers_without_a_secret_where_it_can(
    methods: list[str], expected: str
) -> None:
    assert method_to_register(server(*methods)) == expected


def test_basic_encodes_id_and_secret_first() -> None:
    proof = client_proof(registration("p:w+ é"), server(BASIC))
    scheme, _, encoded = proof.headers["authorization"].partition(" ")
    assert scheme == "Basic"
    assert base64.b64decode(encoded) == b"a%3Ab+c:p%3Aw%2B+%C3%A9"
    assert proof.fields == {}
    assert Secret("p:w+ é") in proof.secrets


def test_post_and_none_name_the_client_in_the_form() -> None:
    assert client_proof(registration("s"), server(POST)) == ClientProof(
        {}, {"client_id": "a:b c", "client_secret": "s"}, (Secret("s"),)
    )
    nameless = ClientProof({}, {"client_id": "a:b c"})
    assert client_proof(registration(), server(NONE)) == nameless
    assert client_proof(registration("s", NONE), server(POST)) == nameless


def test_a_signed_assertion_names_the_client_itself() -> None:
    asked: list[tuple[str, str]] = []

    def sign(client_id: str, audience: str) -> Secret:
        asked.append((client_id, audience))
        return Secret("signed")

    proof = client_proof(registration(), server(KEY), sign)
    assert asked == [("a:b c", "https://as.example")]
    assert proof.fields == {
        "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        "client_assertion": "signed",
    }
    assert "signed" not in repr(proof)
    itself = client_proof(registration(kind="dynamic"), server(KEY), sign)
    assert itself == ClientProof({}, {"client_id": "a:b c"})


def test_the_claims_of_an_assertion_are_short_lived_and_for_one_issuer() -> None:
    assert assertion_claims("me", "https://as.example", now=100.7, jti="x") == {
        "iss": "me",
        "sub": "me",
        "aud": "https://as.example",
        "jti": "x",
        "iat": 100,
        "exp": 160,
    }
