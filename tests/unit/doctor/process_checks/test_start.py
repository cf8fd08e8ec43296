"""How a server process is started."""

import sys
from pathlib import Path

import pytest

from wigwag.doctor.process_checks.start import Start
from wigwag.transports.stdio_client import StdioServerParameters


@pytest.mark.parametrize(
    ("command", "args", "script"),
    [
        ("python", ["server.py"], "server.py"),
        ("/usr/bin/python3.12", ["-u", "server.py", "x.py"], "server.py"),
        ("python", ["-m", "server.main"], None),
        ("python", ["-c", "x.py"], None),
        ("node", ["--enable-source-maps", "dist/index.js"], "dist/index.js"),
        ("node.exe", ["index.mjs"], "index.mjs"),
        ("deno", ["run", "server.ts"], None),
        ("npx", ["some.js"], None),
        ("python", ["a.zip"], None),
        ("python", [], None),
    ],
)
def test_the_script_that_an_interpreter_runs_is_seen(
    command: str, args: list[str], script: str | None
) -> None:
    assert Start.of(StdioServerParameters(command, args)).script == script


def test_the_environment_is_what_hosts_pass_on_and_what_was_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ZOO", "terminal")
    start = Start.of(StdioServerParameters("zoo", env={"LION": "given"}))
    assert start.environment["LION"] == "given"
    assert "ZOO" not in start.environment
    assert start.path == start.environment["PATH"]


def test_the_title_has_no_secrets() -> None:
    args = ["--token", "lion-king"]
    start = Start.of(StdioServerParameters("zoo", args, {"ZOO_TOKEN": "lion-king"}))
    assert start.title == "zoo --token '***'"


def test_a_program_is_found_on_path_or_from_its_folder(tmp_path: Path) -> None:
    (tmp_path / "zoo").touch()
    assert Start.of(StdioServerParameters("./zoo", cwd=tmp_path)).program == f"{tmp_path}/zoo"
    assert Start.of(StdioServerParameters("./other", cwd=tmp_path)).program is None
    assert Start.of(StdioServerParameters(sys.executable)).program == sys.executable
