"""A text that must not be seen: tokens, client secrets, codes, signed assertions."""

from __future__ import annotations

from hmac import compare_digest
from typing import Final

__all__ = ["Secret"]


class Secret:
    """Holds a text that no log, trace or error may show; `reveal` is the only way to it.

    >>> token = Secret("abc")
    >>> print(token, [token], f"{token}")
    Secret(…) [Secret(…)] Secret(…)
    >>> token.reveal()
    'abc'
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text: Final = text

    def reveal(self) -> str:
        """Return the text; only where it goes out on the wire or into the store."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(…)"

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return compare_digest(self._text.encode(), other._text.encode())

    def __hash__(self) -> int:
        return hash(self._text)
