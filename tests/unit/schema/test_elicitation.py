import msgspec
import pytest
from msgspec import Struct

from wigwag.schema import (
    BooleanSchema,
    EnumOption,
    NumberSchema,
    StringSchema,
    TitledEnumItems,
    TitledMultiSelectEnumSchema,
    TitledSingleSelectEnumSchema,
    UntitledEnumItems,
    UntitledMultiSelectEnumSchema,
    UntitledSingleSelectEnumSchema,
)

RED = EnumOption(const="r", title="Red")


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        (StringSchema(min_length=1), {"type": "string", "minLength": 1}),
        (NumberSchema(type="integer", minimum=0), {"type": "integer", "minimum": 0}),
        (BooleanSchema(default=False), {"type": "boolean", "default": False}),
        (UntitledSingleSelectEnumSchema(enum=["r"]), {"type": "string", "enum": ["r"]}),
        (
            TitledSingleSelectEnumSchema(one_of=[RED], default="r"),
            {"type": "string", "oneOf": [{"const": "r", "title": "Red"}], "default": "r"},
        ),
        (
            UntitledMultiSelectEnumSchema(items=UntitledEnumItems(enum=["r"]), max_items=1),
            {"type": "array", "items": {"type": "string", "enum": ["r"]}, "maxItems": 1},
        ),
        (
            TitledMultiSelectEnumSchema(items=TitledEnumItems(any_of=[RED])),
            {"type": "array", "items": {"anyOf": [{"const": "r", "title": "Red"}]}},
        ),
    ],
)
def test_a_field_of_a_form_becomes_json_schema(field: Struct, expected: dict[str, object]) -> None:
    assert msgspec.to_builtins(field) == expected
