"""Keeps what a client needs for authorization in the keyring of the platform."""

from __future__ import annotations

import os
import sys
import zlib
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from wigwag.errors import AuthorizationFailed
from wigwag.stores.file_locks import FileTurn
from wigwag.stores.private_folder import PrivateFolder, default_folder
from wigwag.stores.threads import call_in_thread, call_to_the_end

__all__ = ["KeyringTokenStore"]

# Windows has 2,560 bytes for one, and writes UTF-16; elsewhere nobody minds.
_MAX_CHARACTERS: Final = 1200 if sys.platform == "win32" else 60_000

# A keyring cannot be asked what there is in it.
_INDEX: Final = "index"
_FILES: Final = "or keep credentials in files (`FileTokenStore`)"

_read_index: Final = msgspec.json.Decoder(list[str]).decode
_write_index: Final = msgspec.json.Encoder().encode

T = TypeVar("T")


class KeyringTokenStore:
    """An entry for each key in the keyring of the user, by the package keyring.

    What is longer than an entry may be is kept in several. Who waits for whom is told by files that
    hold nothing, in the folder of `FileTokenStore`.

    Args:
        service: The name that the entries have in the keyring.
        folder: Where the files of the locks are; by default as for `FileTokenStore`.
        backend: The keyring, an object of the package keyring; by default the one that it chooses.
        max_characters: How much one entry takes; by default what the platform's keyring does.

    Raises:
        AuthorizationFailed: Each method, if there is no keyring, or it is locked or fails.
    """

    def __init__(
        self,
        service: str = "wigwag",
        *,
        folder: str | os.PathLike[str] | None = None,
        backend: Any = None,
        max_characters: int = _MAX_CHARACTERS,
    ) -> None:
        self._service = service
        self._folder = PrivateFolder(default_folder() if folder is None else Path(folder))
        self._entries = _Entries(service, backend, max_characters)

    def __repr__(self) -> str:
        return f"KeyringTokenStore({self._service!r})"

    async def load(self, key: str) -> bytes | None:
        """Return what is kept under a key; `None` when there is nothing that can be read."""
        return await self._alone(lambda: self._entries.read(_name_of(key)), call_in_thread)

    async def save(self, key: str, value: bytes | None) -> None:
        """Keep something, or forget it.

        Raises:
            AuthorizationFailed: The keyring does not take it; what was there before still is.
        """
        await self._alone(lambda: self._save(key, value), call_to_the_end)

    def lock(self, name: str) -> FileTurn:
        """Return what lets one at a time in, of all tasks, threads and processes."""
        return FileTurn(self._folder, f"{self._service}\0{name}")

    async def keys(self) -> tuple[str, ...]:
        """Return the keys under which something is kept."""
        return await self._alone(lambda: tuple(self._index()), call_in_thread)

    async def _alone(
        self,
        function: Callable[[], T],
        call: Callable[[Callable[[], T]], Awaitable[T]],
    ) -> T:
        # Several entries are read and written, and some keyrings are a file without locks. One
        # that is locked may ask its user first, who need not be waited for to read.
        async with FileTurn(self._folder, self._service):
            return await call(lambda: _translated(function))

    def _save(self, key: str, value: bytes | None) -> None:
        index = self._index()
        if value is None:
            self._entries.remove(_name_of(key))
            if key in index:
                index.remove(key)
                self._entries.write(_INDEX, _write_index(index))
            return
        if key not in index:  # first, so that nothing is kept that nobody knows of
            self._entries.write(_INDEX, _write_index([*index, key]))
        self._entries.write(_name_of(key), value)

    def _index(self) -> list[str]:
        try:
            return _read_index(self._entries.read(_INDEX) or b"[]")
        except (ValueError, RecursionError):
            return []


def _name_of(key: str) -> str:
    # Names have limits, too.
    return sha256(key.encode()).hexdigest()


class _Head(NamedTuple):
    """The first piece of a value, which tells where the others are.

    That is elsewhere for the value that comes next, so that writing its head replaces all of it.
    """

    generation: int
    pieces: int
    text: str


