"""The relay in front of a server process, without the command around it."""

import json
import os
import random
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.e2e.host import PATIENCE, is_running, wait_until
from wigwag.errors import ServerStartFailed
from wigwag.tracing import stdio_relay
from wigwag.tracing.records import (
    ClosedRecord,
    EndRecord,
    JunkRecord,
    MessageRecord,
    Record,
    StderrRecord,
)
from wigwag.tracing.stdio_relay import StandardStreams, relay_stdio
from wigwag.transports.pipes import widen

CAT = """
import os
while data := os.read(0, 1 << 16):
    while data:
        data = data[os.write(1, data):]
"""


class Relayed:
    """A host with a relay in front of a server."""

    def __init__(
        self, program: str, *, with_error: bool = False, output: int | None = None
    ) -> None:
        theirs_in, self.to_server = os.pipe()
        self.from_server, theirs_out = os.pipe()
        self.error, theirs_error = os.pipe()
        self.records: list[Record] = []
        self.code: int | None = None
        self._theirs = (theirs_in, theirs_out, theirs_error)
        streams = StandardStreams(
            theirs_in,
            theirs_out if output is None else output,
            theirs_error if with_error else None,
        )
        command = [sys.executable, "-S", "-c", program]

        def run() -> None:
            self.code = relay_stdio(command, [self.records.append], streams=streams)

        self.thread = threading.Thread(target=run)
        self.thread.start()

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self.to_server, data) :]

    def end(self) -> None:
        """Closes the server's input."""
        os.close(self.to_server)
        self.to_server = -1

    def read(self) -> bytes:
        """Reads to the end."""
        pieces = []
        while data := os.read(self.from_server, 1 << 16):
            pieces.append(data)
        return b"".join(pieces)

    def read_line(self) -> bytes:
        line = b""
        while not line.endswith(b"\n"):
            data = os.read(self.from_server, 1)
            assert data, f"it ended after {line!r}"
            line += data
        return line

    def exit_code(self) -> int:
        self.thread.join(PATIENCE)
        assert self.code is not None
        return self.code

    def close(self) -> None:
        for each in (self.to_server, self.from_server):
            if each >= 0:
                os.close(each)
        self.thread.join(PATIENCE)
        for each in (self.error, *self._theirs):
            os.close(each)


@contextmanager
def relayed(
    program: str, *, with_error: bool = False, output: int | None = None
) -> Iterator[Relayed]:
    host = Relayed(program, with_error=with_error, output=output)
    try:
        yield host
    finally:
        host.close()


def test_no_byte_changes_however_they_were_cut() -> None:
    chance = random.Random(7)
    sent = b"\r\n\0\n\n" + chance.randbytes(300_000) + b'{"id":1}\n' * 1000 + b"no end"
    with relayed(CAT) as host:

        def write() -> None:
            at = 0
            while at < len(sent):
                size = chance.choice((1, 7, 4096, 65536, 100_000))
                host.write(sent[at : at + size])
                at += size
            host.end()

        writer = threading.Thread(target=write)
        writer.start()
        assert host.read() == sent
        writer.join()
        assert host.exit_code() == 0


def test_nothing_is_lost_where_somebody_has_told_the_output_not_to_wait() -> None:
    read, write = os.pipe()
    widen(write)  # as the relay does
    os.set_blocking(write, False)
    filled = os.write(write, b"." * 10_000_000)
    said = (b"x" * 9_999 + b"\n") * 200
    with os.fdopen(read, "rb") as reader:
        with relayed("print(('x' * 9_999 + '\\n') * 200, end='')", output=write) as host:
            wait_until(lambda: host.records, "there is something to pass on")
            assert reader.read(filled + len(said)) == b"." * filled + said
            assert host.exit_code() == 0
        os.close(write)


