"""What resource functions return, as contents."""

import base64
from dataclasses import dataclass
from typing import Any

import pytest

from wigwag.schema import (
    BlobResourceContents,
    ReadResourceResult,
    ResourceContents,
    TextResourceContents,
)
from wigwag.server.contents import to_contents
from wigwag.server.results import InvalidOutput


@dataclass
class Point:
    x: int
    y: float = 0.0


def one_contents(value: Any, mime_type: str | None = None) -> ResourceContents:
    (contents,) = to_contents(value, "a://x", mime_type).contents
    return contents


def test_text_of_a_resource_is_text() -> None:
    assert one_contents("t") == TextResourceContents(uri="a://x", text="t", mime_type="text/plain")
    assert one_contents("t", "text/css").mime_type == "text/css"


@pytest.mark.parametrize("value", [b"\x00\xff", bytearray(b"\x00\xff"), memoryview(b"\x00\xff")])
def test_bytes_of_a_resource_are_a_blob(value: Any) -> None:
    contents = one_contents(value)
    assert isinstance(contents, BlobResourceContents)
    assert contents.mime_type == "application/octet-stream"
    assert base64.b64decode(contents.blob) == b"\x00\xff"
    assert one_contents(value, "image/png").mime_type == "image/png"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": 1}, '{"a":1}'),
        ([1], "[1]"),
        (None, "null"),
        (Point(1), '{"x":1,"y":0.0}'),
        ([], "[]"),
    ],
)
def test_any_other_value_of_a_resource_is_json(value: Any, text: str) -> None:
    assert one_contents(value) == TextResourceContents(
        uri="a://x", text=text, mime_type="application/json"
    )


def test_contents_of_a_resource_are_passed_as_they_are() -> None:
    contents = TextResourceContents(uri="a://y", text="t")
    result = ReadResourceResult(contents=[contents])
    assert to_contents(result, "a://x", None) is result
    assert to_contents(contents, "a://x", None) == result
    assert to_contents([contents, contents], "a://x", None).contents == [contents, contents]


def test_a_resource_that_json_has_no_form_for_is_refused() -> None:
    for value in (object(), float("nan"), {"a": "\ud800"}):
        with pytest.raises(InvalidOutput):
            to_contents(value, "a://x", None)
