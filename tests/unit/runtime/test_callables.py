import functools
import inspect
from typing import Any

from wigwag.runtime.callables import is_async, is_either


async def answer_later(*args: Any) -> Any:
    return args


class Answering:
    async def __call__(self, *args: Any) -> Any:
        return args


def test_what_is_to_be_awaited_is_async_however_it_is_called() -> None:
    assert is_async(answer_later)
    assert is_async(Answering())
    assert is_async(functools.partial(answer_later, 1))
    assert not is_async(print)


def test_a_kind_is_told_of_a_function_and_of_the_way_an_object_is_called() -> None:
    class Yielding:
        def __call__(self) -> Any:
            yield 1

    assert is_either(inspect.isgeneratorfunction, Yielding())
    assert is_either(inspect.isgeneratorfunction, Yielding().__call__)
    assert not is_either(inspect.isgeneratorfunction, answer_later)
