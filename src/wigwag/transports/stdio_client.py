"""The client's end of stdio: a server process, its pipes and its end.

Spec: basic/transports/stdio, basic/lifecycle#shutdown
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shlex
import shutil
import signal
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from wigwag.bindings.lines import DEFAULT_MAX_LINE_BYTES, LineDecoder, LineTooLong
from wigwag.errors import ConnectionClosed, ServerStartFailed
from wigwag.transports.contract import Received
from wigwag.transports.pipes import keep_large_buffers, widen
from wigwag.transports.stream import HIGH_WATER_BYTES, ReadHalf, StreamConnection, is_torn_answer

__all__ = ["StdioServerParameters", "safe_environment", "spawn_server"]

# What a server process gets of this process's environment: enough to run, and no secrets.
_INHERITED: Final = (
    (
        "HOME",
        "LOGNAME",
        "PATH",
        "SHELL",
        "TERM",
        "USER",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "TMPDIR",
        "TZ",
    )
    if sys.platform != "win32"
    else (
        "APPDATA",
        "COMSPEC",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PATHEXT",
        "PROCESSOR_ARCHITECTURE",
        "PROGRAMDATA",
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "TMP",
        "USERNAME",
        "USERPROFILE",
        "WINDIR",
    )
)

# How much of the standard error is kept for an error text.
_TAIL_LINES: Final = 20
_MAX_STDERR_LINE_BYTES: Final = 64 * 1024

# After one of "the process ended" and "its output ended", the other is due at once; a grandchild
# that holds the pipe open must not keep the waiting calls from failing.
_SETTLE_TIMEOUT: Final = 0.25

OnStderr = Callable[[str], None]

_logger = logging.getLogger("wigwag.client")


class StdioServerParameters(Struct, frozen=True):
    """How to start a server process.

    Attributes:
        command: The program, found on `PATH` unless it is a path.
        args: Its arguments.
        env: Variables for it, laid over a safe part of this process's environment.
        cwd: The folder it starts in; this process's own when `None`.
        exit_timeout: Seconds it has to leave by itself once its input is closed, and again after
            it was asked to terminate; after that it is killed, its children with it.
    """

    command: str
    args: Sequence[str] = ()
    env: Mapping[str, str] | None = None
    cwd: str | os.PathLike[str] | None = None
    exit_timeout: float = 2.0

    def __str__(self) -> str:
        """The command line, as one would type it."""
        return shlex.join([self.command, *self.args])


def safe_environment() -> dict[str, str]:
    """Return the part of this process's environment that a server gets by default.

    Functions exported by a shell are left out, since they are code.
    """
    found = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return {name: value for name, value in found.items() if not value.startswith("()")}


async def spawn_server(
    server: StdioServerParameters,
    *,
    on_stderr: OnStderr | None = None,
    max_line_bytes: int = DEFAULT_MAX_LINE_BYTES,
) -> ProcessConnection:
    """Start a server and return the connection to it.

    Args:
        server: What to start.
        on_stderr: Called with each line of its standard error, without the line end; by default
            the lines go to this process's standard error.
        max_line_bytes: Longest message accepted, in bytes.

    Raises:
        ServerStartFailed: There is no such program, or it cannot be run.
    """
    environment = {**safe_environment(), **(server.env or {})}
    program = _find_program(server, environment)
    connection = ProcessConnection(server, on_stderr, max_line_bytes=max_line_bytes)
    loop = asyncio.get_running_loop()
    group: dict[str, Any] = {} if sys.platform == "win32" else {"start_new_session": True}
    starting = loop.create_task(
        loop.subprocess_exec(
            lambda: _ProcessProtocol(connection),
            program,
            *server.args,
            env=environment,
            cwd=server.cwd,
            **group,
        )
    )
    try:
        await asyncio.shield(starting)
    except asyncio.CancelledError:
        # Cancelled itself, asyncio would wait for ever for pipes that it has not connected yet.
        await asyncio.wait([starting])
        if not starting.cancelled() and starting.exception() is None:
            await connection.kill()
        raise
    except (OSError, ValueError) as error:
        raise ServerStartFailed(f"cannot start `{server}`: {error}") from error
    connection.keep()
    return connection


def _find_program(server: StdioServerParameters, environment: Mapping[str, str]) -> str:
    if server.cwd is not None and not Path(server.cwd).is_dir():
        raise ServerStartFailed(f"cannot start `{server}`: there is no folder {server.cwd}")
    path = environment.get("PATH", os.defpath)
    if os.path.dirname(server.command):
        return server.command
    # Also finds what only has a name with an extension on Windows, such as npx.cmd.
    program = shutil.which(server.command, path=path)
    if program is None:
        raise ServerStartFailed(
            f"cannot start `{server}`: no program {server.command!r} on PATH ({path})"
        )
    return program


class ProcessConnection(StreamConnection):
    """A connection to a server process over its standard streams."""

    def __init__(
        self,
        server: StdioServerParameters,
        on_stderr: OnStderr | None,
        *,
        max_line_bytes: int,
    ) -> None:
        super().__init__(max_line_bytes=max_line_bytes)
        self.server = server
        self._on_stderr = on_stderr or _pass_through
        self._stderr = LineDecoder(max_line_bytes=_MAX_STDERR_LINE_BYTES)
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._transport: asyncio.SubprocessTransport
        self._exited = asyncio.Event()
        self._stderr_ended = asyncio.Event()
        self._settling: asyncio.TimerHandle | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._keeper: asyncio.Task[None]
        self._ended_for_good = asyncio.Event()

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._transport.get_pid()

    @property
    def exit_code(self) -> int | None:
        """Its exit status, negative for a signal; `None` while it runs."""
        return self._transport.get_returncode()

    @property
    def last_words(self) -> str:
        """The last lines of its standard error."""
        return "\n".join(self._tail)

    def attach_process(self, transport: asyncio.SubprocessTransport) -> None:
        """Take the pipes of the process, before anything is heard of it."""
        self._transport = transport
        keep_large_buffers()
        stdin: Any = transport.get_pipe_transport(0)
        stdout: Any = transport.get_pipe_transport(1)
        for pipe in (stdin, stdout):
            with contextlib.suppress(AttributeError, OSError, ValueError):
                widen(pipe.get_extra_info("pipe").fileno())
        stdin.set_write_buffer_limits(HIGH_WATER_BYTES)
        # Straight to us: the way through the process's protocol costs a turn of the loop a chunk.
        stdout.set_protocol(ReadHalf(self))
        self.attach(stdout, stdin)

    def keep(self) -> None:
        """From now on see to it that the process does not outlive the event loop."""
        self._keeper = self._loop.create_task(self._keep())

    def describe_loss(self, exc: Exception | None) -> ConnectionClosed:
        """Say how the process ended, with the last lines of its standard error."""
        code = self.exit_code
        if code is None:
            reason = f"the server `{self.server}` closed its output"
        elif code < 0:
            reason = f"the server `{self.server}` was killed by {_signal_name(-code)}"
        else:
            reason = f"the server `{self.server}` exited with code {code}"
        return ConnectionClosed(reason, exit_code=code, stderr=self.last_words)

    # --- what the process does

    def takes_last(self, line: Received) -> bool:
        """Leave out what a process had not written to its end: how it ended says more."""
        return not is_torn_answer(line)

    def stderr_received(self, data: bytes) -> None:
        """Pass the lines of the standard error on, and remember the last."""
        for line in self._stderr.feed(data):
            self._stderr_line(line)

    def stderr_ended(self) -> None:
        """Pass on what stood behind the last line end."""
        for line in self._stderr.end():
            self._stderr_line(line)
        self._stderr_ended.set()
        if self.is_ended and self._exited.is_set():
            self._settle()

    def eof_received(self) -> bool:
        """The output of the server ended; it should be gone in a moment."""
        super().eof_received()
        self._begin_to_settle()
        return True

    def process_exited(self) -> None:
        """The process is gone; what it wrote last may still be in the pipes."""
        self._exited.set()
        self._begin_to_settle()

    def stdin_lost(self) -> None:
        """The server closed its input: nothing can be sent any more."""
        self._writer = None

    def _stderr_line(self, line: bytes | LineTooLong) -> None:
        data = line.head if isinstance(line, LineTooLong) else line
        text = data.decode("utf-8", "replace")
        self._tail.append(text)
        try:
            self._on_stderr(text)
        except Exception:
            _logger.exception("what takes the standard error of the server failed")

    def _begin_to_settle(self) -> None:
        if self._exited.is_set() and self.is_ended and self._stderr_ended.is_set():
            self._settle()
        elif self._settling is None:
            self._settling = self._loop.call_later(_SETTLE_TIMEOUT, self._settle)

    def _settle(self) -> None:
        if self._settling is not None:
            self._settling.cancel()
        self._lose(None)

    # --- its end

    def abort(self) -> None:
        """Kill the process and everything it started."""
        self._closing = True
        self._signal_group(signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
        self._transport.close()
        self._lose(None)
        self._ended_for_good.set()

    async def kill(self) -> None:
        """Kill the process and everything it started, and see it gone."""
        self.abort()
        await self._exits_within(self.server.exit_timeout)

    async def aclose(self) -> None:
        """Close the server's input, wait for it to leave, and see to it that it does.

        It has `exit_timeout` seconds to leave by itself, again as long after it was asked to
        terminate, and is then killed. Whatever it started and left behind goes with it.
        """
        if self._stopping is None:
            self._closing = True
            self._stopping = self._loop.create_task(self._stop())
        # Whoever is cancelled while waiting does not leave a process behind.
        await asyncio.shield(self._stopping)

    async def _stop(self) -> None:
        if self._writer is not None:
            self._writer.close()
        try:
            if not await self._exits_within(self.server.exit_timeout):
                self._signal_group(signal.SIGTERM)
                await self._exits_within(self.server.exit_timeout)
            await self._stop_leftovers()
        except asyncio.CancelledError:  # the event loop ends: there is no time left
            self._signal_group(signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
            raise
        finally:
            self._transport.close()
            self._lose(None)
            self._ended_for_good.set()

    async def _keep(self) -> None:
        """End the server when the event loop ends, and with it all tasks, before it was closed."""
        try:
            await self._ended_for_good.wait()
        except asyncio.CancelledError:
            await self.aclose()
            raise

    async def _exits_within(self, timeout: float) -> bool:  # noqa: ASYNC109 - no exception wanted
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._exited.wait(), timeout)
        return self._exited.is_set()

    async def _stop_leftovers(self) -> None:
        """End what is left of the process group: a deaf server, or children it started."""
        if sys.platform == "win32":
            if not self._exited.is_set():
                self._transport.kill()
            return
        if self._exited.is_set() and self._signal_group(signal.SIGTERM):
            # They are asked once; a look at the group is cheap, and most are gone at once.
            for _ in range(20):
                await asyncio.sleep(0.02)
                if not self._signal_group(0):
                    return
        self._signal_group(signal.SIGKILL)
        await self._exits_within(self.server.exit_timeout)

    def _signal_group(self, number: int) -> bool:
        """Signal the process and what it started; tell whether anything was there."""
        try:
            if sys.platform == "win32":
                self._transport.send_signal(number)
            else:
                os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True


class _ProcessProtocol(asyncio.SubprocessProtocol):
    """Tells the connection what the event loop learns about the process."""

    def __init__(self, connection: ProcessConnection) -> None:
        self._connection = connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._connection.attach_process(transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:  # arrived before the connection read the pipe itself
            self._connection.data_received(data)
        else:
            self._connection.stderr_received(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 0:
            self._connection.stdin_lost()
        elif fd == 1:
            self._connection.half_lost(exc)
        else:
            self._connection.stderr_ended()

    def process_exited(self) -> None:
        self._connection.process_exited()

    def pause_writing(self) -> None:
        self._connection.pause_writing()

    def resume_writing(self) -> None:
        self._connection.resume_writing()


def _pass_through(line: str) -> None:
    if sys.stderr is not None:
        print(line, file=sys.stderr, flush=True)  # noqa: T201 - the server's words, not ours


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
