from typing import Any, get_args

import msgspec
import pytest

from wigwag.schema import (
    AnyContent,
    BlobResourceContents,
    EmbeddedResource,
    PromptReference,
    ResourceContents,
    ResourceTemplateReference,
    TextContent,
    TextResourceContents,
)


@pytest.mark.parametrize(
    "type_", [*get_args(AnyContent), PromptReference, ResourceTemplateReference]
)
def test_a_block_tells_its_type_as_the_wire_does(type_: Any) -> None:
    assert type_.type == type_.__struct_config__.tag
    assert type_.__struct_config__.tag_field == "type"


def test_what_is_not_set_is_not_sent() -> None:
    assert msgspec.json.encode(TextContent(text="")) == b'{"type":"text","text":""}'


def test_contents_are_written_as_text_or_as_bytes() -> None:
    text = EmbeddedResource(resource=TextResourceContents(uri="a:1", text="x"))
    assert b'"resource":{"uri":"a:1","text":"x"}' in msgspec.json.encode(text)
    blob = EmbeddedResource(resource=BlobResourceContents(uri="a:1", blob="AA=="))
    assert b'"resource":{"uri":"a:1","blob":"AA=="}' in msgspec.json.encode(blob)
    with pytest.raises(TypeError, match="text"):
        TextResourceContents(uri="a:1")  # type: ignore[call-arg]


def test_contents_are_read_whichever_they_are() -> None:
    data = b'{"type":"resource","resource":{"uri":"a:1","mimeType":"text/plain","text":"x"}}'
    resource = msgspec.json.decode(data, type=EmbeddedResource).resource
    assert resource == ResourceContents(uri="a:1", mime_type="text/plain", text="x")
