"""Files and directories as resources."""

import base64
import os
import re
from pathlib import Path
from typing import Any

import pytest

from wigwag.errors import ResourceNotFound, ToolError
from wigwag.schema import Annotations, ResourceContents
from wigwag.server.files import (
    MAX_ENTRIES,
    DirectorySource,
    FileSource,
    mime_type_of,
    safe_join,
)

LINKS = hasattr(os, "symlink") and os.name == "posix"
needs_links = pytest.mark.skipif(not LINKS, reason="links need rights elsewhere")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    (root / "deep" / "er").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / "a.md").write_text("# a\n", encoding="utf-8")
    (root / "b c.txt").write_text("é", encoding="utf-8")
    (root / "deep" / "d.json").write_text("{}", encoding="utf-8")
    (root / "deep" / "er" / "e.gif").write_bytes(b"GIF89a")
    (root / ".env").write_text("SECRET=1", encoding="utf-8")
    (root / ".git" / "config").write_text("x", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    return root


def source(root: Path, **options: Any) -> DirectorySource:
    return DirectorySource("docs://", root, **options)


def text(found: Any) -> str:
    assert isinstance(found, ResourceContents)
    assert isinstance(found.text, str)
    return found.text


def names(found: Any) -> list[str]:
    assert isinstance(found, dict)
    return [entry["name"] for entry in found["entries"]]


# --- one file


@pytest.mark.parametrize(
    ("name", "data", "read"),
    [
        ("a.txt", "é".encode(), "é"),
        ("a.json", b"{}", "{}"),
        ("a.svg", b"<svg/>", "<svg/>"),
        ("a.png", b"plain", b"plain"),
        ("a.txt", b"\xff", b"\xff"),
        ("README", b"read me", "read me"),
        ("README", b"\x00\x01", b"\x00\x01"),
        ("a.unknown", b"\xff\xfe", b"\xff\xfe"),
        ("a.md", b"\xef\xbb\xbf# a", "# a"),
        ("a.txt", b"", ""),
    ],
)
def test_a_file_is_text_if_its_type_or_its_content_is(
    tmp_path: Path, name: str, data: bytes, read: str | bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert FileSource(path).read() == read


def test_a_file_is_described(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"# a")
    os.utime(path, (86400, 86400.5))
    assert FileSource(path).describe() == {
        "name": "a.md",
        "description": "The file a.md.",
        "mime_type": "text/markdown",
        "size": 3,
        "annotations": Annotations(last_modified="1970-01-02T00:00:00Z"),
    }
    assert FileSource(path, "text/x-own").describe()["mime_type"] == "text/x-own"
    assert FileSource(path, "image/png").read() == b"# a"


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing", tmp_path / "nothing" / "a"):
        with pytest.raises(OSError, match=re.escape(str(path))):
            FileSource(path).describe()


def test_a_file_that_has_vanished_is_not_found(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"# a")
    file = FileSource(path)
    path.unlink()
    with pytest.raises(ResourceNotFound):
        file.read()
    path.mkdir()
    with pytest.raises(ResourceNotFound):
        file.read()


def test_a_file_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"12345")
    assert FileSource(path, max_bytes=5).read() == "12345"
    with pytest.raises(ToolError, match=r"a\.txt is longer than the 4 bytes that are read"):
        FileSource(path, max_bytes=4).read()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_says_so_but_not_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"1")
    path.chmod(0)
    with pytest.raises(ToolError, match=r"^a\.txt cannot be read: Permission denied$"):
        FileSource(path).read()


@needs_links
def test_a_file_may_be_a_link_as_somebody_chose_it(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"1")
    (tmp_path / "link.txt").symlink_to("a.txt")
    assert FileSource(tmp_path / "link.txt").read() == "1"


# --- a directory


