"""Shells that complete the words of `wigwag`."""

import shutil
import subprocess

import pytest
from click.shell_completion import BashComplete

from tests.cli.program import wigwag
from tests.e2e.host import PATIENCE
from wigwag.cli.commands import wigwag as group


@pytest.mark.parametrize(
    ("words", "typed", "offered"),
    [
        ([], "pin", [("plain", "ping")]),
        (["ping"], "--er", [("plain", "--era")]),
        (["ping", "--era"], "m", [("plain", "modern")]),
        (["auth"], "log", [("plain", "login"), ("plain", "logout")]),
        (["run"], "ser", [("file", "ser")]),
        (["ping"], "ser", [("file", "ser")]),
    ],
)
def test_commands_options_values_and_files_are_offered(
    words: list[str], typed: str, offered: list[tuple[str, str]]
) -> None:
    shell = BashComplete(group, {}, "wigwag", "_WIGWAG_COMPLETE")
    found = shell.get_completions(words, typed)
    assert [(each.type, each.value) for each in found] == offered


def test_a_shell_that_asks_is_answered() -> None:
    asked = {"_WIGWAG_COMPLETE": "bash_complete", "COMP_WORDS": "wigwag pin", "COMP_CWORD": "1"}
    assert wigwag(env=asked).out == "plain,ping\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_what_it_reads(shell: str) -> None:
    ran = wigwag("completion", shell)
    assert ran.code == 0
    assert "_WIGWAG_COMPLETE" in ran.out
    program = shutil.which(shell)
    if program is not None:
        read = subprocess.run(
            [program, "-n"], input=ran.out, text=True, timeout=PATIENCE, capture_output=True
        )
        assert (read.returncode, read.stderr) == (0, "")


def test_an_unknown_shell_is_told_with_those_there_are() -> None:
    ran = wigwag("completion", "csh")
    assert ran.code == 2
    assert "'bash', 'zsh', 'fish'" in ran.err
