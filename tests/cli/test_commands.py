"""`wigwag` itself."""

import importlib

import click
import pytest

from tests.cli.program import wigwag
from wigwag._version import __version__
from wigwag.cli.commands import _COMMANDS
from wigwag.cli.commands import wigwag as group


@pytest.mark.parametrize("name", _COMMANDS)
def test_every_command_of_the_list_is_there_and_has_help(name: str) -> None:
    command = group.get_command(click.Context(group), name)
    assert command is not None
    assert command.name == name
    assert command.help


def test_the_list_of_commands_tells_what_each_is_for() -> None:
    ran = wigwag("--help")
    assert ran.code == 0
    for name, entry in _COMMANDS.items():
        importlib.import_module(entry.module)
        assert name in ran.out


def test_examples_in_help_texts_keep_their_lines() -> None:
    text = group.get_help(click.Context(group))
    assert "\n    wigwag list server.py\n" in text or "\n      wigwag list server.py\n" in text
    auth = group.get_command(click.Context(group), "auth")
    assert auth is not None
    assert "wigwag auth status\n" in auth.get_help(click.Context(auth))


def test_it_tells_its_version() -> None:
    assert wigwag("--version").out == f"wigwag {__version__}\n"


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("pong", "there is no command 'pong'; did you mean 'ping'?"),
        ("swim", "there is no command 'swim'"),
        ("server.py", "say what is to be done with server.py, as in `wigwag ping server.py`"),
        ("https://example.com/mcp", "say what is to be done with https://example.com/mcp"),
    ],
)
def test_a_word_that_is_no_command_is_told_with_what_was_meant(word: str, told: str) -> None:
    with pytest.raises(click.UsageError) as caught:
        group.main([word], standalone_mode=False)
    assert told in str(caught.value)


def test_a_command_that_is_not_there_is_no_success() -> None:
    ran = wigwag("swim")
    assert ran.code == 2
    assert "there is no command 'swim'" in ran.err
