"""Stands between a host and a server process on stdio.

Bytes are passed on as they come, before anybody looks at them. Everything about the server's life
is as if the host had started it: its environment, the ends of its streams, its exit code.
"""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Final, Literal, TypeAlias

from msgspec import Struct

from wigwag.bindings.lines import LineDecoder, LineTooLong
from wigwag.errors import ServerStartFailed
from wigwag.tracing.noting import note_message, note_stderr
from wigwag.tracing.observer import Observer, Outlet
from wigwag.tracing.records import ClosedRecord, EndRecord, Record
from wigwag.tracing.redaction import Redaction
from wigwag.tracing.writing import write_all
from wigwag.transports.pipes import widen

__all__ = ["StandardStreams", "relay_stdio"]

_CHUNK_BYTES: Final = 64 * 1024

# What the server has to leave after a signal; hosts kill this process after two seconds.
_LEAVE_SECONDS: Final = 1.5
# How long its output may stay open behind it, held by what it has started.
_LINGER_SECONDS: Final = 0.5

_SIGNALS: Final = ("SIGINT", "SIGTERM", "SIGHUP")

_KILL: Final = signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL

_Source: TypeAlias = Literal["client", "server", "stderr"]


class StandardStreams(Struct, frozen=True):
    """The descriptors of the host's end.

    Attributes:
        input: What the host writes to.
        output: What it reads.
        error: Where the server's standard error goes; `None` if only the outlets get it.
    """

    input: int = 0
    output: int = 1
    error: int | None = 2


class _Piece(Struct, frozen=True, gc=False):
    """What came from one side at once; empty at its end."""

    source: _Source
    at: float
    data: bytes


class _Ended(Struct, frozen=True, gc=False):
    at: float
    exit_code: int | None
    reason: str


def relay_stdio(
    command: Sequence[str],
    outlets: Sequence[Outlet],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    redaction: Redaction | None = None,
    streams: StandardStreams = StandardStreams(),  # noqa: B008 - it is frozen
) -> int:
    """Run a server, pass on what it and its host say, and return its exit code.

    SIGINT, SIGTERM and SIGHUP are passed on, if this is the main thread. When the server is gone,
    so is what it has started. Each stream of the host's end leads nowhere once its use is over.

    Args:
        command: The words of the server's command.
        outlets: What is told of all that passes, in a thread of its own.
        env: Variables for the server; those of this process if `None`.
        cwd: The folder that it starts in; this process's own if `None`.
        redaction: Takes out what is secret before the outlets get it.
        streams: The descriptors of the host's end; the standard ones unless told.

    Returns:
        The server's exit code, negative if a signal ended it.

    Raises:
        ServerStartFailed: There is no such program, or it cannot be run.
    """
    observation = _Observation(redaction or Redaction())
    observer = Observer(observation.read, outlets)
    try:
        server = _start(command, env, cwd)
    except ServerStartFailed as error:
        observer.passed(_Ended(observer.now(), None, str(error)))
        observer.close()
        raise
    relay = _StdioRelay(server, observer, streams)
    with _passing_signals_on(relay):
        code = relay.run()
    observer.passed(_Ended(observer.now(), code, _in_words(code)))
    observer.close()
    return code


def _start(
    command: Sequence[str], env: Mapping[str, str] | None, cwd: str | None
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=None if env is None else dict(env),
            cwd=cwd,
            start_new_session=True,
        )
    except FileNotFoundError:
        raise ServerStartFailed(_not_found(command, env, cwd)) from None
    except (OSError, ValueError) as error:
        raise ServerStartFailed(f"cannot start `{shlex.join(command)}`: {error}") from error


def _not_found(command: Sequence[str], env: Mapping[str, str] | None, cwd: str | None) -> str:
    start = f"cannot start `{shlex.join(command)}`"
    if cwd is not None and not os.path.isdir(cwd):
        return f"{start}: there is no folder {cwd}"
    if os.path.dirname(command[0]):
        return f"{start}: there is no file {command[0]}, or its interpreter is missing"
    path = (os.environ if env is None else env).get("PATH", os.defpath)
    return f"{start}: no program {command[0]!r} on PATH ({path})"


