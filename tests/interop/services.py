"""Processes that serve: started, waited for until they say where, and ended."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.interop import catalogue

START_SECONDS: Final = 30
END_SECONDS: Final = 10
URL: Final = r"https?://\S+"


class Service:
    """A process that serves.

    Attributes:
        said: What it has printed so far, on either stream.
    """

    def __init__(self, command: list[str], environ: Mapping[str, str], announces: str) -> None:
        self.said: list[str] = []
        self._ready = threading.Event()
        self._found: str | None = None
        self._announces = re.compile(announces)
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, **environ},
            start_new_session=True,
        )
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as output:
            for line in output:
                self.said.append(line)
                if self._found is None and (found := self._announces.search(line)):
                    self._found = found.group()
                    self._ready.set()
        self._ready.set()

    def announced(self) -> str:
        """What it announced, once it has."""
        self._ready.wait(START_SECONDS)
        assert self._found is not None, f"it does not serve, and says: {''.join(self.said)}"
        return self._found

    def end(self) -> int:
        """Asks it to end; returns its exit code."""
        self.process.terminate()
        try:
            code = self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            return self.process.wait()
        self._listener.join()
        return code

    def kill(self) -> None:
        """Ends it, and whatever it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._listener.join()


@contextmanager
def running(
    command: list[str], environ: Mapping[str, str] | None = None, *, announces: str = URL
) -> Iterator[tuple[Service, str]]:
    """Runs a program while the block runs; gives it, and what it announced."""
    service = Service(command, environ or {}, announces)
    try:
        yield service, service.announced()
    finally:
        service.kill()


@contextmanager
def tapped(folder: Path, url: str) -> Iterator[str]:
    """Listens in on what crosses to a URL; gives the URL to use instead."""
    with running(catalogue.http_tap(folder, url)) as (tap, before):
        yield before
        tap.end()
    assert not tap.said[1:], tap.said


@contextmanager
def ours(kind: str = "plain") -> Iterator[str]:
    """Runs Wigwag's server of the contract over HTTP; it must end well. Gives its URL."""
    with ending_well([*catalogue.OURS, "--http", kind]) as (_, url):
        yield url


@contextmanager
def ending_well(command: list[str]) -> Iterator[tuple[Service, str]]:
    """Runs a server of ours while the block runs; gives it, and its URL.

    Told to stop, it must do so without an error.
    """
    with running(command) as (service, url):
        yield service, url
        assert service.end() == 0, "".join(service.said)
    assert "Traceback" not in "".join(service.said), "".join(service.said)


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens at now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
