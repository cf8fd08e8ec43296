"""Stores of tokens in folders, for this process and others."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from keyrings.alt.file import (  # type: ignore[import-untyped]  # it has no types
    PlaintextKeyring,
)

from wigwag.stores.contract import TokenStore
from wigwag.stores.file_tokens import FileTokenStore
from wigwag.stores.keyring_tokens import KeyringTokenStore


def files(folder: Path) -> FileTokenStore:
    return FileTokenStore(folder)


def keyring(folder: Path) -> KeyringTokenStore:
    backend = PlaintextKeyring()
    backend.file_path = str(folder / "keyring.cfg")
    return KeyringTokenStore(folder=folder, backend=backend)


def small_keyring(folder: Path) -> KeyringTokenStore:
    """Return one with entries so small that most of what is kept takes several."""
    backend = PlaintextKeyring()
    backend.file_path = str(folder / "keyring.cfg")
    return KeyringTokenStore(folder=folder, backend=backend, max_characters=40)


STORES: Final[Mapping[str, Callable[[Path], TokenStore]]] = {
    "files": files,
    "keyring": keyring,
    "small_keyring": small_keyring,
}
