"""Pictures, sounds and files as content."""

import base64
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from wigwag.schema import (
    Annotations,
    AudioContent,
    BlobResourceContents,
    EmbeddedResource,
    ImageContent,
    TextResourceContents,
)
from wigwag.server.results.media import Audio, File, Image

PNG = b"\x89PNG\r\n\x1a\n0"
WAV = b"RIFF\x00\x00\x00\x00WAVEfmt "


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_an_image_is_image_content() -> None:
    assert Image(data=PNG, format="png").to_content() == ImageContent(
        data=encoded(PNG), mime_type="image/png"
    )
    assert Image(data=PNG).to_image_content() == Image(data=PNG).to_content()


def test_audio_is_audio_content() -> None:
    assert Audio(data=WAV, format="wav").to_content() == AudioContent(
        data=encoded(WAV), mime_type="audio/wav"
    )
    assert Audio(data=WAV).to_audio_content() == Audio(data=WAV).to_content()


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_data_may_be_any_bytes(kind: Any) -> None:
    assert Image(data=kind(PNG)).to_content().data == encoded(PNG)


@pytest.mark.parametrize(
    ("name", "mime_type"),
    [
        ("a.png", "image/png"),
        ("a.JPG", "image/jpeg"),
        ("a.jpeg", "image/jpeg"),
        ("a.gif", "image/gif"),
        ("a.webp", "image/webp"),
        ("a.svg", "image/svg+xml"),
    ],
)
def test_the_suffix_of_a_picture_tells_its_format(
    tmp_path: Path, name: str, mime_type: str
) -> None:
    path = tmp_path / name
    path.write_bytes(b"x")
    for given in (path, str(path)):
        content = Image(given).to_content()
        assert content == ImageContent(data="eA==", mime_type=mime_type)


@pytest.mark.parametrize(
    ("name", "mime_type"),
    [
        ("a.wav", "audio/wav"),
        ("a.mp3", "audio/mpeg"),
        ("a.ogg", "audio/ogg"),
        ("a.flac", "audio/flac"),
        ("a.m4a", "audio/mp4"),
    ],
)
def test_the_suffix_of_a_sound_tells_its_format(tmp_path: Path, name: str, mime_type: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"x")
    assert Audio(path=path).to_content().mime_type == mime_type


@pytest.mark.parametrize(
    ("kind", "data", "mime_type"),
    [
        (Image, PNG, "image/png"),
        (Image, b"\xff\xd8\xff\xe0", "image/jpeg"),
        (Image, b"GIF89a", "image/gif"),
        (Image, b"RIFF\x00\x00\x00\x00WEBP", "image/webp"),
        (Audio, WAV, "audio/wav"),
        (Audio, b"OggS", "audio/ogg"),
        (Audio, b"ID3\x04", "audio/mpeg"),
        (File, b"%PDF-1.7", "application/pdf"),
    ],
)
def test_how_data_begins_tells_its_format(kind: Any, data: bytes, mime_type: str) -> None:
    assert kind(data=data).mime_type == mime_type


@pytest.mark.parametrize(
    ("kind", "format", "mime_type"),
    [
        (Image, "png", "image/png"),
        (Image, "JPG", "image/jpeg"),
        (Image, ".svg", "image/svg+xml"),
        (Image, "image/x-special", "image/x-special"),
        (Image, "special", "image/special"),
        (Audio, "mp3", "audio/mpeg"),
        (Audio, "ogg", "audio/ogg"),
        (File, "pdf", "application/pdf"),
        (File, "md", "text/markdown"),
        (File, "special", "application/special"),
    ],
)
def test_a_format_may_be_given(kind: Any, format: str, mime_type: str) -> None:
    assert kind(data=b"x", format=format).mime_type == mime_type
    assert kind(data=b"x", mime_type=mime_type).mime_type == mime_type


@pytest.mark.parametrize("kind", [Image, Audio])
def test_data_of_no_known_format_needs_one(kind: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"nothing says what format it has; say it with format="):
        kind(data=b"x")
    path = tmp_path / "a.unheard-of"
    path.write_bytes(b"x")
    with pytest.raises(ValueError, match=r"a\.unheard-of: nothing says what format it has"):
        kind(path)


