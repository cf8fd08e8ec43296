from typing import Any
from urllib.parse import urlencode

import pytest

from tests.unit.oauth.world import ISSUER, REDIRECT, query_of
from wigwag.errors import (
    AuthorizationFailed,
    AuthorizationRefused,
    AuthorizationUnavailable,
    AuthorizationUntrusted,
)
from wigwag.oauth.authorization import Attempt, authorization_url, begin_attempt, read_redirect
from wigwag.oauth.metadata import AuthorizationServer
from wigwag.oauth.pkce import challenge_of, unguessable
from wigwag.oauth.secret import Secret
from wigwag.oauth.storage import Registration

RANDOMS = (b"s" * 32, b"v" * 32)
STATE = unguessable(RANDOMS[0])
RESOURCE = "https://mcp.example/mcp"


def attempt(
    *, advertised: bool = False, endpoint: str | None = f"{ISSUER}/authorize", scopes: Any = ()
) -> Attempt:
    return begin_attempt(
        AuthorizationServer(
            issuer=ISSUER,
            authorization_endpoint=endpoint,
            authorization_response_iss_parameter_supported=advertised,
        ),
        Registration(issuer=ISSUER, kind="dynamic", client_id="https://app.example/c?d&e"),
        redirect_uri=REDIRECT,
        resource=RESOURCE,
        scopes=scopes,
        randoms=RANDOMS,
    )


def redirect(**fields: str) -> str:
    return f"{REDIRECT}?{urlencode({'state': STATE, **fields})}"


def test_the_request_has_all_that_the_specification_wants() -> None:
    begun = attempt(scopes=("a", "b"))
    url = authorization_url(begun)
    assert url.startswith(f"{ISSUER}/authorize?response_type=code&")
    assert query_of(url) == {
        "response_type": "code",
        "client_id": "https://app.example/c?d&e",
        "redirect_uri": REDIRECT,
        "code_challenge": challenge_of(Secret(unguessable(RANDOMS[1]))),
        "code_challenge_method": "S256",
        "state": STATE,
        "resource": RESOURCE,
        "scope": "a b",
    }
    assert begun.verifier.reveal() not in url


def test_no_scope_is_named_where_none_is_wanted() -> None:
    assert "scope" not in query_of(authorization_url(attempt()))


def test_whoever_wants_offline_access_has_the_user_asked_for_it() -> None:
    assert query_of(authorization_url(attempt(scopes=("offline_access",))))["prompt"] == "consent"


def test_an_endpoint_may_have_a_query_of_its_own() -> None:
    url = authorization_url(attempt(endpoint=f"{ISSUER}/authorize?tenant=1"))
    assert query_of(url)["tenant"] == "1"
    assert url.count("?") == 1


def test_a_server_that_asks_nobody_is_told() -> None:
    with pytest.raises(AuthorizationFailed, match="does not ask users"):
        authorization_url(attempt(endpoint=None))


def test_chance_is_used_once() -> None:
    with pytest.raises(ValueError, match="must differ"):
        begin_attempt(
            attempt().server,
            attempt().registration,
            redirect_uri=REDIRECT,
            resource=RESOURCE,
            scopes=(),
            randoms=(b"x" * 32, b"x" * 32),
        )


def test_neither_state_nor_verifier_shows() -> None:
    begun = attempt()
    assert repr(begun) == f"Attempt(issuer={ISSUER!r}, resource={RESOURCE!r})"


@pytest.mark.parametrize(
    "text",
    [
        redirect(code="c&d"),
        redirect(code="c&d").partition("?")[2],
        "?" + redirect(code="c&d").partition("?")[2],
        "/callback?" + redirect(code="c&d").partition("?")[2],
        f"  {redirect(code='c&d')}\n",
        redirect(code="c&d", iss=ISSUER, session_state="x"),
        redirect(code="c&d") + "#_=_",
    ],
)
def test_the_code_is_found_however_the_redirect_is_given(text: str) -> None:
    assert read_redirect(text, attempt()) == Secret("c&d")


@pytest.mark.parametrize("state", ["", "x", STATE[:-1], STATE + "x", STATE.lower(), "é"])
def test_a_redirect_with_another_state_is_not_the_answer(state: str) -> None:
    with pytest.raises(AuthorizationUntrusted, match="its state is another"):
        read_redirect(redirect(code="c", state=state), attempt())


