from wigwag.schema import ReadResourceResult, TextResourceContents


def test_what_was_read_is_its_contents_one_after_the_other() -> None:
    both = [TextResourceContents(uri="a:b", text="1"), TextResourceContents(uri="a:c", text="2")]
    assert list(ReadResourceResult(contents=[*both])) == both
