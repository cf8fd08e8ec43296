"""The command of a server, before it is started."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from wigwag.doctor.findings import Finding
from wigwag.doctor.process_checks.commands import check_command
from wigwag.doctor.process_checks.start import Start
from wigwag.transports.stdio_client import StdioServerParameters

PYTHON = sys.executable


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with nothing in it, and nothing installed elsewhere."""
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setattr(
        "wigwag.doctor.process_checks.commands._PLACES", ("~/.nvm/versions/node/*/bin",)
    )
    return folder


@pytest.fixture
def folder(tmp_path: Path, home: Path) -> Path:
    """A folder that is the whole PATH, and has some programs in it."""
    for name in ("docker", "conda", "python3", "sh", "uvx"):
        program(tmp_path / name)
    return tmp_path


def program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.write_bytes(text.encode())
    path.chmod(0o755)
    return path


def check(folder: Path, command: str, args: Sequence[str] = ()) -> list[Finding]:
    env = {"PATH": str(folder)}
    return list(check_command(Start.of(StdioServerParameters(command, args, env, cwd=folder))))


def test_a_sound_command_has_no_findings(folder: Path) -> None:
    (folder / "server.py").touch()
    assert check(folder, PYTHON, [str(folder / "server.py")]) == []
    assert check(folder, "uvx", ["mcp-server-time"]) == []


def test_a_variable_that_the_server_is_given_is_for_the_server_to_fill_in(folder: Path) -> None:
    args = ["mcp-remote", "--header", "Authorization:${ZOO_HEADER}"]
    env = {"PATH": str(folder), "ZOO_HEADER": "Bearer x"}
    server = StdioServerParameters("uvx", args, env, cwd=folder)
    assert list(check_command(Start.of(server))) == []


def test_an_interpreter_with_a_variable_before_it_is_found(folder: Path) -> None:
    program(folder / "server", "#!/usr/bin/env -S ZOO=1 python3\n")
    assert check(folder, str(folder / "server")) == []


@pytest.mark.parametrize(
    ("command", "args", "code", "change"),
    [
        ("uvxx", [], "command-not-found", "do you mean uvx? Write {folder}/uvx"),
        ("python", [], "command-not-found", "here it is called python3: write {folder}/python3"),
        ("lions", [], "command-not-found", "install lions, and write its absolute path"),
        ("npx", ["-y", "lions"], "command-not-found", "it comes with Node.js"),
        ("./dockr", [], "command-not-found", "write {folder}/docker, if that is meant"),
        ("./", [], "command-not-found", "name the program that is in it"),
        ("uvx lions -v", ["-w"], "arguments-in-command", '"uvx", "args": ["lions", "-v", "-w"]'),
        ("~/bin/lions", [], "tilde-in-command", "write {home}/bin/lions"),
        ("cd", ["/srv", "&&", "python3", "x.py"], "shell-syntax", "the folder is `cwd`"),
        ("cd /srv && python3 x.py", [], "shell-syntax", "`command`"),
        (PYTHON, ["nowhere.py"], "script-not-found", "write the absolute path"),
        (PYTHON, ["/nowhere/lions.py"], "script-not-found", "that is there"),
        ("docker", ["run", "--rm", "lions"], "docker-not-interactive", "`-i` behind `run`"),
        ("docker", ["run", "-e", "A=1", "lions", "-i"], "docker-not-interactive", "`-i`"),
        ("docker", ["run", "--rm", "lions", "-i"], "docker-not-interactive", "`-i`"),
        ("conda", ["run", "-n", "x", "lions"], "conda-captures-output", "--no-capture-output"),
    ],
)
def test_a_command_that_cannot_work_is_told(
    folder: Path, command: str, args: list[str], code: str, change: str
) -> None:
    (found,) = check(folder, command, args)
    assert (found.code, found.severity) == (code, "error")
    assert change.format(folder=folder, home=Path.home()) in found.change


def test_a_program_elsewhere_is_found(folder: Path, home: Path) -> None:
    node = home / ".nvm" / "versions" / "node" / "v22.1.0" / "bin"
    node.mkdir(parents=True)
    (found,) = check(folder, str(program(node / "lions").name))
    assert found.change == f"write its absolute path: {node}/lions"
    assert str(folder) in found.evidence


def test_a_program_that_may_not_be_executed_is_told(folder: Path) -> None:
    script = folder / "server.py"
    script.touch(mode=0o644)
    (found,) = check(folder, str(script), ["-v"])
    assert (found.code, found.evidence) == ("not-executable", "its mode is -rw-r--r--")
    assert found.change == f'write "command": "{folder}/python3", "args": ["{script}", "-v"]'


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("#!/usr/bin/env pyhton3\nserve()\n", "names an interpreter that is not there: pyhton3"),
        ("#!/usr/bin/env -S lions -v\n", "names an interpreter that is not there: lions"),
        ("#!/opt/lions\n", "names an interpreter that is not there: /opt/lions"),
        ("#!\n", "names an interpreter that is not there: "),
        ("#!/bin/sh\r\necho\r\n", "ends as Windows ends lines"),
        ("import lions\n", "its first line does not say what runs it"),
    ],
)
def test_a_script_that_nothing_can_run_is_told(folder: Path, text: str, what: str) -> None:
    (found,) = check(folder, str(program(folder / "server", text)))
    assert found.code == "bad-interpreter-line"
    assert what in found.what


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    start = Start.of(StdioServerParameters(PYTHON, cwd=tmp_path / "nowhere"))
    assert [found.code for found in check_command(start)] == ["folder-not-found"]


@pytest.mark.parametrize(
    "args",
    [
        ["run", "-i", "lions"],
        ["run", "--rm", "-it", "lions"],
        ["run", "-e", "A=1", "--interactive", "lions"],
        ["run", "--rm", "-e", "A=1", "-i", "lions"],
        ["exec", "lions"],
        ["mcp", "gateway", "run"],
        ["compose", "run", "lions"],
        ["container", "run", "-i", "lions"],
    ],
)
def test_docker_with_input_is_sound(folder: Path, args: list[str]) -> None:
    assert check(folder, "docker", args) == []


@pytest.mark.parametrize(
    ("args", "code"),
    [(["~/lions"], "tilde-in-args"), (["--dir", "$HOME/lions"], "unexpanded-variable")],
)
def test_what_only_a_shell_replaces_is_told(folder: Path, args: list[str], code: str) -> None:
    (found,) = check(folder, "uvx", args)
    assert (found.code, found.severity) == (code, "warning")
    assert check(folder, "sh", ["-c", *args]) == []


def test_what_works_from_here_alone_is_noted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "server.py").touch()
    (relative,) = check(folder, PYTHON, ["server.py"])
    assert (relative.code, relative.severity) == ("relative-path", "note")
    assert relative.change == f"write {folder}/server.py"
    monkeypatch.setenv("PATH", str(folder))
    start = Start.of(StdioServerParameters("uvx"))
    (unknown,) = check_command(start)
    assert (unknown.code, unknown.severity) == ("not-on-host-path", "note")
    assert unknown.change == f"write its absolute path: {folder}/uvx"


def test_what_a_host_takes_for_another_program_is_noted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(folder))
    (other,) = check_command(Start.of(StdioServerParameters("sh", ["-c", "serve"])))
    assert (other.code, other.severity) == ("other-on-host-path", "note")
    assert other.evidence.startswith(f"here it is {folder}/sh, there /")
