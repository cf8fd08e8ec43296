"""`wigwag trace`."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import pytest

from tests.cli.program import KITEBASE, wigwag, wigwag_at_terminal
from tests.e2e.host import PATIENCE, is_running, wait_until
from tests.e2e.person import CTRL_C
from wigwag import Client
from wigwag.cli.exit_codes import ExitCode
from wigwag.tracing.conversation import Conversation
from wigwag.tracing.records import JunkRecord, MessageRecord, read_recording

HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
CALL = {
    "jsonrpc": "2.0",
    "id": "a-1",
    "method": "tools/call",
    "params": {"name": "get_ticket", "arguments": {"ticket_id": "KITE-142"}},
}
SAID = "".join(json.dumps(each) + "\n" for each in (HELLO, CALL))
SERVER = [sys.executable, str(KITEBASE), "--noisy"]


def test_all_passes_as_it_is_and_is_shown_beside(tmp_path: Path) -> None:
    out = tmp_path / "trace.jsonl"
    ran = wigwag("trace", "--out", out, "--", *SERVER, stdin=SAID)
    alone = subprocess.run(
        SERVER, input=SAID.encode(), capture_output=True, check=True, timeout=PATIENCE
    )
    assert ran.code == ExitCode.DONE
    assert ran.out.encode() == alone.stdout
    lines = [line[13:] for line in ran.err.splitlines()]  # without the time of the day
    assert lines[0].startswith("→ initialize #0 [2025-06-18 legacy]  {")
    assert '→ tools/call #a-1 get_ticket  {"arguments":{"ticket_id":"KITE-142"}}' in lines
    assert any(line.startswith("← junk: Kitebase server starting... (") for line in lines)
    assert any(line.startswith("← tools/call #a-1 get_ticket ") for line in lines)
    assert any(line.startswith("│ ") for line in lines)
    assert lines[-1] == "  the server exited with code 0; 4 messages, 1 piece of junk"
    recording = read_recording(out)
    assert recording.header.target == SERVER
    assert recording.is_complete
    assert [type(each) for each in recording.records].count(MessageRecord) == 4
    assert [each.text for each in recording.records if isinstance(each, JunkRecord)] == [
        "Kitebase server starting..."
    ]


def test_programs_can_read_what_is_shown(tmp_path: Path) -> None:
    program = "import sys; print('junk'); print('words', file=sys.stderr); sys.exit(5)"
    ran = wigwag("trace", "--json", "--", sys.executable, "-c", program)
    assert (ran.code, ran.out) == (5, "junk\n")
    shown = [json.loads(line) for line in ran.err.splitlines()]
    assert shown[0]["target"] == [sys.executable, "-c", program]
    assert {each["kind"] for each in shown} == {"trace", "junk", "stderr", "closed", "end"}


def test_quiet_lets_the_standard_error_pass_and_nothing_else() -> None:
    program = r"import os; os.write(2, b'raw \xff'); os.kill(os.getpid(), 15)"
    done = subprocess.run(
        [sys.executable, "-m", "wigwag", "trace", "-q", "--", sys.executable, "-c", program],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout, done.stderr) == (128 + 15, b"", b"raw \xff")


def test_an_entry_of_a_configuration_is_started_with_its_variables_which_stay_secret(
    tmp_path: Path,
) -> None:
    program = "import os; print(os.environ['DESK_TOKEN'])"
    entry = {
        "command": sys.executable,
        "args": ["-c", program],
        "env": {"DESK_TOKEN": "tok-12345678"},
    }
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"desk": entry, "other": entry}}))
    ran = wigwag("trace", file, "--server", "desk", "-o", tmp_path / "trace.jsonl")
    assert (ran.code, ran.out) == (0, "tok-12345678\n")
    assert "junk: [redacted]" in ran.err
    assert "12345678" not in ran.err + (tmp_path / "trace.jsonl").read_text()


def test_options_choose_what_is_shown_and_what_is_secret() -> None:
    ran = wigwag(
        *("trace", "--method", "tools/*", "--redact", "ticket_id", "--pretty", KITEBASE),
        stdin=SAID,
    )
    assert ran.code == ExitCode.DONE
    assert "initialize" not in ran.err
    assert '"ticket_id": "[redacted]"' in ran.err


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (["--", "no-such-program"], ExitCode.NOT_CONNECTED, "no program 'no-such-program' on PATH"),
        (["tcp://127.0.0.1:1"], ExitCode.USAGE, "cannot be traced"),
        (["server.py", "more"], ExitCode.USAGE, "unexpected: more"),
        (["nowhere.py"], ExitCode.USAGE, "there is no file 'nowhere.py'"),
        ([], ExitCode.USAGE, "say which server"),
        (["-o", "/no/such/folder/x", "--", "true"], ExitCode.USAGE, "/no/such/folder/x"),
    ],
)
def test_what_cannot_be_done_is_said(words: list[str], code: ExitCode, error: str) -> None:
    ran = wigwag("trace", *words)
    assert (ran.code, ran.out) == (code, "")
    assert error in ran.err
    assert "Traceback" not in ran.err


@contextmanager
def tracing(program: str, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a server behind a relay, with its input open; it has said that it is ready."""
    trace = [sys.executable, "-m", "wigwag", "trace", "-o", str(tmp_path / "trace.jsonl")]
    running = subprocess.Popen(
        [*trace, "--", sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with running:
        try:
            yield running
        finally:
            running.kill()


DEAF = """
import os, signal, time
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
print(os.getpid(), flush=True)
time.sleep(600)
"""


def test_a_signal_is_passed_on_and_the_server_says_how_it_ends(tmp_path: Path) -> None:
    program = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
print("ready", flush=True)
time.sleep(600)
"""
    with tracing(program, tmp_path) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"ready\n"
        running.send_signal(signal.SIGTERM)
        assert running.wait(PATIENCE) == 7


def test_a_signal_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    program = """
import os, signal
print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN, flush=True)
os.kill(os.getppid(), signal.SIGHUP)
os.read(0, 1)
"""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with tracing(program, tmp_path) as running:
            out, _ = running.communicate(timeout=PATIENCE)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (running.returncode, out) == (0, b"True\n")


def test_a_server_that_is_deaf_to_a_signal_is_killed(tmp_path: Path) -> None:
    with tracing(DEAF, tmp_path) as running:
        assert running.stdout is not None
        pid = int(running.stdout.readline())
        running.send_signal(signal.SIGTERM)
        assert running.wait(PATIENCE) == 128 + signal.SIGKILL
        assert not is_running(pid)
    assert read_recording(tmp_path / "trace.jsonl").is_complete


def test_a_server_learns_of_the_end_though_the_relay_is_killed(tmp_path: Path) -> None:
    program = "import os\nprint(os.getpid(), flush=True)\nos.read(0, 1)\n"
    with tracing(program, tmp_path) as running:
        assert running.stdout is not None
        pid = int(running.stdout.readline())
        # What has passed is recorded at once.
        wait_until(
            lambda: b'"junk"' in (tmp_path / "trace.jsonl").read_bytes(), "the line is recorded"
        )
        running.kill()
        running.wait()
        wait_until(lambda: not is_running(pid), "the server ends with its input")
    assert not read_recording(tmp_path / "trace.jsonl").is_complete


def test_a_host_that_never_reads_the_standard_error_holds_up_nothing() -> None:
    program = """
import sys
for line in sys.stdin:
    print(line, end="", flush=True)
    print("x" * 1000, file=sys.stderr)
"""
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"y": "z" * 800}})
    read, write = os.pipe()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "wigwag", "trace", "--", sys.executable, "-c", program],
            input=f"{line}\n".encode() * 300,
            stdout=subprocess.PIPE,
            stderr=write,
            check=True,
            timeout=PATIENCE,
        )
    finally:
        os.close(read)
        os.close(write)
    assert done.stdout == f"{line}\n".encode() * 300


def test_at_a_terminal_it_has_colours_and_ends_with_ctrl_c(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    program = "print('ready', flush=True); import time; time.sleep(600)"
    with wigwag_at_terminal("trace", "--", sys.executable, "-c", program) as person:
        person.see("there is no host; type messages, one a line, and Ctrl+D at the end")
        person.see("\x1b[33m")
        person.see("junk: ready")
        person.type(CTRL_C)
        person.see("the server was killed by SIGINT")
        assert person.exit_code() == ExitCode.INTERRUPTED


class Announcing:
    """A process that says on its standard error where it listens."""

    def __init__(self, *command: str | Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *map(str, command)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        assert self.process.stderr is not None
        self.said = self.process.stderr.readline()
        found = re.search(r"http://\S+", self.said)
        assert found is not None, self.said + self.process.stderr.read()
        self.url = found.group()

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Ends it; returns its exit code and what it has printed."""
        self.process.send_signal(number)
        out, _ = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def web_server(*options: str) -> Announcing:
    """Runs Kitebase as a web service."""
    program = (
        f"import sys; sys.path.insert(0, {str(KITEBASE.parent)!r})\n"
        f"from server import kite; kite.run('http', port=0, {', '.join(options)})"
    )
    return Announcing("-c", program)


@pytest.mark.anyio
async def test_a_url_is_traced_for_clients_of_each_era_and_transport(tmp_path: Path) -> None:
    out = tmp_path / "trace.jsonl"
    with web_server("sse=True") as server:
        options = ["--port", "0", "--out", str(out), "-H", "X-Desk: 1", "--redact", "ticket_id"]
        with Announcing("-m", "wigwag", "trace", server.url, *options) as relay:
            for path, mode in (("/mcp", "modern"), ("/mcp", "2025-06-18"), ("/sse", "legacy")):
                url = relay.url.removesuffix("/mcp") + path
                async with Client(url, mode=mode) as client:
                    done = await client.call_tool("get_ticket", {"ticket_id": "KITE-142"})
                    assert not done.is_error
            code, shown = relay.end()
    assert code == ExitCode.DONE
    assert "tools/call #" in shown
    assert "[2026-07-28 modern]" in shown
    assert "[2025-06-18 legacy]" in shown
    assert "HTTP 200 text/event-stream" in shown
    assert "messages go to messages?session_id=[redacted]" in shown
    assert "the relay was closed; " in shown
    recording = read_recording(out)
    assert recording.is_complete
    assert recording.header.target == server.url
    conversation = Conversation()
    calls = [
        entry
        for record in recording.records
        if isinstance(record, MessageRecord)
        for entry in conversation.follow(record)
        if entry.method == "tools/call" and entry.kind == "result"
    ]
    assert [(each.era, each.revision) for each in calls] == [
        ("modern", "2026-07-28"),
        ("legacy", "2025-06-18"),
        ("legacy", "2025-11-25"),
    ]
    assert all(each.request is not None for each in calls)
    assert b"KITE-142" not in b"".join(
        bytes(each.message)
        for each in recording.records
        if isinstance(each, MessageRecord) and each.sender == "client"
    )


def test_a_relay_is_ended_with_ctrl_c() -> None:
    with Announcing("-m", "wigwag", "trace", "http://127.0.0.1:1/mcp", "--port", "0") as relay:
        assert re.fullmatch(
            r"wigwag trace: give hosts http://127\.0\.0\.1:\d+/mcp instead of the URL\n", relay.said
        )
        code, shown = relay.end(signal.SIGINT)
    assert code == ExitCode.INTERRUPTED
    assert shown.endswith("the relay was closed; no message\n")


def test_a_relay_ends_when_nobody_reads_what_it_shows() -> None:
    with Announcing("-m", "wigwag", "trace", "http://127.0.0.1:1/mcp", "--port", "0") as relay:
        assert relay.process.stdout is not None
        relay.process.stdout.close()
        with contextlib.suppress(urllib.error.HTTPError):
            urllib.request.urlopen(relay.url, timeout=PATIENCE).close()
        assert relay.process.wait(PATIENCE) == ExitCode.READER_GONE
        assert relay.process.stderr is not None
        assert relay.process.stderr.read() == ""


def test_a_port_that_is_taken_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = wigwag("trace", "http://127.0.0.1:1/mcp", "--port", str(port))
    assert ran.code == ExitCode.NOT_CONNECTED
    assert f"cannot listen on 127.0.0.1 port {port}" in ran.err
