"""What kind of function something is that can be called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["is_async", "is_either"]


def is_either(test: Callable[[Any], bool], function: Callable[..., Any]) -> bool:
    """Tell whether a function is of some kind; an object is, if the way it is called is."""
    call = getattr(function, "__call__", function)  # noqa: B004 - how it is called is wanted
    return test(function) or test(call)


def is_async(function: Callable[..., Any]) -> bool:
    """Tell whether a function, or an object that can be called, is to be awaited."""
    return is_either(inspect.iscoroutinefunction, function)
