"""What authors may give as verifiers, and the verifiers that it stands for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias, cast

from wigwag.server.authorization.contract import TokenVerifier
from wigwag.server.authorization.function_verifier import FunctionVerifier, VerifyFunction

__all__ = ["Verifiers", "verifiers_of"]

Verifiers: TypeAlias = TokenVerifier | VerifyFunction | Iterable[TokenVerifier | VerifyFunction]
"""A verifier, a function that is called with each token, or several of them."""


def verifiers_of(given: Verifiers) -> tuple[TokenVerifier, ...]:
    """Return the verifiers that are meant, in the order in which they are asked.

    Raises:
        TypeError: Something among it is no verifier.
        ValueError: There is none.
    """
    several: Iterable[Any] = given if isinstance(given, list | tuple) else (given,)
    found = tuple(_verifier(each) for each in several)
    if not found:
        raise ValueError("there is no verifier: nobody could be let in")
    return found


def _verifier(given: Any) -> TokenVerifier:
    if isinstance(given, type):
        raise TypeError(f"{given.__name__} is a class: make a verifier of it, {given.__name__}(…)")
    if hasattr(given, "verify"):
        verifier: TokenVerifier = given
        return verifier
    if callable(given):
        return FunctionVerifier(cast("VerifyFunction", given))
    raise TypeError(
        f"{type(given).__name__} verifies no tokens: give a JwtVerifier, an IntrospectionVerifier, "
        "StaticTokens, a function that is called with a token, or a list of these"
    )
