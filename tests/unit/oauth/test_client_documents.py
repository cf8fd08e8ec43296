import json
from typing import Any

import pytest

from wigwag.oauth.client_documents import create_document, find_faults
from wigwag.oauth.registration import ClientMetadata

URL = "https://app.example/oauth/client.json"
CLIENT = ClientMetadata(client_name="Testing", client_uri="https://app.example")
REDIRECTS = ("http://127.0.0.1:3000/callback", "https://app.example/callback")


def test_a_document_says_who_the_client_is_and_has_no_faults() -> None:
    document = create_document(URL, CLIENT, REDIRECTS)
    assert document == {
        "client_id": URL,
        "client_name": "Testing",
        "client_uri": "https://app.example",
        "redirect_uris": list(REDIRECTS),
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
    }
    assert find_faults(URL, json.loads(json.dumps(document))) == []


def test_a_client_that_signs_says_where_its_keys_are() -> None:
    document = create_document(URL, CLIENT, REDIRECTS, jwks_uri="https://app.example/jwks.json")
    assert document["token_endpoint_auth_method"] == "private_key_jwt"
    assert document["jwks_uri"] == "https://app.example/jwks.json"
    assert find_faults(URL, document) == []


@pytest.mark.parametrize(
    ("url", "redirects"),
    [
        ("http://app.example/client.json", REDIRECTS),
        ("https://app.example/", REDIRECTS),
        (URL, ()),
        (URL, ("http://app.example/callback",)),
    ],
)
def test_a_document_that_nobody_would_accept_is_not_made(
    url: str, redirects: tuple[str, ...]
) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - each for its own reason
        create_document(url, CLIENT, redirects)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"client_id": f"{URL}/"}, f"letter for letter: it is {URL}/"),
        ({"client_id": None}, "letter for letter: it is no text"),
        ({"client_name": ""}, "client_name is missing"),
        ({"client_name": 7}, "client_name is missing"),
        ({"redirect_uris": []}, "redirect_uris is missing"),
        ({"redirect_uris": "http://localhost"}, "redirect_uris is missing"),
        ({"redirect_uris": ["http://a.example"]}, "the redirect URI http://a.example cannot be"),
        ({"redirect_uris": [7]}, "the redirect URI no text cannot be used"),
        ({"client_secret": "x"}, "client_secret must not be in it"),
        ({"token_endpoint_auth_method": "client_secret_post"}, "is client_secret_post: say none"),
        ({"token_endpoint_auth_method": "private_key_jwt"}, "needs jwks_uri or jwks"),
    ],
)
def test_each_fault_of_a_document_is_named(changes: dict[str, Any], fault: str) -> None:
    (found,) = find_faults(URL, {**create_document(URL, CLIENT, REDIRECTS), **changes})
    assert fault in found


def test_all_faults_are_named_at_once() -> None:
    faults = find_faults("http://app.example", {})
    assert [fault.partition(" ")[0] for fault in faults] == [
        "its",
        "client_id",
        "client_name",
        "redirect_uris",
        "token_endpoint_auth_method",
    ]
