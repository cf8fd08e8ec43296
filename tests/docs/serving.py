"""Programs that go on while other blocks of their page are run: servers, as a rule."""

import os
import re
import shlex
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from tests.docs.pages import Block, is_shown

PATIENCE: Final = 60.0

# What stands for these on a page is a port that is free.
_PORTS: Final = range(8765, 8770)
_port: Final = re.compile(r"\b876[5-9]\b")


class Ports:
    """Free ports for the ones that a page names."""

    def __init__(self) -> None:
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in _PORTS]
        found = [each.getsockname()[1] for each in sockets]
        for each in sockets:
            each.close()
        self._free = dict(zip(map(str, _PORTS), map(str, found), strict=True))

    def put_into(self, text: str) -> str:
        """Return a text of the page with the free ports in it."""
        return _port.sub(lambda port: self._free[port[0]], text)

    def put_into_block(self, block: Block) -> Block:
        """Return a block with the free ports in it."""
        return block._replace(text=self.put_into(block.text), name=self.put_into(block.name))


class Printout:
    """What the programs of a page print, each line as it comes."""

    def __init__(self) -> None:
        self._text = ""
        self._is_over = False
        self._changed = threading.Condition()

    def read(self, lines: Iterable[str]) -> None:
        """Take the lines of a program until it ends."""
        for line in lines:
            with self._changed:
                self._text += line
                self._changed.notify_all()
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def take(self, expected: str) -> str:
        """Wait until what is expected has been printed, and return all that has."""

        def is_there() -> bool:
            return self._is_over or is_shown(self._text.rstrip(), expected.rstrip())

        with self._changed:
            self._changed.wait_for(is_there, PATIENCE)
            printed, self._text = self._text, ""
        return printed


@contextmanager
def running(command: list[str], folder: Path, printout: Printout) -> Iterator[None]:
    """Run a program until the end of the context; its Python is that of the tests."""
    modules = ["-m", command[0]] if command[0] != "python" else []
    with subprocess.Popen(
        [sys.executable, *modules, *command[1:]],
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    ) as program:
        assert program.stdout is not None
        reader = threading.Thread(target=printout.read, args=(program.stdout,))
        reader.start()
        try:
            yield
            program.terminate()
            program.wait(PATIENCE)
        finally:
            program.kill()
            reader.join()


def servers_for(block: Block, before: Iterable[Block]) -> list[Block]:
    """Return the blocks that start what a block speaks of, by its port."""
    named = set(_port.findall(f"{block.name} {block.text}"))
    return [
        each for each in before if each.what == "serves" and named & {*_port.findall(each.text)}
    ]


def command_of(block: Block) -> tuple[list[str], str]:
    """Return the command of a block that starts something, and what it prints when it is ready."""
    line, _, ready = block.text.partition("\n")
    assert line.startswith("$ "), f"{block}: which is the command?"
    assert ready, f"{block}: it has to say that it is ready"
    command = shlex.split(line.removeprefix("$ "))
    assert command[0] in ("python", "wigwag", "uvicorn"), f"nobody knows how to run {line}"
    return command, ready


@contextmanager
def all_running(blocks: Iterable[Block], folder: Path) -> Iterator[Printout]:
    """Run what these blocks start until the end of the context, and give what it prints."""
    printout = Printout()
    with ExitStack() as stack:
        for block in blocks:
            command, ready = command_of(block)
            stack.enter_context(running(command, folder, printout))
            printed = printout.take(ready)
            assert is_shown(printed.rstrip(), ready.rstrip()), f"{block} has\n{printed}"
        yield printout
