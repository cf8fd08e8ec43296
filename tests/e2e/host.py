"""A host made of system calls: it starts a server process and sees every byte of it."""

import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from tests.wire import Conversation

Message: TypeAlias = dict[str, Any]
Streams: TypeAlias = Literal["pipes", "two sockets", "one socket"]

SERVERS = Path(__file__).with_name("servers")
TOOLS = SERVERS / "tools.py"

PATIENCE = 60.0
"""Seconds to wait for what happens at once on a machine that has nothing else to do."""
SOON = 10.0
"""Seconds for what is promised within one second; the rest is for a busy machine."""

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test-host", "version": "1.0.0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def modern_request(number: int | str, method: str, params: Message | None = None) -> Message:
    """Return a request of 2026-07-28."""
    return {
        "jsonrpc": "2.0",
        "id": number,
        "method": method,
        "params": {**(params or {}), "_meta": META},
    }


def modern_call(number: int | str, tool: str, **arguments: Any) -> Message:
    """Return a call of a tool in 2026-07-28."""
    return modern_request(number, "tools/call", {"name": tool, "arguments": arguments})


def legacy_request(number: int | str, method: str, params: Message | None = None) -> Message:
    """Return a request of a session."""
    message: Message = {"jsonrpc": "2.0", "id": number, "method": method}
    return message if params is None else {**message, "params": params}


def encode(message: Message) -> bytes:
    """Return a message as a line, its characters as they are rather than escaped."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def text_of(response: Message) -> str:
    """Return the text that a tool has returned."""
    (block,) = response["result"]["content"]
    assert block["type"] == "text"
    text: str = block["text"]
    return text


def wait_until(is_done: Callable[[], object], what: str, *, timeout: float = PATIENCE) -> None:
    """Wait for something that happens in another process."""
    deadline = time.monotonic() + timeout
    while not is_done():
        assert time.monotonic() < deadline, f"waited {timeout:g} s in vain: {what}"
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    """Tell whether a process is there and no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def cpu_seconds(pid: int) -> float:
    """Return the time that a process has spent computing so far."""
    return time.clock_gettime((~pid << 3) | 2)  # its clock, as Linux numbers them


