"""Tests of locks as files; that processes take turns is part of the contract of stores."""

import asyncio
import stat
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from wigwag.errors import AuthorizationFailed
from wigwag.stores.file_locks import FileTurn
from wigwag.stores.private_folder import PrivateFolder

pytestmark = pytest.mark.anyio


async def test_a_lock_says_nothing_of_what_it_is_for(tmp_path: Path) -> None:
    folder = PrivateFolder(tmp_path / "kept")
    async with FileTurn(folder, "https://mcp.example"):
        (file,) = folder.path.iterdir()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert file.suffix == ".lock"
        assert "example" not in file.name
        assert file.read_bytes() == b""


async def test_who_is_cancelled_while_another_process_is_inside_never_gets_the_lock(
    tmp_path: Path,
) -> None:
    folder = PrivateFolder(tmp_path)

    async def enter() -> None:
        async with FileTurn(folder, "a"):
            raise AssertionError("another one is inside")

    async with FileTurn(folder, "a"):
        (path,) = folder.path.iterdir()
    with FileLock(path):  # as another process has it
        waiting = asyncio.create_task(enter())
        await asyncio.wait([waiting], timeout=0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    async with asyncio.timeout(60), FileTurn(folder, "a"):
        pass


async def test_a_lock_that_cannot_be_used_is_named_and_keeps_nobody_waiting(tmp_path: Path) -> None:
    folder = PrivateFolder(tmp_path / "kept")
    async with FileTurn(folder, "a"):
        (path,) = folder.path.iterdir()
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    for _ in range(2):
        with pytest.raises(AuthorizationFailed, match="a lock that cannot be used"):
            async with FileTurn(folder, "a"):
                raise AssertionError("it is inside")
    assert not (tmp_path / "elsewhere").exists()


async def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "filelock", None)
    with pytest.raises(AuthorizationFailed, match=r"filelock.*pip install 'wigwag\[auth\]'"):
        async with FileTurn(PrivateFolder(tmp_path), "a"):
            raise AssertionError("it is inside")
