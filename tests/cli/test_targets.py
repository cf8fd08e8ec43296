"""How commands are told which server."""

import json
import sys
from pathlib import Path

import click
import pytest

from tests.cli.program import KITEBASE, wigwag
from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.targets import named_target


def test_a_command_follows_two_dashes_and_keeps_its_own_options() -> None:
    ran = wigwag("ping", "--json", "--", sys.executable, "-u", KITEBASE)
    assert ran.code == ExitCode.DONE, ran
    assert ran.json["revision"] == "2026-07-28"


@pytest.fixture
def configuration(tmp_path: Path) -> Path:
    file = tmp_path / "mcp.json"
    kitebase = {"command": sys.executable, "args": [str(KITEBASE)]}
    file.write_text(json.dumps({"mcpServers": {"kite": kitebase, "other": {"command": "no"}}}))
    return file


def test_a_server_of_a_configuration_is_named(configuration: Path) -> None:
    assert wigwag("ping", configuration, "--server", "kite").code == ExitCode.DONE


def test_an_unknown_server_of_a_configuration_is_told_with_those_there_are(
    configuration: Path,
) -> None:
    ran = wigwag("ping", configuration, "--server", "kites")
    assert ran.code == ExitCode.USAGE
    assert "no server 'kites'; there are: kite, other" in ran.err


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ((), "say which server"),
        (("--",), "a command follows `--`"),
        (("x.py", "--era", "modern", "--revision", "2025-06-18"), "exclude each other"),
        (("x.py", "--timeout", "0"), "above 0"),
        (("x.py", "--timeout", "nan"), "above 0"),
        (("http://x", "--header", "Bearer tk-1"), "--header takes NAME: VALUE, and one has no"),
        (("x.py", "--env", "=tk-1"), "--env takes NAME=VALUE, and one has no name"),
        (("python", "-m", "my_server"), "follows `--`, as in `wigwag ping -- python -m my_server`"),
    ],
)
def test_what_makes_no_sense_is_told_before_anything_starts(
    arguments: tuple[str, ...], what: str
) -> None:
    ran = wigwag("ping", *arguments)
    assert ran.code == ExitCode.USAGE
    assert what in ran.err
    assert "tk-1" not in ran.err  # it may be a secret


def test_a_server_may_be_within_something_at_the_top_of_a_file() -> None:
    context = click.Context(click.Command("ping"))
    for target in ("server.py:name", "server.py:box.server", "package.module:make()"):
        run = [sys.executable, "-m", "wigwag", "run", target]
        assert named_target(context, target, None) == run
    for target in ("tcp://localhost:mcp", "unix:name", "server.py", "server.py:a-b"):
        assert named_target(context, target, None) == target