def test_each_message_is_told_in_its_order_with_its_time() -> None:
    with relayed(CAT) as host:
        for number in range(50):
            host.write(b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n' % number)
            host.read_line()
        host.end()
        assert host.exit_code() == 0
    messages = [each for each in host.records if isinstance(each, MessageRecord)]
    assert [(each.sender, json.loads(bytes(each.message))["id"]) for each in messages] == [
        (sender, number) for number in range(50) for sender in ("client", "server")
    ]
    times = [each.at for each in host.records]
    assert times == sorted(times)


def test_the_ends_are_told_and_how_it_ended() -> None:
    with relayed(CAT) as host:
        host.end()
        assert host.read() == b""
        assert host.exit_code() == 0
    kinds = [(type(each), getattr(each, "sender", "")) for each in host.records]
    assert kinds == [(ClosedRecord, "client"), (ClosedRecord, "server"), (EndRecord, "")]
    assert host.records[-1] == EndRecord(
        at=host.records[-1].at, exit_code=0, reason="the server exited with code 0"
    )


@pytest.mark.parametrize(
    ("program", "code", "reason"),
    [
        ("raise SystemExit(7)", 7, "the server exited with code 7"),
        ("import os; os.kill(os.getpid(), 9)", -9, "the server was killed by SIGKILL"),
    ],
)
def test_the_exit_code_is_the_servers(program: str, code: int, reason: str) -> None:
    with relayed(program) as host:
        assert host.read() == b""
        assert host.exit_code() == code
    end = host.records[-1]
    assert isinstance(end, EndRecord)
    assert (end.exit_code, end.reason) == (code, reason)


def test_last_words_arrive_though_the_server_is_gone() -> None:
    with relayed("print('x' * 3_000_000); print('bye', end='')") as host:
        assert host.read() == b"x" * 3_000_000 + b"\nbye"
        assert host.exit_code() == 0
    junk = [each for each in host.records if isinstance(each, JunkRecord)]
    assert [each.text for each in junk] == [
        f"{'x' * 65536}… (3000000 characters)",
        "bye",
    ]


def test_junk_is_told_as_junk_and_logs_in_json_are_junk_too() -> None:
    program = r"""
import os
os.write(1, b'Starting\x1b[2J\n{"level":30,"msg":"up"}\nbad \xff\n[]\n')
os.write(1, b'{"jsonrpc":"2.0","id":1.5,"method":"x"}\n')
os.write(1, b'{"jsonrpc":"2.0","result":')
"""
    with relayed(program) as host:
        host.read()
    told = [
        (each.text, each.reason) if isinstance(each, JunkRecord) else each.problem
        for each in host.records
        if isinstance(each, JunkRecord | MessageRecord)
    ]
    assert told == [
        ("Starting\x1b[2J", "no JSON: invalid character (byte 0)"),
        ('{"level":30,"msg":"up"}', 'Invalid Request: `jsonrpc` must be "2.0"'),
        ("bad \\xff", "no UTF-8 at byte 4"),
        ("[]", "Invalid Request: an empty array"),
        "Invalid Request: `id` must be a string or an integer",
        ('{"jsonrpc":"2.0","result":', "no JSON: Input data was truncated"),
    ]


def test_the_standard_error_passes_and_is_told() -> None:
    program = "import os; os.write(2, b'one\\ntwo')"
    with relayed(program, with_error=True) as host:
        host.read()
        assert os.read(host.error, 100) == b"one\ntwo"
        host.exit_code()
    assert [each.text for each in host.records if isinstance(each, StderrRecord)] == ["one", "two"]


def test_a_server_learns_that_its_host_reads_no_more() -> None:
    program = """
import os, signal, sys
signal.signal(signal.SIGPIPE, signal.SIG_IGN)
try:
    while True:
        os.write(1, b"x" * 65536)
except BrokenPipeError:
    sys.exit(3)
"""
    with relayed(program) as host:
        os.read(host.from_server, 10)
        os.close(host.from_server)
        host.from_server = -1
        assert host.exit_code() == 3


def test_a_host_learns_that_its_server_reads_no_more() -> None:
    program = """
import os, time
os.close(0)
os.write(1, b"%d\\n" % os.getpid())
time.sleep(600)
"""
    with relayed(program) as host:
        pid = int(host.read_line())
        with pytest.raises(BrokenPipeError):
            # More than goes into a pipe that nobody reads from.
            host.write(b"x" * 4_000_000)
        os.kill(pid, 9)
        assert host.exit_code() == -9


def test_what_the_server_leaves_behind_is_ended() -> None:
    program = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
"""
    with relayed(program) as host:
        child = int(host.read_line())
        assert host.exit_code() == 0
    wait_until(lambda: not is_running(child), "the child of the server ends")


def test_it_waits_for_a_host_that_takes_its_time_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio_relay, "_LINGER_SECONDS", 0.01)
    program = "import os; os.write(1, b'%d\\n' % os.getpid()); os.write(1, b'x' * 100_000)"
    ours, theirs = socket.socketpair()
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    with ours, theirs, relayed(program, output=theirs.fileno()) as host:
        pid = int(ours.makefile("rb", buffering=0).readline())
        wait_until(lambda: not is_running(pid), "the server is gone")
        host.thread.join(0.3)
        assert host.thread.is_alive()
        received = b""
        while len(received) < 100_000:
            received += ours.recv(65536)
        assert received == b"x" * 100_000
        assert host.exit_code() == 0


def test_a_program_that_is_not_there_is_told() -> None:
    records: list[Record] = []
    with pytest.raises(ServerStartFailed, match="no program 'no-such-program' on PATH"):
        relay_stdio(["no-such-program"], [records.append])
    (end,) = records
    assert isinstance(end, EndRecord)
    assert "no program 'no-such-program'" in end.reason


@pytest.mark.parametrize(
    ("command", "cwd", "error"),
    [
        (["/no/such/program"], None, "there is no file /no/such/program"),
        ([sys.executable], "/no/such/folder", "there is no folder /no/such/folder"),
        (["/"], None, "Permission denied"),
        (["a\0b"], None, "null byte"),
    ],
)
def test_why_a_server_does_not_start_is_said(
    command: list[str], cwd: str | None, error: str
) -> None:
    with pytest.raises(ServerStartFailed, match=error):
        relay_stdio(command, [], cwd=cwd)


def test_an_outlet_that_fails_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    records: list[Record] = []

    def fails(record: Record) -> None:
        raise OSError("the disk is full")

    with open(os.devnull, "r+b", buffering=0) as one, open(os.devnull, "wb") as other:
        code = relay_stdio(
            [sys.executable, "-S", "-c", "print('junk')"],
            [fails, records.append],
            streams=StandardStreams(one.fileno(), other.fileno()),
        )
    assert code == 0
    assert [type(each) for each in records][-1] is EndRecord
    assert [each.getMessage() for each in caplog.records] == [
        "recording has ended: the disk is full"
    ]
