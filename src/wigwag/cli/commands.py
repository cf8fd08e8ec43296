"""The group of all commands: each is loaded when it is used, so that `wigwag` starts fast."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import click

from wigwag._version import __version__
from wigwag.cli.failures import leave_quietly

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["wigwag"]


class Entry(NamedTuple):
    """A command that is not loaded yet.

    Attributes:
        module: Where it is; there it has its own name, with `_command` behind it.
        summary: One line for the list of commands.
    """

    module: str
    summary: str


# In the order of the list: to serve, to use a server, to find out what is wrong, the rest.
_COMMANDS: Final = {
    "run": Entry("wigwag.cli.run", "Serve the server in a file or a module."),
    "list": Entry("wigwag.cli.list", "Show what a server offers."),
    "call": Entry("wigwag.cli.call", "Call a tool."),
    "read": Entry("wigwag.cli.read", "Read a resource."),
    "prompt": Entry("wigwag.cli.prompt", "Fill in a prompt."),
    "complete": Entry("wigwag.cli.complete", "Ask how an argument may go on."),
    "listen": Entry("wigwag.cli.listen", "Tell what changes at a server."),
    "info": Entry("wigwag.cli.info", "Show what a server says of itself."),
    "ping": Entry("wigwag.cli.ping", "Ask a server for a sign of life, and time it."),
    "shell": Entry("wigwag.cli.shell", "Talk to a server, command by command."),
    "doctor": Entry(
        "wigwag.cli.doctor", "Find out why a server does not work, and what to change."
    ),
    "trace": Entry("wigwag.cli.trace", "Stand between a host and a server, and show all they say."),
    "replay": Entry("wigwag.cli.replay", "Play the server of a recording, or its client."),
    "show": Entry("wigwag.cli.show", "Make a recording readable, as text or as a page."),
    "auth": Entry("wigwag.cli.auth", "Log in to servers, out of them, and see where you are."),
    "completion": Entry("wigwag.cli.completion", "Teach a shell the words of wigwag."),
}


class LazyGroup(click.Group):
    """A group whose commands are in modules of their own."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        keep_lines(self)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the order of the list."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        entry = _COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module = importlib.import_module(entry.module)
        command = cast("click.Command", getattr(module, f"{cmd_name}_command"))
        keep_lines(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first word names.

        Raises:
            UsageError: There is none by that name.
        """
        name = args[0]
        if name in _COMMANDS or ctx.resilient_parsing or name.startswith("-"):
            return super().resolve_command(ctx, args)
        from difflib import get_close_matches  # noqa: PLC0415 - few need it

        near = get_close_matches(name, _COMMANDS, n=1)
        if near:
            raise click.UsageError(f"there is no command {name!r}; did you mean {near[0]!r}?", ctx)
        if _is_target(name):
            raise click.UsageError(
                f"say what is to be done with {name}, as in `wigwag ping {name}`", ctx
            )
        raise click.UsageError(f"there is no command {name!r}", ctx)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; click has codes of its own for Ctrl+C and for a reader that has gone."""
        with leave_quietly():
            return super().invoke(ctx)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer names, without loading what they name."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - for a shell alone

        names = [
            CompletionItem(name, help=entry.summary)
            for name, entry in _COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list, without loading any of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in _COMMANDS.items()])


def keep_lines(command: click.Command) -> None:
    r"""Let lines of a help text stay lines below `\b`, which docstrings have spelt out."""
    command.help = (command.help or "").replace("\\b", "\b")
    if isinstance(command, click.Group):
        for each in command.commands.values():
            keep_lines(each)


def _is_target(word: str) -> bool:
    """Tell whether a word names a server rather than a command."""
    return word.endswith((".py", ".json")) or ":" in word or "/" in word


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="wigwag %(version)s")
def wigwag() -> None:
    r"""Serve, use, watch and diagnose MCP servers.

    TARGET is what a server is reached by: a URL, a Python file, the JSON file of a host's
    configuration, tcp://host:port, unix:path; or a command, which follows `--`:

    \b
        wigwag list server.py
        wigwag list https://example.com/mcp
        wigwag call search word=tea -- npx -y some-server
    """
