import logging
from typing import Any

import pytest

from wigwag import Principal, StaticTokens
from wigwag.oauth.secret import Secret

pytestmark = pytest.mark.anyio

ADA = Principal("ada", scopes=frozenset({"read"}))
BOB = Principal("bob")
RESOURCE = "https://mcp.example/mcp"


async def test_a_token_that_is_written_down_tells_whose_it_is() -> None:
    tokens = StaticTokens({"token-a": ADA, "token-b": BOB})
    for text, principal in (("token-a", ADA), ("token-b", BOB)):
        found = await tokens.verify(Secret(text), RESOURCE)
        assert found is not None
        assert found.principal is principal
        assert found.expires_at is None
    assert await tokens.verify(Secret("token-c"), RESOURCE) is None
    assert await tokens.verify(Secret("token-"), RESOURCE) is None


async def test_the_log_warns_once_of_tokens_for_development(
    caplog: pytest.LogCaptureFixture,
) -> None:
    tokens = StaticTokens({"token-a": ADA})
    with caplog.at_level(logging.WARNING):
        await tokens.verify(Secret("token-a"), RESOURCE)
        await tokens.verify(Secret("token-a"), RESOURCE)
    (record,) = caplog.records
    assert "for development only" in record.getMessage()
    assert "token-a" not in caplog.text


def test_an_empty_token_would_let_anybody_in() -> None:
    with pytest.raises(ValueError, match="empty"):
        StaticTokens({"": ADA})


def test_tokens_are_not_shown() -> None:
    tokens = StaticTokens({"token-a": ADA, "token-b": BOB})
    assert "token-a" not in repr(tokens) + repr(vars(tokens))
    assert repr(tokens) == "StaticTokens(2 tokens)"


@pytest.mark.parametrize("given", [["token-a"], {"token-a": "ada"}, {5: ADA}, "token-a"])
def test_what_tells_nobody_whose_a_token_is_is_refused_unseen(given: Any) -> None:
    with pytest.raises(TypeError) as refused:
        StaticTokens(given)
    assert "token-a" not in str(refused.value)


def test_a_token_that_nobody_could_send_is_refused_unseen() -> None:
    with pytest.raises(ValueError, match="static token 2 has characters") as refused:
        StaticTokens({"token-a": ADA, "token b": BOB})
    assert "token b" not in str(refused.value)
