import pytest

from wigwag import Principal, VerifiedToken
from wigwag.oauth.access_tokens import read_access_token
from wigwag.server.authorization.reading import names_of, verified_token


def test_what_a_token_says_becomes_who_sent_it() -> None:
    claims = {
        "sub": "ada",
        "scope": "a b",
        "roles": ["x"],
        "exp": 7,
        "client_id": "c",
        "cnf": {"jkt": "k" * 43},
    }
    assert verified_token(read_access_token(claims, "i"), max_age=3) == VerifiedToken(
        principal=Principal("ada", "i", frozenset("ab"), claims, frozenset("x")),
        expires_at=7,
        key_thumbprint="k" * 43,
        client_id="c",
        max_age=3,
    )


def test_a_server_may_have_one_name_or_several() -> None:
    assert names_of(None) == ()
    assert names_of("api://a") == ("api://a",)
    assert names_of(["a", "b"]) == ("a", "b")
    for wrong in ("", [], ["a", ""]):
        with pytest.raises(ValueError, match="name"):
            names_of(wrong)