class _Entries:
    """Values in the entries of a keyring, in as many pieces as it takes."""

    def __init__(self, service: str, backend: Any, max_characters: int) -> None:
        self._service = service
        self._backend = backend
        self._max_characters = max_characters

    def read(self, name: str) -> bytes | None:
        """Return a value; `None` when there is none, or it is damaged."""
        head = self._head(name)
        if head is None:
            return None
        pieces = [head.text, *(self._get(each) for each in _others(name, head))]
        try:
            return zlib.decompress(b64decode("".join(map(str, pieces)), validate=True))
        except (ValueError, zlib.error):
            return None

    def write(self, name: str, value: bytes) -> None:
        """Write a value."""
        before = self._head(name)
        text = b64encode(zlib.compress(value)).decode("ascii")
        size = self._max_characters - 20  # the head says more
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        generation = 0 if before is None else 1 - before.generation
        head = _Head(generation, len(pieces), pieces[0])
        for other, piece in zip(_others(name, head), pieces[1:], strict=True):
            self._keyring().set_password(self._service, other, piece)
        written = f"{head.generation}/{head.pieces}/{head.text}"
        self._keyring().set_password(self._service, name, written)
        self._remove_others(name, before)

    def remove(self, name: str) -> None:
        """Remove a value, if it is there."""
        head = self._head(name)
        if self._get(name) is not None:
            self._keyring().delete_password(self._service, name)
        self._remove_others(name, head)

    def _head(self, name: str) -> _Head | None:
        generation, _, rest = (self._get(name) or "").partition("/")
        pieces, _, text = rest.partition("/")
        if generation not in ("0", "1") or not (pieces.isascii() and pieces.isdigit()):
            return None
        # No more than there ever are, whatever is written there.
        return _Head(int(generation), min(int(pieces[:6]), 10_000), text)

    def _remove_others(self, name: str, head: _Head | None) -> None:
        from keyring.errors import PasswordDeleteError  # noqa: PLC0415 - as below

        for other in () if head is None else _others(name, head):
            with suppress(PasswordDeleteError):  # it is not there
                self._keyring().delete_password(self._service, other)

    def _get(self, name: str) -> str | None:
        found = self._keyring().get_password(self._service, name)
        return found if isinstance(found, str) else None

    def _keyring(self) -> Any:
        if self._backend is None:
            import keyring  # noqa: PLC0415 - only for who uses it
            from keyring.backends import null  # noqa: PLC0415 - only for who uses it

            self._backend = keyring.get_keyring()
            if isinstance(self._backend, null.Keyring):
                self._backend = None
                raise AuthorizationFailed(
                    "the keyring is disabled on this machine, and keeps nothing",
                    "",
                    f"choose another one in the configuration of keyring, {_FILES}",
                )
        return self._backend


def _others(name: str, head: _Head) -> Iterator[str]:
    """Return the names of the entries with the pieces after the first one."""
    return (f"{name}/{head.generation}/{number}" for number in range(1, head.pieces))


def _translated(function: Callable[[], T]) -> T:
    """Call a function; what keyrings raise becomes what says what to do."""
    try:
        from keyring import errors  # noqa: PLC0415 - only for who uses it
    except ImportError:
        raise AuthorizationFailed(
            "the keyring needs the package keyring, which is not installed",
            "",
            f"pip install 'wigwag[keyring]', {_FILES}",
        ) from None
    try:
        return function()
    except AuthorizationFailed:
        raise
    except errors.NoKeyringError:
        reason, advice = "there is no keyring on this machine", "start one, such as GNOME Keyring"
    except (errors.KeyringLocked, errors.InitError):
        reason, advice = "the keyring is locked", "unlock it"
    except Exception as error:  # noqa: BLE001 - each keyring has its own errors
        reason = f"the keyring failed with {type(error).__name__}"
        advice = "see that `python -m keyring diagnose` is content"
    # Not with the error: what a keyring says of it may hold what was to be kept.
    raise AuthorizationFailed(reason, "", f"{advice}, {_FILES}")
