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


def test_it_tells_its_version() -> None:
    assert wigwag("--version").out == f"wigwag {__version__}\n"


def test_an_unknown_command_is_named() -> None:
    ran = wigwag("pong")
    assert ran.code == 2
    assert "pong" in ran.err
