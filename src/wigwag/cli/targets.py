"""The words by which commands are told which server, and how to reach it."""

from __future__ import annotations

import functools
import shlex
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
from msgspec import Struct

from wigwag.cli.mistaken_targets import advice_on, command_without_dashes

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from wigwag import Client

__all__ = [
    "Reach",
    "TargetCommand",
    "about_server",
    "complete_files",
    "named_target",
    "pairs",
    "read_reach",
    "server_options",
    "split_words",
]

F = TypeVar("F", bound=Callable[..., Any])

_COMMAND: Final = "wigwag.command"


class Reach(Struct, frozen=True, kw_only=True):
    """Which server, and how it is reached.

    Attributes:
        target: What `Client` takes.
        mode: `auto`, `modern`, `legacy` or a revision.
        env: Variables for a process, besides the usual ones.
        cwd: The folder a process starts in.
        headers: What HTTP requests carry besides.
        timeout: Seconds for each answer; `None` for what is usual.
        auth: `oauth` or a token, for a URL.
    """

    target: Any
    mode: str = "auto"
    env: dict[str, str] | None = None
    cwd: str | None = None
    headers: dict[str, str] | None = None
    timeout: float | None = None
    auth: str | None = None

    def client(self, **options: Any) -> Client:
        """Return a client for it.

        Args:
            **options: What else `Client` takes.

        Raises:
            ValueError: Nothing can be reached by that name; the text says what to write.
            OSError: The file of a configuration cannot be read.
        """
        from wigwag import Client, Timeouts  # noqa: PLC0415 - not every command needs one

        if isinstance(self.target, str):
            advice = advice_on(self.target, _name(click.get_current_context(silent=True)))
            if advice is not None:
                raise ValueError(advice)
        if self.timeout is not None:
            limits = Timeouts(
                request=self.timeout, ceiling=max(self.timeout, 1800.0), connect=self.timeout
            )
            options["timeouts"] = limits
        if self.headers:
            options["headers"] = self.headers
        if self.auth:
            options["auth"] = self.auth
        return Client(self.target, mode=self.mode, env=self.env, cwd=self.cwd, **options)


