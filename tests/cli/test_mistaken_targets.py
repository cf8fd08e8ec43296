"""What people write in place of a TARGET."""

from pathlib import Path

import pytest

from tests.cli.program import wigwag
from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.mistaken_targets import advice_on, command_without_dashes, hint_to_run

SERVER = """\
from wigwag import Server

kite = Server("kite", version="1")
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a server and a program called `starter`."""
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "notes.txt").touch()
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "main.py").touch()
    (tmp_path / "starter").touch(0o755)
    (tmp_path / "starter server.py").touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("target", "advice"),
    [
        ("htp://a.example/mcp", "'htp://a.example/mcp' is no address: write http://a.example/mcp"),
        ("localhost:8000/mcp", "is no address: write http://localhost:8000/mcp"),
        ("example.com/mcp", "is no address: write https://example.com/mcp"),
        ("starter", "starter is a program: .* `wigwag list -- starter …`"),
        ("starter -y x", "`wigwag list -- starter -y x`"),
        ("starter other.py", "`wigwag list -- starter other.py`"),
        ("server", "there is no server 'server'; did you mean server.py?"),
        ("server.py:", "write server.py:name"),
        ("server.py:a-b", "write server.py:name"),
        ("package", "package is a folder: name the Python file"),
        ("package.main", "as in package.main:server"),
        ("notes.txt", "`wigwag list -- notes.txt`"),
        ("./bin/server", "`wigwag list -- ./bin/server`"),
        ("kite", "there is no server 'kite': name a URL, a Python file"),
        ("", "there is no server '': name a URL"),
    ],
)
def test_what_is_no_target_is_answered_with_what_to_write(target: str, advice: str) -> None:
    told = advice_on(target, "list")
    assert told is not None
    assert all(part in told for part in advice.split(".*"))


@pytest.mark.parametrize(
    "target",
    [
        *("server.py", "gone.py", "mcp.json", "starter server.py"),
        *("http://localhost:1", "HTTPS://a.example", "tcp://localhost:1", "unix:socket"),
    ],
)
def test_what_may_be_a_target_gets_no_advice(target: str) -> None:
    assert advice_on(target, "list") is None


def test_only_a_program_is_taken_for_a_command_without_dashes() -> None:
    assert command_without_dashes("other -y x", "list") is None
    assert command_without_dashes("", "list") is None
    told = command_without_dashes("starter -c 'a b'", "list")
    assert told is not None
    assert "`wigwag list -- starter -c 'a b'`" in told


def test_a_file_that_ends_by_itself_is_to_be_run_by_wigwag() -> None:
    assert "server.py:kite lets wigwag run" in hint_to_run("server.py", 0)
    assert "gone.py:server lets wigwag run" in hint_to_run("gone.py", 0)
    assert hint_to_run("server.py", 1) == ""
    assert hint_to_run(["python", "server.py"], 0) == ""


def test_the_command_line_tells_it(folder: Path) -> None:
    ran = wigwag("list", "--json", "localhost:8000/mcp")
    assert ran.code == ExitCode.USAGE
    assert "write http://localhost:8000/mcp" in ran.json["error"]["message"]
    ran = wigwag("list", folder / "server.py")
    assert ran.code == ExitCode.NOT_CONNECTED
    assert f"{folder / 'server.py'}:kite lets wigwag run its server" in ran.err