def test_what_is_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Image of the data: it is audio/wav"):
        Image(data=WAV)
    path = tmp_path / "a.pdf"
    path.write_bytes(b"x")
    with pytest.raises(ValueError, match=r"Audio of a\.pdf: it is application/pdf"):
        Audio(path)


@pytest.mark.parametrize("kind", [Image, Audio, File])
def test_there_is_either_a_path_or_data(kind: Any) -> None:
    for arguments in ({}, {"path": "x", "data": b"x"}):
        with pytest.raises(ValueError, match="needs a path or data, and not both"):
            kind(**arguments)
    with pytest.raises(ValueError, match="say the same: leave one of them out"):
        kind(data=b"x", format="png", mime_type="image/png")


@pytest.mark.parametrize("kind", [Image, Audio, File])
def test_a_file_that_is_not_there_is_missed_at_once(kind: Any, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        kind(tmp_path / "missing.png")


@pytest.mark.parametrize("kind", [Image, Audio, File])
@pytest.mark.parametrize("annotations", [Annotations(priority=1), {"priority": 1}])
def test_annotations_and_meta_are_of_the_block(kind: Any, annotations: Any) -> None:
    block = kind(
        data=b"x", mime_type="image/png", annotations=annotations, meta={"a/b": 1}
    ).to_content()
    assert block.annotations == Annotations(priority=1)
    assert block.meta == {"a/b": 1}
    assert kind(data=b"x", mime_type="image/png").to_content().meta is UNSET
    with pytest.raises(ValueError, match="annotations: Expected `array`, got `str`"):
        kind(data=b"x", mime_type="image/png", annotations={"audience": "user"})


# --- files


def test_a_file_of_text_is_embedded_as_text(tmp_path: Path) -> None:
    path = tmp_path / "read me.md"
    path.write_text("# Ä", encoding="utf-8")
    assert File(path).to_content() == EmbeddedResource(
        resource=TextResourceContents(
            uri="file:///read%20me.md", text="# Ä", mime_type="text/markdown"
        )
    )
    assert File(path).to_resource_content() == File(path).to_content()


def test_a_file_of_other_data_is_embedded_as_a_blob(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-1.7")
    assert File(path, uri="archive://a", name="A").to_content() == EmbeddedResource(
        resource=BlobResourceContents(
            uri="archive://a", blob=encoded(b"%PDF-1.7"), mime_type="application/pdf"
        )
    )


@pytest.mark.parametrize(
    ("arguments", "mime_type", "text"),
    [
        ({"data": "plain"}, "text/plain", "plain"),
        ({"data": b"plain"}, "text/plain", "plain"),
        ({"data": b"\xff"}, "application/octet-stream", None),
        ({"data": b"{}", "format": "json"}, "application/json", "{}"),
        ({"data": b"{}", "name": "a.json"}, "application/json", "{}"),
        ({"data": b"<a/>", "format": "svg"}, "image/svg+xml", "<a/>"),
        ({"data": b"x", "format": "zip"}, "application/zip", None),
        ({"data": b"\xff", "format": "txt"}, "text/plain", None),
        ({"data": b"a", "mime_type": "text/x; charset=utf-8"}, "text/x; charset=utf-8", "a"),
    ],
)
def test_what_a_file_is_decides_whether_it_is_text(
    arguments: Any, mime_type: str, text: str | None
) -> None:
    contents = File(**arguments).to_content().resource
    assert contents.mime_type == mime_type
    assert contents.text == (UNSET if text is None else text)
    assert (contents.blob is UNSET) == (text is not None)


def test_a_file_without_a_name_has_one_all_the_same() -> None:
    assert File(data=b"x").uri == "file:///file"


def test_a_server_that_returns_no_media_does_not_load_them() -> None:
    program = (
        "import sys, wigwag.server.server; print('wigwag.server.results.media' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert found.stdout.split() == [b"False"]
