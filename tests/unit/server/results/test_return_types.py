"""What an annotation says of what is returned."""

from typing import Annotated, Any

import msgspec
import pytest
from msgspec import UNSET

from wigwag.schema import CallToolResult, ImageContent, TextContent
from wigwag.server.asking.input_required import InputRequired
from wigwag.server.results.media import Audio, File, Image
from wigwag.server.results.return_types import declared, has_content, is_of_objects, is_structured

RESULTS = (CallToolResult,)


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (int, int),
        (int | str, int | str),
        (int | InputRequired, int),
        (int | None | InputRequired, int | None),
        (InputRequired, InputRequired),
        (Annotated[CallToolResult, int], int),
        (Annotated[int, "how many"], Annotated[int, "how many"]),
        (UNSET, UNSET),
    ],
)
def test_that_a_handler_may_ask_or_write_the_result_is_not_what_it_returns(
    annotation: Any, expected: Any
) -> None:
    assert declared(annotation, RESULTS) == expected


@pytest.mark.parametrize(
    "annotation", [str, bytes, None, type(None), Any, UNSET, list, list[Any], tuple, str | None]
)
def test_text_and_anything_are_no_structure(annotation: Any) -> None:
    assert is_structured(annotation, RESULTS) is (annotation is None)
    assert not has_content(annotation, RESULTS)


@pytest.mark.parametrize(
    "annotation",
    [
        TextContent,
        Image,
        Audio,
        File,
        CallToolResult,
        list[ImageContent],
        list[str | Image],
        tuple[str, File],
        Image | None,
        Annotated[Image, "a chart"],
    ],
)
def test_content_is_no_structure(annotation: Any) -> None:
    assert has_content(annotation, RESULTS)
    assert not is_structured(annotation, RESULTS)


@pytest.mark.parametrize("annotation", [int, list[int], dict, int | str, Annotated[int, "n"], set])
def test_anything_else_is(annotation: Any) -> None:
    assert is_structured(annotation, RESULTS)


REFERENCE = {"$ref": "#/$defs/A"}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "object"}, True),
        ({"type": "array"}, False),
        ({}, False),
        ({"anyOf": [{"type": "object"}, {"type": "object"}]}, True),
        ({"oneOf": [{"type": "object"}, {"type": "null"}]}, False),
        ({**REFERENCE, "$defs": {"A": {"type": "object"}}}, True),
        ({"anyOf": [REFERENCE], "$defs": {"A": {"type": "object"}}}, True),
        ({**REFERENCE, "$defs": {"A": {"type": "string"}}}, False),
        ({**REFERENCE, "$defs": {"A": REFERENCE}}, False),
        (REFERENCE, False),
    ],
    ids=lambda value: msgspec.json.encode(value).decode(),
)
def test_a_schema_of_objects_is_known_by_what_it_refers_to(schema: Any, expected: Any) -> None:
    assert is_of_objects(schema, schema) is expected
