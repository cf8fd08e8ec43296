"""Content written to files."""

import base64
from pathlib import Path
from typing import Any

import pytest

from wigwag.client.saved_content import data_in, save_content
from wigwag.errors import InvalidResult
from wigwag.schema import AudioContent, EmbeddedResource, ImageContent, TextContent
from wigwag.schema.resource_contents import BlobResourceContents, TextResourceContents

DATA = base64.b64encode(b"\x00\xff").decode()


def picture(mime_type: str = "image/png") -> ImageContent:
    return ImageContent(data=DATA, mime_type=mime_type)


def blob(uri: str, mime_type: str = "application/pdf") -> BlobResourceContents:
    return BlobResourceContents(uri=uri, blob=DATA, mime_type=mime_type)


@pytest.mark.parametrize(
    ("content", "name", "file"),
    [
        (picture(), "chart", "chart.png"),
        (picture("image/jpeg"), "", "image.jpg"),
        (picture("image/PNG; q=1"), "chart", "chart.png"),
        (picture("../../x"), "chart", "chart.bin"),
        (AudioContent(data=DATA, mime_type="audio/wav"), "say", "say.wav"),
        (blob("docs://a/report.pdf"), "", "report.pdf"),
        (blob("docs://a/report"), "", "report.pdf"),
        (blob("docs://a/b%2Fc.pdf"), "", "b-c.pdf"),
        (blob("file:///etc/.profile"), "", "profile.pdf"),
        (blob("docs://x/..%2f..%2fetc"), "", "etc.pdf"),
        (blob("docs://x/con.txt"), "", "_con.txt"),
        (blob("docs://"), "", "content.pdf"),
        (blob(f"docs://x/{'n' * 300}"), "", f"{'n' * 80}.pdf"),
        (blob(f"docs://x/a{'語' * 300}"), "", f"a{'語' * 26}.pdf"),
        (blob("http://[x/plan.pdf"), "", "plan.pdf"),
        (EmbeddedResource(resource=blob("docs://a/b.pdf")), "", "b.pdf"),
        (TextResourceContents(uri="a:b/c", text="é"), "", "c.txt"),
        (TextResourceContents(uri="a:b/c", text="é", mime_type="text/markdown"), "", "c.md"),
        (picture(), "../up", "up.png"),
    ],
)
def test_a_file_is_called_by_what_is_in_it_and_stays_in_the_folder(
    content: Any, name: str, file: str, tmp_path: Path
) -> None:
    folder = tmp_path / "new" / "folder"
    path = save_content(content, folder, name=name)
    assert path == folder / file
    assert path.read_bytes() == data_in(content)
    assert [each.name for each in folder.iterdir()] == [file]


def test_what_is_there_already_stays(tmp_path: Path) -> None:
    (tmp_path / "chart.png").write_bytes(b"mine")
    paths = [save_content(picture(), tmp_path, name="chart") for _ in range(2)]
    assert paths == [tmp_path / "chart-2.png", tmp_path / "chart-3.png"]
    assert (tmp_path / "chart.png").read_bytes() == b"mine"


def test_text_is_no_file(tmp_path: Path) -> None:
    assert save_content(TextContent(text="hello"), tmp_path / "not-made") is None
    assert not (tmp_path / "not-made").exists()


def test_what_should_be_base64_and_is_not_is_told(tmp_path: Path) -> None:
    broken = ImageContent(data="?!", mime_type="image/png")
    with pytest.raises(InvalidResult, match="what should be base64 in the result is not"):
        save_content(broken, tmp_path)
    assert list(tmp_path.iterdir()) == []
