"""How commands tell what went wrong."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.program import KIOSK, KITEBASE, wigwag, wigwag_at_terminal
from tests.e2e.host import PATIENCE
from tests.e2e.person import CTRL_C
from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.failures import code_of, tell
from wigwag.errors import (
    AuthorizationRefused,
    ConnectionRefused,
    HttpStatusError,
    InvalidResult,
    LocalProtocolError,
    RequestFailed,
    RequestTimedOut,
    ServerStartFailed,
    ToolFailed,
)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (AuthorizationRefused("no"), ExitCode.UNAUTHORIZED),
        (HttpStatusError("http://x", 401, "Unauthorized", "", {}), ExitCode.UNAUTHORIZED),
        (HttpStatusError("http://x", 502, "Bad Gateway", "", {}), ExitCode.NOT_CONNECTED),
        (ConnectionRefused("x"), ExitCode.NOT_CONNECTED),
        (ServerStartFailed("x"), ExitCode.NOT_CONNECTED),
        (RequestTimedOut("ping", 1, "x"), ExitCode.TIMED_OUT),
        (RequestFailed(-32602, "x"), ExitCode.REFUSED),
        (InvalidResult("x"), ExitCode.BROKEN),
        (LocalProtocolError("x"), ExitCode.USAGE),
        (ToolFailed("x"), ExitCode.FAILED),
        (FileNotFoundError("x"), ExitCode.USAGE),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_kind_of_failure_has_its_exit_code(error: Exception, code: ExitCode) -> None:
    assert code_of(error) == code


def test_a_server_that_cannot_start_is_told_without_a_traceback_of_ours(tmp_path: Path) -> None:
    server = tmp_path / "server.py"
    server.write_text("import sys; sys.exit('no token')")
    ran = wigwag("ping", "--", sys.executable, server)
    assert ran.code == ExitCode.NOT_CONNECTED
    assert ran.out == ""
    assert "exited with code 1" in ran.err
    assert "Traceback" not in ran.err


def test_programs_get_the_failure_as_json() -> None:
    ran = wigwag("ping", "--json", "http://127.0.0.1:1/mcp")
    assert ran.code == ExitCode.NOT_CONNECTED
    assert ran.json["error"]["kind"] == "not_connected"
    assert "nobody listens there" in ran.json["error"]["message"]


def test_a_reader_that_goes_away_is_no_failure_to_tell_of() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "wigwag", "ping", "--count", "1000000", str(KITEBASE)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.readline()
        program.stdout.close()
        assert program.wait(PATIENCE) == ExitCode.READER_GONE
        assert program.stderr.read() == b""


def test_ctrl_c_has_its_exit_code_and_no_traceback() -> None:
    with wigwag_at_terminal("call", KIOSK, "sleep") as person:
        person.see("asleep")
        person.type(CTRL_C)
        assert person.exit_code() == ExitCode.INTERRUPTED
        person.see_the_end()
    assert "Traceback" not in person.seen


def test_what_a_server_says_cannot_control_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tell("no\x1b[2J\nmore", ExitCode.REFUSED)
    assert capsys.readouterr().err == "wigwag: no\\x1b[2J\nmore\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--help"], ExitCode.DONE),
        (["ping", str(KITEBASE)], ExitCode.DONE),
        (["ping", "--json", "http://127.0.0.1:1/mcp"], ExitCode.NOT_CONNECTED),
    ],
    ids=["help", "ping", "failure"],
)
def test_closed_output_changes_no_exit_code(arguments: list[str], code: ExitCode) -> None:
    ran = _run_with_output("&-", arguments)
    assert ran.returncode == code, ran
    assert "Traceback" not in ran.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.parametrize("arguments", [["--help"], ["ping", str(KITEBASE)]], ids=["help", "ping"])
def test_a_full_disk_is_told(arguments: list[str]) -> None:
    ran = _run_with_output("/dev/full", arguments)
    assert ran.returncode == ExitCode.FAILED, ran
    assert ran.stderr.startswith("wigwag: [Errno 28]")
    assert ran.stderr.count("\n") == 1


def _run_with_output(place: str, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Run `wigwag` with its standard output where the shell's `>` leads."""
    command = shlex.join([sys.executable, "-m", "wigwag", *arguments])
    return subprocess.run(
        ["sh", "-c", f"{command} >{place}"],
        check=False,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        timeout=PATIENCE,
    )
