import pytest

from wigwag.oauth.dpop import authorization_headers, demanded_nonce, nonce_of, proof_claims
from wigwag.oauth.requests import HttpResponse
from wigwag.oauth.secret import Secret
from wigwag.oauth.storage import Tokens

URL = "https://mcp.example/mcp"
BEARER = Tokens(issuer="i", resource="r", client_id="c", access_token=Secret("abc"))
BOUND = Tokens(
    issuer="i", resource="r", client_id="c", access_token=Secret("abc"), token_type="DPoP"
)


def proof(method: str, url: str, *, nonce: str | None, access_token: Secret | None) -> Secret:
    token = None if access_token is None else access_token.reveal()
    return Secret(f"{method} {url} {nonce} {token}")


def test_a_plain_token_is_sent_as_bearer_even_if_proofs_could_be_made() -> None:
    assert authorization_headers(BEARER, proof, "POST", URL) == {"authorization": "Bearer abc"}


def test_a_bound_token_is_sent_with_a_proof_for_this_request() -> None:
    assert authorization_headers(BOUND, proof, "GET", URL, nonce="n") == {
        "authorization": "DPoP abc",
        "dpop": f"GET {URL} n abc",
    }
    with pytest.raises(ValueError, match="bound to a key"):
        authorization_headers(BOUND, None, "GET", URL)


def test_a_proof_names_method_and_url_without_the_query() -> None:
    url = "HTTPS://Mcp.example:443/mcp?x=1"
    assert proof_claims("POST", url, now=7.9, jti="j", nonce=None, token_hash=None) == {
        "jti": "j",
        "htm": "POST",
        "htu": URL,
        "iat": 7,
    }
    whole = proof_claims("POST", url, now=7, jti="j", nonce="n", token_hash="h")
    assert (whole["nonce"], whole["ath"]) == ("n", "h")


def response(*nonces: str) -> HttpResponse:
    return HttpResponse(401, tuple(("DPoP-Nonce", nonce) for nonce in nonces))


def test_a_nonce_is_taken_only_if_it_can_be_sent() -> None:
    assert nonce_of(response("n1")) == "n1"
    assert nonce_of(response("", "é", "x" * 1025, "a\tb", "ok")) == "ok"
    assert nonce_of(response()) is None


def test_a_request_is_made_once_more_only_if_that_is_what_the_server_wants() -> None:
    assert demanded_nonce(response("n"), "use_dpop_nonce") == "n"
    assert demanded_nonce(response("n"), "invalid_token") is None
    assert demanded_nonce(response(), "use_dpop_nonce") is None
