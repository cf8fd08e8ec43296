"""The commands that ask one server."""

import click
import pytest

from tests.cli.program import wigwag
from wigwag.cli.call import call_command
from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.server_commands import in_shell, unexpected


def test_the_usage_names_the_target_and_what_the_command_takes() -> None:
    ran = wigwag("call", "--help")
    assert ran.out.startswith("Usage: wigwag call [OPTIONS] TARGET TOOL [ARGUMENT]...\n")
    # What is to keep its lines has kept them.
    assert "\n      wigwag call server.py add a=1 b=2\n" in ran.out


def test_an_argument_that_is_written_as_an_option_is_told_how_it_is_written() -> None:
    context = click.Context(call_command)
    with pytest.raises(click.UsageError, match="a tool or a prompt is written limit=…"):
        call_command.parse_args(context, ["server.py", "search", "--limit", "5"])


def test_the_shell_has_the_command_without_what_says_which_server() -> None:
    command = in_shell(call_command)
    names = {param.name for param in command.params}
    assert names == {"words", "as_json", "save", "task", "unchecked"}
    usage = command.get_usage(click.Context(command, info_name="call"))
    assert usage == "Usage: call [OPTIONS] TOOL [ARGUMENT]..."


def test_a_failure_has_its_code_and_one_line() -> None:
    ran = wigwag("call", "--json", "--", "no-such-program")
    assert ran.code == ExitCode.NOT_CONNECTED
    assert ran.json["error"]["kind"] == "not_connected"
    assert ran.err.count("\n") == 1


def test_words_of_which_nothing_is_made_are_refused() -> None:
    unexpected([])
    with pytest.raises(ValueError, match="unexpected: a b"):
        unexpected(["a", "b"])
