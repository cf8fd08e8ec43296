from typing import Any

import pytest

from wigwag import InvalidToken, Principal, VerifiedToken
from wigwag.oauth.secret import Secret
from wigwag.server.authorization.function_verifier import FunctionVerifier

pytestmark = pytest.mark.anyio

ADA = Principal("ada")
RESOURCE = "https://mcp.example/mcp"


async def test_a_plain_function_says_whose_a_token_is() -> None:
    verifier = FunctionVerifier(lambda token: ADA if token == "good" else None)
    found = await verifier.verify(Secret("good"), RESOURCE)
    assert found == VerifiedToken(principal=ADA, max_age=0)
    assert await verifier.verify(Secret("bad"), RESOURCE) is None


async def test_an_async_function_may_say_how_long_its_answer_holds() -> None:
    answer = VerifiedToken(principal=ADA, expires_at=7.0, client_id="c")

    async def verify(token: str) -> VerifiedToken:
        return answer

    assert await FunctionVerifier(verify).verify(Secret("good"), RESOURCE) is answer


async def test_what_a_function_raises_is_what_is_raised() -> None:
    def verify(token: str) -> None:
        raise InvalidToken("revoked")

    with pytest.raises(InvalidToken, match="revoked"):
        await FunctionVerifier(verify).verify(Secret("good"), RESOURCE)


@pytest.mark.parametrize("answer", [True, "ada", {"sub": "ada"}])
async def test_anything_else_is_a_mistake_and_lets_nobody_in(answer: Any) -> None:
    with pytest.raises(TypeError, match="must return a Principal"):
        await FunctionVerifier(lambda token: answer).verify(Secret("good"), RESOURCE)
