"""Shells that complete the words of `wigwag`."""

import shutil
import subprocess

import pytest

from tests.cli.program import wigwag
from tests.e2e.host import PATIENCE


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("wigwag pi", ["plain,ping"]),
        ("wigwag ping --er", ["plain,--era"]),
        ("wigwag ping --era m", ["plain,modern"]),
        ("wigwag auth log", ["plain,login", "plain,logout"]),
        ("wigwag run ser", ["file,ser"]),
        ("wigwag ping ser", ["file,ser"]),
    ],
)
def test_commands_options_values_and_files_are_offered(words: str, offered: list[str]) -> None:
    asked = {
        "_WIGWAG_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    assert wigwag(env=asked).out.splitlines() == offered


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
