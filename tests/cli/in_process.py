"""Runs the commands that ask a server in the process of the tests, as the shell does."""

import shlex
from typing import Any

import click

from wigwag import Server
from wigwag.cli.commands import wigwag as group
from wigwag.cli.conversations import Talk, open_conversation
from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.server_commands import ServerCommand, in_shell
from wigwag.cli.targets import Reach


async def ask(server: Server | Reach, line: str, *, answers: tuple[str, ...] = ()) -> ExitCode:
    """Run a command such as `call add a=1 b=2`, and return its exit code."""
    reach = server if isinstance(server, Reach) else Reach(target=server)
    name, *words = shlex.split(line)
    command = group.get_command(click.Context(group), name)
    assert isinstance(command, ServerCommand)
    options: dict[str, Any] = in_shell(command).make_context(name, words).params
    given = list(options.pop("words"))
    talk = Talk(answers=answers)
    async with open_conversation(reach, talk) as conversation:
        code = await command.work(conversation, given, **options)
    return ExitCode.DONE if code is None else code
