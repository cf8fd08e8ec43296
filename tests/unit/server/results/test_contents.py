"""What resource functions return, as contents."""

import base64
from dataclasses import dataclass
from typing import Any

import pytest

from wigwag.schema import (
    AudioContent,
    BlobResourceContents,
    EmbeddedResource,
    ReadResourceResult,
    ResourceContents,
    TextContent,
    TextResourceContents,
)
from wigwag.server.results.contents import to_contents
from wigwag.server.results.media import File, Image
from wigwag.server.results.tool_results import InvalidOutput


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


def test_a_list_may_mix_contents_bytes_media_and_others() -> None:
    own = BlobResourceContents(uri="a://y", blob="AAAA", mime_type="image/gif")
    values = [b"\x00", "t", own, {"a": 1}, Image(data=b"GIF89a"), File(data="f", uri="a://f")]
    contents = to_contents(values, "a://x", None).contents
    assert contents == to_contents(tuple(values), "a://x", None).contents
    assert contents == [
        BlobResourceContents(uri="a://x", blob="AA==", mime_type="application/octet-stream"),
        TextResourceContents(uri="a://x", text="t", mime_type="text/plain"),
        own,
        TextResourceContents(uri="a://x", text='{"a":1}', mime_type="application/json"),
        BlobResourceContents(uri="a://x", blob="R0lGODlh", mime_type="image/gif"),
        TextResourceContents(uri="a://f", text="f", mime_type="text/plain"),
    ]


def test_media_and_blocks_are_what_they_hold() -> None:
    assert one_contents(Image(data=b"GIF89a"), "ignored/type") == BlobResourceContents(
        uri="a://x", blob="R0lGODlh", mime_type="image/gif"
    )
    sound = AudioContent(data="AAAA", mime_type="audio/wav")
    assert one_contents(sound).blob == "AAAA"
    held = TextResourceContents(uri="a://held", text="t")
    assert one_contents(EmbeddedResource(resource=held)) is held
    assert one_contents(TextContent(text="t")).text == "t"


def test_lists_of_text_and_of_values_are_json() -> None:
    assert one_contents(["a", "b"]).text == '["a","b"]'
    assert one_contents(("a", 1)).text == '["a",1]'


def test_a_resource_that_json_has_no_form_for_is_refused() -> None:
    for value in (object(), float("nan"), {"a": "\ud800"}):
        with pytest.raises(InvalidOutput):
            to_contents(value, "a://x", None)
