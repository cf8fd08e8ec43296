"""Completion of arguments."""

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any

import pytest
from msgspec import UNSET

from tests.unit.server.house import NO_CONNECTION, House, no_context, request
from wigwag.runtime.threads import WorkerThreads
from wigwag.schema import (
    CompleteRequestParams,
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)
from wigwag.server.completions import MAX_COMPLETION_VALUES, Completers
from wigwag.server.context import Context
from wigwag.server.results.tool_results import InvalidOutput

pytestmark = pytest.mark.anyio


class Colour(Enum):
    RED = "red"


PROMPT = PromptReference(name="review")
TEMPLATE = ResourceTemplateReference(uri="a://{x}")


def params(
    value: str = "", *, argument: str = "x", ref: Any = PROMPT, context: Any = UNSET
) -> CompleteRequestParams:
    return CompleteRequestParams(
        ref=ref, argument=CompletionArgument(name=argument, value=value), context=context
    )


def identity(value: Any) -> Any:
    return value


async def complete(
    function: Callable[..., Any], asked: CompleteRequestParams | None = None
) -> Completion:
    completers = Completers(WorkerThreads())
    completers.add(function, "review", "x")
    result = await completers.complete(asked or params(), no_context)
    return result.completion


async def test_a_function_completes_one_argument_of_one_feature() -> None:
    completers = Completers(WorkerThreads())
    completers.add(lambda value: [value + "1"], "review", "x")
    completers.add(lambda value: [value + "2"], "a://{x}", "x")
    for asked, values in [
        (params("a"), ["a1"]),
        (params("a", ref=TEMPLATE), ["a2"]),
        (params("a", argument="y"), []),
        (params("a", ref=PromptReference(name="other")), []),
    ]:
        assert (await completers.complete(asked, no_context)).completion == Completion(
            values=values
        )


async def test_a_function_for_everything_gets_reference_argument_and_context() -> None:
    seen: list[Any] = []

    def everything(ref: Any, argument: Any, context: Any) -> list[str]:
        seen.append((ref, argument, context))
        return ["all"]

    completers = Completers(WorkerThreads())
    completers.add(everything, None, None)
    completers.add(lambda: ["own"], "review", "own")
    known = CompletionContext(arguments={"y": "1"})
    first = await completers.complete(params("a", ref=TEMPLATE, context=known), no_context)
    second = await completers.complete(params("b"), no_context)
    await completers.complete(params("b", context=CompletionContext()), no_context)
    third = await completers.complete(params("c", argument="own"), no_context)
    assert first.completion.values == second.completion.values == ["all"]
    assert third.completion.values == ["own"]
    assert seen == [
        (TEMPLATE, CompletionArgument(name="x", value="a"), known),
        (PROMPT, CompletionArgument(name="x", value="b"), None),
        (PROMPT, CompletionArgument(name="x", value="b"), None),
    ]


async def test_a_function_gets_as_much_as_it_takes() -> None:
    def nothing() -> list[str]:
        return ["0"]

    def known_too(value: str, known: dict[str, str]) -> list[str]:
        return [value, *known.values()]

    context = CompletionContext(arguments={"y": "1"})
    assert (await complete(nothing)).values == ["0"]
    assert (await complete(known_too, params("a", context=context))).values == ["a", "1"]
    assert (await complete(known_too, params("a"))).values == ["a"]
    nothing_known = params("a", context=CompletionContext())
    assert (await complete(known_too, nothing_known)).values == ["a"]


async def test_an_async_function_is_awaited() -> None:
    async def later(value: str) -> list[str]:
        return [value + "!"]

    class Later:
        async def __call__(self, value: str) -> list[str]:
            return [value + "?"]

    assert (await complete(later, params("a"))).values == ["a!"]
    assert (await complete(Later(), params("a"))).values == ["a?"]
    assert (await complete(partial(later), params("a"))).values == ["a!"]


async def test_where_no_function_says_more_the_values_of_the_type_are_offered() -> None:
    completers = Completers(WorkerThreads())
    offered = ["fair", "Far", "off"]
    for typed, values in [
        ("", offered),
        ("fa", ["fair", "Far"]),
        ("F", ["fair", "Far", "off"]),
    ]:
        result = await completers.complete(params(typed), no_context, offered)
        assert result.completion == Completion(values=values)
    completers.add(lambda _ref, argument: None if argument.value else ["all"], None, None)
    for typed, values in (("", ["all"]), ("o", ["off"])):
        result = await completers.complete(params(typed), no_context, offered)
        assert result.completion.values == values
    completers.add(lambda: None, "review", "x")
    result = await completers.complete(params("o"), no_context, offered)
    assert result.completion.values == []


