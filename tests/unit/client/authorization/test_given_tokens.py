"""Tokens and keys that the caller has, and functions that return them."""

from typing import Any

import pytest

from wigwag.client.authorization.given_tokens import ApiKey, BearerToken, GivenAuthorizer
from wigwag.errors import AuthorizationFailed, AuthorizationRefused, InsufficientScope
from wigwag.oauth.secret import Secret

pytestmark = pytest.mark.anyio

URL = "https://mcp.example/mcp"


class Head:
    """The head of a response."""

    def __init__(self, status: int, **headers: str) -> None:
        self.status = status
        self._headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def header(self, name: str) -> str:
        return self._headers.get(name, "")

    def headers(self) -> dict[str, str]:
        return self._headers


async def sent_by(given: Any) -> dict[str, str]:
    return dict(await GivenAuthorizer(URL, given).begin("tools/list").headers("POST", URL))


@pytest.mark.parametrize("token", ["abc", "Bearer abc", "bearer  abc", Secret("abc")])
async def test_a_token_is_sent_as_it_is(token: Any) -> None:
    assert await sent_by(BearerToken(token)) == {"Authorization": "Bearer abc"}


async def test_a_key_has_a_header_of_its_own() -> None:
    assert await sent_by(ApiKey("X-API-Key", "abc d")) == {"X-API-Key": "abc d"}


@pytest.mark.parametrize("token", ["a b", "a\r\nX: y", "ä"])
def test_what_cannot_be_a_token_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(ValueError, match=r"^a token has no blanks, line ends or"):
        BearerToken(token)


@pytest.mark.parametrize("header", ["Host", "content-type", "Mcp-Session-Id"])
def test_a_key_takes_no_header_that_has_another_use(header: str) -> None:
    with pytest.raises(ValueError, match=f"a key cannot be sent as {header}"):
        ApiKey(header, "abc")


@pytest.mark.parametrize(("header", "key"), [("X Y", "a"), ("", "a"), ("X", "a\nb")])
def test_what_cannot_be_a_header_is_refused(header: str, key: str) -> None:
    with pytest.raises(ValueError, match=r"is no name of a header|a key has no line ends"):
        ApiKey(header, key)


def test_what_is_secret_is_not_in_the_text_of_any() -> None:
    shown = repr([BearerToken("abc"), ApiKey("X-Key", "abc"), GivenAuthorizer(URL, str)])
    assert "abc" not in shown
    assert "ApiKey('X-Key', …)" in shown


@pytest.mark.parametrize(
    ("returned", "headers"),
    [
        ("abc", {"Authorization": "Bearer abc"}),
        (Secret("abc"), {"Authorization": "Bearer abc"}),
        (BearerToken("abc"), {"Authorization": "Bearer abc"}),
        (ApiKey("X", "abc"), {"X": "abc"}),
        ({"X": "y"}, {"X": "y"}),
        (None, {}),
    ],
)
async def test_a_function_may_return_whatever_is_easiest(
    returned: Any, headers: dict[str, str]
) -> None:
    async def later() -> Any:
        return returned

    assert await sent_by(lambda: returned) == headers
    assert await sent_by(later) == headers


@pytest.mark.parametrize("returned", [7, "a b", b"abc"])
async def test_a_function_that_returns_something_else_is_told_so(returned: Any) -> None:
    with pytest.raises(AuthorizationFailed, match="the function that `auth` is returned"):
        await sent_by(lambda: returned)


async def test_a_token_that_is_not_accepted_is_told_with_what_the_server_says() -> None:
    request = GivenAuthorizer(URL, BearerToken("abc")).begin("tools/list")
    await request.headers("POST", URL)

    assert not request.is_refusal(Head(200))
    assert not request.is_refusal(Head(403))
    assert request.is_refusal(
        Head(401, www_authenticate='Bearer error="invalid_token", error_description="too old"')
    )
    with pytest.raises(AuthorizationRefused) as refused:
        await request.renew()

    assert str(refused.value) == (
        "the MCP server does not accept what it is given: too old (https://mcp.example/mcp); give "
        "another token or key as `auth`; it may have expired"
    )


async def test_a_function_is_asked_once_more_when_its_token_has_expired_on_the_way() -> None:
    tokens = iter(["old", "new", "newer"])
    request = GivenAuthorizer(URL, lambda: next(tokens)).begin("tools/list")
    await request.headers("POST", URL)
    assert request.is_refusal(Head(401))

    await request.renew()

    assert await request.headers("POST", URL) == {"Authorization": "Bearer new"}
    assert request.is_refusal(Head(401))
    with pytest.raises(AuthorizationRefused, match="does not accept what the function"):
        await request.renew()


async def test_a_function_that_has_no_other_token_is_not_tried_again() -> None:
    request = GivenAuthorizer(URL, lambda: "old").begin("tools/list")
    await request.headers("POST", URL)
    assert request.is_refusal(Head(401))

    with pytest.raises(AuthorizationRefused):
        await request.renew()


async def test_a_farewell_carries_what_was_sent_last() -> None:
    authorizer = GivenAuthorizer(URL, lambda: "abc")
    assert authorizer.at_hand("DELETE", URL) == {}
    await authorizer.begin("tools/list").headers("POST", URL)
    assert authorizer.at_hand("DELETE", URL) == {"Authorization": "Bearer abc"}


def test_only_what_is_always_the_same_tells_who_asks() -> None:
    assert GivenAuthorizer(URL, BearerToken("abc")).principal() == ""
    assert GivenAuthorizer(URL, lambda: "abc").principal() is None


@pytest.mark.parametrize("empty", ["", " ", "Bearer ", Secret("")])
def test_nothing_is_no_token_and_no_key(empty: Any) -> None:
    for make in (BearerToken, lambda text: ApiKey("X-API-Key", text)):
        if make is BearerToken or not str(empty).startswith("Bearer"):
            with pytest.raises(ValueError, match="is empty: see where it comes from"):
                make(empty)


@pytest.mark.parametrize("given", [None, b"secret", 5])
def test_what_is_no_text_is_refused_unseen(given: Any) -> None:
    for make in (BearerToken, lambda text: ApiKey("X-API-Key", text)):
        with pytest.raises(TypeError, match=f"is text, not {type(given).__name__}$"):
            make(given)


async def test_what_a_token_does_not_allow_is_told_with_what_it_takes() -> None:
    request = GivenAuthorizer(URL, BearerToken("abc")).begin("tools/call")
    await request.headers("POST", URL)
    challenge = 'Bearer error="insufficient_scope", scope="a b"'
    assert not request.is_refusal(Head(403))
    assert request.is_refusal(Head(403, www_authenticate=challenge))
    with pytest.raises(InsufficientScope, match="does not allow this: it needs a b") as refused:
        await request.renew()
    assert refused.value.scopes == ("a", "b")