class _StdioRelay:
    """Passes on what comes, with a thread for each direction."""

    def __init__(
        self, server: subprocess.Popen[bytes], observer: Observer, streams: StandardStreams
    ) -> None:
        self._server = server
        self._observer = observer
        self._streams = streams
        self._writing: set[_Source] = set()  # who waits for the other side to read
        self._input_lock = threading.Lock()
        self._threads: dict[_Source, threading.Thread] = {}
        self._is_told = False  # to leave
        self._over, self._tell_over = os.pipe()

    def run(self) -> int:
        """Return the server's exit code, once it is gone and its last words are passed on."""
        server, streams = self._server, self._streams
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        to_server, from_server = server.stdin.fileno(), server.stdout.fileno()
        for descriptor in (streams.input, streams.output, to_server, from_server):
            widen(descriptor)
        self._begin("client", streams.input, to_server)
        self._begin("server", from_server, streams.output)
        self._begin("stderr", server.stderr.fileno(), streams.error)
        code = server.wait()
        self._wait_for_the_rest()
        _end_group(server)
        self._wait_for_the_rest()
        self._let_go_of_input()
        return code

    def signal(self, number: int) -> None:
        """Pass a signal on; a server that stays is killed after a while."""
        self._is_told = True
        _signal_group(self._server, number)
        killing = threading.Timer(_LEAVE_SECONDS, _signal_group, (self._server, _KILL))
        killing.daemon = True
        killing.start()

    def _begin(self, source: _Source, read: int, write: int | None) -> None:
        thread = threading.Thread(
            target=self._pass_on,
            args=(source, read, write),
            name=f"wigwag-relay-{source}",
            daemon=True,
        )
        self._threads[source] = thread
        thread.start()

    def _pass_on(self, source: _Source, read: int, write: int | None) -> None:
        """Copy bytes until one side has no more, or the other takes no more."""
        passed, now = self._observer.passed, self._observer.now
        with contextlib.suppress(OSError):  # the reader has gone
            while data := self._read(source, read):
                # Noted before it is written, so that an answer to it is noted behind it; looked at
                # once this thread lets go of the interpreter, which it does to write.
                passed(_Piece(source, now(), data))
                if write is not None:
                    self._write(source, write, data)
                self._observer.make_room()
        passed(_Piece(source, now(), b""))
        self._end(source)

    def _read(self, source: _Source, read: int) -> bytes:
        """Read what is there; nothing is there for a server that has gone."""
        if source == "client" and sys.platform != "win32":
            readable, _, _ = select.select([read, self._over], [], [])
            if self._over in readable:
                return b""
        return os.read(read, _CHUNK_BYTES)

    def _write(self, source: _Source, write: int, data: bytes) -> None:
        self._writing.add(source)
        try:
            if source != "client":
                write_all(write, data)
                return
            with self._input_lock:
                if self._server.stdin is None or self._server.stdin.closed:
                    raise BrokenPipeError
                write_all(write, data)
        finally:
            self._writing.discard(source)

    def _end(self, source: _Source) -> None:
        """Let each side know that the other has ended."""
        if source == "client":
            self._close_input()
            _retire(self._streams.input)
        elif source == "server":
            _close(self._server.stdout)
            _retire(self._streams.output)
        else:
            _close(self._server.stderr)

    def _close_input(self) -> None:
        # Held where something that has left the server's group neither reads nor goes.
        if self._input_lock.acquire(timeout=_LINGER_SECONDS):
            _close(self._server.stdin)
            self._input_lock.release()

    def _let_go_of_input(self) -> None:
        """Read no more of what the host writes; on Windows a thread may still wait for it."""
        self._close_input()
        os.close(self._tell_over)
        if sys.platform != "win32":
            self._threads["client"].join(_LINGER_SECONDS)
            os.close(self._over)

    def _wait_for_the_rest(self) -> None:
        """Wait for the end of the output: for a while if nothing comes, else as long as it takes.

        What the server has started may hold it open. The host may take its time to read.
        """
        for source in ("server", "stderr"):
            thread = self._threads[source]
            thread.join(_LINGER_SECONDS)
            while thread.is_alive() and source in self._writing and not self._is_told:
                thread.join(_LINGER_SECONDS)


class _Observation:
    """Makes records of what the relay has passed on."""

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction
        self._lines = {source: LineDecoder() for source in ("client", "server", "stderr")}

    def read(self, piece: _Piece | _Ended) -> Iterator[Record]:
        """Return the records of a piece."""
        if isinstance(piece, _Ended):
            yield EndRecord(at=piece.at, exit_code=piece.exit_code, reason=piece.reason)
            return
        lines = self._lines[piece.source]
        for line in lines.feed(piece.data) if piece.data else lines.end():
            yield self._record(piece, line)
        if not piece.data and piece.source != "stderr":
            yield ClosedRecord(at=piece.at, sender=piece.source)

    def _record(self, piece: _Piece, line: bytes | LineTooLong) -> Record:
        if piece.source == "stderr":
            return note_stderr(line, piece.at, self._redaction)
        return note_message(line, piece.at, piece.source, self._redaction)


@contextlib.contextmanager
def _passing_signals_on(relay: _StdioRelay) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    before = {
        number: signal.signal(number, lambda received, _: relay.signal(received))
        for number in numbers
        if signal.getsignal(number) != signal.SIG_IGN  # so does the server, then
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_group(server: subprocess.Popen[bytes]) -> None:
    """End what the server has started and left behind."""
    if not _signal_group(server, signal.SIGTERM):
        return
    for _ in range(25):
        time.sleep(0.02)  # a look is cheap, and most are gone at once
        if not _signal_group(server, 0):
            return
    _signal_group(server, _KILL)


def _signal_group(server: subprocess.Popen[bytes], number: int) -> bool:
    """Signal the server and what it has started; tell whether anything was there."""
    try:
        if sys.platform == "win32":
            server.send_signal(number)
        else:
            os.killpg(server.pid, number)
    except (OSError, ValueError):
        return False
    return True


def _close(file: IO[bytes] | None) -> None:
    if file is not None:
        with contextlib.suppress(OSError):
            file.close()


def _retire(descriptor: int) -> None:
    """Let go of a stream; nothing else gets its number."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, descriptor)
    os.close(null)


def _in_words(code: int) -> str:
    if code >= 0:
        return f"the server exited with code {code}"
    try:
        return f"the server was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"the server was killed by signal {-code}"
