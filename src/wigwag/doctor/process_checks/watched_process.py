"""A server process of which everything is kept: what it writes, when, and what it leaves behind."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, cast

from wigwag.doctor.process_checks.process_table import all_processes
from wigwag.errors import ServerStartFailed

__all__ = ["WatchedProcess"]

# So much of each stream is kept; the rest is counted.
_KEPT_BYTES: Final = 64 * 1024 * 1024
_TIME_TO_DIE: Final = 10.0
# How often it is looked whether the children are gone: nothing tells of it.
_LOOK_AGAIN: Final = 0.05


class WatchedProcess(asyncio.SubprocessProtocol):
    """A server process, its pipes, and what came through them.

    Start one with `start`; `end` it when done, whatever happened.

    Attributes:
        output: What it has written to its standard output.
        errors: What it has written to its standard error.
        error_bytes: How much that was, also of what is not kept.
        began: When it was started, by `time.monotonic`.
    """

    def __init__(self) -> None:
        self.output = bytearray()
        self.errors = bytearray()
        self.error_bytes = 0
        self.began = time.monotonic()
        self._transport: asyncio.SubprocessTransport
        self._changed = asyncio.Event()
        self._exited = False
        self._open_pipes = {1, 2}

    @classmethod
    async def start(
        cls,
        program: str,
        args: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str | os.PathLike[str] | None,
    ) -> WatchedProcess:
        """Start a process.

        Args:
            program: The path of the program.
            args: Its arguments.
            env: All of its environment.
            cwd: The folder it starts in.

        Raises:
            OSError: The system refuses to start it.
            ServerStartFailed: It cannot be started with these arguments.
        """
        group: dict[str, Any] = {} if sys.platform == "win32" else {"start_new_session": True}
        loop = asyncio.get_running_loop()
        starting = loop.create_task(
            loop.subprocess_exec(cls, program, *args, env=dict(env), cwd=cwd, **group)
        )
        try:
            _, process = await asyncio.shield(starting)
        except asyncio.CancelledError:
            await asyncio.wait([starting])
            if not starting.cancelled() and starting.exception() is None:
                await starting.result()[1].end()
            raise
        except ValueError as error:  # a null byte, say
            raise ServerStartFailed(f"cannot start {program}: {error}") from error
        return process

    # --- what asyncio tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the process."""
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep what it writes."""
        kept = self.output if fd == 1 else self.errors
        if fd == 2:
            self.error_bytes += len(data)
        kept += data[: max(0, _KEPT_BYTES - len(kept))]
        self._changed.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Note that it has closed a pipe."""
        self._open_pipes.discard(fd)
        self._changed.set()

    def process_exited(self) -> None:
        """Note that it is gone."""
        self._exited = True
        self._changed.set()

    # --- what is asked of it

    @property
    def exit_code(self) -> int | None:
        """Its exit status, negative for a signal; `None` while it runs."""
        return self._transport.get_returncode()

    @property
    def has_exited(self) -> bool:
        """Whether it is gone, and all that it wrote has arrived."""
        return self._exited and not self._open_pipes

    @property
    def pid(self) -> int:
        """Its id."""
        return self._transport.get_pid()

    @property
    def stderr(self) -> str:
        """What it has written to its standard error, as text."""
        return self.errors.decode("utf-8", "replace")

    def send(self, data: bytes) -> None:
        """Write to its standard input; nothing happens if it has closed that."""
        pipe: Any = self._transport.get_pipe_transport(0)
        if pipe is not None and not pipe.is_closing():
            pipe.write(data)

    def close_input(self) -> None:
        """Close its standard input, which tells a server to leave."""
        pipe: Any = self._transport.get_pipe_transport(0)
        if pipe is not None:
            pipe.close()

    async def wait_until(self, is_so: Callable[[], bool], seconds: float) -> bool:
        """Wait until something is so, which is asked whenever the process was heard of.

        Returns:
            Whether it is so; `False` when the time is over.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not is_so():
                    self._changed.clear()
                    await self._changed.wait()
        return is_so()

    async def wait_for_exit(self, seconds: float) -> bool:
        """Wait for the end of the process itself; tell whether it has ended."""
        return await self.wait_until(lambda: self._exited, seconds)

    async def wait_for_children(self, seconds: float) -> list[str]:
        """Wait for the end of what the process has started, and return the commands that stay."""
        left = self.children()
        deadline = time.monotonic() + seconds
        while left and time.monotonic() < deadline:
            await asyncio.sleep(_LOOK_AGAIN)
            left = self.children()
        return left

    def children(self) -> list[str]:
        """Return the commands that run in the group of the process, besides itself."""
        if sys.platform == "win32":
            return []
        try:
            os.killpg(self.pid, 0)
        except (ProcessLookupError, PermissionError):
            return []
        return [
            f"{process.command} (process {process.pid})"
            for process in all_processes()
            if process.group == self.pid != process.pid
        ]

    async def end(self) -> None:
        """Kill the process and what it has started, and let go of the pipes."""
        try:
            if sys.platform == "win32":
                self._transport.kill()
            else:
                os.killpg(self.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
        self._transport.close()
        exiting = asyncio.ensure_future(self._wait_for_death())
        try:
            await asyncio.shield(exiting)
        except asyncio.CancelledError:  # whoever breaks off must not leave it unreaped
            await exiting
            raise

    async def _wait_for_death(self) -> None:
        """Wait until what was killed is gone: for a moment it still runs, on a busy machine."""
        await self.wait_for_exit(_TIME_TO_DIE)
        await self.wait_for_children(_TIME_TO_DIE)
