"""What the end-to-end tests share: real processes, none of which outlives its test."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pytest

from tests.e2e.host import Host, Streams, start

# Programs that the tests start, not modules of tests.
collect_ignore = ["servers"]


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Wigwag runs on asyncio."""
    return "asyncio"


class Launch(Protocol):
    """Starts a server as a host would; see `start`."""

    def __call__(
        self,
        *command: str | Path,
        env: dict[str, str] | None = None,
        streams: Streams = "pipes",
        stdin: Path | None = None,
        stdout: Path | None = None,
    ) -> Host: ...


@contextmanager
def launching(folder: Path) -> Iterator[Launch]:
    """Start servers, end what is left of them, and judge what was said."""
    hosts: list[Host] = []

    def launch_one(
        *command: str | Path,
        env: dict[str, str] | None = None,
        streams: Streams = "pipes",
        stdin: Path | None = None,
        stdout: Path | None = None,
    ) -> Host:
        stderr = folder / f"stderr-{len(hosts)}"
        host = start(command, stderr, env=env, streams=streams, stdin=stdin, stdout=stdout)
        hosts.append(host)
        return host

    try:
        yield launch_one
    finally:
        for host in hosts:
            host.kill()
    for host in hosts:
        assert not host.conversation.problems


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    """Start servers for one test."""
    with launching(tmp_path) as launch:
        yield launch
