import pytest

from wigwag.oauth.credentials import Credentials, has_token_in_query, read_credentials
from wigwag.oauth.secret import Secret


@pytest.mark.parametrize(
    ("line", "scheme"),
    [
        ("Bearer abc.DEF-_~+/1==", "Bearer"),
        ("bearer\tabc.DEF-_~+/1== ", "Bearer"),
        ("  DPOP   abc.DEF-_~+/1==", "DPoP"),
    ],
)
def test_a_token_is_read_in_whatever_case_its_scheme_is_written(line: str, scheme: str) -> None:
    found = read_credentials([line])
    assert found is not None
    assert (found.scheme, found.token) == (scheme, Secret("abc.DEF-_~+/1=="))


@pytest.mark.parametrize("lines", [[], ["Basic dTpw"], ["Negotiate"], ["Bearerabc"]])
def test_what_is_about_something_else_is_no_token(lines: list[str]) -> None:
    assert read_credentials(lines) is None


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["Bearer"], "no token behind Bearer"),
        (["Bearer  "], "no token behind Bearer"),
        (["DPoP"], "no token behind DPoP"),
        ([""], "has no scheme"),
        (["=abc"], "has no scheme"),
        (["Bearer a b"], "characters that no token has"),
        (["Bearer s3cret, Bearer other"], "characters that no token has"),
        (["Bearer s3crét"], "characters that no token has"),
        (["Bearer =="], "characters that no token has"),
        (["Bearer a\nb"], "characters that no token has"),
        (["Bearer s3cret", "Bearer s3cret"], "more than one Authorization header"),
    ],
)
def test_what_cannot_be_read_is_refused_without_being_repeated(lines: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        read_credentials(lines)
    assert "s3cr" not in str(caught.value)


def test_reading_takes_linear_time() -> None:
    for line in ("Bearer " + " " * 200_000 + "x\0", "Bearer " + "=" * 200_000, " " * 200_000):
        with pytest.raises(ValueError, match="Authorization header"):
            read_credentials([line])


def test_credentials_do_not_show_the_token() -> None:
    assert "s3cret" not in repr(Credentials("Bearer", Secret("s3cret")))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("access_token=x", True),
        ("a=1&access_token=", True),
        ("my_access_token=x", False),
        ("access_tokens=x", False),
        ("q=access_token", False),
        ("", False),
    ],
)
def test_a_token_in_the_query_is_noticed(query: str, expected: bool) -> None:  # noqa: FBT001
    assert has_token_in_query(query) is expected
