"""A client of a server, together with the person who uses it and whom the server may ask."""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

import click
from msgspec import UNSET, Struct

from wigwag import Client
from wigwag.cli.mistaken_targets import hint_to_run
from wigwag.cli.notices import Notices
from wigwag.cli.targets import Reach
from wigwag.client.terminal_lines import visible
from wigwag.errors import RequestFailed, ServerStartFailed

__all__ = ["Conversation", "Talk", "open_conversation", "talk_options"]

F = TypeVar("F", bound=Callable[..., Any])

_LEVELS: Final = (
    *("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"),
    "off",
)
_DEFAULT_LEVEL: Final = "info"


class Talk(Struct, frozen=True, kw_only=True):
    """What a server may ask and say meanwhile.

    Attributes:
        log_level: The least severe log messages that are wanted, or `off`.
        roots: The folders that it is told of.
        answers: What forms are filled in with, each as `name=value`.
    """

    log_level: str = _DEFAULT_LEVEL
    roots: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()


class Conversation(Struct, frozen=True):
    """A client of one server, and the person who uses it.

    Attributes:
        client: The client, which is connected.
        notices: What tells the person of what happens meanwhile.
    """

    client: Client
    notices: Notices


def talk_options(function: F) -> F:
    """Give a command the options about what a server may ask and say."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


_OPTIONS: Final = (
    click.option(
        "--answer",
        "-a",
        "answers",
        multiple=True,
        metavar="NAME=VALUE",
        help="Fill in a field of a form that the server asks for; otherwise you are asked.",
    ),
    click.option(
        "--root",
        "roots",
        multiple=True,
        metavar="FOLDER",
        help="Tell the server that it may work in this folder.",
    ),
    click.option(
        "--log-level",
        type=click.Choice(_LEVELS),
        default=_DEFAULT_LEVEL,
        show_default=True,
        help="Which log messages of the server to show.",
    ),
)


@asynccontextmanager
async def open_conversation(
    reach: Reach, talk: Talk, *, has_progress: bool = True
) -> AsyncIterator[Conversation]:
    """Connect to a server.

    Args:
        reach: Which server.
        talk: What it may ask and say.
        has_progress: Whether progress is shown.
    """
    notices = Notices(has_progress=has_progress)
    # Whoever tries a server wants to see what it says now.
    options: dict[str, Any] = {
        "cache": False,
        "on_stderr": notices.stderr_line,
        "on_event": notices.event,
    }
    options.update(_callbacks(talk, notices))
    log = logging.getLogger("wigwag")
    log.addHandler(notices)
    try:
        async with reach.client(**options) as client:
            if talk.log_level != "off" and client.capabilities.logging is not UNSET:
                await _ask_for_log(client, talk.log_level, notices)
            yield Conversation(client, notices)
    except ServerStartFailed as error:
        reason = error.reason + hint_to_run(reach.target, error.exit_code)
        raise ServerStartFailed(reason, exit_code=error.exit_code, stderr=error.stderr) from None
    finally:
        notices.clear()
        log.removeHandler(notices)


async def _ask_for_log(client: Client, level: Any, notices: Notices) -> None:
    try:
        await client.set_logging_level(level)
    except RequestFailed as error:  # what was asked for works without
        notices.say(f"wigwag: the server has a log, and sets no level: {visible(str(error))}")


def _callbacks(talk: Talk, notices: Notices) -> dict[str, Any]:
    """Return what a client is to do when its server says or asks something."""
    callbacks: dict[str, Any] = {}
    if talk.log_level != "off":
        callbacks["on_log"] = notices.log
    if talk.roots:
        callbacks["roots"] = list(talk.roots)
    is_anybody_there = sys.stdin is not None and sys.stdin.isatty()
    if talk.answers:
        from wigwag.client.given_answers import GivenAnswers  # noqa: PLC0415 - few give any
        from wigwag.client.terminal import terminal_elicitation  # noqa: PLC0415 - as above

        otherwise = _alone(terminal_elicitation, notices) if is_anybody_there else None
        callbacks["elicitation"] = GivenAnswers(talk.answers, otherwise=otherwise)
    elif is_anybody_there:
        from wigwag.client.terminal import terminal_elicitation  # noqa: PLC0415 - not in pipes

        callbacks["elicitation"] = _alone(terminal_elicitation, notices)
    if is_anybody_there:
        from wigwag.client.terminal_sampling import terminal_sampling  # noqa: PLC0415 - as above

        callbacks["sampling"] = _alone(terminal_sampling, notices)
    return callbacks


def _alone(ask: Callable[[Any], Awaitable[Any]], notices: Notices) -> Callable[[Any], Any]:
    """Return a function that asks a person while nothing else is told."""

    async def asked(params: Any) -> Any:
        with notices.held():
            return await ask(params)

    asked.takes_pages = getattr(ask, "takes_pages", False)  # type: ignore[attr-defined]  # as the client looks for it
    return asked
