"""`wigwag doctor`."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.cli.program import KITEBASE, wigwag, wigwag_at_terminal
from tests.e2e.person import CTRL_C
from wigwag.cli.commands import wigwag as group
from wigwag.cli.exit_codes import ExitCode
from wigwag.doctor.process_checks.process_table import all_processes

ZOO = Path(__file__).parents[1] / "zoo" / "processes"


def doctor(*arguments: str | Path) -> Result:
    """Run it in this process, which is quicker."""
    return CliRunner().invoke(group, ["doctor", *map(str, arguments)])


def test_a_healthy_server_is_called_healthy_in_one_line() -> None:
    ran = wigwag("doctor", "--", sys.executable, KITEBASE)
    assert ran.code == ExitCode.DONE, ran
    assert ran.out.startswith("healthy: no findings (")
    assert "revision 2026-07-28" in ran.out
    assert ran.out.count("\n") == 1
    assert ran.err == ""


def test_a_banner_on_standard_output_is_told_with_its_text_its_line_and_what_to_change() -> None:
    ran = wigwag("doctor", "--", sys.executable, KITEBASE, "--noisy")
    assert ran.code == ExitCode.FAILED, ran
    first, evidence, change, *_ = ran.out.splitlines()
    assert first.startswith(f"error banner-on-stdout: {KITEBASE}, line ")
    assert evidence == "    | Kitebase server starting..."
    assert change.startswith("    change: write to standard error instead")
    assert ran.err == ""


def test_programs_get_json() -> None:
    ran = doctor("--json", "--", sys.executable, "-S", ZOO / "crash.py")
    assert ran.exit_code == ExitCode.FAILED
    told = json.loads(ran.stdout)
    assert told["healthy"] is False
    (diagnosis,) = told["diagnoses"]
    assert diagnosis["target"].endswith("crash.py")
    assert diagnosis["facts"]["exit_code"] == 1
    (finding,) = diagnosis["findings"]
    assert finding["code"] == "crash-at-start"
    assert finding["severity"] == "error"
    assert "the lions are out" in finding["evidence"]


def test_all_servers_of_a_configuration_are_examined(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    crash = {"command": sys.executable, "args": ["-S", str(ZOO / "crash.py")]}
    off = {"command": "zoo", "disabled": True}
    file.write_text(json.dumps({"mcpServers": {"cage": crash, "shed": off}}))
    ran = doctor("--config", file)
    assert ran.exit_code == ExitCode.FAILED, ran
    told = [line for line in ran.stdout.splitlines() if not line.startswith("    ")]
    assert told[0] == str(file)
    assert told[1] == "healthy: no findings"
    assert told[2] == f"cage ({file})"
    assert told[3].startswith("error crash-at-start: ")
    assert told[5] == f"shed ({file})"
    assert told[6].startswith("note server-disabled: shed: ")
    assert told[7] == "healthy: 1 note"
    assert doctor(file, "--server", "shed").exit_code == ExitCode.DONE


def test_a_url_is_examined_too() -> None:
    ran = wigwag("doctor", "http://127.0.0.1:1/mcp?key=secret", "--watch", "1", "--call", "slow")
    assert ran.code == ExitCode.FAILED, ran
    first, evidence, change, summary = ran.out.splitlines()
    assert first == "error nobody-listens: nobody listens at 127.0.0.1 port 1"
    assert evidence == "    | 127.0.0.1 port 1: connection refused"
    assert change.startswith("    change: start the server")
    assert summary == "1 error"
    assert "secret" not in ran.out + ran.err


def test_at_a_terminal_it_shows_what_it_does_and_colours_what_it_finds() -> None:
    with wigwag_at_terminal("doctor", "--", sys.executable, "-S", ZOO / "crash.py") as person:
        person.see("starting the server as a host would ...")
        person.see("\x1b[31m\x1b[1merror\x1b[0m crash-at-start: ")
        assert person.exit_code() == ExitCode.FAILED


def test_ctrl_c_ends_it_and_the_server(tmp_path: Path) -> None:
    server = tmp_path / "server.py"
    server.write_text("import sys\nprint('here I am', file=sys.stderr)\nsys.stdin.read()\n")
    with wigwag_at_terminal("doctor", "--", sys.executable, "-S", server) as person:
        person.see("starting the server as a host would ...")
        person.type(CTRL_C)
        assert person.exit_code() == ExitCode.INTERRUPTED
        person.see_the_end()
    assert "Traceback" not in person.seen
    assert [one for one in all_processes() if one.command.endswith(f"-S {server}")] == []


def test_the_name_of_a_server_cannot_change_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    crash = {"command": sys.executable, "args": ["-S", str(ZOO / "crash.py")]}
    file.write_text(json.dumps({"mcpServers": {"cage\x1b[2J": crash}}))
    with wigwag_at_terminal("doctor", "--config", file) as person:
        person.see(r"cage\x1b[2J: starting the server")
        assert person.exit_code() == ExitCode.FAILED


def test_what_a_server_says_cannot_change_the_terminal(tmp_path: Path) -> None:
    server = tmp_path / "server.py"
    server.write_text(r"import sys; sys.exit('\x1b[2Jall is well\rnothing')")
    ran = doctor("--", sys.executable, "-S", server)
    assert r"\x1b[2Jall is well" in ran.stdout
    assert "\x1b" not in ran.stdout
    assert "\r" not in ran.stdout


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ((), "say which server"),
        (("--config", "nowhere.json"), "there is no file nowhere.json"),
        (("--config", "x.json", "y"), "--config and a target exclude each other"),
        (("--config", "x.json", "--env", "A=1"), "--env is for one server"),
        (("python", "server.py"), "a command follows `--`"),
        (("http://x", "--timeout", "0"), "above 0"),
        (("http://x", "more"), "unexpected: more"),
        (("http://x", "--call", "slow", "=3"), "=3"),
        (("server.py", "--call", "slow"), "--call is for a URL"),
        (("nowhere.py",), "there is no file 'nowhere.py'"),
    ],
)
def test_what_makes_no_sense_is_told(arguments: tuple[str, ...], what: str) -> None:
    ran = doctor(*arguments)
    assert ran.exit_code == ExitCode.USAGE
    assert what in ran.stderr
    assert ran.stdout == ""
