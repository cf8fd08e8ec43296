import pytest

from wigwag.server.authorization.contract import VerifiedToken
from wigwag.server.authorization.verified_tokens import VerifiedTokens
from wigwag.server.principal import Principal

RESOURCE = "https://mcp.example/mcp"
ADA = Principal("ada")


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def good(expires_at: float | None = None, max_age: float | None = None) -> VerifiedToken:
    return VerifiedToken(principal=ADA, expires_at=expires_at, max_age=max_age)


@pytest.mark.parametrize(
    ("verified", "seconds"),
    [
        (good(), 300),
        (good(expires_at=1010.0), 10),
        (good(max_age=20), 20),
        (good(max_age=5000), 300),
        (good(expires_at=1010.0, max_age=20), 10),
    ],
)
def test_a_token_is_remembered_as_long_as_everybody_allows(
    verified: VerifiedToken, seconds: float
) -> None:
    clock = Clock()
    tokens = VerifiedTokens(clock=clock)
    tokens.add("t", RESOURCE, verified)
    clock.now += seconds - 0.5
    assert tokens.get("t", RESOURCE) is verified
    clock.now += 0.5
    assert tokens.get("t", RESOURCE) is None
    assert len(tokens) == 0


@pytest.mark.parametrize("verified", [good(max_age=0), good(expires_at=1000.0)])
def test_what_must_be_asked_anew_is_not_remembered(verified: VerifiedToken) -> None:
    tokens = VerifiedTokens(clock=Clock())
    tokens.add("t", RESOURCE, verified)
    assert len(tokens) == 0


def test_a_token_is_good_only_for_the_server_that_it_was_verified_for() -> None:
    tokens = VerifiedTokens()
    tokens.add("t", RESOURCE, good())
    assert tokens.get("t", "https://mcp.example/other") is None
    assert tokens.get("T", RESOURCE) is None
    assert tokens.get("t", RESOURCE) == good()


def test_the_one_that_was_not_used_for_the_longest_time_goes_first() -> None:
    tokens = VerifiedTokens(2)
    tokens.add("a", RESOURCE, good())
    tokens.add("b", RESOURCE, good())
    assert tokens.get("a", RESOURCE) is not None
    tokens.add("c", RESOURCE, good())
    assert [name for name in "abc" if tokens.get(name, RESOURCE)] == ["a", "c"]
    assert len(tokens) == 2


def test_no_token_is_kept_itself() -> None:
    tokens = VerifiedTokens()
    tokens.add("s3cret", RESOURCE, good())
    assert "s3cret" not in repr(vars(tokens))


def test_remembering_can_be_switched_off() -> None:
    tokens = VerifiedTokens(0)
    tokens.add("t", RESOURCE, good())
    assert tokens.get("t", RESOURCE) is None
