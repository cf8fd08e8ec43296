"""The mark of a parameter that no client sends: a function returns its value.

`Parameters.dependencies` has the marks by the names of parameters. `Parameters.call` takes the
values, once `injection` has come by them.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Hashable
from typing import Any


class Dependency:
    """What `Depends` makes: the mark of a parameter, which holds the function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise TypeError(f"Depends() takes a function, not {function!r}")
        if not isinstance(function, Hashable):
            raise TypeError(f"{function!r} has no hash, by which to know it again")
        self.function = function

    def __repr__(self) -> str:
        return f"Depends({name_of(self.function)})"


def Depends(function: Callable[..., Any]) -> Any:  # noqa: N802 - it stands for a class
    """Mark a parameter whose value is what a function returns, and no argument of the client's.

    >>> from typing import Annotated
    >>> from wigwag import Depends, Server
    >>> server = Server("shop")
    >>> def stock() -> dict[str, int]:
    ...     return {"kite": 3}
    >>> @server.tool
    ... def count(title: str, stock: Annotated[dict[str, int], Depends(stock)]) -> int:
    ...     return stock.get(title, 0)

    The function is called once for each request, if anything depends on it. It may be plain, and
    then runs in a worker thread, or `async`. One that yields is a context manager, entered before
    the handler runs and left when it has ended, before the answer is sent: what the handler raised
    is raised at the `yield`. Its parameters are the `Context`, other dependencies, and arguments of
    the handler, by name. A question that it returns (`elicit`, `sample`, …) is put to the client,
    and the answer is what is injected.

    `parameter: T = Depends(function)` means the same as `Annotated[T, Depends(function)]`.

    Args:
        function: What is called: a function, a class, or any object that can be called.

    Raises:
        TypeError: It can not, or has no hash.
    """
    return Dependency(function)


Resolve = Depends
"""The name that the official SDK has for `Depends`."""


def mark_of(annotation: Any, default: Any) -> Dependency | None:
    """Return the mark of a parameter, if its annotation or its default is one."""
    if isinstance(default, Dependency):
        return default
    if typing.get_origin(annotation) is typing.Annotated:
        for extra in annotation.__metadata__:
            if isinstance(extra, Dependency):
                return extra
    return None


def name_of(function: Callable[..., Any]) -> str:
    """Return what to call a function in a message."""
    return getattr(function, "__qualname__", None) or repr(function)
