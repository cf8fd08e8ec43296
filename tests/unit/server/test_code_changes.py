"""Noticing that code has changed."""

import os
from pathlib import Path

import pytest

from wigwag.server.code_changes import CodeChanges

pytestmark = pytest.mark.anyio


def write(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


async def test_files_that_come_change_and_go_are_told(tmp_path: Path) -> None:
    changed, gone = write(tmp_path / "changed.py"), write(tmp_path / "inner" / "gone.py")
    changes = CodeChanges([os.fspath(tmp_path)])
    write(changed, "x = 1")
    new = write(tmp_path / "new.py")
    gone.unlink()
    assert await changes.wait() == sorted(map(os.fspath, (changed, gone, new)))


async def test_what_is_no_code_of_the_program_is_not_looked_at(tmp_path: Path) -> None:
    changes = CodeChanges([os.fspath(tmp_path)])
    write(tmp_path / "env" / "pyvenv.cfg")
    for other in ("note.txt", ".git/x.py", "node_modules/x.py", "env/lib/x.py"):
        write(tmp_path / other)
    code = write(tmp_path / "x.py")
    assert await changes.wait() == [os.fspath(code)]


async def test_files_and_whole_folders_can_be_looked_at_besides(tmp_path: Path) -> None:
    note = write(tmp_path / "note.txt")
    changes = CodeChanges([], [os.fspath(note), os.fspath(tmp_path / "pages")])
    write(note, "new")
    page = write(tmp_path / "pages" / "one.html")
    write(tmp_path / "other.txt")
    assert await changes.wait() == sorted(map(os.fspath, (note, page)))
