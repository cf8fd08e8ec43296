"""Keeps what a client needs for authorization in files that only the user can read."""

from __future__ import annotations

import logging
import os
import stat
import sys
import tempfile
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from wigwag.stores.file_locks import FileTurn
from wigwag.stores.private_folder import PrivateFolder, default_folder
from wigwag.stores.threads import call_in_thread, call_to_the_end

__all__ = ["FileTokenStore"]

MAX_VALUE_BYTES: Final = 1024 * 1024

_MAX_FILE_BYTES: Final = 2 * MAX_VALUE_BYTES  # in Base64, and with its key
_TEMPORARY: Final = ".tmp"
# Whoever writes for longer than this is no longer there.
_TEMPORARY_SECONDS: Final = 3600.0

_logger = logging.getLogger("wigwag.client")


class _Entry(msgspec.Struct, frozen=True):
    """What is in a file: what its name stands for, too, so that it can be listed."""

    key: str
    value: str
    """In Base64."""


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(_Entry).decode


class _NotOurs(Exception):
    """The file is not one that this store has written; the text says why."""


class FileTokenStore:
    """A file for each key, in a folder of the user; shared by all processes with that folder.

    Files are readable by their owner alone from the moment that they are there, and are replaced
    whole. What is no file of this store, or is open to others, counts as nothing; the log names it.

    Args:
        folder: Where the files are; by default what the environment variable `WIGWAG_CREDENTIALS`
            names, or else the place that the platform has for such things.

    Raises:
        AuthorizationFailed: The platform's place is not known, as platformdirs is not installed.
            Each method raises it if the folder cannot be used, as when others may write to it.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self._folder = PrivateFolder(default_folder() if folder is None else Path(folder))
        self._named: set[str] = set()
        self._has_swept = False

    def __repr__(self) -> str:
        return f"FileTokenStore({str(self.folder)!r})"

    @property
    def folder(self) -> Path:
        """Where the files are."""
        return self._folder.path

    async def load(self, key: str) -> bytes | None:
        """Return what is kept under a key; `None` when there is nothing that can be read."""
        return await call_in_thread(lambda: self._load(key))

    async def save(self, key: str, value: bytes | None) -> None:
        """Keep something, or forget it.

        Raises:
            AuthorizationFailed: It cannot be written; what was there before still is.
            ValueError: It is longer than a megabyte.
        """
        if value is not None and len(value) > MAX_VALUE_BYTES:
            raise ValueError(f"more than {MAX_VALUE_BYTES} bytes are not kept")
        await call_to_the_end(lambda: self._save(key, value))

    def lock(self, name: str) -> FileTurn:
        """Return what lets one at a time in, of all tasks, threads and processes."""
        return FileTurn(self._folder, name)

    async def keys(self) -> tuple[str, ...]:
        """Return the keys under which something is kept."""
        return await call_in_thread(lambda: tuple(entry.key for entry in self._entries()))

    # --- reading

    def _load(self, key: str) -> bytes | None:
        if not self._folder.is_there():
            return None
        entry = self._read(self._path(key))
        return None if entry is None else b64decode(entry.value)

    def _entries(self) -> Iterator[_Entry]:
        if not self._folder.is_there():
            return
        try:
            names = sorted(os.listdir(self.folder))
        except OSError as error:
            raise self._folder.failure("cannot be read", error) from None
        for name in names:
            if name.endswith(".json"):
                entry = self._read(self.folder / name)
                if entry is not None:
                    yield entry

    def _read(self, path: Path) -> _Entry | None:
        try:
            entry = _decode(_bytes_of(path))
            if path != self._path(entry.key):
                raise _NotOurs("it is not where it was written")
            b64decode(entry.value, validate=True)
        except FileNotFoundError:
            return None
        except _NotOurs as error:
            why = str(error)
        except OSError as error:
            why = error.strerror or type(error).__name__
        except (ValueError, RecursionError):  # what it says may hold what is in the file
            why = "it is damaged"
        else:
            return entry
        if path.name not in self._named:
            self._named.add(path.name)
            _logger.warning("the file of credentials %s is passed over: %s", path, why)
        return None

    def _path(self, key: str) -> Path:
        # Some file systems take "a" for "A", and none takes everything.
        return self.folder / f"{sha256(key.encode()).hexdigest()}.json"

    # --- writing

    def _save(self, key: str, value: bytes | None) -> None:
        path = self._path(key)
        if value is None:
            if self._folder.is_there():
                self._remove(path)
            return
        self._folder.make()
        self._sweep()
        data = _encode(_Entry(key, b64encode(value).decode("ascii")))
        try:
            _write_whole(path, data)
        except OSError as error:
            raise self._folder.failure("cannot be written", error) from None

    def _remove(self, path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise self._folder.failure("holds what cannot be removed", error) from None

    def _sweep(self) -> None:
        """Remove what processes left behind that died while they wrote."""
        if self._has_swept:
            return
        self._has_swept = True
        with suppress(OSError):
            for path in self.folder.glob(f"*{_TEMPORARY}"):
                if path.lstat().st_mtime < time.time() - _TEMPORARY_SECONDS:
                    path.unlink(missing_ok=True)


def _bytes_of(path: Path) -> bytes:
    """Return what is in a file, if it is one and nobody else can read or write it."""
    # Neither a link nor a pipe that nobody writes to leads anywhere from here.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0))
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise _NotOurs("it is no file")
        if sys.platform != "win32":
            if found.st_uid != os.geteuid():
                raise _NotOurs("it belongs to another user")
            if found.st_mode & 0o077:
                raise _NotOurs("others may read or write it")
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(_MAX_FILE_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(data) > _MAX_FILE_BYTES:
        raise _NotOurs("it is too large")
    return data


def _write_whole(path: Path, data: bytes) -> None:
    """Write a file such that others find the old one or the new one, even after a power cut."""
    # For its owner alone from the beginning, and of a name that nothing can wait under.
    descriptor, name = tempfile.mkstemp(_TEMPORARY, ".", path.parent)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        _replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    if sys.platform != "win32":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            with suppress(OSError):  # not every file system can do this
                os.fsync(folder)
        finally:
            os.close(folder)


def _replace(name: str, path: Path) -> None:
    if sys.platform == "win32":  # there a file that somebody reads cannot be replaced
        for _ in range(50):
            with suppress(PermissionError):
                os.replace(name, path)
                return
            time.sleep(0.02)
    os.replace(name, path)
