import pytest

from tests.unit.oauth.world import json_response
from wigwag.errors import AuthorizationFailed, AuthorizationUnavailable, AuthorizationUntrusted
from wigwag.oauth.issuers import check_issuer_url, find_in_metadata
from wigwag.oauth.requests import HttpRequest, HttpResponse
from wigwag.oauth.urls import is_usable, read_url

ISSUER = "https://as.example"
RFC8414 = f"{ISSUER}/.well-known/oauth-authorization-server"
OIDC = f"{ISSUER}/.well-known/openid-configuration"
KEYS = f"{ISSUER}/jwks"


def find(answers: dict[str, HttpResponse], issuer: str = ISSUER) -> tuple[str, list[str]]:
    asked: list[str] = []
    flow = find_in_metadata(issuer, "jwks_uri", ("keys.internal",))
    step = next(flow)
    while True:
        assert isinstance(step, HttpRequest)
        asked.append(step.url)
        try:
            step = flow.send(answers.get(step.url, HttpResponse(404)))
        except StopIteration as end:
            return end.value, asked


def test_the_metadata_of_oauth_comes_first_and_that_of_openid_connect_second() -> None:
    sound = json_response({"issuer": ISSUER, "jwks_uri": KEYS})
    assert find({RFC8414: sound}) == (KEYS, [RFC8414])
    assert find({OIDC: sound}) == (KEYS, [RFC8414, OIDC])
    without = json_response({"issuer": ISSUER, "jwks_uri": 7})
    assert find({RFC8414: without, OIDC: sound}) == (KEYS, [RFC8414, OIDC])


def test_an_issuer_with_a_path_is_not_that_of_the_root() -> None:
    issuer = f"{ISSUER}/realms/a"
    place = f"{issuer}/.well-known/openid-configuration"
    found, asked = find({place: json_response({"issuer": issuer, "jwks_uri": KEYS})}, issuer)
    assert found == KEYS
    assert asked == [f"{RFC8414}/realms/a", f"{OIDC}/realms/a", place]


@pytest.mark.parametrize(
    "named", [f"{ISSUER}/", "https://AS.example", "https://evil.example", None]
)
def test_metadata_of_another_issuer_is_not_used(named: str | None) -> None:
    foreign = json_response({"issuer": named, "jwks_uri": KEYS})
    with pytest.raises(AuthorizationUntrusted, match="letter for letter"):
        find({RFC8414: foreign})
    sound = json_response({"issuer": ISSUER, "jwks_uri": KEYS})
    assert find({RFC8414: foreign, OIDC: sound})[0] == KEYS


@pytest.mark.parametrize(
    "url",
    ["http://as.example/jwks", "http://127.0.0.1/jwks", "file:///etc/passwd", "/jwks", f"{KEYS}#x"],
)
def test_keys_are_not_taken_from_where_anybody_could_answer(url: str) -> None:
    with pytest.raises(AuthorizationUntrusted, match="not https"):
        find({RFC8414: json_response({"issuer": ISSUER, "jwks_uri": url})})


def test_a_host_that_the_author_allows_may_speak_plain_http() -> None:
    url = "http://keys.internal/jwks"
    assert find({RFC8414: json_response({"issuer": ISSUER, "jwks_uri": url})})[0] == url


def test_without_metadata_the_author_is_told_what_to_compare() -> None:
    with pytest.raises(AuthorizationFailed, match=f"{ISSUER} has no metadata with jwks_uri"):
        find({})
    with pytest.raises(AuthorizationUnavailable, match="status 503"):
        find({RFC8414: HttpResponse(503)})


def test_what_decides_over_tokens_comes_by_https_or_from_this_machine() -> None:
    here, there = read_url("http://localhost:9000"), read_url(ISSUER)
    assert is_usable("https://x.example/", there, ())
    assert is_usable("http://127.0.0.1:9000/", here, ())
    assert is_usable("http://127.0.0.1:9000/", None, ())
    assert not is_usable("http://127.0.0.1:9000/", there, ())
    assert not is_usable("http://x.example/", here, ())
    assert is_usable("http://x.example/", there, ("x.example",))
    assert not is_usable("nonsense", None, ())


@pytest.mark.parametrize(
    ("issuer", "said"),
    [
        ("as.example", "does not begin with https"),
        ("http://as.example", "allowed_hosts"),
        ("https://as.example?x=1", "query"),
        ("https://as.example#x", "fragment"),
        ("https://me:pw@as.example", "user name"),
    ],
)
def test_what_can_be_no_issuer_is_refused(issuer: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        check_issuer_url(issuer, ())


def test_an_issuer_is_https_or_on_this_machine_or_allowed() -> None:
    for issuer in ("https://as.example/a/", "http://localhost:9000", "http://keycloak:8080/x"):
        assert check_issuer_url(issuer, ("keycloak",)).host
