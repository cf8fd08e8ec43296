"""What the tests of faults share: one server for all over HTTP, and no process that is left."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.ways import Bench, serving_http
from tests.leaks import GRACE


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all servers have their orders."""
    return tmp_path_factory.mktemp("faults")


@pytest.fixture(scope="session")
def port(folder: Path) -> Iterator[int]:
    """Where a fault server for HTTP listens as long as tests run."""
    with serving_http(folder) as (port, _):
        yield port


@pytest.fixture
def bench(folder: Path, port: int) -> Bench:
    """Sets up servers and clients."""
    return Bench(folder, port)


@pytest.fixture(autouse=True)
def no_process_is_left(port: int) -> Iterator[None]:
    """See to it that the test leaves no process behind."""
    before = _children()
    yield
    deadline = time.monotonic() + GRACE
    while (left := _children() - before) and time.monotonic() < deadline:
        time.sleep(0.01)
    if left:
        pytest.fail(f"the test leaves processes behind: {sorted(left)}", pytrace=False)


def _children() -> set[str]:
    """Return the ids of the processes that this one has started, where the system tells them."""
    found: set[str] = set()
    for thread in os.listdir("/proc/self/task") if Path("/proc/self/task").is_dir() else ():
        try:
            found |= set(Path(f"/proc/self/task/{thread}/children").read_text().split())
        except OSError:  # the thread has ended
            continue
    return found