def test_files_below_a_directory_are_read(folder: Path) -> None:
    docs = source(folder)
    assert (docs.uri, docs.template, docs.name) == ("docs://", "docs://{+path}", "docs")
    found = docs.read("a.md")
    assert isinstance(found, ResourceContents)
    assert (found.uri, found.text, found.mime_type) == ("docs://a.md", "# a\n", "text/markdown")
    other = docs.read("b c.txt")
    assert isinstance(other, ResourceContents)
    assert (other.uri, other.text) == ("docs://b%20c.txt", "é")
    blob = docs.read("deep/er/e.gif")
    assert isinstance(blob, ResourceContents)
    assert (blob.blob, blob.mime_type) == (base64.b64encode(b"GIF89a").decode(), "image/gif")


def test_directories_are_read_as_a_list_of_what_is_in_them(folder: Path) -> None:
    docs = source(folder)
    os.utime(folder / "a.md", (86400, 86400))
    assert docs.read_root()["entries"][0] == {
        "uri": "docs://a.md", "name": "a.md", "size": 4, "mimeType": "text/markdown",
        "lastModified": "1970-01-02T00:00:00Z",
    }  # fmt: skip
    assert names(docs.read_root()) == ["a.md", "b c.txt", "deep/"]
    assert docs.read_root()["entries"][2] == {"uri": "docs://deep/", "name": "deep/"}
    for path in ("deep", "deep/"):
        found = docs.read(path)
        assert names(found) == ["d.json", "er/"]
        assert isinstance(found, dict)
        assert [entry["uri"] for entry in found["entries"]] == [
            "docs://deep/d.json", "docs://deep/er/",
        ]  # fmt: skip


def test_a_long_list_is_cut_off_and_counted(tmp_path: Path) -> None:
    for number in range(MAX_ENTRIES + 1):
        (tmp_path / f"{number:05}").touch()
    found = source(tmp_path).read_root()
    assert names(found) == [f"{number:05}" for number in range(MAX_ENTRIES)]
    assert found["total"] == MAX_ENTRIES + 1
    assert len(source(tmp_path).complete("0")) == MAX_ENTRIES + 1
    with pytest.raises(ValueError, match="has more than 1000 files: leave out listed=True"):
        source(tmp_path).files()


@pytest.mark.parametrize(
    "path",
    ["nothing", "a.md/", "a.md/x", "", "/", "deep//d.json", "..", "../secret.txt", "deep/..",
     "deep/../../secret.txt", "./a.md", ".", ".env", ".git/config", ".git", "a\0b", "x" * 5000,
     "deep/" * 3000, "/etc/passwd", "\ud800"],
)  # fmt: skip
def test_what_is_not_to_be_seen_is_not_found(folder: Path, path: str) -> None:
    if path == "":
        assert names(source(folder).read(path)) == ["a.md", "b c.txt", "deep/"]
        return
    with pytest.raises(ResourceNotFound):
        source(folder).read(path)


def test_hidden_files_can_be_shown(folder: Path) -> None:
    docs = source(folder, hidden=True)
    assert text(docs.read(".env")) == "SECRET=1"
    assert names(docs.read_root()) == [".env", ".git/", "a.md", "b c.txt", "deep/"]


def test_a_pattern_chooses_files(folder: Path) -> None:
    docs = source(folder, pattern="*.md")
    assert names(docs.read_root()) == ["a.md", "deep/"]
    assert text(docs.read("a.md")) == "# a\n"
    with pytest.raises(ResourceNotFound):
        docs.read("b c.txt")
    deep = source(folder, pattern="deep/*.json")
    assert names(deep.read_root()) == ["deep/"]
    assert text(deep.read("deep/d.json")) == "{}"
    with pytest.raises(ResourceNotFound):
        deep.read("a.md")


