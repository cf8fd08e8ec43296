"""What can be called, and what it says of its parameters."""

import functools
import sys
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Generic, Optional, TypeVar

import pytest

from wigwag.server.context import Context
from wigwag.server.parameters.callables import (
    annotation_of,
    hints_of_dependencies,
    is_context,
    parameters_of,
    type_hints,
)
from wigwag.server.parameters.dependencies import Depends, mark_of

T = TypeVar("T")


class Held(Generic[T]):
    pass


class Thing:
    size: str = "an annotation of the class, not of the call"

    def __init__(self, a: int) -> None: ...

    def __call__(self, a: int) -> str:
        return str(a)

    def method(self, a: int) -> str:
        return str(a)


def plain(a: int) -> str:
    return str(a)


@functools.wraps(plain)
def wrapped(*args: Any) -> Any:
    return plain(*args)


@pytest.mark.parametrize(
    "function",
    [plain, wrapped, Thing(1), Thing(1).method, partial(partial(plain)), functools.cache(plain)],
)
def test_annotations_are_found_below_whatever_is_around_a_function(function: Any) -> None:
    assert type_hints(function, None) == {"a": int, "return": str}
    assert [parameter.name for parameter in parameters_of(function)] == ["a"]


def test_a_class_returns_itself() -> None:
    assert type_hints(Thing, None) == {"a": int, "return": Thing}


def test_a_name_that_is_local_is_found_in_the_frame() -> None:
    class Local:
        pass

    def take(a: "Local") -> None: ...

    assert type_hints(take, sys._getframe())["a"] is Local
    with pytest.raises(TypeError, match=r"an annotation of .*take cannot be understood: .*Local"):
        type_hints(take, None)


def test_what_is_in_the_signature_alone_is_used_unless_it_is_text() -> None:
    def take(a: int, b: "str", c) -> None: ...  # type: ignore[no-untyped-def]  # the point

    assert [annotation_of(parameter) for parameter in parameters_of(take)] == [int, Any, Any]


@pytest.mark.parametrize(
    "annotation",
    [
        Held,
        Held[int],
        Held[int] | None,
        Optional[Held],  # noqa: UP045 - the point
        Annotated[Held[int], "said of it"],
        Annotated[Held[int] | None, "said of it"],
    ],
)
def test_a_context_is_told_by_its_type(annotation: Any) -> None:
    assert is_context(annotation, Held)
    assert not is_context(annotation, Context)


@pytest.mark.parametrize(
    "annotation", [list[Held[int]], dict[str, Held[int]], Callable[[Held[int]], int], int, Any]
)
def test_what_has_a_context_in_it_is_none(annotation: Any) -> None:
    assert not is_context(annotation, Held)


def test_the_annotations_of_what_is_depended_on_are_found_at_every_depth() -> None:
    def inner(n: int) -> int:
        return n

    def outer(m: Annotated[int, Depends(inner)]) -> int:
        return m

    mark = mark_of(Annotated[int, Depends(outer)], None)
    assert mark is not None
    found = hints_of_dependencies([mark], None)
    assert list(found) == [outer, inner]
    assert found[inner] == {"n": int, "return": int}
