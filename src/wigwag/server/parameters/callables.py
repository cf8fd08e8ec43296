"""What can be called: its parameters and their annotations, however it is wrapped."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from wigwag.server.parameters.dependencies import Dependency, mark_of

Kind = inspect.Parameter


def type_hints(function: Callable[..., Any], frame: types.FrameType | None) -> dict[str, Any]:
    """Return the annotations of a function, those that are text included.

    Raises:
        TypeError: One of them names what cannot be found.
    """
    target = _annotated_part(function)
    try:
        hints = typing.get_type_hints(target, include_extras=True)
    except NameError:
        # Annotations that are text may name a class that is local to where they stand.
        local = {} if frame is None else frame.f_locals
        names = {**local, **getattr(inspect.unwrap(target), "__globals__", {})}
        try:
            hints = typing.get_type_hints(target, names, include_extras=True)
        except NameError as error:
            name = getattr(function, "__qualname__", repr(function))
            raise TypeError(f"an annotation of {name} cannot be understood: {error}") from None
    if isinstance(function, type):
        hints["return"] = function
    return hints


def hints_of_dependencies(
    marks: Iterable[Dependency], frame: types.FrameType | None
) -> dict[Callable[..., Any], dict[str, Any]]:
    """Return the annotations of what is depended on, and of what that depends on in turn.

    Raises:
        TypeError: One of them names what cannot be found.
    """
    found: dict[Callable[..., Any], dict[str, Any]] = {}
    waiting = [mark.function for mark in marks]
    while waiting:
        function = waiting.pop()
        if function in found:
            continue
        hints = found[function] = type_hints(function, frame)
        more = (mark_of(each, None) for each in hints.values())
        waiting += [mark.function for mark in more if mark is not None]
    return found


def _annotated_part(function: Any) -> Any:
    """Return what of something that can be called has its annotations."""
    while isinstance(function, partial):
        function = function.func
    if isinstance(function, type):
        return function.__init__  # type: ignore[misc]  # its own, for its annotations
    is_function = isinstance(function, types.FunctionType | types.MethodType)
    if is_function or hasattr(function, "__wrapped__"):  # which have those of what they wrap
        return function
    return type(function).__call__


def parameters_of(function: Callable[..., Any]) -> Iterable[Kind]:
    """Return the parameters of a function.

    Raises:
        TypeError: Nobody knows them.
    """
    try:
        return inspect.signature(function).parameters.values()
    except ValueError:
        name = getattr(function, "__qualname__", repr(function))
        raise TypeError(f"{name} does not say what it takes: write a function around it") from None


def annotation_of(parameter: Kind) -> Any:
    """Return the annotation of a parameter that only the signature knows of."""
    said = parameter.annotation
    return Any if said is Kind.empty or isinstance(said, str) else said


def is_context(annotation: Any, context_type: type) -> bool:
    """Tell whether a parameter takes the context, by its annotation.

    It may be generic (`Context[State]`), optional, or have something to say about it.
    """
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return is_context(annotation.__origin__, context_type)
    if origin in (typing.Union, types.UnionType):
        return any(is_context(part, context_type) for part in typing.get_args(annotation))
    kind = annotation if origin is None else origin
    return isinstance(kind, type) and issubclass(kind, context_type)