@needs_links
def test_links_lead_nowhere_else(folder: Path) -> None:
    (folder / "out.txt").symlink_to(folder.parent / "secret.txt")
    (folder / "up").symlink_to(folder.parent)
    (folder / "dangling").symlink_to("nothing")
    (folder / "round").symlink_to("round")
    (folder / "env.txt").symlink_to(".env")
    (folder / "in.md").symlink_to("a.md")
    (folder / "again").symlink_to("deep")
    docs = source(folder)
    assert names(docs.read_root()) == ["a.md", "again/", "b c.txt", "deep/", "in.md"]
    assert text(docs.read("in.md")) == "# a\n"
    assert text(docs.read("again/d.json")) == "{}"
    for path in ("out.txt", "up/secret.txt", "up", "dangling", "round", "env.txt"):
        with pytest.raises(ResourceNotFound):
            docs.read(path)
    assert [uri for uri, _ in docs.files()] == [
        "docs://a.md", "docs://b%20c.txt", "docs://deep/d.json", "docs://deep/er/e.gif",
        "docs://in.md",
    ]  # fmt: skip


@needs_links
def test_the_directory_itself_may_be_a_link(folder: Path) -> None:
    link = folder.parent / "current"
    link.symlink_to(folder)
    assert text(source(link).read("a.md")) == "# a\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_what_is_no_file_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    assert "pipe" not in names(source(folder).read_root())
    with pytest.raises(ResourceNotFound):
        source(folder).read("pipe")
    with pytest.raises(ResourceNotFound):
        FileSource(folder / "pipe").read()


@pytest.mark.parametrize(
    ("typed", "paths"),
    [
        ("", ["a.md", "b c.txt", "deep/"]),
        ("d", ["deep/", "a.md"]),
        ("A", ["a.md"]),
        ("deep/", ["deep/d.json", "deep/er/"]),
        ("deep/E", ["deep/er/"]),
        ("deep/er/e", ["deep/er/e.gif"]),
        ("deep/er/e.gif/", []),
        ("nothing/", []),
        ("../", []),
        ("/", []),
        (".", ["a.md", "b c.txt"]),
        (".git/", []),
    ],
)
def test_paths_are_completed_segment_by_segment(folder: Path, typed: str, paths: list[str]) -> None:
    assert source(folder).complete(typed) == paths


@pytest.mark.parametrize("uri", ["docs", "docs://{x}/", "docs://a?b", "docs://#"])
def test_what_is_no_beginning_of_a_uri_is_refused(folder: Path, uri: str) -> None:
    with pytest.raises(ValueError, match="is no beginning of a URI"):
        DirectorySource(uri, folder)


def test_a_directory_must_be_there(folder: Path) -> None:
    for path in (folder / "nothing", folder / "a.md"):
        with pytest.raises(NotADirectoryError, match="there is no such directory"):
            source(path)
    assert DirectorySource("docs://x", folder).template == "docs://x/{+path}"


def test_types_are_told_by_names() -> None:
    assert mime_type_of("a/b.MD") == "text/markdown"
    assert mime_type_of("b.css") == "text/css"
    assert mime_type_of("b.tar.gz") == "application/gzip"
    assert mime_type_of("Makefile") is None
    assert mime_type_of(".env") is None
    assert mime_type_of("b.unheard-of") is None


def test_a_path_can_be_kept_below_a_directory_by_hand(folder: Path) -> None:
    assert safe_join(folder, "a.md") == (folder / "a.md").resolve()
    assert safe_join(str(folder), "deep", "../a.md") == (folder / "a.md").resolve()
    assert safe_join(folder) == folder.resolve()
    for parts in (["../secret.txt"], ["/etc/passwd"], ["deep", "..", ".."], ["a\0b"], ["../docs2"]):
        with pytest.raises(ValueError, match="is not below the directory"):
            safe_join(folder, *parts)


@needs_links
def test_a_link_does_not_lead_such_a_path_out(folder: Path) -> None:
    (folder / "up").symlink_to(folder.parent)
    with pytest.raises(ValueError, match="is not below the directory"):
        safe_join(folder, "up/secret.txt")
