"""Prompts and the completion of arguments."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Literal

import pytest
from msgspec import Meta

from tests.interaction.bazaar import bazaar
from tests.interaction.connecting import text_of
from wigwag import (
    AssistantMessage,
    Client,
    File,
    Image,
    Message,
    RequestFailed,
    Server,
    ToolError,
    UserMessage,
)
from wigwag.schema import (
    Completion,
    EmbeddedResource,
    GetPromptResult,
    ImageContent,
    PromptMessage,
    PromptReference,
    ResourceTemplateReference,
    TextContent,
    TextResourceContents,
)

pytestmark = pytest.mark.anyio

HAGGLE = PromptReference(name="haggle")


def said(result: GetPromptResult) -> list[tuple[str, str]]:
    """Return who says what; what is no text by its type."""
    return [
        (m.role, m.content.text if isinstance(m.content, TextContent) else m.content.type)
        for m in result.messages
    ]


async def test_prompts_are_listed_with_their_arguments(client: Client) -> None:
    haggle, *others = (await client.list_prompts()).prompts
    assert (haggle.name, haggle.description) == ("haggle", "Talk about the price.")
    assert isinstance(haggle.arguments, list)
    assert [(a.name, a.description, a.required) for a in haggle.arguments] == [
        ("goods", "What to buy.", True),
        ("offer", "What to pay.", False),
    ]
    assert [prompt.name for prompt in others] == ["dialogue", "broken_prompt", "left_prompt"]


async def test_a_prompt_is_filled_in(client: Client) -> None:
    result = await client.get_prompt("haggle", {"goods": "tea", "offer": "21"})
    assert said(result) == [("user", "tea for 42?")]
    assert result.description == "Talk about the price."
    assert said(await client.get_prompt("haggle", {"goods": "tea"})) == [("user", "tea for 2?")]


async def test_a_prompt_can_be_a_dialogue(local_client: Client) -> None:
    result = await local_client.get_prompt("dialogue")
    assert said(result) == [
        ("user", "hello"),
        ("assistant", "yes?"),
        ("user", "image"),
        ("user", "bye"),
    ]


async def test_what_a_prompt_returns_may_be_one_message_a_block_or_the_whole_result(
    revision: str,
) -> None:
    server = Server("s")

    @server.prompt
    def message() -> PromptMessage:
        return PromptMessage(role="assistant", content=TextContent(text="m"))

    @server.prompt
    def block() -> ImageContent:
        return ImageContent(data="AAAA", mime_type="image/gif")

    @server.prompt
    def whole() -> GetPromptResult:
        return GetPromptResult(messages=[message()], description="By hand.")

    @server.prompt
    def several() -> tuple[str, str]:
        return ("a", "b")

    async with Client(server, mode=revision) as client:
        assert said(await client.get_prompt("message")) == [("assistant", "m")]
        assert said(await client.get_prompt("block")) == [("user", "image")]
        assert (await client.get_prompt("whole")).description == "By hand."
        assert said(await client.get_prompt("several")) == [("user", "a"), ("user", "b")]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({}, "`goods` is missing"),
        ({"goods": "tea", "offer": "much"}, "`offer`: expected `int`, got `str`"),
        ({"goods": "tea", "ofer": "1"}, "`ofer` is not an argument; did you mean `offer`?"),
    ],
)
async def test_wrong_arguments_of_a_prompt_are_invalid_params(
    local_client: Client, arguments: dict[str, str], complaint: str
) -> None:
    with pytest.raises(RequestFailed) as caught:
        await local_client.get_prompt("haggle", arguments)
    assert caught.value.code == -32602
    assert caught.value.message.startswith("Invalid arguments for prompt haggle: ")
    assert complaint in caught.value.message


async def test_messages_say_who_says_what_and_hold_media_and_resources(revision: str) -> None:
    server = Server("s")

    @server.prompt
    def explain(component: str) -> list[Message]:
        guide = TextResourceContents(uri="s://guide", text="Be brief.", mime_type="text/plain")
        return [
            UserMessage(Image(data=b"GIF89a")),
            UserMessage(File(data="one,two", name="data.csv")),
            UserMessage(EmbeddedResource(resource=guide)),
            UserMessage(f"What is {component}?"),
            AssistantMessage({"answer": 42}),
            Message("Thanks."),
        ]

    async with Client(server, mode=revision) as client:
        result = await client.get_prompt("explain", {"component": "it"})
    assert said(result) == [
        ("user", "image"),
        ("user", "resource"),
        ("user", "resource"),
        ("user", "What is it?"),
        ("assistant", '{"answer":42}'),
        ("user", "Thanks."),
    ]
    picture, data, guide, *_ = (message.content for message in result.messages)
    assert isinstance(picture, ImageContent)
    assert (picture.data, picture.mime_type) == ("R0lGODlh", "image/gif")
    assert isinstance(data, EmbeddedResource)
    assert (data.resource.text, data.resource.mime_type) == ("one,two", "text/csv")
    assert isinstance(guide, EmbeddedResource)
    assert (guide.resource.uri, guide.resource.text) == ("s://guide", "Be brief.")


class Tone(Enum):
    KIND = "kind"
    CURT = "curt"


@dataclass
class Place:
    x: int
    y: int = 0


def planner() -> Server:
    server = Server("s")

    @server.prompt
    def plan(
        tone: Tone,
        steps: Annotated[list[int], Meta(title="The steps", description="Which ones.")],
        place: Place | None = None,
        *,
        loud: bool = False,
        size: Literal["s", "m"] = "s",
    ) -> str:
        return f"{tone} {steps!r} {place} {loud} {size}"

    @server.prompt
    def closed() -> str:
        raise ToolError("Come back tomorrow.")

    return server


async def test_arguments_become_what_the_function_declares(revision: str) -> None:
    async with Client(planner(), mode=revision) as client:
        plan = (await client.list_prompts()).prompts[0]
        assert isinstance(plan.arguments, list)
        steps = plan.arguments[1]
        assert steps.description == (
            'Which ones. In JSON: {"type":"array","items":{"type":"integer"}}'
        )
        if revision >= "2025-06-18":
            assert steps.title == "The steps"
        given = {"tone": "curt", "steps": "[1, 2]", "place": '{"x": 3}', "loud": "true"}
        assert said(await client.get_prompt("plan", given)) == [
            ("user", "Tone.CURT [1, 2] Place(x=3, y=0) True s")
        ]
        assert said(await client.get_prompt("plan", {"tone": "kind", "steps": "[]"})) == [
            ("user", "Tone.KIND [] None False s")
        ]


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("tone", "loud", "'loud'; it must be one of 'kind', 'curt'"),
        ("steps", "1, 2", "`steps`: expected `array`"),
        ("steps", '["x"]', "`steps`: expected `"),
        ("loud", "very", "`loud`: expected `bool`"),
        ("size", "l", "'l'; it must be one of 's', 'm'"),
        ("sise", "m", "`sise` is not an argument; did you mean `size`?"),
    ],
)
async def test_what_an_argument_cannot_be_is_said(
    revision: str, name: str, value: str, complaint: str
) -> None:
    given = {"tone": "curt", "steps": "[1]", name: value}
    async with Client(planner(), mode=revision) as client:
        with pytest.raises(RequestFailed) as caught:
            await client.get_prompt("plan", given)
    assert caught.value.code == -32602
    assert complaint in caught.value.message


async def test_what_a_prompt_has_to_say_of_its_failure_is_passed_on(revision: str) -> None:
    async with Client(planner(), mode=revision) as client:
        with pytest.raises(RequestFailed) as caught:
            await client.get_prompt("closed")
    assert (caught.value.code, caught.value.message) == (-32603, "Come back tomorrow.")


async def test_an_unknown_prompt_is_invalid_params_with_the_nearest_name(client: Client) -> None:
    with pytest.raises(RequestFailed) as caught:
        await client.get_prompt("hagle")
    assert caught.value.code == -32602
    assert "did you mean 'haggle'?" in caught.value.message


async def test_a_crash_of_a_prompt_is_an_internal_error_with_a_reference(
    revision: str, log_text: Callable[[], str]
) -> None:
    async with Client(bazaar(), mode=revision) as client:
        with pytest.raises(RequestFailed) as caught:
            await client.get_prompt("broken_prompt")
        assert await text_of(client, "echo", text="alive") == "alive"
    assert caught.value.code == -32603
    assert "secret" not in str(caught.value)
    assert caught.value.message.partition("reference ")[2][:8] in log_text()


async def test_prompts_and_completions_that_leave_the_program_do_not(client: Client) -> None:
    with pytest.raises(RequestFailed) as caught:
        await client.get_prompt("left_prompt")
    assert caught.value.code == -32603
    with pytest.raises(RequestFailed) as caught:
        await client.complete(HAGGLE, "exit", "")
    assert caught.value.code == -32603
    assert await text_of(client, "echo", text="alive") == "alive"


async def test_what_is_no_message_is_an_internal_error(
    revision: str, log_text: Callable[[], str]
) -> None:
    server = Server("s")

    @server.prompt
    def number() -> int:
        return 7

    @server.prompt
    def shapeless() -> dict[str, str]:
        return {"role": "nobody", "content": "x"}

    async with Client(server, mode=revision) as client:
        for name in ("number", "shapeless"):
            with pytest.raises(RequestFailed) as caught:
                await client.get_prompt(name)
            assert caught.value.code == -32603
    assert "a prompt returned int; text, a content block or a message is expected" in log_text()
    assert "a prompt returned a message that is none" in log_text()


# --- completion


async def test_an_argument_is_completed_while_it_is_typed(client: Client) -> None:
    assert (await client.complete(HAGGLE, "goods", "t")).completion.values == ["tea", "toys"]
    assert (await client.complete(HAGGLE, "goods", "x")).completion.values == []


async def test_what_is_known_already_helps_where_the_revision_can_say_it(client: Client) -> None:
    result = await client.complete(HAGGLE, "offer", "5", context={"goods": "tea"})
    knows = client.protocol_version not in ("2024-11-05", "2025-03-26")
    assert result.completion.values == ["51 for tea" if knows else "51 for nothing"]
    result = await client.complete(HAGGLE, "offer", "5")
    assert result.completion.values == ["51 for nothing"]


async def test_no_more_than_a_hundred_values_are_sent(client: Client) -> None:
    ref = ResourceTemplateReference(uri="bazaar://tickets/{number}")
    completion = (await client.complete(ref, "number", "1")).completion
    assert completion.values == [f"1{n}" for n in range(100)]
    assert (completion.total, completion.has_more) == (150, True)


async def test_one_function_can_complete_everything_else(client: Client) -> None:
    found = (await client.complete(PromptReference(name="dialogue"), "mood", "go")).completion
    assert (found.values, found.total) == (["dialogue.mood=go"], 9)
    ref = ResourceTemplateReference(uri="bazaar://shelf/{+path}")
    assert (await client.complete(ref, "path", "")).completion.values == [
        "bazaar://shelf/{+path}.path="
    ]


@pytest.mark.parametrize(
    ("ref", "argument", "why"),
    [
        (PromptReference(name="hagle"), "goods", "Unknown prompt: 'hagle'; did you mean 'haggle'?"),
    ],
    ids=str,
)
async def test_what_does_not_exist_is_not_completed(
    client: Client, ref: PromptReference | ResourceTemplateReference, argument: str, why: str
) -> None:
    with pytest.raises(RequestFailed) as caught:
        await client.complete(ref, argument, "")
    assert caught.value.code == -32602
    assert caught.value.message.startswith(why)


async def test_an_argument_that_does_not_exist_is_not_completed(revision: str) -> None:
    server = Server("s")

    @server.prompt
    def greet(name: str, other: str = "") -> str:
        return name

    @server.resource("s://{folder}/{file}")
    def read(folder: str, file: str) -> str:
        return file

    @server.completion("greet", "name")
    def complete_name(typed: str) -> list[str]:
        return []

    template = ResourceTemplateReference(uri="s://{folder}/{file}")
    async with Client(server, mode=revision) as client:
        assert (await client.complete(template, "file", "a")).completion.values == []
        with pytest.raises(RequestFailed, match="Unknown argument of prompt greet: 'nam'; did you"):
            await client.complete(PromptReference(name="greet"), "nam", "a")
        with pytest.raises(RequestFailed, match="'files'; did you mean 'file'"):
            await client.complete(template, "files", "a")


async def test_without_a_function_nothing_is_suggested(revision: str) -> None:
    server = Server("s")

    @server.prompt
    def greet(name: str, other: str = "") -> str:
        return name

    @server.completion("greet", "name")
    def complete_name(typed: str) -> set[str]:
        return {typed + "!"}

    async with Client(server, mode=revision) as client:
        ref = PromptReference(name="greet")
        assert (await client.complete(ref, "name", "a")).completion.values == ["a!"]
        assert (await client.complete(ref, "other", "a")).completion == Completion(values=[])


async def test_a_completion_that_is_no_list_is_an_internal_error(
    revision: str, log_text: Callable[[], str]
) -> None:
    server = Server("s")
    server.prompt("haggle")(lambda goods: goods)

    @server.completion
    def text(ref: object) -> str:
        return "text"

    async with Client(server, mode=revision) as client:
        with pytest.raises(RequestFailed) as caught:
            await client.complete(HAGGLE, "goods", "")
    assert caught.value.code == -32603
    assert "a completion function returns the values as a list of text" in log_text()
