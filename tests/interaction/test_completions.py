"""Completion of arguments by what their types allow, and by functions."""

from enum import Enum
from typing import Literal

import pytest

from tests.interaction.connecting import TIMEOUTS, serving_http
from wigwag import Client, Server
from wigwag.schema import (
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)

pytestmark = pytest.mark.anyio

REVIEW = PromptReference(name="review")
REPOSITORY = ResourceTemplateReference(uri="github://{owner}/{visibility}{?archived}")


class Visibility(Enum):
    PUBLIC = "public"
    PRIVATE = "private"
    INTERNAL = "internal"


def explorer() -> Server:
    server = Server("explorer")

    @server.prompt
    def review(
        language: Literal["go", "python", "Pascal", "typescript"], *, deep: bool, code: str = ""
    ) -> str:
        return f"{language} {deep} {code}"

    @server.resource(REPOSITORY.uri)
    def repository(owner: str, visibility: Visibility, *, archived: bool | None = None) -> str:
        return f"{owner} {visibility} {archived}"

    return server


async def complete(
    client: Client, ref: PromptReference | ResourceTemplateReference, name: str, value: str
) -> list[str]:
    completion = (await client.complete(ref, name, value)).completion
    return list(completion.values)


async def test_few_values_are_offered_without_a_function(revision: str) -> None:
    async with Client(explorer(), mode=revision) as client:
        assert await complete(client, REVIEW, "language", "") == [
            "go", "python", "Pascal", "typescript",
        ]  # fmt: skip
        assert await complete(client, REVIEW, "language", "p") == ["python", "Pascal", "typescript"]
        assert await complete(client, REVIEW, "deep", "T") == ["true"]
        assert await complete(client, REVIEW, "code", "x") == []
        assert await complete(client, REPOSITORY, "visibility", "PU") == ["public"]
        assert await complete(client, REPOSITORY, "visibility", "i") == [
            "internal", "public", "private",
        ]  # fmt: skip
        assert await complete(client, REPOSITORY, "archived", "f") == ["false"]
        assert await complete(client, REPOSITORY, "owner", "x") == []


async def test_completion_is_declared_if_anything_can_be_completed(revision: str) -> None:
    plain = Server("plain")

    @plain.prompt
    def say(text: str) -> str:
        return text

    async with Client(plain, mode=revision) as client:
        assert not client.server_capabilities.completions
    plain.prompt("choose")(explorer_prompt)
    async with Client(plain, mode=revision) as client:
        declared = client.server_capabilities.completions
        # The oldest revision has no word for it.
        assert (declared == {}) is (revision != "2024-11-05")
        assert await complete(client, PromptReference(name="choose"), "how", "") == ["a", "b"]


def explorer_prompt(how: Literal["a", "b"]) -> str:
    return how


async def test_a_function_comes_before_the_type_and_the_type_before_nothing(revision: str) -> None:
    server = explorer()

    @server.completion
    async def anything(
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion | None:
        if argument.name == "owner" and isinstance(ref, ResourceTemplateReference):
            known = context.arguments if context is not None else {}
            return Completion(values=[f"{argument.value}-{known}"])
        return None

    @server.completion("review", "deep")
    def deep(typed: str) -> list[bool]:
        return [False]

    async with Client(server, mode=revision) as client:
        assert await complete(client, REVIEW, "deep", "x") == ["false"]
        assert await complete(client, REVIEW, "language", "g") == ["go"]
        found = await client.complete(REPOSITORY, "owner", "w", context={"visibility": "public"})
        known = "{'visibility': 'public'}" if revision >= "2025-06-18" else "{}"
        assert found.completion.values == [f"w-{known}"]


async def test_values_are_offered_over_http() -> None:
    async with (
        serving_http(explorer()) as origin,
        Client(f"{origin}/mcp", timeouts=TIMEOUTS) as client,
    ):
        assert await complete(client, REVIEW, "language", "py") == ["python"]
