"""Locks that processes share, as files in a folder; the system frees those of a dead process."""

from __future__ import annotations

import threading
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final

from wigwag.errors import AuthorizationFailed
from wigwag.stores.private_folder import PrivateFolder
from wigwag.stores.threads import call_in_thread
from wigwag.stores.turns import Turns

if TYPE_CHECKING:
    from filelock import BaseFileLock

__all__ = ["FileTurn"]

# Nobody is told when another process lets go of a file, so that it is looked for: in seconds.
_FIRST_LOOK: Final = 0.005
_LONGEST_LOOK: Final = 0.1

# Those of one process take turns first, so that one of them looks for all.
_turns: Final = Turns()


class FileTurn:
    """A turn among all tasks, threads and processes; over at the end of its `async with`.

    Args:
        folder: Where the locks are.
        name: What it is the turn of; any text.
    """

    def __init__(self, folder: PrivateFolder, name: str) -> None:
        self._folder = folder
        self._path = folder.path / f"{sha256(name.encode()).hexdigest()}.lock"
        self._claim = _Claim()

    async def __aenter__(self) -> None:
        name = str(self._path)
        await _turns.take(name)
        has_lock = False
        try:
            await call_in_thread(self._wait)
            has_lock = True
        finally:
            if not has_lock:
                self._claim.give_up()
                _turns.pass_on(name)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # Without waiting for anything: whoever is cancelled here has let go.
        try:
            self._claim.give_up()
        finally:
            _turns.pass_on(str(self._path))

    def _wait(self) -> None:
        self._folder.make()
        try:
            self._claim.wait(self._path)
        except OSError as error:
            raise self._folder.failure("holds a lock that cannot be used", error) from None


class _Claim:
    """What somebody wants: whoever gives it up while it is being got gets nothing."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._is_given_up = threading.Event()
        self._lock: BaseFileLock | None = None

    def wait(self, path: Path) -> None:
        """Wait until the lock is there, or given up."""
        try:
            from filelock import FileLock, Timeout  # noqa: PLC0415 - only for who needs it
        except ImportError:
            raise AuthorizationFailed(
                "to share credentials takes filelock, which is not installed",
                "",
                "pip install 'wigwag[auth]'",
            ) from None
        # Taken in this thread, but given back in another one.
        lock = FileLock(path, mode=0o600, thread_local=False)
        pause = _FIRST_LOOK
        while not self._is_given_up.is_set():
            try:
                lock.acquire(timeout=0)
            except Timeout:
                self._is_given_up.wait(pause)
                pause = min(pause * 2, _LONGEST_LOOK)
            else:
                self._keep(lock)
                return

    def give_up(self) -> None:
        """Let go of it, now or as soon as it is there."""
        with self._guard:
            self._is_given_up.set()
            lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()

    def _keep(self, lock: BaseFileLock) -> None:
        with self._guard:
            if not self._is_given_up.is_set():
                self._lock = lock
                return
        lock.release()
