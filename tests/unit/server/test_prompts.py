import asyncio
from typing import Annotated

import pytest
from msgspec import UNSET, Meta

from tests.unit.server.house import NO_CONNECTION, House, function_of, no_context, request
from wigwag.errors import RequestFailed
from wigwag.jsonrpc.codes import INVALID_PARAMS
from wigwag.schema import (
    GetPromptResult,
    Prompt,
    PromptArgument,
    TextContent,
)
from wigwag.server.context import Context
from wigwag.server.parameters.signature import Parameters
from wigwag.server.prompts import PromptFeature, prompt_arguments

pytestmark = pytest.mark.anyio


async def test_a_prompt_is_made_of_its_arguments_as_text() -> None:
    def review(count: int, style: str = "short") -> list[str]:
        return [f"{count!r} {style}"]

    feature = PromptFeature(
        Prompt(name="review", description="About."), function_of(review), House()
    )
    async with asyncio.timeout(30):
        result = await feature.get({"count": "3"}, no_context)
    assert isinstance(result, GetPromptResult)
    (message,) = result.messages
    assert message.content == TextContent(text="3 short")
    assert result.description == "About."


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "`count` is missing"),
        ({"count": "x"}, "`count`: expected `int`, got `str`"),
        ({"count": "1", "counts": "1"}, "did you mean `count`?"),
    ],
)
async def test_arguments_of_a_prompt_that_do_not_fit_are_invalid_params(
    values: dict[str, str], words: str
) -> None:
    def review(count: int) -> str:
        return str(count)

    feature = PromptFeature(Prompt(name="review"), function_of(review), House())
    with pytest.raises(RequestFailed, match="Invalid arguments for prompt review") as caught:
        await feature.get(values, no_context)
    assert caught.value.code == INVALID_PARAMS
    assert words in caught.value.message


async def test_a_prompt_gets_a_context_if_it_wants_one() -> None:
    async def look(ctx: Context) -> str:
        return str(ctx.request_id)

    feature = PromptFeature(Prompt(name="look"), function_of(look), House())
    result = await feature.get({}, lambda: Context(House(), NO_CONNECTION, request()))
    assert isinstance(result, GetPromptResult)
    assert result.messages[0].content == TextContent(text="7")
    assert result.description is UNSET


def test_the_parameters_of_a_function_are_the_arguments_of_a_prompt() -> None:
    def review(
        ctx: Context, code: str, style: Annotated[str, "How."] = "short", *, count: int
    ) -> str:
        """Review.

        Args:
            ctx: The request.
            code: What.
            style: Not this.
            count: How often.
        """
        return code

    assert prompt_arguments(Parameters(review, Context)) == [
        PromptArgument(name="code", description="What.", required=True),
        PromptArgument(name="style", description="How.", required=False),
        PromptArgument(name="count", description="How often.", required=True),
    ]
    assert prompt_arguments(Parameters(lambda: "x", Context)) == []


def test_arguments_that_are_json_in_text_say_so_in_their_description() -> None:
    def plan(
        steps: list[int],
        where: Annotated[dict[str, str], "Where to."],
        text: Annotated[str, Meta(title="The text")],
    ) -> str:
        return f"{steps} {where} {text}"

    steps, where, text = prompt_arguments(Parameters(plan, Context))
    assert (where.title, text.title) == (UNSET, "The text")
    assert steps.description == 'In JSON: {"type":"array","items":{"type":"integer"}}'
    assert where.description == (
        'Where to. In JSON: {"type":"object","additionalProperties":{"type":"string"}}'
    )
    assert text.description is UNSET
