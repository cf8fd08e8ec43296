"""What a handler depends on and no client sends: functions whose values are injected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Depends:
    """Marks a parameter whose value is what a function returns, and no argument of the client's.

    Written as `Annotated[T, Depends(function)]`, or as the default: `x: T = Depends(function)`.

    Args:
        function: What is called, once for each request.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise TypeError(f"Depends() takes a function, not {function!r}")
        self.function = function

    def __repr__(self) -> str:
        name = getattr(self.function, "__qualname__", repr(self.function))
        return f"Depends({name})"


Resolve = Depends
"""The name that the official SDK has for `Depends`."""
