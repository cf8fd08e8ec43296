from typing import Any

import pytest

from wigwag.schema import (
    BlobResourceContents,
    ResourceContents,
    TextResourceContents,
    decode,
)


def test_contents_are_text_or_the_bytes_themselves() -> None:
    assert TextResourceContents(uri="a:b", text="é").content == "é"
    assert BlobResourceContents(uri="a:b", blob="AAH/").content == b"\x00\x01\xff"
    assert ResourceContents(uri="a:b").content == b""


@pytest.mark.parametrize(
    ("member", "kind"), [("text", TextResourceContents), ("blob", BlobResourceContents)]
)
def test_what_was_read_is_of_the_kind_that_is_in_it(member: str, kind: Any) -> None:
    other = BlobResourceContents if kind is TextResourceContents else TextResourceContents
    read = decode(f'{{"uri":"a:b","{member}":""}}'.encode(), ResourceContents)
    assert isinstance(read, kind)
    assert not isinstance(read, other)
    assert isinstance(kind(uri="a:b", **{member: ""}), kind)
    assert not isinstance("text", kind)


def test_what_is_not_in_base64_is_an_error_and_not_other_bytes() -> None:
    with pytest.raises(ValueError, match="base64"):
        BlobResourceContents(uri="a:b", blob="A A=!").content  # noqa: B018 - reading it is the test
