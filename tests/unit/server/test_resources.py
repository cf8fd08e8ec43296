import asyncio
from collections.abc import Callable
from typing import Any, Literal

import pytest

from tests.unit.server.house import NO_CONNECTION, House, function_of, no_context, request
from wigwag.errors import RequestFailed, ResourceNotFound
from wigwag.jsonrpc.codes import INVALID_PARAMS
from wigwag.schema import (
    Prompt,
    Resource,
    ResourceTemplate,
)
from wigwag.server.context import Context
from wigwag.server.prompts import PromptFeature
from wigwag.server.resources import ResourceFeature

pytestmark = pytest.mark.anyio


def resource(uri: str, function: Callable[..., Any], mime_type: str | None = None) -> Any:
    definition: Any = (
        ResourceTemplate(uri_template=uri, name="r") if "{" in uri else Resource(uri=uri, name="r")
    )
    return ResourceFeature(definition, function_of(function), mime_type, House())


async def test_a_resource_is_read() -> None:
    feature = resource("a://x", lambda: "text", "text/css")
    assert feature.template is None
    async with asyncio.timeout(30):
        (contents,) = (await feature.read("a://x", {}, no_context)).contents
    assert (contents.uri, contents.text, contents.mime_type) == ("a://x", "text", "text/css")


async def test_a_template_gives_the_variables_of_the_uri_to_its_function() -> None:
    def article(slug: str, number: int, *, lang: str = "en") -> str:
        return f"{slug} {number!r} {lang}"

    feature = resource("a://{slug}/{number}", article)
    values = feature.template.match("a://s/7")
    async with asyncio.timeout(30):
        (contents,) = (await feature.read("a://s/7", values, no_context)).contents
    assert (contents.uri, contents.text) == ("a://s/7", "s 7 en")


async def test_a_uri_whose_variables_do_not_fit_is_invalid_params() -> None:
    def article(number: int) -> str:
        return str(number)

    feature = resource("a://{number}", article)
    with pytest.raises(RequestFailed, match="Invalid URI a://x: `number`: expected") as caught:
        await feature.read("a://x", {"number": "x"}, no_context)
    assert caught.value.code == INVALID_PARAMS


async def test_a_resource_gets_a_context_if_it_wants_one() -> None:
    async def look(ctx: Context, x: str) -> str:
        return f"{ctx.request_id} {x}"

    feature = resource("a://{x}", look)
    read = await feature.read(
        "a://1", {"x": "1"}, lambda: Context(House(), NO_CONNECTION, request())
    )
    assert read.contents[0].text == "7 1"


def test_variables_and_parameters_have_the_same_names() -> None:
    def take(x: str) -> str:
        return x

    def take_more(x: str, y: str, z: str = "") -> str:
        return x + y + z

    mismatches: list[tuple[str, Callable[..., Any]]] = [
        ("a://{y}", take),
        ("a://{x}/{y}", take),
        ("a://{x}", take_more),
    ]
    for uri, function in mismatches:
        with pytest.raises(TypeError, match=r"the parameters of its function .* the same names"):
            resource(uri, function)
    with pytest.raises(TypeError, match="a://x has no variables, but its function takes x"):
        resource("a://x", take)
    with pytest.raises(ValueError, match="a brace is opened and not closed"):
        resource("a://{x", take)


async def test_what_is_not_found_has_the_uri_that_was_read() -> None:
    def find(x: str) -> str:
        raise ResourceNotFound(f"no {x}")

    with pytest.raises(ResourceNotFound) as caught:
        await resource("a://{x}", find).read("a://b", {"x": "b"}, no_context)
    assert (caught.value.message, caught.value.data) == ("no b", {"uri": "a://b"})


def test_features_know_what_their_arguments_can_be() -> None:
    def take(x: Literal["b", "c"], y: str) -> str:
        return x + y

    assert resource("a://{x}/{y}", take).suggestions == {"x": ["b", "c"]}
    prompt = PromptFeature(Prompt(name="take"), function_of(take), House())
    assert prompt.suggestions == {"x": ["b", "c"]}
