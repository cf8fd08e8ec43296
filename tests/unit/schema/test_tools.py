"""Tools: what the types say beyond their members."""

from wigwag.schema import CallToolResult, ImageContent, TextContent


def test_the_text_of_a_result_is_that_of_its_blocks_of_text() -> None:
    picture = ImageContent(data="AA==", mime_type="image/png")
    result = CallToolResult(content=[TextContent(text="a"), picture, TextContent(text="b")])
    assert result.text == "a\nb"
    assert CallToolResult(content=[]).text == ""
