"""Tells when code has changed, by looking at its files again and again."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator, Sequence
from typing import Final

__all__ = ["CodeChanges"]

# Seconds between two looks; more where looking takes long.
_INTERVAL: Final = 0.25
_SHARE: Final = 0.05

_Files = dict[str, tuple[int, int]]


class CodeChanges:
    """The files of a program, and what has changed since they were looked at last.

    Args:
        folders: Where its code is: the Python files below each are looked at, apart from hidden
            folders, environments and installed packages.
        others: Files that are looked at besides, and folders in which all files are.
    """

    def __init__(self, folders: Sequence[str], others: Sequence[str] = ()) -> None:
        self._folders = list(folders)
        self._others = list(others)
        self._known = self._look()

    async def wait(self) -> list[str]:
        """Wait until files have changed and are at rest, and return their paths.

        What has changed since the last wait counts, too.
        """
        while True:
            begun = time.monotonic()
            found = self._look()
            took = time.monotonic() - begun
            if found != self._known:
                while (later := await self._look_later(took)) != found:
                    found = later
                changed = sorted(
                    path
                    for path in found.keys() | self._known.keys()
                    if found.get(path) != self._known.get(path)
                )
                self._known = found
                if changed:  # it may be as it was
                    return changed
            await asyncio.sleep(max(_INTERVAL, took / _SHARE))

    async def _look_later(self, took: float) -> _Files:
        await asyncio.sleep(max(_INTERVAL, took / _SHARE))
        return self._look()

    def _look(self) -> _Files:
        found: _Files = {}
        for path in self._paths():
            try:
                state = os.stat(path)
            except OSError:  # it has just been removed
                continue
            found[path] = (state.st_mtime_ns, state.st_size)
        return found

    def _paths(self) -> Iterator[str]:
        for folder in self._folders:
            yield from (path for path in _below(folder) if path.endswith(".py"))
        for other in self._others:
            if os.path.isdir(other):
                yield from _below(other)
            else:
                yield other


def _below(folder: str) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if _is_looked_into(place, name)]
        yield from (os.path.join(place, name) for name in files)


def _is_looked_into(place: str, name: str) -> bool:
    if name.startswith(".") or name in ("__pycache__", "node_modules", "site-packages"):
        return False
    return not os.path.exists(os.path.join(place, name, "pyvenv.cfg"))