async def test_many_values_of_a_type_are_cut_off_and_counted() -> None:
    values = [f"v{number}" for number in range(150)]
    completion = (
        await Completers(WorkerThreads()).complete(params("v"), no_context, values)
    ).completion
    assert completion == Completion(values=values[:100], total=150, has_more=True)


@pytest.mark.parametrize(
    ("found", "values"),
    [
        (None, []),
        ([], []),
        (("a", "b"), ["a", "b"]),
        ({"a": 1}, ["a"]),
        ([1, 2], ["1", "2"]),
        (range(2), ["0", "1"]),
        (Colour, ["red"]),
        ((value for value in "ab"), ["a", "b"]),
        (Completion(values=["a"], total=7, has_more=True), ["a"]),
    ],
)
async def test_values_may_be_of_any_collection(found: Any, values: list[str]) -> None:
    completion = await complete(lambda: found)
    assert completion.values == values
    if isinstance(found, Completion):
        assert completion == found


@pytest.mark.parametrize("found", ["text", b"bytes", 7, True])
async def test_what_is_no_collection_is_refused(found: Any) -> None:
    with pytest.raises(InvalidOutput, match="returns the values as a list of text"):
        await complete(lambda: found)


@pytest.mark.parametrize("wrapped", [True, False])
async def test_more_values_than_the_protocol_allows_are_cut_off_and_counted(
    *, wrapped: bool
) -> None:
    for count, is_cut in [(MAX_COMPLETION_VALUES, False), (MAX_COMPLETION_VALUES + 1, True)]:
        values = [str(number) for number in range(count)]
        found: Any = Completion(values=values) if wrapped else values
        completion = await complete(partial(identity, found))
        assert completion.values == values[:MAX_COMPLETION_VALUES]
        assert completion.total == (count if is_cut else UNSET)
        assert completion.has_more == (True if is_cut else UNSET)


async def test_a_count_that_the_function_knows_itself_is_kept_when_values_are_cut_off() -> None:
    completion = await complete(lambda: Completion(values=["x"] * 101, total=5000, has_more=True))
    assert len(completion.values) == MAX_COMPLETION_VALUES
    assert completion.total == 5000
    assert completion.has_more is True


async def test_what_a_function_raises_is_raised() -> None:
    def fail() -> list[str]:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await complete(fail)


def test_an_argument_is_completed_by_one_function() -> None:
    completers = Completers(WorkerThreads())
    assert not completers
    completers.add(list, "review", "x")
    completers.add(list, "review", "y")
    assert completers
    with pytest.raises(ValueError, match="x of review has a completion function already"):
        completers.add(list, "review", "x")
    completers.add(tuple, "review", "x", replace=True)
    completers.add(list, None, None)
    with pytest.raises(ValueError, match="for everything is registered already"):
        completers.add(list, None, None)


async def test_a_function_gets_the_request_where_it_wants_it() -> None:
    context = Context(House(), NO_CONNECTION, request())

    async def offer(ctx: Context, typed: str, known: dict[str, str]) -> list[str]:
        return [str(ctx.request_id), typed, *known]

    def offer_all(ref: Any, argument: Any, ctx: Context) -> list[str]:
        return [ref.name, str(ctx.request_id)]

    completers = Completers(WorkerThreads())
    completers.add(offer, "review", "x")
    completers.add(offer_all, None, None)
    for asked, values in ((params("a"), ["7", "a"]), (params(argument="y"), ["review", "7"])):
        found = await completers.complete(asked, lambda: context)
        assert found.completion.values == values


def test_a_function_that_takes_more_than_there_is_is_refused_by_the_name() -> None:
    def offer(typed: str, known: Any, more: Any) -> list[str]:
        return []

    completers = Completers(WorkerThreads())
    with pytest.raises(TypeError, match=r"`more` of .*offer cannot be given: .* 2 arguments"):
        completers.add(offer, "review", "x")
    completers.add(offer, None, None)