class TargetCommand(click.Command):
    """A command about a server, which its first argument names, or a command after `--`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take what follows `--` before click reads the rest.

        Raises:
            UsageError: They make no sense.
        """
        if "--" in args:
            at = args.index("--")
            args, command = args[:at], args[at + 1 :]
            if not command:
                raise click.UsageError("a command follows `--`, as in `-- python server.py`", ctx)
            ctx.meta[_COMMAND] = command
        given = shlex.join(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption:
            # An option of a program that stands where the server is named.
            advice = None if _COMMAND in ctx.meta else command_without_dashes(given, _name(ctx))
            if advice is None:
                raise
            raise click.UsageError(advice, ctx) from None


def about_server(function: F) -> F:
    """Give a command the arguments that say which server; it gets `reach` and `words`.

    `words` are what is left of the arguments: those of the command itself. To be put above the
    options of the command, which has `cls=TargetCommand`.
    """

    @functools.wraps(function)
    def with_reach(words: tuple[str, ...], **options: Any) -> Any:
        given = {name: options.pop(name) for name in _OPTIONS}
        reach, own = read_reach(words, **given)
        return function(reach=reach, words=own, **options)

    decorated: Any = server_options(*_OPTIONS)(with_reach)
    return _ARGUMENT(decorated)  # type: ignore[no-any-return]  # what click makes of a function


def server_options(*names: str) -> Callable[[F], F]:
    """Return what gives a command some of these options; `read_reach` takes them.

    Args:
        *names: `server`, `era`, `revision`, `headers`, `auth`, `env`, `cwd` or `timeout`.
    """

    def decorate(function: F) -> F:
        decorated: Any = function
        for name in reversed(names):
            decorated = _OPTIONS[name](decorated)
        return decorated  # type: ignore[no-any-return]  # as above

    return decorate


def read_reach(words: tuple[str, ...], **given: Any) -> tuple[Reach, list[str]]:
    """Return which server the words and options of the current command name, and the words left.

    Raises:
        UsageError: They make no sense.
    """
    context = click.get_current_context()
    target, own = split_words(context, words)
    options: dict[str, Any] = {**dict.fromkeys(_OPTIONS), "headers": (), "env": (), **given}
    return _reach(context, target, **options), own


def split_words(
    context: click.Context, words: tuple[str, ...]
) -> tuple[str | list[str], list[str]]:
    """Return the target, and the words that belong to the command itself.

    Raises:
        UsageError: No target is there.
    """
    command = context.meta.get(_COMMAND)
    if command is not None:
        return command, list(words)
    if not words:
        raise click.UsageError(
            "say which server: a URL, a Python file, a configuration, or a command after `--`",
            context,
        )
    return words[0], list(words[1:])


def complete_files(_context: Any, _parameter: Any, incomplete: str) -> list[CompletionItem]:
    """Let the shell offer files, of which many a target is one."""
    from click.shell_completion import CompletionItem  # noqa: PLC0415 - for a shell alone

    return [CompletionItem(incomplete, type="file")]


_ARGUMENT: Final = click.argument(
    "words", nargs=-1, metavar="TARGET", shell_complete=complete_files
)
_OPTIONS: Final = {
    "server": click.option(
        "--server", metavar="NAME", help="Which server of a configuration of several."
    ),
    "era": click.option(
        "--era",
        type=click.Choice(["auto", "modern", "legacy"]),
        help="Insist on an era instead of finding out.",
    ),
    "revision": click.option(
        "--revision", metavar="DATE", help="Insist on a revision, such as 2025-06-18."
    ),
    "headers": click.option(
        "--header",
        "-H",
        "headers",
        multiple=True,
        metavar="NAME: VALUE",
        help="What each HTTP request carries besides.",
    ),
    "auth": click.option("--auth", metavar="oauth|TOKEN", help="Log in, or use a token, at a URL."),
    "env": click.option("--env", "-e", multiple=True, metavar="NAME=VALUE", help="For a process."),
    "cwd": click.option("--cwd", metavar="FOLDER", help="Where a process starts."),
    "timeout": click.option("--timeout", type=float, metavar="SECONDS", help="For each answer."),
}


def _reach(  # noqa: PLR0913 - the options, as they are
    context: click.Context,
    target: str | list[str],
    *,
    server: str | None,
    era: str | None,
    revision: str | None,
    headers: tuple[str, ...],
    auth: str | None,
    env: tuple[str, ...],
    cwd: str | None,
    timeout: float | None,
) -> Reach:
    if era not in (None, "auto") and revision is not None:
        raise click.UsageError("--era and --revision exclude each other", context)
    if timeout is not None and not timeout > 0:  # which is not a number, too
        raise click.UsageError("--timeout is a number of seconds above 0", context)
    return Reach(
        target=named_target(context, target, server),
        mode=revision or era or "auto",
        env=pairs(context, env, "=", "--env", "NAME=VALUE") or None,
        cwd=cwd,
        headers=pairs(context, headers, ":", "--header", "NAME: VALUE") or None,
        timeout=timeout,
        auth=auth,
    )


def named_target(context: click.Context, target: str | list[str], server: str | None) -> Any:
    """Return the target as `Client` takes it.

    Raises:
        UsageError: The configuration has no such server, or cannot be read.
    """
    if isinstance(target, list):
        return target
    if server is not None:
        return _entry(context, target, server)
    module, colon, name = target.rpartition(":")
    is_name = all(part.isidentifier() for part in name.removesuffix("()").split("."))
    is_spelt_out = colon and is_name and not target.startswith(("unix:", "tcp:"))
    if is_spelt_out and (module.endswith(".py") or module.replace(".", "").isidentifier()):
        return [sys.executable, "-m", "wigwag", "run", target]
    return target


def _entry(context: click.Context, target: str, server: str) -> Any:
    from wigwag import load_configuration  # noqa: PLC0415 - few have one

    try:
        entries = load_configuration(target)
    except (OSError, ValueError) as error:
        raise click.UsageError(f"--server names one of a configuration: {error}", context) from None
    if server not in entries:
        known = ", ".join(sorted(entries)) or "none"
        raise click.UsageError(f"{target} has no server {server!r}; there are: {known}", context)
    return entries[server]


def _name(context: click.Context | None) -> str:
    """Return what the command is called, for examples."""
    return "list" if context is None or context.info_name is None else context.info_name


def pairs(
    context: click.Context, given: tuple[str, ...], mark: str, option: str, form: str
) -> dict[str, str]:
    """Return what an option that may be repeated has been given: names and values.

    Raises:
        UsageError: One of them is none.
    """
    found = {}
    for text in given:
        name, there, value = text.partition(mark)
        if not there or not name.strip():
            # What was given may be a token: it is not repeated.
            raise click.UsageError(
                f"{option} takes {form}, and one has no name, or no {mark!r}", context
            )
        found[name.strip()] = value.strip() if mark == ":" else value
    return found
