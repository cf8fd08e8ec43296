"""What prompt functions return, as messages."""

from typing import Any

import pytest
from msgspec import UNSET

from wigwag.schema import GetPromptResult, ImageContent, PromptMessage, TextContent
from wigwag.server.results.media import Image
from wigwag.server.results.prompt_messages import AssistantMessage, Message, UserMessage, to_prompt
from wigwag.server.results.tool_results import InvalidOutput

IMAGE = ImageContent(data="AAAA", mime_type="image/png")


def messages(value: Any) -> list[PromptMessage]:
    return to_prompt(value, "").messages


def message(text: str, role: Any = "user") -> PromptMessage:
    return PromptMessage(role=role, content=TextContent(text=text))


def test_text_of_a_prompt_is_a_message_of_the_user() -> None:
    assert messages("a") == [message("a")]
    assert messages(["a", "b"]) == [message("a"), message("b")]
    assert messages(("a", IMAGE)) == [message("a"), PromptMessage(role="user", content=IMAGE)]
    assert messages([]) == []


def test_a_dict_of_a_prompt_is_a_message() -> None:
    assert messages({"role": "assistant", "content": "a"}) == [message("a", "assistant")]
    block = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    assert messages([{"role": "user", "content": block}]) == [
        PromptMessage(role="user", content=IMAGE)
    ]


def test_messages_of_a_prompt_are_passed_as_they_are() -> None:
    assert messages(message("a", "assistant")) == [message("a", "assistant")]
    result = GetPromptResult(messages=[message("a")])
    assert to_prompt(result, "ignored") is result


def test_a_prompt_has_its_description_if_there_is_one() -> None:
    assert to_prompt("a", "About.").description == "About."
    assert to_prompt("a", "").description is UNSET


@pytest.mark.parametrize(
    "value",
    [{}, {"role": "user"}, {"content": "a"}, {"role": "system", "content": "a"},
     {"role": "user", "content": 7}, {"role": "user", "content": {"type": "zzz"}}],
)  # fmt: skip
def test_a_dict_that_is_no_message_is_refused(value: Any) -> None:
    with pytest.raises(InvalidOutput, match="a prompt returned a message that is none"):
        messages(value)


@pytest.mark.parametrize("value", [None, 7, b"a", object(), [None]])
def test_a_value_that_is_no_message_is_refused(value: Any) -> None:
    with pytest.raises(InvalidOutput, match="text, a content block or a message is expected"):
        messages(value)


def test_messages_say_who_says_what() -> None:
    picture = Image(data=b"GIF89a")
    made = [UserMessage("a"), AssistantMessage("b"), Message(picture, "assistant"), Message("c")]
    assert messages([*made, "d"]) == [
        message("a"),
        message("b", "assistant"),
        PromptMessage(role="assistant", content=picture.to_content()),
        message("c"),
        message("d"),
    ]
    assert messages(UserMessage("a")) == [message("a")]
    assert repr(UserMessage("a")) == f"UserMessage({TextContent(text='a')!r}, role='user')"


def test_the_content_of_a_message_is_json_if_it_is_nothing_else() -> None:
    assert messages(UserMessage({"a": [1]})) == [message('{"a":[1]}')]
    with pytest.raises(InvalidOutput, match="JSON has no form for"):
        UserMessage(object())
