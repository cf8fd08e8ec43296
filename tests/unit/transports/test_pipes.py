"""What helps large messages through pipes."""

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from wigwag.transports.pipes import PIPE_BYTES, keep_large_buffers, widen


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)
    os.close(writing)


def capacity(fd: int) -> int:
    """Return how many bytes a pipe takes before a writer has to wait."""
    os.set_blocking(fd, False)
    taken = 0
    while True:
        try:
            taken += os.write(fd, bytes(4096))
        except BlockingIOError:
            return taken


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no way to do it")
def test_a_pipe_holds_more_once_it_was_widened(pipe: tuple[int, int]) -> None:
    _, writing = pipe
    before = capacity(writing)
    widen(writing)
    more = capacity(writing)
    # An account without privileges may have used up its allowance of pipes.
    assert before + more in (before, PIPE_BYTES)


def test_what_is_in_a_pipe_when_it_is_widened_stays(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    os.write(writing, b"message")
    widen(reading)
    assert os.read(reading, 100) == b"message"


def test_whatever_is_no_pipe_is_left_alone(tmp_path: Path) -> None:
    one, other = socket.socketpair()
    with one, other, (tmp_path / "file").open("wb") as file:
        widen(one.fileno())
        widen(file.fileno())
        one.send(b"message")
        assert other.recv(100) == b"message"


def test_a_descriptor_that_is_closed_is_no_crash() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    os.close(writing)
    widen(writing)


def test_keeping_buffers_is_safe_to_do_again() -> None:
    keep_large_buffers()
    keep_large_buffers()
