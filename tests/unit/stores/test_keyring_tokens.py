"""What `KeyringTokenStore` adds to the contract, which tests/contract holds it to."""

import asyncio
import os
import sys
import threading
from pathlib import Path
from typing import Any

import keyring.errors
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import fail, null

from wigwag.errors import AuthorizationFailed
from wigwag.stores.keyring_tokens import KeyringTokenStore

pytestmark = pytest.mark.anyio

KEY = "tokens https://as.example https://mcp.example"


class Entries(KeyringBackend):
    """A keyring that is a table, with a limit as Windows has one."""

    priority = 1

    def __init__(self, limit: int = 1280) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # theirs
        self.limit = limit
        self.entries: dict[tuple[str, str], str] = {}
        self.writes_left = 10_000

    def get_password(self, service: str, username: str) -> str | None:
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        assert len(password) <= self.limit
        if not self.writes_left:
            raise keyring.errors.PasswordSetError(f"no room for {password}")
        self.writes_left -= 1
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.entries.pop((service, username), None) is None:
            raise keyring.errors.PasswordDeleteError


def pseudorandom(size: int) -> bytes:
    """Return what cannot be compressed."""
    state, made = 1, bytearray()
    while len(made) < size:
        state = state * 6364136223846793005 + 1442695040888963407 & 2**64 - 1
        made.append(state >> 56)
    return bytes(made)


def store_over(backend: KeyringBackend | None, folder: Path) -> KeyringTokenStore:
    return KeyringTokenStore(folder=folder, backend=backend, max_characters=1200)


async def test_no_entry_is_longer_than_it_may_be_and_none_is_left_over(tmp_path: Path) -> None:
    entries = Entries()
    store = store_over(entries, tmp_path)
    for size in (20_000, 3_000, 0, 50_000):
        await store.save(KEY, pseudorandom(size))
        assert await store.load(KEY) == pseudorandom(size)
    await store.save(KEY, b"short")
    assert len(entries.entries) == 2  # that and the index
    await store.save(KEY, pseudorandom(9_000))
    await store.save(KEY, None)
    assert len(entries.entries) == 1


async def test_what_breaks_off_while_it_is_written_leaves_what_was_there(tmp_path: Path) -> None:
    entries = Entries()
    store = store_over(entries, tmp_path)
    await store.save(KEY, pseudorandom(5_000))
    for writes_left in range(4):
        entries.writes_left = writes_left
        with pytest.raises(AuthorizationFailed) as failed:
            await store.save(KEY, pseudorandom(6_000))
        assert str(failed.value).startswith("the keyring failed with PasswordSetError; ")
        assert failed.value.__cause__ is None
        assert await store.load(KEY) == pseudorandom(5_000)


@pytest.mark.parametrize("text", ["", "x", "0/x/y", "0/1/***", "0/3/abcd", "2/1/", "0/1/eA=="])
async def test_what_is_damaged_counts_as_nothing_and_can_be_replaced(
    text: str, tmp_path: Path
) -> None:
    entries = Entries()
    store = store_over(entries, tmp_path)
    await store.save(KEY, b"secret")
    for name in entries.entries:
        entries.entries[name] = text
    assert await store.load(KEY) is None
    assert await store.keys() == ()
    await store.save(KEY, b"anew")
    assert await store.load(KEY) == b"anew"
    assert await store.keys() == (KEY,)
    for name in entries.entries:
        entries.entries[name] = text
    await store.save(KEY, None)
    assert len(entries.entries) == 1


async def test_names_of_entries_say_nothing(tmp_path: Path) -> None:
    entries = Entries()
    store = KeyringTokenStore("mine", folder=tmp_path, backend=entries)
    await store.save(KEY, b"secret")
    assert {service for service, _ in entries.entries} == {"mine"}
    assert "example" not in repr([*entries.entries.items(), *os.listdir(tmp_path)])
    assert repr(store) == "KeyringTokenStore('mine')"


def _without_types(kind: Any) -> Any:
    return kind()


class Locked(Entries):
    """A keyring that raises what it is given."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def get_password(self, service: str, username: str) -> str | None:
        raise self.error


@pytest.mark.parametrize(
    ("backend", "said"),
    [
        (
            _without_types(fail.Keyring),
            "there is no keyring on this machine; start one, such as GNOME Keyring",
        ),
        (Locked(keyring.errors.KeyringLocked("secret")), "the keyring is locked; unlock it"),
        (Locked(keyring.errors.InitError("secret")), "the keyring is locked; unlock it"),
        (
            Locked(OSError("secret")),
            "the keyring failed with OSError; see that `python -m keyring diagnose` is content",
        ),
    ],
)
async def test_a_keyring_that_cannot_be_used_is_an_error_that_says_what_to_do(
    backend: Any, said: str, tmp_path: Path
) -> None:
    store = store_over(backend, tmp_path)
    for use in (store.load(KEY), store.save(KEY, b"x"), store.save(KEY, None), store.keys()):
        with pytest.raises(AuthorizationFailed) as failed:
            await use
        assert str(failed.value) == f"{said}, or keep credentials in files (`FileTokenStore`)"


class Asking(Entries):
    """A keyring that asks its user for a password, who is not there."""

    def __init__(self) -> None:
        super().__init__()
        self.asks, self.may_end = threading.Event(), threading.Event()

    def get_password(self, service: str, username: str) -> str | None:
        self.asks.set()
        self.may_end.wait()
        return None


async def test_a_user_whom_the_keyring_asks_is_waited_for_no_longer_than_wanted(
    tmp_path: Path,
) -> None:
    backend = Asking()
    store = store_over(backend, tmp_path)
    for use in (store.load(KEY), store.keys()):
        reading = asyncio.ensure_future(use)
        await asyncio.to_thread(backend.asks.wait)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
    backend.may_end.set()


async def test_the_keyring_is_the_one_that_is_chosen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    entries = Entries()
    monkeypatch.setattr("keyring.core._keyring_backend", entries)
    store = store_over(None, tmp_path)
    await store.save(KEY, b"secret")
    assert len(entries.entries) == 2


async def test_one_that_keeps_nothing_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("keyring.core._keyring_backend", _without_types(null.Keyring))
    store = store_over(None, tmp_path)
    for _ in range(2):
        with pytest.raises(AuthorizationFailed, match="is disabled on this machine"):
            await store.save(KEY, b"secret")


async def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(AuthorizationFailed, match=r"pip install 'wigwag\[keyring\]'"):
        await store_over(None, tmp_path).load(KEY)
