"""Commands that ask one server: at the command line, and, without saying which, in the shell."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Coroutine
from typing import Any, Final

import click

from wigwag.cli.conversations import Talk, open_conversation, talk_options
from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.failures import run
from wigwag.cli.output import json_option
from wigwag.cli.targets import Reach, TargetCommand, about_server
from wigwag.errors import RequestFailed
from wigwag.schema import MISSING_REQUIRED_CLIENT_CAPABILITY

__all__ = ["ServerCommand", "Work", "in_shell", "server_command", "unexpected"]

Work = Callable[..., Coroutine[Any, Any, ExitCode | None]]
"""What a command does, given a `Conversation`, its `words`, `as_json`, and options of its own."""

_ABOUT_TALK: Final = ("answers", "roots", "log_level")


class ServerCommand(TargetCommand):
    """A command that asks a server.

    Attributes:
        work: What it does.
        own_words: What its words are, for its usage.
        own_options: The names of the options that it has in the shell, too.
    """

    work: Work
    own_words: str = ""
    own_options: frozenset[str] = frozenset()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words, and tell whoever writes the arguments of a tool as options."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if "ARGUMENT" not in self.own_words:
                raise
            name = error.option_name.lstrip("-")
            raise click.UsageError(
                f"{error.format_message()} An argument of a tool or a prompt is written {name}=…",
                ctx,
            ) from None

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return what stands behind the name of the command in its usage."""
        pieces = super().collect_usage_pieces(ctx)
        return [*pieces, self.own_words] if self.own_words else pieces


def server_command(
    name: str, *options: Callable[[Any], Any], words: str = "", talks: bool = False
) -> Callable[[Work], ServerCommand]:
    """Make a command of what it does; its docstring becomes the help.

    Args:
        name: The command.
        options: The options of its own, as click has them.
        words: What its words are, for its usage.
        talks: Whether the server may ask and say something meanwhile.
    """

    def made(work: Work) -> ServerCommand:
        def callback(*, reach: Reach, words: list[str], **given: Any) -> None:
            talk = Talk(**{key: given.pop(key) for key in _ABOUT_TALK}) if talks else None
            conversing = _converse(work, reach, talk, words, given)
            code = run(conversing, as_json=given["as_json"])
            if code:
                sys.exit(code)

        decorated: Any = json_option(callback)
        if talks:
            decorated = talk_options(decorated)
        for option in reversed(options):
            decorated = option(decorated)
        own = {param.name for param in _params_of(decorated)} - set(_ABOUT_TALK)
        make = click.command(name, cls=ServerCommand, help=inspect.cleandoc(work.__doc__ or ""))
        command: ServerCommand = make(about_server(decorated))
        command.work, command.own_words, command.own_options = work, words, frozenset(own)
        return command

    return made


def in_shell(command: ServerCommand) -> click.Command:
    """Return the same command without what says which server, for `wigwag shell`."""
    params: list[click.Parameter] = [
        param for param in command.params if param.name in command.own_options
    ]
    words = click.Argument(["words"], nargs=-1, metavar=command.own_words or "")
    text = (command.help or "").replace("\\b\n", "\b\n")  # as the group of commands does
    return click.Command(command.name, params=[words, *params], help=text)


def unexpected(words: list[str]) -> None:
    """Refuse words of which a command makes nothing.

    Raises:
        ValueError: There are some.
    """
    if words:
        raise ValueError(f"unexpected: {' '.join(words)}")


def _params_of(function: Any) -> list[click.Parameter]:
    params: list[click.Parameter] = function.__click_params__
    return params


async def _converse(
    work: Work, reach: Reach, talk: Talk | None, words: list[str], given: dict[str, Any]
) -> ExitCode | None:
    # What is offered may depend on what a client can be asked: so it is the same for all commands.
    able = Talk(log_level="off") if talk is None else talk
    has_progress = not given["as_json"]
    async with open_conversation(reach, able, has_progress=has_progress) as conversation:
        try:
            return await work(conversation, words, **given)
        except RequestFailed as error:
            if error.code != MISSING_REQUIRED_CLIENT_CAPABILITY or talk is None:
                raise
            hint = "run it at a terminal, where you can be asked; --answer answers forms"
            raise RequestFailed(error.code, f"{error.message}; {hint}", error.data) from None