def test_a_redirect_without_a_state_is_not_the_answer() -> None:
    for text in (f"?code=c&iss={ISSUER}", "", "code", "?" + "&" * 10):
        with pytest.raises(AuthorizationUntrusted, match="its state is another"):
            read_redirect(text, attempt())


OTHERS = [
    "https://evil.example", f"{ISSUER}/", "https://AS.example", "https://as.example:443",
    "https%3A%2F%2Fas.example", "", f" {ISSUER}",
]  # fmt: skip


@pytest.mark.parametrize("advertised", [True, False])
@pytest.mark.parametrize("iss", OTHERS)
def test_an_issuer_that_is_another_letter_for_letter_is_another(
    iss: str,
    advertised: bool,  # noqa: FBT001
) -> None:
    with pytest.raises(AuthorizationUntrusted, match="another authorization server"):
        read_redirect(redirect(code="c", iss=iss), attempt(advertised=advertised))


def test_the_issuer_may_be_missing_only_where_it_was_not_promised() -> None:
    assert read_redirect(redirect(code="c"), attempt()) == Secret("c")
    with pytest.raises(AuthorizationUntrusted, match="does not say which authorization server"):
        read_redirect(redirect(code="c"), attempt(advertised=True))
    begun = attempt(advertised=True)
    assert read_redirect(redirect(code="c", iss=ISSUER), begun) == Secret("c")


def test_an_error_from_elsewhere_is_not_shown() -> None:
    said = {"error": "access_denied", "error_description": "call 555-1234"}
    for text in (
        redirect(**said, iss="https://evil.example"),
        redirect(**said, state="x"),
        f"https://evil.example/?{redirect(**said).partition('?')[2]}",
    ):
        with pytest.raises(AuthorizationUntrusted) as caught:
            read_redirect(text, attempt())
        assert "denied" not in str(caught.value)
        assert "555" not in str(caught.value)


def test_a_no_of_the_user_is_told_in_the_words_of_the_server() -> None:
    text = redirect(error="access_denied", error_description="not\ntoday", code="c")
    with pytest.raises(AuthorizationRefused, match="access_denied: not today") as caught:
        read_redirect(text, attempt())
    assert (caught.value.error, caught.value.where) == ("access_denied", f"{ISSUER}/authorize")
    assert caught.value.advice == "log in again to be asked again"
    with pytest.raises(AuthorizationRefused, match="invalid_scope") as caught:
        read_redirect(redirect(error="invalid_scope"), attempt())
    assert caught.value.advice == ""


@pytest.mark.parametrize("error", ["server_error", "temporarily_unavailable"])
def test_a_server_that_cannot_ask_right_now_is_not_a_no(error: str) -> None:
    with pytest.raises(AuthorizationUnavailable, match=error):
        read_redirect(redirect(error=error), attempt())


def test_a_redirect_without_a_code_is_told() -> None:
    for text in (redirect(), redirect(code="")):
        with pytest.raises(AuthorizationFailed, match="brought no code"):
            read_redirect(text, attempt())


@pytest.mark.parametrize(
    "place",
    [
        "https://evil.example/callback",
        "http://127.0.0.1:7778/callback",
        "http://127.0.0.1:7777/other",
        "https://127.0.0.1:7777/callback",
        "https://me@127.0.0.1:7777/callback",
    ],
)
def test_a_redirect_to_another_place_is_not_taken(place: str) -> None:
    with pytest.raises(AuthorizationUntrusted, match="the browser came back to"):
        read_redirect(redirect(code="c").replace(REDIRECT, place), attempt())


def test_what_is_said_twice_or_at_great_length_is_not_taken() -> None:
    for twice in ("&code=d", f"&state={STATE}", "&iss=a&iss=b"):
        with pytest.raises(AuthorizationUntrusted, match="says one thing twice"):
            read_redirect(redirect(code="c") + twice, attempt())
    with pytest.raises(AuthorizationUntrusted, match="too many parts"):
        read_redirect(redirect(code="c") + "&x=1" * 100, attempt())
    with pytest.raises(AuthorizationUntrusted, match="too long"):
        read_redirect(redirect(code="c" * 70_000), attempt())
