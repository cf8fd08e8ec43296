import json
from typing import Any

import msgspec
import pytest

from wigwag.schema import ImageContent, PromptReference, TextContent


@pytest.mark.parametrize("type_", [TextContent, ImageContent, PromptReference])
def test_a_block_can_be_made_with_its_type_told(type_: Any) -> None:
    members = {field.name: "a" for field in msgspec.structs.fields(type_) if field.required}
    told = type_(type=type_.type, **members)
    assert told == type_(**members)
    assert json.loads(msgspec.json.encode(told))["type"] == type_.type


def test_a_block_cannot_be_made_with_the_type_of_another() -> None:
    with pytest.raises(ValueError, match="the type of a TextContent is 'text', not 'image'"):
        TextContent(type="image", text="a")  # type: ignore[arg-type]
