"""A server's standard streams where they are neither pipes nor sockets: terminals and files."""

import asyncio
import os
import socket
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.contract.connection_contract import PATIENCE, Recorder
from wigwag.errors import ConnectionClosed
from wigwag.transports.contract import Received
from wigwag.transports.stdio_server import Wire, is_interactive, open_stdio

pty = pytest.importorskip("pty", reason="this system has no terminals of this kind")
tty = pytest.importorskip("tty", reason="this system has no terminals of this kind")
pytestmark = pytest.mark.anyio


def open_terminal() -> tuple[int, int]:
    """Return the two ends of a terminal: ours, and the program's."""
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    return ours, theirs


def hang_up(ours: int, theirs: int) -> None:
    """Close a terminal, once the thread that reads it has noticed."""
    os.close(ours)
    for thread in threading.enumerate():
        if thread.name == "wigwag-stdin":
            thread.join(PATIENCE)
    os.close(theirs)


def file_of(path: Path, *lines: bytes) -> int:
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return os.open(path, os.O_RDONLY)


# --- files


async def test_a_file_is_read_to_its_end_and_answers_go_into_another(tmp_path: Path) -> None:
    lines = [b'{"line":%d}' % number for number in range(1000)]
    reading = file_of(tmp_path / "in", *lines)
    writing = os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT)
    connection = await open_stdio(Wire(reading, writing))
    recorder = Recorder()
    connection.start(recorder)
    await recorder.wait_until(lambda: recorder.is_ended)
    assert recorder.messages == lines
    # The input has ended, the output has not.
    connection.send([b"1", b"2"])
    connection.send([b"3"])
    await connection.aclose()
    assert await recorder.wait_lost() is None
    assert (tmp_path / "out").read_bytes() == b"1\n2\n3\n"
    os.close(reading)
    os.close(writing)


async def test_a_last_line_without_an_end_counts(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"1\n2")
    reading = os.open(tmp_path / "in", os.O_RDONLY)
    writing = os.open(os.devnull, os.O_WRONLY)
    connection = await open_stdio(Wire(reading, writing))
    recorder = Recorder()
    connection.start(recorder)
    await recorder.wait_until(lambda: recorder.is_ended)
    assert recorder.messages == [b"1", b"2"]
    await connection.aclose()
    os.close(reading)
    os.close(writing)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a full device")
async def test_an_output_that_cannot_be_written_ends_the_connection(tmp_path: Path) -> None:
    reading = file_of(tmp_path / "in")
    writing = os.open("/dev/full", os.O_WRONLY)
    connection = await open_stdio(Wire(reading, writing))
    recorder = Recorder()
    connection.start(recorder)
    connection.send([b"1"])
    connection.send([b"2"])
    reason = await recorder.wait_lost()
    assert isinstance(reason, ConnectionClosed)
    assert "No space left" in str(reason)
    await connection.aclose()
    os.close(reading)
    os.close(writing)


async def wait_until(is_so: Callable[[], object]) -> None:
    """Wait for what a thread does."""
    async with asyncio.timeout(PATIENCE):
        while not is_so():
            turn = asyncio.Event()
            asyncio.get_running_loop().call_later(0.001, turn.set)
            await turn.wait()


class Slow:
    """A receiver that tells the connection to pause at the first message."""

    def __init__(self, pause: Callable[[], None]) -> None:
        self.messages: list[Received] = []
        self.is_ended = False
        self._pause = pause

    def messages_received(self, messages: Sequence[Received]) -> None:
        if not self.messages:
            self._pause()
        self.messages += messages

    def end_of_input(self) -> None:
        self.is_ended = True

    def connection_lost(self, reason: Exception | None) -> None: ...


async def test_a_file_is_not_read_ahead_of_a_peer_that_does_not_read(tmp_path: Path) -> None:
    line = b"x" * (64 * 1024 - 1)
    reading = file_of(tmp_path / "in", *[line] * 200)
    writing = os.open(os.devnull, os.O_WRONLY)
    connection = await open_stdio(Wire(reading, writing))
    receiver = Slow(connection.pause_writing)
    connection.start(receiver)
    await wait_until(lambda: receiver.messages)
    done, pending = await asyncio.wait({asyncio.ensure_future(connection.drain())}, timeout=0.2)
    assert not done
    read_ahead = os.lseek(reading, 0, os.SEEK_CUR)
    assert len(receiver.messages) < 10
    assert read_ahead < 20 * len(line)
    connection.resume_writing()
    await asyncio.wait(pending)
    await wait_until(lambda: receiver.is_ended)
    assert receiver.messages == [line] * 200
    await connection.aclose()
    os.close(reading)
    os.close(writing)


# --- terminals


async def test_a_terminal_is_read_and_written_and_left_as_it_was() -> None:
    ours, theirs = open_terminal()
    connection = await open_stdio(Wire(theirs, theirs))
    recorder = Recorder()
    connection.start(recorder)
    os.write(ours, b'{"a":1}\n{"b":')
    os.write(ours, b"2}\r\n")
    assert await recorder.wait_for(2) == [b'{"a":1}', b'{"b":2}']
    connection.send([b'{"c":3}'])
    assert os.read(ours, 100) == b'{"c":3}\n'
    # The shell shares it: it must never be made non-blocking.
    assert os.get_blocking(theirs)
    await connection.aclose()
    assert await recorder.wait_lost() is None
    hang_up(ours, theirs)


async def test_a_terminal_that_hangs_up_is_the_end_of_the_input() -> None:
    ours, theirs = open_terminal()
    connection = await open_stdio(Wire(theirs, theirs))
    recorder = Recorder()
    connection.start(recorder)
    hang_up(ours, theirs)
    await recorder.wait_until(lambda: recorder.is_ended)
    await connection.aclose()
    assert await recorder.wait_lost() is None


# --- what is told


async def test_a_host_that_hangs_up_is_noticed_in_another_thread() -> None:
    ours, theirs = socket.socketpair()
    loop, hung_up = asyncio.get_running_loop(), asyncio.Event()
    wire = Wire(os.dup(theirs.fileno()), theirs.detach())

    def on_hang_up() -> None:
        loop.call_soon_threadsafe(hung_up.set)

    connection = await open_stdio(wire, on_hang_up=on_hang_up)
    recorder = Recorder()
    connection.start(recorder)
    ours.close()
    async with asyncio.timeout(PATIENCE):
        await hung_up.wait()
    await connection.aclose()


def test_a_terminal_is_a_person_and_anything_else_is_not() -> None:
    ours, theirs = open_terminal()
    kept = os.dup(0)
    try:
        os.dup2(theirs, 0)
        assert is_interactive()
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        assert not is_interactive()
        os.close(0)
        assert not is_interactive()
    finally:
        os.dup2(kept, 0)
        for fd in (kept, ours, theirs):
            os.close(fd)
