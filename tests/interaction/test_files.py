"""Files and directories as resources, as a client sees them."""

import base64
import os
from pathlib import Path

import msgspec
import pytest

from tests.interaction.connecting import TIMEOUTS, serving_http
from wigwag import Client, RequestFailed, Server
from wigwag.schema import MODERN_REVISIONS, ResourceTemplateReference

pytestmark = pytest.mark.anyio


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "handbook"
    (root / "deep").mkdir(parents=True)
    (root / "a b.md").write_bytes(b"# a")
    (root / "deep" / "dot.gif").write_bytes(b"GIF89a")
    (root / ".env").write_bytes(b"SECRET=1")
    os.utime(root / "a b.md", (86400, 86400))
    return root


def library(folder: Path) -> Server:
    server = Server("library")
    server.add_directory("docs://handbook", folder, title="Handbook")
    server.add_file("docs://start", folder / "a b.md", title="Start here", tags=["public"])
    return server


def not_found(revision: str) -> int:
    return -32602 if revision in MODERN_REVISIONS else -32002


async def test_a_file_is_listed_with_what_is_known_of_it(folder: Path, revision: str) -> None:
    async with Client(library(folder), mode=revision) as client:
        listing, start = (await client.list_resources()).resources
        assert (listing.uri, listing.name) == ("docs://handbook/", "handbook")
        assert (start.uri, start.name, start.mime_type) == (
            "docs://start",
            "a b.md",
            "text/markdown",
        )
        if revision != "2024-11-05":
            assert start.size == 3
        if revision >= "2025-06-18":
            assert (listing.title, start.title) == ("Handbook", "Start here")
            assert isinstance(start.annotations, msgspec.Struct)
            assert start.annotations.last_modified == "1970-01-02T00:00:00Z"
        (read,) = (await client.read_resource("docs://start")).contents
        assert (read.uri, read.text, read.mime_type) == ("docs://start", "# a", "text/markdown")


async def test_a_directory_is_a_template_a_list_and_completed(folder: Path, revision: str) -> None:
    async with Client(library(folder), mode=revision) as client:
        (template,) = (await client.list_resource_templates()).resource_templates
        assert (template.uri_template, template.name) == ("docs://handbook/{+path}", "handbook")
        (root,) = (await client.read_resource("docs://handbook/")).contents
        assert root.mime_type == "application/json"
        entries = msgspec.json.decode(str(root.text))["entries"]
        assert [entry["uri"] for entry in entries] == [
            "docs://handbook/a%20b.md", "docs://handbook/deep/",
        ]  # fmt: skip
        (page,) = (await client.read_resource(entries[0]["uri"])).contents
        assert (page.uri, page.text) == (entries[0]["uri"], "# a")
        (inner,) = (await client.read_resource(entries[1]["uri"])).contents
        (dot,) = msgspec.json.decode(str(inner.text))["entries"]
        assert dot["name"] == "dot.gif"
        (blob,) = (await client.read_resource(dot["uri"])).contents
        assert base64.b64decode(str(blob.blob)) == b"GIF89a"
        ref = ResourceTemplateReference(uri=template.uri_template)
        completion = (await client.complete(ref, "path", "deep/d")).completion
        assert completion.values == ["deep/dot.gif"]


@pytest.mark.parametrize(
    "path",
    ["nothing", "../secret", "%2e%2e/secret", "..%2Fsecret", "%252e%252e/secret", "..%5Csecret",
     "/etc/passwd", "%2Fetc%2Fpasswd", ".env", "%2Eenv", "deep/../.env", "a%00b", "deep//dot.gif"],
)  # fmt: skip
async def test_nothing_else_is_found(folder: Path, revision: str, path: str) -> None:
    (folder.parent / "secret").write_bytes(b"secret")
    uri = f"docs://handbook/{path}"
    async with Client(library(folder), mode=revision) as client:
        with pytest.raises(RequestFailed, match="Resource not found") as caught:
            await client.read_resource(uri)
    assert (caught.value.code, caught.value.data) == (not_found(revision), {"uri": uri})


async def test_what_changes_and_vanishes_is_seen_at_once(folder: Path, revision: str) -> None:
    async with Client(library(folder), mode=revision) as client:
        (folder / "new.txt").write_bytes(b"new")
        (new,) = (await client.read_resource("docs://handbook/new.txt")).contents
        assert new.text == "new"
        (folder / "a b.md").unlink()
        for uri in ("docs://start", "docs://handbook/a%20b.md"):
            with pytest.raises(RequestFailed) as caught:
                await client.read_resource(uri)
            assert (caught.value.code, caught.value.data) == (not_found(revision), {"uri": uri})


async def test_files_can_be_listed_one_by_one(folder: Path) -> None:
    server = Server("library")
    server.add_directory("docs://", folder, listed=True)
    async with Client(server) as client:
        resources = (await client.list_resources()).resources
        assert [resource.uri for resource in resources] == [
            "docs://", "docs://a%20b.md", "docs://deep/dot.gif",
        ]  # fmt: skip
        (dot,) = (await client.read_resource("docs://deep/dot.gif")).contents
        assert dot.mime_type == "image/gif"


async def test_a_file_that_is_too_long_says_so(folder: Path, revision: str) -> None:
    server = Server("library")
    server.add_directory("docs://", folder, max_bytes=2)
    async with Client(server, mode=revision) as client:
        with pytest.raises(RequestFailed, match=r"a b\.md is longer than the 2 bytes") as caught:
            await client.read_resource("docs://a%20b.md")
        assert caught.value.code == -32603


async def test_files_are_read_over_http(folder: Path) -> None:
    async with (
        serving_http(library(folder)) as origin,
        Client(f"{origin}/mcp", timeouts=TIMEOUTS) as client,
    ):
        (page,) = (await client.read_resource("docs://handbook/a%20b.md")).contents
        assert page.text == "# a"


def test_what_is_not_there_is_refused_when_it_is_added(folder: Path) -> None:
    server = Server("library")
    with pytest.raises(FileNotFoundError):
        server.add_file("docs://x", folder / "nothing")
    with pytest.raises(NotADirectoryError):
        server.add_directory("docs://x", folder / "a b.md")


async def test_a_directory_may_take_the_place_of_another_one(folder: Path) -> None:
    server = Server("library", on_duplicate="replace")
    server.add_directory("docs://", folder)
    server.add_directory("docs://", folder / "deep")
    async with Client(server) as client:
        (dot,) = (await client.read_resource("docs://dot.gif")).contents
        assert dot.mime_type == "image/gif"
        ref = ResourceTemplateReference(uri="docs://{+path}")
        assert (await client.complete(ref, "path", "")).completion.values == ["dot.gif"]
    strict = library(folder)
    with pytest.raises(ValueError, match="there is a resource template 'docs://handbook/"):
        strict.add_directory("docs://handbook", folder)
