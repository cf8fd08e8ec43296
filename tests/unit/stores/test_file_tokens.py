"""What `FileTokenStore` adds to the contract, which tests/contract holds it to."""

import asyncio
import logging
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from wigwag.errors import AuthorizationFailed
from wigwag.stores.file_tokens import MAX_VALUE_BYTES, FileTokenStore

pytestmark = pytest.mark.anyio

KEY = "tokens https://as.example https://mcp.example"


def names_in(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir()]


def file_of(store: FileTokenStore) -> Path:
    (file,) = store.folder.glob("*.json")
    return file


async def test_a_file_is_for_its_owner_alone_from_the_beginning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    store = FileTokenStore(tmp_path / "kept")
    modes: list[int] = []
    fsync = os.fsync

    def look_first(descriptor: int) -> None:
        modes.extend(stat.S_IMODE(file.stat().st_mode) for file in store.folder.iterdir())
        fsync(descriptor)

    monkeypatch.setattr("os.fsync", look_first)
    before = os.umask(0)
    try:
        await store.save(KEY, b"secret")
        await store.save(KEY, b"secret too")
    finally:
        os.umask(before)
    assert len(modes) >= 4
    assert set(modes) == {0o600}
    assert names_in(store.folder) == [file_of(store).name]


async def test_names_of_files_say_nothing(tmp_path: Path) -> None:
    store = FileTokenStore(tmp_path)
    await store.save(KEY, b"secret")
    assert "example" not in file_of(store).name
    assert repr(store) == f"FileTokenStore({str(tmp_path)!r})"


async def test_what_cannot_be_written_leaves_what_was_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    store = FileTokenStore(tmp_path)
    await store.save(KEY, b"before")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(AuthorizationFailed) as failed:
        await store.save(KEY, b"secret")
    assert str(failed.value) == (
        f"the folder of credentials cannot be written: No space left on device ({tmp_path}); "
        "correct that, or set WIGWAG_CREDENTIALS to another folder"
    )
    assert await store.load(KEY) == b"before"
    assert names_in(tmp_path) == [file_of(store).name]


async def test_looking_makes_no_folder(tmp_path: Path) -> None:
    store = FileTokenStore(tmp_path / "kept")
    assert await store.load(KEY) is None
    assert await store.keys() == ()
    await store.save(KEY, None)
    assert not store.folder.exists()


async def test_a_folder_that_others_may_write_is_neither_read_nor_written(tmp_path: Path) -> None:
    store = FileTokenStore(tmp_path)
    await store.save(KEY, b"secret")
    os.chmod(tmp_path, 0o777)
    for use in (store.load(KEY), store.save(KEY, b"x"), store.save(KEY, None), store.keys()):
        with pytest.raises(AuthorizationFailed, match="other users may write"):
            await use


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-5])


def write_nonsense(file: Path) -> None:
    file.write_bytes(b"\xff\0secret")


def spoil_the_value(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b'"value":"', b'"value":"*'))


def nest(file: Path) -> None:
    file.write_bytes(b'{"key":' + b"[" * 100_000)


def grow(file: Path) -> None:
    file.write_bytes(b" " * (2 * MAX_VALUE_BYTES + 1))


def take_for_another(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b"mcp.example", b"mcp2.example"))


def open_to_others(file: Path) -> None:
    file.chmod(0o644)


def make_a_link(file: Path) -> None:
    elsewhere = file.parent.parent / "elsewhere"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)


def make_a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file, 0o600)


def make_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        (cut, "it is damaged"),
        (write_nonsense, "it is damaged"),
        (spoil_the_value, "it is damaged"),
        (nest, "it is damaged"),
        (grow, "it is too large"),
        (take_for_another, "it is not where it was written"),
        (open_to_others, "others may read or write it"),
        (make_a_link, "Too many levels of symbolic links"),
        (make_a_pipe, "it is no file"),
        (make_a_folder, "it is no file"),
    ],
)
async def test_what_is_not_our_own_counts_as_nothing_and_is_named_once(
    harm: Callable[[Path], None], why: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = FileTokenStore(tmp_path / "kept")
    await store.save(KEY, b"secret")
    file = file_of(store)
    harm(file)
    with caplog.at_level(logging.WARNING, "wigwag.client"):
        for _ in range(2):
            assert await store.load(KEY) is None
            assert await store.keys() == ()
    assert caplog.messages == [f"the file of credentials {file} is passed over: {why}"]


@pytest.mark.parametrize("harm", [cut, open_to_others, make_a_link, make_a_pipe])
async def test_what_is_not_our_own_is_replaced_and_not_written_to(
    harm: Callable[[Path], None], tmp_path: Path
) -> None:
    store = FileTokenStore(tmp_path / "kept")
    await store.save(KEY, b"before")
    harm(file_of(store))
    await store.save(KEY, b"after")
    assert await store.load(KEY) == b"after"
    assert stat.S_ISREG(file_of(store).lstat().st_mode)
    assert stat.S_IMODE(file_of(store).lstat().st_mode) == 0o600
    elsewhere = tmp_path / "elsewhere"
    assert not elsewhere.exists() or b"before" not in elsewhere.read_bytes()


async def test_what_is_in_the_way_is_named(tmp_path: Path) -> None:
    store = FileTokenStore(tmp_path)
    await store.save(KEY, b"secret")
    make_a_folder(file_of(store))
    with pytest.raises(AuthorizationFailed, match="cannot be written: Is a directory"):
        await store.save(KEY, b"secret")
    with pytest.raises(AuthorizationFailed, match="holds what cannot be removed: Is a directory"):
        await store.save(KEY, None)


async def test_other_files_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    store = FileTokenStore(tmp_path)
    await store.save(KEY, b"secret")
    async with store.lock("a"):
        assert await store.keys() == (KEY,)
    assert (tmp_path / "notes.txt").read_text() == "mine"


async def test_what_a_dead_process_left_half_written_is_removed(tmp_path: Path) -> None:
    old, new = tmp_path / ".old.tmp", tmp_path / ".new.tmp"
    for file in (old, new):
        file.write_text("half of a secret")
    os.utime(old, (1000, 1000))
    store = FileTokenStore(tmp_path)
    await store.save(KEY, b"secret")
    assert not old.exists()
    assert new.exists()


async def test_more_than_a_megabyte_is_not_taken(tmp_path: Path) -> None:
    store = FileTokenStore(tmp_path)
    await store.save(KEY, b"x" * MAX_VALUE_BYTES)
    assert await store.load(KEY) == b"x" * MAX_VALUE_BYTES
    with pytest.raises(ValueError, match="are not kept"):
        await store.save(KEY, b"x" * (MAX_VALUE_BYTES + 1))


async def test_readers_never_find_half_of_a_value(tmp_path: Path) -> None:
    store = FileTokenStore(tmp_path)
    values = [b"a" * 5_000, b"b" * 200_000]
    await store.save(KEY, values[0])

    async def write() -> None:
        for number in range(10):
            await store.save(KEY, values[number % 2])

    writing = asyncio.create_task(write())
    while not writing.done():
        assert await store.load(KEY) in values
    await writing