class Host:
    """One end of a conversation with a server process, byte for byte.

    Args:
        process: The server.
        to_server: The descriptor that it reads from; `None` when that is a file.
        from_server: The descriptor that it writes to; `None` when that is a file.
        stderr: The file with its standard error.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        to_server: int | None,
        from_server: int | None,
        stderr: Path,
    ) -> None:
        self.process = process
        self.conversation = Conversation()
        self._to_server = to_server
        self._from_server = from_server
        self._stderr = stderr
        self._received = b""
        self._responses: dict[Any, Message] = {}

    # --- writing

    def write(self, data: bytes) -> None:
        """Write bytes, all of them."""
        assert self._to_server is not None
        view = memoryview(data)
        while view:
            view = view[os.write(self._to_server, view) :]

    def send(self, *messages: Message) -> None:
        """Write messages, all in one piece."""
        lines = [encode(message) for message in messages]
        for line in lines:
            self.conversation.saw("client", line)
        self.write(b"".join(lines))

    def close_input(self) -> None:
        """Close the server's input: the way to tell it to leave."""
        descriptor, self._to_server = self._to_server, None
        if descriptor is not None and descriptor == self._from_server:
            with socket.socket(fileno=os.dup(descriptor)) as both:
                both.shutdown(socket.SHUT_WR)
        elif descriptor is not None:
            os.close(descriptor)

    def close_output(self) -> None:
        """Read nothing more from the server."""
        descriptor, self._from_server = self._from_server, None
        if descriptor is not None and descriptor != self._to_server:
            os.close(descriptor)

    def close_terminal(self) -> None:
        """Close both directions at once, where they are one terminal."""
        descriptor, self._to_server, self._from_server = self._to_server, None, None
        assert descriptor is not None
        os.close(descriptor)

    # --- reading

    def waiting_bytes(self) -> int:
        """Return how much the server has written that was not read yet."""
        assert self._from_server is not None
        found = fcntl.ioctl(self._from_server, termios.FIONREAD, b"\0" * 4)
        return int.from_bytes(found, sys.byteorder)

    def read_line(self, *, timeout: float = PATIENCE) -> bytes:
        """Read one line; empty at the end of the output."""
        pieces = [self._received]
        deadline = time.monotonic() + timeout
        while b"\n" not in pieces[-1]:
            data = self._read(deadline)
            if not data:
                break
            pieces.append(data)
        line, _, self._received = b"".join(pieces).partition(b"\n")
        return line

    def _read(self, deadline: float) -> bytes:
        assert self._from_server is not None
        left = max(0.0, deadline - time.monotonic())
        readable, _, _ = select.select([self._from_server], [], [], left)
        assert readable, f"the server is silent; its standard error: {self.stderr}"
        return os.read(self._from_server, 1 << 20)

    def receive(self, *, timeout: float = PATIENCE) -> Message:
        """Read one message."""
        line = self.read_line(timeout=timeout)
        assert line, f"the server is gone; its standard error: {self.stderr}"
        self.conversation.saw("server", line)
        message = json.loads(line)
        assert isinstance(message, dict)
        return message

    def response(self, number: int | str | None, *, timeout: float = PATIENCE) -> Message:
        """Read until the response with this id is there; keep the others for later."""
        while number not in self._responses:
            message = self.receive(timeout=timeout)
            if "method" not in message:
                self._responses[message.get("id")] = message
        return self._responses.pop(number)

    def ask(self, message: Message, *, timeout: float = PATIENCE) -> Message:
        """Send a request and return its response."""
        self.send(message)
        return self.response(message["id"], timeout=timeout)

    def rest(self) -> list[Message]:
        """Read all that is still to come, up to the end of the output."""
        messages = []
        while line := self.read_line():
            self.conversation.saw("server", line)
            messages.append(json.loads(line))
        return messages

    def shake_hands(self, version: str = "2025-11-25") -> None:
        """Begin a session of the legacy era."""
        hello = {
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": {"name": "test-host", "version": "1.0.0"},
        }
        self.ask(legacy_request("hello", "initialize", hello))
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    # --- the process

    @property
    def stderr(self) -> str:
        """What the server has written to its standard error so far."""
        return self._stderr.read_bytes().decode() if self._stderr.exists() else ""

    def wait_for_stderr(self, text: str) -> None:
        """Wait until the server has written something to its standard error."""
        wait_until(lambda: text in self.stderr, f"{text!r} on the standard error")

    def exit_code(self, *, within: float = PATIENCE) -> int:
        """Wait for the end of the server and return its exit code."""
        try:
            return self.process.wait(within)
        except subprocess.TimeoutExpired:
            raise AssertionError(
                f"the server still runs after {within:g} s; its standard error: {self.stderr}"
            ) from None

    def kill(self) -> None:
        """End what is left, and close everything."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        descriptors = {self._to_server, self._from_server} - {None}
        self._to_server = self._from_server = None
        for descriptor in descriptors:
            assert descriptor is not None
            os.close(descriptor)


def python_command(program: str | Path, *args: str | Path) -> list[str]:
    """Return the command that runs a Python program with this interpreter."""
    return [sys.executable, str(program), *map(str, args)]


def start(
    command: Sequence[str | Path],
    stderr: Path,
    *,
    env: dict[str, str] | None = None,
    streams: Streams = "pipes",
    stdin: Path | None = None,
    stdout: Path | None = None,
) -> Host:
    """Start a server.

    Args:
        command: A Python program and its arguments.
        stderr: Where its standard error goes.
        env: Variables on top of this process's own.
        streams: What connects the two.
        stdin: A file to use as its input instead.
        stdout: A file to use as its output instead.
    """
    ours_out, theirs_in, ours_in, theirs_out = _channels(streams)
    if stdin is not None:
        os.close(ours_out)
        os.close(theirs_in)
        ours_out, theirs_in = -1, os.open(stdin, os.O_RDONLY)
    if stdout is not None:
        os.close(ours_in)
        os.close(theirs_out)
        ours_in, theirs_out = -1, os.open(stdout, os.O_WRONLY | os.O_CREAT, 0o600)
    with stderr.open("wb") as errors:
        process = subprocess.Popen(
            python_command(*command),
            stdin=theirs_in,
            stdout=theirs_out,
            stderr=errors,
            env={**os.environ, **(env or {})},
            start_new_session=True,
        )
    for descriptor in {theirs_in, theirs_out}:
        os.close(descriptor)
    return Host(
        process, None if ours_out < 0 else ours_out, None if ours_in < 0 else ours_in, stderr
    )


def _channels(streams: Streams) -> tuple[int, int, int, int]:
    """Return what we write to and it reads from, then what we read from and it writes to."""
    if streams == "one socket":
        ours, theirs = (one.detach() for one in socket.socketpair())
        return ours, theirs, ours, theirs
    if streams == "two sockets":
        ours_out, theirs_in = (one.detach() for one in socket.socketpair())
        ours_in, theirs_out = (one.detach() for one in socket.socketpair())
        return ours_out, theirs_in, ours_in, theirs_out
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    return ours_out, theirs_in, ours_in, theirs_out
