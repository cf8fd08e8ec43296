"""Writing to descriptors that others share."""

import os
import threading

import pytest

from wigwag.tracing.writing import write_all


def test_all_is_written_though_the_descriptor_does_not_wait() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    data = b"0123456789" * 100_000  # more than any pipe holds
    found: list[bytes] = []

    def read() -> None:
        while piece := os.read(reading, 65536):
            found.append(piece)

    reader = threading.Thread(target=read)
    reader.start()
    write_all(writing, data)
    os.close(writing)
    reader.join()
    os.close(reading)
    assert b"".join(found) == data


def test_that_nobody_reads_it_any_more_is_told() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with pytest.raises(BrokenPipeError):
        write_all(writing, b"x")
    os.close(writing)
