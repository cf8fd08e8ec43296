"""`wigwag shell`, in which commands are typed one after the other to the same server."""

from __future__ import annotations

import asyncio
import shlex
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

import click

from wigwag.cli.conversations import Conversation, Talk, open_conversation, talk_options
from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.failures import TELLABLE, code_of, run, tell
from wigwag.cli.offered import Offered
from wigwag.cli.output import styled
from wigwag.cli.server_commands import ServerCommand, in_shell
from wigwag.cli.shell_words import SHELL_COMMANDS
from wigwag.cli.targets import Reach, TargetCommand, about_server
from wigwag.client.blocking_callbacks import in_thread
from wigwag.client.merged_names import did_you_mean
from wigwag.client.terminal_lines import visible
from wigwag.errors import McpError

__all__ = ["Shell", "shell_command"]

_LEAVE: Final = ("exit", "quit")
_HELP: Final = ("help", "?")


@click.command("shell", cls=TargetCommand)
@about_server
@talk_options
@click.option("--no-history", is_flag=True, help="Neither read nor keep what was typed before.")
def shell_command(
    *,
    reach: Reach,
    words: list[str],
    no_history: bool,
    answers: tuple[str, ...],
    roots: tuple[str, ...],
    log_level: str,
) -> None:
    r"""Talk to one server, command by command, over one connection.

    \b
        wigwag shell server.py
        wigwag shell https://example.com/mcp
        wigwag shell -- npx -y some-server

    The commands are those of wigwag, without the server; a tool is a command, too:

    \b
        > list
        > add a=1 b=2
        > read docs://index

    Tab completes commands, names and values, the arrow keys bring back what was typed before,
    Ctrl+C breaks off a command, and Ctrl+D leaves. A line that begins with a space is not kept.

    From a pipe it reads a command a line, and leaves at the first that fails, with its exit code.
    """
    if words:
        raise click.UsageError(f"unexpected: {' '.join(words)}")
    talk = Talk(answers=answers, roots=roots, log_level=log_level)
    code = run(_converse(reach, talk, has_history=not no_history))
    if code:
        sys.exit(code)


async def _converse(reach: Reach, talk: Talk, *, has_history: bool) -> ExitCode:
    async with open_conversation(reach, talk) as conversation:
        shell = Shell(conversation)
        if sys.stdin.isatty():
            await _at_terminal(shell, has_history=has_history)
            return ExitCode.DONE
        return await _from_pipe(shell)


class Left(Exception):
    """The person wants to leave."""


class Shell:
    """Does what is typed.

    Args:
        conversation: The client of the server.
    """

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.offered = Offered(conversation.client)
        self._commands: Mapping[str, ServerCommand] = SHELL_COMMANDS

    async def do(self, line: str) -> ExitCode:
        """Do what a line says, tell what goes wrong, and return the exit code that it would have.

        Raises:
            Left: The line says that it is enough.
        """
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            return self._tell(f"{error}: a text with spaces stands in a pair of quotes")
        if not words:
            return ExitCode.DONE
        self.offered.forget()  # what there is may be otherwise after the command
        name, *rest = words
        if name in _LEAVE:
            raise Left
        if name in _HELP:
            return await self._help(rest)
        if name not in self._commands:
            tools = await self.offered.names("tools")
            if name not in tools:
                near = did_you_mean(name, [*self._commands, *tools])
                return self._tell(f"there is no command and no tool {name!r}{near or '; try help'}")
            name, rest = "call", words
        return await self._run(self._commands[name], rest)

    async def _run(self, command: ServerCommand, words: list[str]) -> ExitCode:
        try:
            given: dict[str, Any] = in_shell(command).make_context(command.name, words).params
        except click.exceptions.Exit:  # its help was asked for
            return ExitCode.DONE
        except click.UsageError as error:
            return self._tell(error.format_message())
        own = list(given.pop("words"))
        try:
            code = await command.work(self.conversation, own, **given)
        except BrokenPipeError:
            raise
        except TELLABLE as error:
            self.conversation.notices.clear()
            tell(str(error), code_of(error), as_json=given["as_json"])
            return code_of(error)
        return code or ExitCode.DONE

    def _tell(self, problem: str) -> ExitCode:
        tell(problem, ExitCode.USAGE)
        return ExitCode.USAGE

    async def _help(self, words: list[str]) -> ExitCode:
        if not words:
            for name, command in self._commands.items():
                summary = (command.help or "").partition("\n")[0]
                click.echo(f"  {styled(name.ljust(10), sys.stdout, bold=True)}{summary}")
            click.echo("  exit      Leave, as Ctrl+D does.")
            click.echo("A tool is a command, too; `help NAME` tells more of either.")
            return ExitCode.DONE
        if words[0] in self._commands:
            return await self._run(self._commands[words[0]], ["--help"])
        return await self._run(self._commands["list"], words[:1])


async def _from_pipe(shell: Shell) -> ExitCode:
    """Do line after line, up to the first that fails."""
    read_line = in_thread(sys.stdin.readline)  # which nobody waits for at the end
    while line := await read_line():
        try:
            code = await shell.do(line)
        except Left:
            break
        sys.stdout.flush()
        if code:
            return code
    return ExitCode.DONE


async def _at_terminal(shell: Shell, *, has_history: bool) -> None:
    from wigwag.cli.shell_prompt import ShellPrompt  # noqa: PLC0415 - pipes need none of it

    notices = shell.conversation.notices
    notices.say(await _greeting(shell))
    prompt = ShellPrompt(_name(shell), shell.offered, has_history=has_history)
    with _interruptions() as under_way:
        while True:
            try:
                with notices.held():  # which would be written over what is typed
                    line = await prompt.read_line()
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            task = asyncio.ensure_future(shell.do(line))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
            await asyncio.wait([task])
            if task.cancelled():
                notices.say("wigwag: broken off")
            elif isinstance(task.exception(), Left):
                return
            else:
                task.result()


@contextmanager
def _interruptions() -> Iterator[set[asyncio.Future[Any]]]:
    """Let Ctrl+C cancel what is in this set, and nothing else."""
    under_way: set[asyncio.Future[Any]] = set()
    loop = asyncio.get_running_loop()

    def interrupt() -> None:
        for task in under_way:
            task.cancel()

    with suppress(NotImplementedError):  # on Windows it ends the program
        loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        yield under_way
    finally:
        interrupt()
        with suppress(NotImplementedError):
            loop.remove_signal_handler(signal.SIGINT)


def _name(shell: Shell) -> str:
    info = shell.conversation.client.server_info
    return "server" if info is None else visible(info.name)


async def _greeting(shell: Shell) -> str:
    client = shell.conversation.client
    try:
        tools = await shell.offered.names("tools")
    except McpError:
        tools = []
    info = client.server_info
    version = "" if info is None else f" {visible(info.version)}"
    amount = "1 tool" if len(tools) == 1 else f"{len(tools)} tools"
    return (
        f"{_name(shell)}{version}, {client.revision}, {amount}. "
        "Tab completes, `help` lists the commands, Ctrl+D leaves."
    )
