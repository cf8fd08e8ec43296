"""Whatever is asked of a directory, nothing that lies elsewhere is read."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wigwag.errors import ResourceNotFound
from wigwag.schema import ResourceContents
from wigwag.server.files import DirectorySource, safe_join
from wigwag.server.uris.resource_uris import ResourceUris

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links need rights elsewhere")

PARTS = st.sampled_from(
    ["..", ".", "", "in.txt", "deep", "up", "out.txt", "secret.txt", ".env", "docs", "a\0b", "\\",
     "%2e%2e", "..\\..", "~", "C:", "deep/..", "/", "etc", "ü"]
)  # fmt: skip
PATHS = st.lists(PARTS, max_size=6).map("/".join) | st.text(max_size=20)


@contextmanager
def directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="wigwag-") as name:
        root = Path(name) / "docs"
        (root / "deep").mkdir(parents=True)
        (root / "deep" / "in.txt").write_text("inside", encoding="utf-8")
        (root / "in.txt").write_text("inside", encoding="utf-8")
        (root / ".env").write_text("secret", encoding="utf-8")
        (root.parent / "secret.txt").write_text("secret", encoding="utf-8")
        (root / "up").symlink_to(root.parent)
        (root / "out.txt").symlink_to(root.parent / "secret.txt")
        yield root


@given(st.lists(PATHS, min_size=1, max_size=20))
def test_nothing_that_lies_elsewhere_is_read(paths: list[str]) -> None:
    with directory() as root:
        source = DirectorySource("docs://", root)
        uris = ResourceUris(source.template, {"path": str}, [])
        for path in paths:
            assert all(found.isprintable() for found in source.complete(path))
            values = uris.match(f"docs://{path}") or uris.match(f"docs://{quote(path)}")
            for asked in {path} if values is None else {path, values["path"]}:
                try:
                    found = source.read(asked)
                except ResourceNotFound:
                    continue
                if isinstance(found, ResourceContents):
                    assert found.text == "inside"
                else:
                    names = {entry["name"] for entry in found["entries"]}
                    assert names in ({"deep/", "in.txt"}, {"in.txt"})


@given(st.lists(PATHS, max_size=3))
def test_a_path_that_is_kept_below_a_directory_is_below_it(parts: list[str]) -> None:
    with directory() as root:
        try:
            found = safe_join(root, *parts)
        except (ValueError, OSError):
            return
        assert found.is_relative_to(root.resolve())
