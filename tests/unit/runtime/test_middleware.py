"""Middleware: a list of it, and what is called inside of it."""

from typing import Any

import pytest

from wigwag.runtime.middleware import MiddlewareList, inside_of

pytestmark = pytest.mark.anyio


class Words:
    """Adds a word before and after."""

    def __init__(self, word: str) -> None:
        self.word = word

    async def __call__(self, context: list[str], call_next: Any) -> Any:
        context.append(self.word)
        return f"{self.word}({await call_next(context)})"


async def handle(context: list[str]) -> str:
    return " ".join(context)


async def test_the_first_is_the_outermost() -> None:
    nothing: list[Words] = []
    assert await inside_of(nothing, handle)(["x"]) == "x"
    assert await inside_of([Words("a"), Words("b")], handle)([]) == "a(b(a b))"


async def test_one_may_call_what_is_next_twice_or_not_at_all() -> None:
    async def twice(context: list[str], call_next: Any) -> Any:
        return [await call_next(context), await call_next(context)]

    async def never(context: list[str], call_next: Any) -> Any:
        return "no"

    assert await inside_of([twice, Words("a")], handle)([]) == ["a(a)", "a(a a)"]
    assert await inside_of([never, Words("a")], handle)([]) == "no"


def test_a_list_tells_of_each_change() -> None:
    changes: list[int] = []
    steps: MiddlewareList[Any] = MiddlewareList(lambda: changes.append(len(steps)))
    one, other = Words("a"), Words("b")

    @steps
    async def third(context: Any, call_next: Any) -> Any:
        return await call_next(context)

    steps.append(one)
    steps.append(other)
    steps.remove(one)
    assert list(steps) == [third, other]
    assert changes == [1, 2, 3, 2]


def test_what_is_no_async_function_is_refused() -> None:
    steps: MiddlewareList[Any] = MiddlewareList(lambda: None)
    for wrong in (lambda context, call_next: None, "text", None):
        with pytest.raises(TypeError, match="async def name"):
            steps.append(wrong)
    assert len(steps) == 0
