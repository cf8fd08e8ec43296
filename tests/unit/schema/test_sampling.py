from typing import Any

from wigwag.schema import CreateMessageResult, ImageContent, TextContent, ToolUseContent


def test_the_text_of_an_answer_is_that_of_its_blocks_of_text() -> None:
    one, two = TextContent(text="one"), TextContent(text="two")
    image = ImageContent(data="", mime_type="image/png")
    use = ToolUseContent(id="1", name="t", input={})
    contents: list[tuple[Any, str]] = [
        (one, "one"),
        ([one, image, use, two], "one\ntwo"),
        (image, ""),
        ([], ""),
    ]
    for content, text in contents:
        answer = CreateMessageResult(role="assistant", model="m", content=content)
        assert answer.text == text
