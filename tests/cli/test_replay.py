"""`wigwag replay`."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.cli.program import wigwag, wigwag_at_terminal
from tests.e2e.host import PATIENCE
from tests.unit.tracing.recordings import Told
from wigwag import Client, RequestFailed
from wigwag.cli.commands import wigwag as group
from wigwag.cli.exit_codes import ExitCode

REPLAY = [sys.executable, "-m", "wigwag", "replay"]


def here(*words: str | Path) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(group, ["replay", *map(str, words)])


SERVER = """\
from wigwag import Server

server = Server("library", version="2.0")


@server.tool
def add(a: int, b: int) -> str:
    return str(a + b{wrong})


if __name__ == "__main__":
    server.run()
"""


def told() -> Told:
    told = Told()
    told.greets()
    told.asks(1, "tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})
    told.answers(1, {"content": [{"type": "text", "text": "3"}]})
    return told


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return told().write(tmp_path / "trace.jsonl")


def test_it_is_a_server_on_its_standard_streams(recording: Path) -> None:
    async def ask() -> str:
        async with Client([*REPLAY, str(recording)], env=dict(os.environ)) as client:
            with pytest.raises(RequestFailed, match=r"arguments\.b 2, not 5"):
                await client.call_tool("add", {"a": 1, "b": 5})
            return (await client.call_tool("add", {"a": 1, "b": 2})).text

    assert asyncio.run(ask()) == "3"


def test_it_is_a_server_on_the_web_until_it_is_interrupted(recording: Path) -> None:
    async def ask(url: str) -> str:
        async with Client(url) as client:
            return (await client.call_tool("add", {"a": 1, "b": 2})).text

    command = [*REPLAY, str(recording), "--http", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as serving:
        try:
            assert serving.stderr is not None
            found = re.fullmatch(r"library listens on (\S+)\n", serving.stderr.readline())
            assert found is not None
            assert asyncio.run(ask(found[1])) == "3"
            serving.send_signal(signal.SIGINT)
            assert serving.wait(PATIENCE) == ExitCode.INTERRUPTED
            assert serving.stderr.read() == ""
        finally:
            serving.kill()


def test_with_faults_it_crashes_as_the_recorded_server_did(tmp_path: Path) -> None:
    crashing = told()
    crashing.asks(2, "tools/call", {"name": "crash"})
    crashing.ends(3)
    requests = [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "crash"}},
    ]
    stdin = "".join(json.dumps(each) + "\n" for each in requests)
    ran = wigwag("replay", crashing.write(tmp_path / "trace.jsonl"), "--faults", stdin=stdin)
    assert (ran.code, ran.json["id"], ran.err) == (3, 1, "")


@pytest.mark.parametrize("wrong", ["", " + 1"])
def test_against_a_server_it_tells_what_is_answered_otherwise(
    recording: Path, tmp_path: Path, wrong: str
) -> None:
    server = tmp_path / "server.py"
    server.write_text(SERVER.format(wrong=wrong))
    again = tmp_path / "again.jsonl"
    ran = wigwag(
        *("replay", recording, "--against", "--ignore", "initialize:capabilities"),
        *("--ignore", "structuredContent", "--out", again, "--", sys.executable, server),
    )
    assert f"wrote {again}" in ran.err
    if not wrong:
        assert (ran.code, ran.out) == (ExitCode.DONE, "2 requests: all answered as recorded\n")
    else:
        assert ran.code == ExitCode.FAILED
        assert ran.out.splitlines() == [
            "tools/call add (request 1 at 4.000 s)",
            "    result.content[0].text",
            '        recorded: "3"',
            '        now:      "4"',
            "2 requests: 1 answered otherwise",
        ]
    assert here(again, "--against", again).stdout == "2 requests: all answered as recorded\n"


def test_programs_get_the_differences_as_json(recording: Path, tmp_path: Path) -> None:
    other = told()
    other.records = other.records[:-1]
    other.answers(1, {"content": [{"type": "text", "text": "4"}]})
    other.asks(2, "ping")
    ran = wigwag(
        *("replay", recording, "--json", "--against", other.write(tmp_path / "other.jsonl"))
    )
    assert ran.code == ExitCode.FAILED
    assert ran.json["alike"] is False
    assert [each["alike"] for each in ran.json["outcomes"]] == [True, False]
    assert ran.json["outcomes"][1]["differences"] == [
        {"path": "result.content[0].text", "recorded": "3", "now": "4"}
    ]


def test_a_reason_for_many_failures_is_told_once_and_escapes_nothing(
    recording: Path, tmp_path: Path
) -> None:
    longer = told()
    for number in (2, 3):
        longer.asks(number, "tools/call", {"name": f"x\x1b[2J{number}"})
        longer.answers(number, {})
    server = tmp_path / "server.py"
    text = SERVER.format(wrong="").replace("return str", "import os; os._exit(9); return str")
    server.write_text(text)
    ran = wigwag("replay", longer.write(tmp_path / "longer.jsonl"), "--against", server)
    assert ran.code == ExitCode.FAILED
    assert ran.out.count("exited with code 9") == 1
    assert ran.out.count("the same") == 2
    assert "\x1b" not in ran.out


def test_many_differences_are_counted_and_long_ones_cut(tmp_path: Path) -> None:
    files = []
    for name, value in (("then", "a"), ("now", "b")):
        one = Told()
        one.asks(1, "x")
        one.answers(1, {f"m{n}": value * 300 for n in range(20)})
        files.append(one.write(tmp_path / f"{name}.jsonl"))
    said = here(files[0], "--against", files[1]).stdout
    assert "    and 12 more differences\n" in said
    assert max(map(len, said.splitlines())) < 140


def test_at_a_terminal_it_tells_in_colours(
    recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    with wigwag_at_terminal("replay", recording, "--against", recording) as person:
        person.see("\x1b[32m2 requests: all answered as recorded")
        assert person.exit_code() == ExitCode.DONE


@pytest.mark.parametrize(
    ("words", "code", "what"),
    [
        (["--ignore", "x"], ExitCode.USAGE, "--ignore is for --against"),
        (["--against"], ExitCode.USAGE, "--against wants a server"),
        (["--", "python", "x.py"], ExitCode.USAGE, "a command is for --against"),
        (["--faults", "--against", "x.py"], ExitCode.USAGE, "--faults is for serving"),
        (["--against", "missing.py"], ExitCode.USAGE, "there is no file 'missing.py'"),
        (["--against", "missing.jsonl"], ExitCode.USAGE, "there is no file missing.jsonl"),
        (["--against", "http://127.0.0.1:1/mcp"], ExitCode.NOT_CONNECTED, "nobody listens there"),
        (["--against", "--", "false"], ExitCode.NOT_CONNECTED, "exited with code 1"),
        (["--pace", "-1"], ExitCode.USAGE, "--pace"),
    ],
)
def test_what_makes_no_sense_or_cannot_be_is_told(
    recording: Path, words: list[str], code: ExitCode, what: str
) -> None:
    ran = here(recording, *words)
    assert (ran.exit_code, ran.stdout) == (code, "")
    assert what in ran.stderr


def test_a_pattern_that_cannot_be_read_is_told(recording: Path) -> None:
    for against in (recording, "x.py"):
        ran = here(recording, "--against", against, "--ignore", "a[")
        assert ran.exit_code == ExitCode.USAGE
        assert "'a[' is no path" in ran.stderr


def test_a_server_cannot_have_its_recording_on_the_standard_input() -> None:
    ran = here("-")
    assert (ran.exit_code, "name a file" in ran.stderr) == (ExitCode.USAGE, True)


def test_who_wants_no_colours_gets_none(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    ran = CliRunner().invoke(
        group, ["replay", str(recording), "--against", str(recording)], color=True
    )
    assert ran.output == "2 requests: all answered as recorded\n"


def test_what_is_kept_of_this_time_has_no_secrets_and_what_is_said_escapes_nothing(
    tmp_path: Path,
) -> None:
    hidden = Told()
    hidden.asks(1, "\x1b[2J", {"token": "[redacted]"})
    hidden.answers(1, {"apiKey": "[redacted]"})
    server = tmp_path / "server.py"
    server.write_text(
        "import json\n"
        "asked = json.loads(input())\n"
        "print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'result': {'apiKey': 'k-123'}}))\n"
        "try:\n    input()\nexcept EOFError:\n    pass\n"
    )
    out = tmp_path / "again.jsonl"
    recording = hidden.write(tmp_path / "trace.jsonl")
    ran = here(recording, "--out", out, "--against", "--", sys.executable, "-S", server)
    assert (ran.exit_code, ran.stdout) == (0, "1 request: all answered as recorded\n")
    assert "wigwag: \\x1b[2J was sent without" in ran.stderr
    assert "\x1b" not in ran.stderr
    assert b"k-123" not in out.read_bytes()
    assert b'"apiKey": "[redacted]"' in out.read_bytes()
    assert out.stat().st_mode & 0o777 == 0o600


def test_what_the_encoding_of_the_output_lacks_is_escaped(tmp_path: Path) -> None:
    files = []
    for name, value in (("then", "a"), ("now", "🍵")):
        one = Told()
        one.asks(1, "x")
        one.answers(1, {"drink": value})
        files.append(one.write(tmp_path / f"{name}.jsonl"))
    ran = wigwag("replay", files[0], "--against", files[1], env={"PYTHONIOENCODING": "cp1252"})
    assert (ran.code, ran.err) == (ExitCode.FAILED, "")
    assert '        now:      "\\U0001f375"\n' in ran.out
