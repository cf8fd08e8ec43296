"""Annotations that are text, as `from __future__ import annotations` makes them."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict

import msgspec
import pytest

from wigwag.server.context import Context
from wigwag.server.parameters.signature import Parameters


@dataclass
class Spot:
    x: int


def call(known: Parameters, arguments: bytes) -> Any:
    return known.call(known.read(arguments), None)


def test_a_class_of_the_module_is_found() -> None:
    def take(spot: Spot, ctx: Context, more: list[Spot] | None = None) -> Spot:
        return spot

    known = Parameters(take, Context)
    assert known.context == "ctx"
    assert known.return_type is Spot
    assert call(known, b'{"spot": {"x": 1}}') == Spot(1)


def test_a_class_that_is_local_to_a_function_is_found_where_it_stands() -> None:
    @dataclass
    class Local:
        x: int

    def take(local: Local, spot: Spot) -> list[Local]:
        return [local]

    known = Parameters(take, Context, sys._getframe())
    assert known.return_type == list[Local]
    assert call(known, b'{"local": {"x": 1}, "spot": {"x": 2}}') == [Local(1)]


def test_a_name_that_nobody_knows_is_said_to_be_unknown() -> None:
    def take(a: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821 - the point

    for frame in (None, sys._getframe()):
        with pytest.raises(TypeError, match=r"an annotation of .*take cannot be .*Nowhere"):
            Parameters(take, Context, frame)


def test_the_function_below_a_decorator_is_the_one_that_counts() -> None:
    def logged(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper

    @dataclass
    class Local:
        x: int

    @logged
    def take(local: Local, count: int = 1) -> int:
        """Take."""
        return count + local.x

    known = Parameters(take, Context, sys._getframe())
    assert known.description == "Take."
    assert call(known, b'{"local": {"x": 3}}') == 4


def test_a_method_a_partial_and_an_object_have_annotations_too() -> None:
    class Thing:
        def method(self, spot: Spot) -> int:
            return spot.x

        def __call__(self, spot: Spot) -> int:
            return spot.x

        @classmethod
        def of_the_class(cls, spot: Spot) -> int:
            return spot.x

        @staticmethod
        def static(spot: Spot) -> int:
            return spot.x

    functions: list[Callable[..., Any]] = [
        Thing().method, Thing(), Thing.of_the_class, Thing.static, functools.partial(Thing().method)
    ]  # fmt: skip
    for function in functions:
        assert call(Parameters(function, Context), b'{"spot": {"x": 1}}') == 1


def test_classes_that_are_local_may_have_members_of_others_that_are() -> None:
    @dataclass
    class Leaf:
        x: int

    @dataclass
    class Branch:
        leaf: Leaf
        more: list[Leaf]

    class Named(NamedTuple):
        leaf: Leaf

    class Typed(TypedDict):
        leaf: Leaf

    class Box(msgspec.Struct):
        leaf: Leaf

    def take(branch: Branch, named: Named, typed: Typed, box: Box) -> Any:
        return branch, named, typed, box

    known = Parameters(take, Context, sys._getframe())
    leaf = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    assert known.schema["properties"]["branch"]["properties"] == {
        "leaf": leaf,
        "more": {"type": "array", "items": leaf},
    }
    arguments = (
        b'{"branch": {"leaf": {"x": 1}, "more": [{"x": 2}]}, "named": [{"x": 3}],'
        b' "typed": {"leaf": {"x": 4}}, "box": {"leaf": {"x": 5}}}'
    )
    assert call(known, arguments) == (
        Branch(Leaf(1), [Leaf(2)]),
        Named(Leaf(3)),
        {"leaf": Leaf(4)},
        Box(Leaf(5)),
    )


def test_a_local_class_that_contains_itself_is_refused_by_its_name() -> None:
    @dataclass
    class Tree:
        parts: list[Tree]

    def take(tree: Tree) -> None: ...

    with pytest.raises(TypeError, match=r"parameter `tree` of .*take: .* Tree, which contains"):
        Parameters(take, Context, sys._getframe())
