from typing import Any

import pytest

from wigwag import Principal, StaticTokens
from wigwag.server.authorization.function_verifier import FunctionVerifier
from wigwag.server.authorization.verifiers import verifiers_of

STATIC = StaticTokens({"t": Principal("ada")})


def nobody(token: str) -> None:
    return None


def test_one_verifier_or_one_function_is_enough() -> None:
    assert verifiers_of(STATIC) == (STATIC,)
    (made,) = verifiers_of(nobody)
    assert isinstance(made, FunctionVerifier)


def test_several_keep_their_order() -> None:
    first, second = verifiers_of([nobody, STATIC])
    assert isinstance(first, FunctionVerifier)
    assert second is STATIC
    assert verifiers_of((STATIC,)) == (STATIC,)


@pytest.mark.parametrize("given", ["https://as.example", {"t": 1}, None, [STATIC, 7]])
def test_what_verifies_nothing_is_refused_with_what_to_give_instead(given: Any) -> None:
    with pytest.raises(TypeError, match="verifies no tokens: give a JwtVerifier"):
        verifiers_of(given)


def test_a_class_is_not_yet_a_verifier() -> None:
    with pytest.raises(TypeError, match=r"StaticTokens\(…\)"):
        verifiers_of(StaticTokens)  # type: ignore[arg-type]


def test_without_any_nobody_could_be_let_in() -> None:
    with pytest.raises(ValueError, match="nobody could be let in"):
        verifiers_of([])
